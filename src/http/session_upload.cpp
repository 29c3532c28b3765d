// Session: bodies that a handler reads piece by piece.
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>

#include "http/session.h"
#include "http/session_rules.h"

namespace corral::http {
namespace {

namespace beast_http = beast::http;

// Each connection that uploads holds one.
constexpr std::size_t kUploadPieceBytes = 64u << 10;

}  // namespace

void Session::start_upload() {
  if (const auto length = parser_->content_length()) request_.stream_length = *length;
  request_.streamed = true;
  body_parser_.emplace(std::move(*parser_));
  body_parser_->body_limit(engine_.options.upload_limit);
  received_ = 0;
  waited_ = Nanos(0);
  stream_.expires_never();  // a deadline runs while the client is waited for, not the handler
  run_on(engine_.upload_pool, [](Session& s) {
    asio::post(s.stream_.get_executor(),
               s.guarded([response = s.engine_.call(std::move(s.request_))](Session& t) mutable {
                 if (!response.taker) return t.end_upload(std::move(response));
                 t.response_ = std::move(response);
                 t.piece_.resize(kUploadPieceBytes);
                 t.receive_piece();
               }));
  });
}

void Session::receive_piece() {
  receive(piece_, [](Session& s, BoostError error, std::size_t n) {
    if (!error) return n > 0 ? s.take_piece(n) : s.finish_upload({});
    s.keep_alive_ = false;
    if (error == beast_http::error::body_limit)
      return s.finish_upload(tl::unexpected(too_large(s.engine_.options.upload_limit)));
    if (!is_end(error)) return s.finish_upload(tl::unexpected(broken_body(error)));
    s.finish_upload(fail(Code::kUnavailable, "the body is incomplete: " + error.message()));
  });
}

void Session::take_piece(std::size_t bytes) {
  run_on(engine_.upload_pool, [bytes](Session& s) {
    Result<> taken = fail(Code::kInternal, "the request failed");
    sys::guard_call("a request", [&] {
      taken = s.response_.taker->take(std::string_view(s.piece_).substr(0, bytes));
    });
    asio::post(s.stream_.get_executor(), s.guarded([taken = std::move(taken)](Session& t) mutable {
      if (taken) return t.receive_piece();
      t.finish_upload(std::move(taken));
    }));
  });
}

void Session::finish_upload(Result<> taken) {
  run_on(engine_.upload_pool, [taken = std::move(taken)](Session& s) {
    Response response = s.engine_.end(*s.response_.taker, taken);
    response.route = s.response_.route;
    s.response_.taker.reset();  // closes files
    asio::post(s.stream_.get_executor(),
               s.guarded([response = std::move(response)](Session& t) mutable {
                 t.end_upload(std::move(response));
               }));
  });
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
  piece_ = {};
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
