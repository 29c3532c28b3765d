// Session: one connection. Internal to this folder; includes Boost.
//
// All members run on the connection's strand, except where said. A session keeps itself alive
// through its pending operations.
//   header -> gate -> body -> handler pool -> answer (bytes | chunked stream | push stream) ->
//   header ...
// No body is kept before the gate has passed its head. A rejected request whose body is not too
// long is drained, so that the connection lives on; else the answer is sent, further bytes from the
// client are read and dropped for a moment (so that a reset does not destroy the answer), and it
// closes.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <span>
#include <type_traits>

#include "core/mutex.h"
#include "http/body_budget.h"
#include "http/head.h"
#include "http/json_budget.h"
#include "http/pool.h"
#include "http/server.h"
#include "sys/thread_guard.h"

namespace corral::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Protocol = asio::generic::stream_protocol;
using Stream = beast::basic_stream<Protocol, asio::any_io_executor>;
using BoostError = boost::system::error_code;

// The buffer of a connection. It must hold a whole head, or the chunk extensions or trailers of a
// body, which the parser wants in one piece. Beast throws at a field of 64 KiB and more, so
// none can be that long.
inline constexpr std::size_t kBufferBytes = 64u << 10;
static_assert(kBufferBytes > kHeadBytes + (4u << 10));

class Session;

// State shared by all sessions; outlives them.
struct Engine {
  Engine(HttpOptions o, HttpHandlers h);

  // On a pool thread; never throws.
  Response call(Request request);
  static Response end(BodyTaker& taker, const Result<>& taken);
  [[nodiscard]] Response error(const Request& request, const Error& error) const;
  // Unlike any other of this server, and unlike those of the one before with all likelihood.
  std::string next_id();
  // False when the server or the peer's share is full, or it is stopping.
  bool add(const std::shared_ptr<Session>& session);
  void remove(const Session* session);
  std::vector<std::shared_ptr<Session>> live();
  // True when the last session has ended within `limit`.
  bool wait_until_empty(Nanos limit);

  HttpOptions options;
  HttpHandlers handlers;
  std::shared_ptr<Traffic> traffic;
  BodyBudget bodies;       // for clients over TCP
  BodyBudget unix_bodies;  // for this user's own clients, which TCP clients cannot hold up
  JsonBudget documents;
  std::atomic<bool> stopping{false};

 private:
  // Unpacks the body; the room that reading it takes.
  Result<JsonBudget::Room> prepare(Request& request);
  Response handle(Request request);

  // A pool that was joined keeps later work, sessions in it, and destroys it with itself: the
  // members that their destructors use are declared above io and pools.
  Mutex mutex_;
  std::condition_variable_any empty_;
  std::map<const Session*, std::weak_ptr<Session>> sessions_ GUARDED_BY(mutex_);
  std::map<std::string, std::size_t, std::less<>> peers_ GUARDED_BY(mutex_);  // connections of each
  std::size_t tcp_ GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> next_id_;

 public:
  Pool io;
  Pool handler_pool;
  Pool stream_pool;
  Pool upload_pool;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Stream::socket_type socket, Engine& engine, bool is_unix);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] bool over_unix() const { return over_unix_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }  // an IP address, else empty
  void start();                                                    // any thread
  void
  finish_soon();   // any thread: idle connections and push streams end, others after their answer
  void cut_off();  // any thread

 private:
  using Parser = beast::http::request_parser<beast::http::empty_body>;
  using BodyParser = beast::http::request_parser<beast::http::buffer_body>;
  enum class State { kIdle, kBusy, kPushing };

  // Beast completes some operations with an int 0 for the number of bytes.
  template <class T>
  static auto counted(T&& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<T>, int>) {
      return static_cast<std::size_t>(value);
    } else {
      return std::forward<T>(value);
    }
  }
  // A handler for the strand: keeps the session alive; an exception of `work` ends the connection
  // and nothing else.
  template <class Work>
  auto guarded(Work work) {
    return [self = shared_from_this(), work = std::move(work)](auto&&... args) mutable {
      const auto call = [&] { work(*self, counted(std::forward<decltype(args)>(args))...); };
      if (!sys::guard_call("a connection", call)) self->close();
    };
  }
  // The same on a thread of `pool`.
  template <class Work>
  void run_on(Pool& pool, Work work) {
    pool.post([self = shared_from_this(), work = std::move(work)]() mutable {
      if (!sys::guard_call("a request", [&] { work(*self); }))
        sys::guard_call("a request", [&] { self->cut_off(); });
    });
  }

  void read_header();
  void read_head();
  void on_head(std::size_t length);
  void on_header();
  void refuse_head(const HeadFault& fault);
  std::optional<Response> examine();
  void read_body();
  void ask_for_room();
  void read_piece();
  void forget_body();
  void refuse_for_memory();
  void dispatch();
  void start_upload();
  // Called on the strand: no error, and the number of bytes; 0 at the end of the body.
  using Received = std::function<void(Session&, BoostError, std::size_t)>;
  void receive(std::span<char> buffer, Received received);
  void receive_piece();
  void take_piece(std::size_t bytes);
  void finish_upload(Result<> taken);
  void end_upload(Response response);
  void refuse(Response response, std::uint64_t most_drained);
  void drop_body();
  void drain();
  void fail_parse(BoostError error);
  void count_out(std::size_t bytes);
  void tell(bool whole);

  void answer(Response response);
  void write_bytes();
  void on_written(BoostError error);
  void next_or_close();
  void linger();
  void close();

  void start_stream();
  void next_part();
  // Stream pool, while nothing of the session runs on the strand but its end.
  void make_part();
  Result<> produce();
  Result<> spill();
  Result<> read_spilled();
  void send_part(bool last);

  void start_push();
  void watch_for_hangup();
  void pump();

  void set_deadline(std::size_t bytes);

  Engine& engine_;
  Stream stream_;
  const bool over_unix_;
  const std::string peer_;
  const std::uint16_t peer_port_;
  const std::uint64_t number_;  // number of this connection, in this process
  State state_ = State::kIdle;
  beast::flat_buffer buffer_{kBufferBytes};
  std::optional<Parser> parser_;
  std::optional<BodyParser> body_parser_;
  bool streamed_body_ = false;
  bool dropped_body_ = false;    // the request is handled without it
  std::uint64_t received_ = 0;   // bytes of a body
  Nanos waited_{};               // for them
  std::size_t piece_bytes_ = 0;  // bytes of a body in memory, that are read next
  std::size_t capacity_ = 0;     // that it needs for them
  bool waits_for_room_ = false;
  asio::steady_timer room_timer_;
  std::size_t head_seen_ = 0;  // bytes of the head that have come
  std::array<char, 4096> scratch_{};
  Request request_;
  Response response_;
  // Facts of the request whose answer is on its way, kept because a handler takes the request
  // itself.
  struct Told {
    std::string id;
    std::string path;
    Method method = Method::kOther;
    std::chrono::steady_clock::time_point began{};
    std::uint64_t bytes = 0;  // bytes of the answer's body that were sent
    bool open = false;        // not reported yet
  } told_;
  std::string head_;
  std::string piece_;           // piece of a streamed body
  std::string part_;            // part of a streamed answer
  std::uint64_t streamed_ = 0;  // bytes of those so far
  bool all_made_ = false;       // the producer has nothing more
  sys::Fd spill_;               // the rest of a long part
  off_t spill_at_ = 0;
  std::uint64_t spilled_ = 0;  // bytes left of it
  std::string pushed_;
  bool head_only_ = false;
  bool http_1_0_ = false;
  bool chunked_ = false;  // the streamed answer
  bool keep_alive_ = false;
  bool unread_ = false;   // the client may still be sending: linger before closing
  bool writing_ = false;  // a push is on its way
};

}  // namespace corral::http
