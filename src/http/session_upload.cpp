// Session: bodies that a handler reads piece by piece.
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <future>

#include "http/session.h"
#include "http/session_rules.h"

namespace corral::http {
namespace {

namespace beast_http = beast::http;

class SessionBody : public BodySource {
 public:
  SessionBody(Session& session, std::optional<std::uint64_t> length)
      : session_(session), length_(length) {}
  [[nodiscard]] std::optional<std::uint64_t> length() const override { return length_; }
  Result<std::string_view> next() override {
    if (ended_) return std::string_view();
    piece_.resize(kPieceBytes);
    const std::size_t n = TRY(session_.receive_and_wait(piece_));
    ended_ = n == 0;
    return std::string_view(piece_.data(), n);
  }

 private:
  Session& session_;  // waits for the handler
  const std::optional<std::uint64_t> length_;
  std::string piece_;
  bool ended_ = false;
};

}  // namespace

void Session::start_upload() {
  std::optional<std::uint64_t> length;
  if (const auto said = parser_->content_length()) length = *said;
  body_parser_.emplace(std::move(*parser_));
  body_parser_->body_limit(engine_.options.upload_limit);
  received_ = 0;
  waited_ = Nanos(0);
  stream_.expires_never();  // a deadline runs while the client is waited for, not the handler
  request_.stream = std::make_shared<SessionBody>(*this, length);
  run_on(engine_.upload_pool, [](Session& s) {
    asio::post(s.stream_.get_executor(),
               s.guarded([response = s.engine_.call(std::move(s.request_))](Session& t) mutable {
                 t.end_upload(std::move(response));
               }));
  });
}

Result<std::size_t> Session::receive_and_wait(std::span<char> buffer) {
  // Broken when an exception has destroyed the handler: then get() throws, too.
  auto received = std::make_shared<std::promise<Result<std::size_t>>>();
  std::future<Result<std::size_t>> result = received->get_future();
  auto taken = [received = std::move(received)](Session& s, BoostError error, std::size_t n) {
    if (!error) return received->set_value(n);
    s.keep_alive_ = false;
    if (error == beast_http::error::body_limit)
      return received->set_value(tl::unexpected(too_large(s.engine_.options.upload_limit)));
    if (!is_end(error)) return received->set_value(tl::unexpected(broken_body(error)));
    received->set_value(
        fail(Code::kUnavailable, "the body did not come whole: " + error.message()));
  };
  asio::post(stream_.get_executor(),
             guarded([buffer, taken = std::move(taken)](Session& s) mutable {
               s.receive(buffer, std::move(taken));
             }));
  return result.get();
}

void Session::receive(std::span<char> buffer, Received received) {
  if (body_parser_->is_done()) return received(*this, {}, 0);
  auto& body = body_parser_->get().body();
  body.data = buffer.data();
  body.size = buffer.size();
  // The pace holds for the whole body and for each piece: bytes that came fast earn no long pause,
  // in which the body would keep its memory.
  const auto seconds_for = [](std::size_t bytes) {
    return Nanos(std::chrono::seconds(bytes / kBytesPerSecond));
  };
  const Nanos whole = seconds_for(received_ + buffer.size()) - waited_;
  stream_.expires_after(engine_.options.write_timeout +
                        std::min(whole, seconds_for(buffer.size())));
  const auto began = std::chrono::steady_clock::now();
  beast_http::async_read(stream_, buffer_, *body_parser_,
                         guarded([size = buffer.size(), received = std::move(received), began](
                                     Session& s, BoostError error, std::size_t) {
                           s.waited_ += std::chrono::steady_clock::now() - began;
                           s.stream_.expires_never();
                           if (error == beast_http::error::need_buffer) error = {};
                           const std::size_t n = size - s.body_parser_->get().body().size;
                           s.received_ += n;
                           s.engine_.traffic->bytes_in += n;
                           received(s, error, n);
                         }));
}

void Session::end_upload(Response response) {
  unread_ = !body_parser_->is_done();
  const auto left = body_parser_->content_length_remaining();
  if (!unread_ || !keep_alive_ || !left || *left > kDrainBytes) {
    if (unread_) keep_alive_ = false;
    return answer(std::move(response));
  }
  response_ = std::move(response);
  set_deadline(static_cast<std::size_t>(*left));
  drain();
}

}  // namespace corral::http
