// Channel: the bytes of one connection, as they are or by TLS. Internal to this folder; includes
// Boost.
//
// An AsyncStream of Asio and Beast. Deadlines hold for the operations of both kinds. Only on the
// connection's own I/O thread.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <new>
#include <optional>
#include <utility>

#include "http/tls.h"

namespace corral::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Protocol = asio::generic::stream_protocol;
using BoostError = boost::system::error_code;

class Channel {
 public:
  using Plain = beast::basic_stream<Protocol, asio::any_io_executor>;
  using executor_type = Plain::executor_type;
  using socket_type = Plain::socket_type;

  explicit Channel(socket_type socket) : plain_(std::move(socket)) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  executor_type get_executor() { return plain_.get_executor(); }
  socket_type& socket() { return plain_.socket(); }
  // The stream below TLS.
  Plain& plain() { return plain_; }
  [[nodiscard]] bool encrypted() const { return tls_.has_value(); }

  // From now on all bytes are TLS; `begin` are those that the client has sent already. The handler
  // gets an error and how many of them were used. Throws std::bad_alloc.
  template <class Handler>
  void encrypt(const Tls::Context& context, asio::const_buffer begin, Handler&& handler) {
    SSL* const ssl = ::SSL_new(context.get());
    if (ssl == nullptr) throw std::bad_alloc();
    tls_.emplace(plain_, ssl);
    tls_->async_handshake(asio::ssl::stream_base::server, begin, std::forward<Handler>(handler));
  }
  // Says that no more will come, and waits for the client to say so, too. Only when encrypted.
  template <class Handler>
  void end_encryption(Handler&& handler) {
    tls_->async_shutdown(std::forward<Handler>(handler));
  }

  template <class Buffers, class Handler>
  auto async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Handler>(handler));
    return plain_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  auto async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Handler>(handler));
    return plain_.async_write_some(buffers, std::forward<Handler>(handler));
  }

  template <class Duration>
  void expires_after(Duration limit) {
    plain_.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(limit));
  }
  void expires_never() { plain_.expires_never(); }
  void close() { plain_.close(); }

 private:
  Plain plain_;
  std::optional<asio::ssl::stream<Plain&>> tls_;
};

}  // namespace corral::http
