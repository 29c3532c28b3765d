#include "server/http/session.h"

#include <fmt/core.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <future>

namespace corral::server {
namespace {

namespace http = beast::http;

constexpr std::uint32_t kHeaderBytes = 32u << 10;
// A slower client than this holds a connection for no use.
constexpr std::size_t kBytesPerSecond = 64u << 10;
// A refused body up to this size is read and dropped; a longer one costs its sender the connection.
constexpr std::uint64_t kDrainBytes = 4 * std::uint64_t{limits::kBodyBytes};
constexpr std::size_t kChunkBytes = 256u << 10;
constexpr std::size_t kChunkHeadBytes = 10;  // 8 digits of size and the end of their line
constexpr auto kLinger = std::chrono::seconds(2);

Method method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::kGet;
    case http::verb::head:
      return Method::kHead;
    case http::verb::post:
      return Method::kPost;
    case http::verb::put:
      return Method::kPut;
    case http::verb::patch:
      return Method::kPatch;
    case http::verb::delete_:
      return Method::kDelete;
    default:
      return Method::kOther;
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

Response too_large(std::size_t limit) {
  return error_response(
      {Code::kTooLarge, fmt::format("a request body is at most {} bytes", limit)});
}

// Collects small writes into chunks.
class ChunkSink : public StreamSink {
 public:
  ChunkSink(Session& session, bool chunked)
      : session_(session), head_(chunked ? kChunkHeadBytes : 0), pending_(head_, '0') {}

  bool write(std::string_view bytes) override {
    if (gone_) return false;
    pending_.append(bytes);
    return pending_.size() < kChunkBytes || flush();
  }
  bool flush() {
    const std::size_t size = pending_.size() - head_;
    if (size == 0 || gone_) return !gone_;
    if (head_ > 0) {
      fmt::format_to_n(pending_.begin(), head_, "{:08x}\r\n", size);
      pending_ += "\r\n";
    }
    gone_ = !session_.send_and_wait(pending_);
    pending_.resize(head_);
    return !gone_;
  }

 private:
  Session& session_;
  const std::size_t head_;  // bytes kept free for the chunk's size
  bool gone_ = false;
  std::string pending_;
};

}  // namespace

Session::Session(Stream::socket_type socket, Engine& engine, bool is_unix)
    : engine_(engine), stream_(std::move(socket)), over_unix_(is_unix) {}

Session::~Session() { engine_.remove(this); }

void Session::start() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->read_header(); });
}

void Session::finish_soon() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    if (self->state_ == State::kIdle) self->close();
    if (self->state_ == State::kPushing) self->response_.events->close();
  });
}

void Session::cut_off() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->close(); });
}

void Session::set_deadline(std::size_t bytes) {
  stream_.expires_after(engine_.options.write_timeout +
                        std::chrono::seconds(bytes / kBytesPerSecond));
}

// ---- reading

void Session::read_header() {
  state_ = State::kIdle;
  if (engine_.stopping) return close();
  request_ = {};
  response_ = {};
  unread_ = false;
  parser_.emplace();
  parser_->header_limit(kHeaderBytes);
  parser_->body_limit(boost::none);
  stream_.expires_after(engine_.options.idle_timeout);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](BoostError error, std::size_t) { self->on_header(error); });
}

void Session::on_header(BoostError error) {
  if (error) return fail_parse(error);
  state_ = State::kBusy;
  const auto& header = parser_->get();
  keep_alive_ = parser_->keep_alive();
  http_1_0_ = header.version() < 11;
  head_only_ = header.method() == http::verb::head;
  unread_ = !parser_->is_done();
  request_.method = method_of(header.method());
  request_.over_unix = over_unix_;
  for (const auto& field : header) {
    request_.headers.emplace_back(lower(field.name_string()), std::string(field.value()));
  }
  if (std::optional<Response> refusal = examine()) return refuse(*std::move(refusal));
  if (!unread_) return dispatch();
  if (lower(request_.header("expect")) != "100-continue") return read_body();
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  set_deadline(0);
  asio::async_write(stream_, asio::buffer(kContinue),
                    [self = shared_from_this()](BoostError failed, std::size_t) {
                      if (!failed) self->read_body();
                    });
}

std::optional<Response> Session::examine() {
  const auto& header = parser_->get();
  const auto length = parser_->content_length();
  if (length && *length > engine_.options.body_limit) return too_large(engine_.options.body_limit);
  if (header.method() == http::verb::unknown || header.method() == http::verb::connect) {
    return error_response({Code::kUnsupported, "unknown request method"});
  }
  const Result<> target = parse_target(std::string_view(header.target()), request_);
  if (!target) return error_response(target.error(), {.field = "path", .position = std::nullopt});
  return engine_.handlers.gate ? engine_.handlers.gate(request_) : std::nullopt;
}

void Session::read_body() {
  const std::uint64_t length = parser_->content_length().value_or(engine_.options.body_limit);
  body_parser_.emplace(std::move(*parser_));
  body_parser_->body_limit(engine_.options.body_limit);
  set_deadline(static_cast<std::size_t>(length));
  http::async_read(
      stream_, buffer_, *body_parser_,
      [self = shared_from_this()](BoostError error, std::size_t) { self->on_body(error); });
}

void Session::on_body(BoostError error) {
  if (error) return fail_parse(error);
  unread_ = false;
  request_.body = std::move(body_parser_->get().body());
  body_parser_.reset();
  dispatch();
}

void Session::fail_parse(BoostError error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error.category() != make_error_code(http::error::bad_method).category()) {
    return close();  // hang-up, time-out or a broken connection: nobody to answer
  }
  keep_alive_ = false;
  unread_ = true;
  state_ = State::kBusy;
  if (error == http::error::body_limit) return answer(too_large(engine_.options.body_limit));
  Response response =
      error_response({Code::kInvalidArgument, "malformed HTTP: " + error.message()});
  if (error == http::error::header_limit) {
    response = error_response(
        {Code::kTooLarge, fmt::format("a request header is at most {} bytes", kHeaderBytes)});
    response.status = 431;
  }
  answer(std::move(response));
}

void Session::refuse(Response response) {
  if (!unread_) return answer(std::move(response));
  const auto length = parser_->content_length();
  const bool drainable = length && *length <= kDrainBytes && request_.header("expect").empty();
  if (!drainable) {
    keep_alive_ = false;
    return answer(std::move(response));
  }
  response_ = std::move(response);
  drain_parser_.emplace(std::move(*parser_));
  drain_parser_->body_limit(boost::none);
  set_deadline(static_cast<std::size_t>(*length));
  drain();
}

void Session::drain() {
  auto& body = drain_parser_->get().body();
  body.data = scratch_.data();
  body.size = scratch_.size();
  http::async_read(stream_, buffer_, *drain_parser_,
                   [self = shared_from_this()](BoostError error, std::size_t) {
                     if (error && error != http::error::need_buffer) return self->close();
                     if (!self->drain_parser_->is_done()) return self->drain();
                     self->unread_ = false;
                     self->answer(std::move(self->response_));
                   });
}

void Session::dispatch() {
  asio::post(engine_.handler_pool, [self = shared_from_this()] {
    Response response = self->engine_.call(std::move(self->request_));
    asio::post(self->stream_.get_executor(), [self, response = std::move(response)]() mutable {
      self->answer(std::move(response));
    });
  });
}

// ---- writing

void Session::answer(Response response) {
  response_ = std::move(response);
  if (engine_.stopping) keep_alive_ = false;
  if (response_.events) keep_alive_ = false;
  if (response_.stream) return start_stream();
  head_ = response_head(response_, response_.events ? Framing::kUntilClose : Framing::kLength,
                        keep_alive_);
  if (response_.events && !head_only_) return start_push();
  write_bytes();
}

void Session::write_bytes() {
  const std::string_view body =
      head_only_ || response_.events ? std::string_view() : response_.bytes();
  set_deadline(body.size());
  const std::array<asio::const_buffer, 2> buffers{asio::buffer(head_), asio::buffer(body)};
  asio::async_write(stream_, buffers, [self = shared_from_this()](BoostError error, std::size_t) {
    self->on_written(error);
  });
}

void Session::on_written(BoostError error) {
  if (error) return close();
  next_or_close();
}

void Session::next_or_close() {
  if (keep_alive_) return read_header();
  if (unread_) {
    BoostError ignored;
    stream_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
    stream_.expires_after(kLinger);
    return linger();
  }
  close();
}

void Session::linger() {
  stream_.async_read_some(asio::buffer(scratch_),
                          [self = shared_from_this()](BoostError error, std::size_t) {
                            if (error) return self->close();
                            self->linger();
                          });
}

void Session::close() {
  BoostError ignored;
  stream_.socket().shutdown(asio::socket_base::shutdown_both, ignored);
  stream_.close();
}

// ---- streamed answers

void Session::start_stream() {
  const bool chunked = !http_1_0_;
  if (!chunked) keep_alive_ = false;
  head_ = response_head(response_, chunked ? Framing::kChunked : Framing::kUntilClose, keep_alive_);
  if (head_only_) return write_bytes();
  asio::post(engine_.stream_pool, [self = shared_from_this()] { self->run_producer(); });
}

void Session::run_producer() {
  ChunkSink sink(*this, !http_1_0_);
  bool whole = send_and_wait(head_);
  if (whole) {
    try {
      whole = response_.stream(sink).has_value();
    } catch (const std::exception&) {
      whole = false;
    }
    whole = whole && sink.flush();
  }
  asio::post(stream_.get_executor(),
             [self = shared_from_this(), whole] { self->end_stream(whole); });
}

bool Session::send_and_wait(const std::string& bytes) {
  std::promise<bool> sent;
  std::future<bool> result = sent.get_future();
  asio::post(stream_.get_executor(), [self = shared_from_this(), &bytes, &sent] {
    self->set_deadline(bytes.size());
    asio::async_write(self->stream_, asio::buffer(bytes),
                      [self, &sent](BoostError error, std::size_t) { sent.set_value(!error); });
  });
  return result.get();
}

void Session::end_stream(bool whole) {
  if (!whole) return close();
  head_ = http_1_0_ ? "" : "0\r\n\r\n";
  head_only_ = true;
  write_bytes();
}

// ---- push streams

void Session::start_push() {
  state_ = State::kPushing;
  response_.events->attach([weak = weak_from_this()] {
    if (const std::shared_ptr<Session> self = weak.lock()) {
      asio::post(self->stream_.get_executor(), [self] { self->pump(); });
    }
  });
  stream_.expires_never();
  watch_for_hangup();
  if (engine_.stopping) response_.events->close();
  pushed_ = std::move(head_);
  pump();
}

void Session::watch_for_hangup() {
  stream_.async_read_some(asio::buffer(scratch_),
                          [self = shared_from_this()](BoostError error, std::size_t) {
                            if (!error) return self->watch_for_hangup();
                            self->response_.events->close();
                            self->close();
                          });
}

void Session::pump() {
  if (writing_) return;
  if (response_.events->overflowed()) return close();
  if (pushed_.empty()) pushed_ = response_.events->take();
  if (pushed_.empty()) {
    if (response_.events->closed()) close();
    return;
  }
  writing_ = true;
  set_deadline(pushed_.size());
  asio::async_write(stream_, asio::buffer(pushed_),
                    [self = shared_from_this()](BoostError error, std::size_t) {
                      self->writing_ = false;
                      self->pushed_.clear();
                      if (!error) return self->pump();
                      self->response_.events->close();
                      self->close();
                    });
}

}  // namespace corral::server
