#include "http/session.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <future>

#include "core/text.h"
#include "sys/file.h"

namespace corral::http {
namespace {

namespace beast_http = beast::http;

constexpr int kMostLateAnswers = 64;  // that wait or are made

constexpr std::size_t kReadBytes = 4096;  // at once, of a head
constexpr std::size_t kIdBytes = 64;      // limit of a client's own X-Request-Id
constexpr auto kLinger = std::chrono::seconds(2);
constexpr auto kLeavingPause = std::chrono::milliseconds(500);

// The lowest rate that is accepted from clients.
constexpr std::size_t kBytesPerSecond = 64u << 10;
// A refused body up to this size is read and dropped; a longer one costs its sender the connection.
constexpr std::uint64_t kDrainBytes = 4 * std::uint64_t{limits::kBodyBytes};

// The same limit for a body that is forbidden or unused.
constexpr std::uint64_t kTinyDrainBytes = 64u << 10;

constexpr std::size_t kFirstPieceBytes = BodyBudget::kFreeBytes;
constexpr std::size_t kPieceBytes = 256u << 10;  // bytes of a body, read at once

// Hang-up, time-out or a broken connection: no client to answer.
bool is_end(BoostError error) {
  return error == beast_http::error::end_of_stream || error == beast_http::error::partial_message ||
         error.category() != make_error_code(beast_http::error::bad_method).category();
}

Error broken_body(BoostError error) {
  if (error == beast_http::error::buffer_overflow) {
    return {Code::kInvalidArgument,
            fmt::format("the chunk extensions or trailers of a body are at most {} bytes",
                        kBufferBytes)};
  }
  return {Code::kInvalidArgument, "malformed HTTP: " + error.message()};
}

Error too_large(std::size_t limit) {
  return {Code::kTooLarge, fmt::format("a request body is at most {} bytes", limit)};
}

Method method_of(beast_http::verb verb) {
  switch (verb) {
    case beast_http::verb::get:
      return Method::kGet;
    case beast_http::verb::head:
      return Method::kHead;
    case beast_http::verb::post:
      return Method::kPost;
    case beast_http::verb::put:
      return Method::kPut;
    case beast_http::verb::patch:
      return Method::kPatch;
    case beast_http::verb::delete_:
      return Method::kDelete;
    default:
      return Method::kOther;
  }
}

// "10.0.0.5"; empty for a Unix socket and for a client that has gone.
std::string address_of(const Channel::socket_type& socket) {
  BoostError error;
  const Protocol::endpoint end = socket.remote_endpoint(error);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (error) return {};
  if (end.data()->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, end.data(), sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (end.data()->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, end.data(), sizeof v6);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

// 0 for a Unix socket and for a client that has gone.
std::uint16_t port_of(const Channel::socket_type& socket) {
  BoostError error;
  const Protocol::endpoint end = socket.remote_endpoint(error);
  if (error) return 0;
  in_port_t port = 0;  // stands at the same place in both families
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(&port, reinterpret_cast<const char*>(end.data()) + offsetof(sockaddr_in, sin_port),
              sizeof port);
  return ntohs(port);
}

std::uint64_t next_connection() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Short and of letters that no log and no terminal takes for anything else.
bool is_clean_id(std::string_view id) {
  return !id.empty() && id.size() <= kIdBytes && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_.:").find(c) != std::string_view::npos;
  });
}

// The most of a part that waits in memory for a slow reader; the rest waits in a file.
constexpr std::size_t kMostPartBytes = 512u << 10;

// The buffer of each connection that uploads.
constexpr std::size_t kUploadPieceBytes = 64u << 10;

}  // namespace

Session::Session(Channel::socket_type socket, Engine& engine, IoThread& io, Entrance entrance)
    : stream_(std::move(socket)),
      engine_(engine),
      io_(io),
      entrance_(std::move(entrance)),
      peer_(over_unix() ? std::string() : address_of(stream_.socket())),
      is_proxy_(any_contains(engine.options.proxies, peer_)),
      peer_port_(over_unix() ? std::uint16_t{0} : port_of(stream_.socket())),
      number_(next_connection()),
      room_timer_(stream_.get_executor()) {}

Session::~Session() {
  if (response_.events) {
    response_.events->attach(nullptr);
    response_.events->close();
  }
  engine_.remove(this);
}

void Session::start() {
  asio::post(stream_.get_executor(),
             guarded([](Session& s) { s.entrance_.tls ? s.meet() : s.read_header(); }));
}

void Session::finish_soon() {
  asio::post(stream_.get_executor(), guarded([](Session& s) {
               if (s.state_ == State::kIdle) s.close();
               if (s.state_ == State::kPushing) s.response_.events->close();
             }));
}

void Session::cut_off() {
  asio::post(stream_.get_executor(), guarded([](Session& s) { s.close(); }));
}

void Session::set_deadline(std::size_t bytes) {
  stream_.expires_after(engine_.options.write_timeout +
                        std::chrono::seconds(bytes / kBytesPerSecond));
}

// ---- TLS

// The first byte of a handshake is no letter.
void Session::meet() {
  constexpr char kHandshake = 0x16;
  stream_.expires_after(engine_.options.header_timeout);
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          guarded([](Session& s, BoostError error, std::size_t n) {
                            if (error) return s.close();
                            s.buffer_.commit(n);
                            const char first = *static_cast<const char*>(s.buffer_.data().data());
                            first == kHandshake ? s.encrypt() : s.read_header();
                          }));
}

void Session::encrypt() {
  // An answer is several writes here: the last must not wait until the client has seen the others.
  BoostError ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  stream_.encrypt(entrance_.tls->context(), buffer_.data(),
                  guarded([](Session& s, BoostError error, std::size_t used) {
                    if (error || used != s.buffer_.size()) return s.close();
                    s.buffer_.consume(used);
                    s.read_header();
                  }));
}

// Refuses a change and a token, so that the sender learns that they were readable on the way; leads
// other readers on.
void Session::send_to_https() {
  keep_alive_ = false;
  const std::string_view target(parser_->get().target());
  std::string host = host_without_port(request_.header("host"));
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  const std::string port =
      entrance_.https_port == 443 ? "" : fmt::format(":{}", entrance_.https_port);
  const bool reads = request_.method == Method::kGet || request_.method == Method::kHead;
  const bool readable = parse_target(target, request_).has_value() && target.starts_with('/');
  told_.path = request_.path;
  const bool tells =
      !request_.header("authorization").empty() || request_.query_value("token").has_value();
  if (!reads || tells || host.empty() || !readable) {
    return answer(error_response(
        {Code::kInvalidArgument,
         fmt::format("this server is reached by HTTPS: use https://{}{}, and replace a token that "
                     "was sent without",
                     host.empty() ? "HOST" : host, port)}));
  }
  Response response = text_response("", 307);
  response.set_header("Location", fmt::format("https://{}{}{}", host, port, target));
  answer(std::move(response));
}

// ---- reading

void Session::read_header() {
  state_ = State::kIdle;
  if (engine_.stopping) return close();
  request_ = {};
  response_ = {};
  unread_ = false;
  left_ = false;
  head_seen_ = 0;
  stream_.expires_after(engine_.options.idle_timeout);
  read_head();
}

void Session::read_head() {
  const auto bytes = [this] {
    return std::string_view(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  };
  while (bytes().starts_with("\r\n")) {  // RFC 9112, 2.2: between requests
    buffer_.consume(2);
    head_seen_ = 0;
  }
  if (const std::size_t length = head_length(bytes(), head_seen_)) return on_head(length);
  if (bytes().size() >= kHeadBytes) return on_head(kHeadBytes + 1);
  if (head_seen_ == 0 && buffer_.size() > 0) stream_.expires_after(engine_.options.header_timeout);
  head_seen_ = buffer_.size();
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          guarded([](Session& s, BoostError error, std::size_t n) {
                            if (error) return s.close();
                            s.buffer_.commit(n);
                            s.read_head();
                          }));
}

void Session::on_head(std::size_t length) {
  state_ = State::kBusy;
  told_ = {};
  told_.open = true;
  told_.began = std::chrono::steady_clock::now();
  if (length > kHeadBytes) {
    return refuse_head(
        {.status = 431,
         .message = fmt::format("a request header is at most {} bytes", kHeadBytes)});
  }
  const std::string_view head(static_cast<const char*>(buffer_.data().data()), length);
  if (const auto fault = check_head(head)) return refuse_head(*fault);
  parser_.emplace();
  parser_->header_limit(kHeadBytes + 1);
  parser_->body_limit(boost::none);
  BoostError error;
  parser_->put(asio::buffer(head), error);
  if (error || !parser_->is_header_done())
    return refuse_head({.status = 400, .message = error.message()});
  buffer_.consume(length);
  engine_.traffic->bytes_in += length;
  on_header();
}

void Session::refuse_head(const HeadFault& fault) {
  told_.id = engine_.next_id();
  keep_alive_ = false;
  unread_ = true;
  head_only_ = false;
  const Code code = fault.status == 400   ? Code::kInvalidArgument
                    : fault.status == 501 ? Code::kUnsupported
                                          : Code::kTooLarge;
  const std::string about = fault.status == 400 ? "malformed HTTP: " : "";
  Response response = error_response({code, about + fault.message});
  response.status = fault.status;
  answer(std::move(response));
}

void Session::on_header() {
  const auto& header = parser_->get();
  keep_alive_ = parser_->keep_alive();
  http_1_0_ = header.version() < 11;
  head_only_ = header.method() == beast_http::verb::head;
  unread_ = !parser_->is_done();
  request_.method = method_of(header.method());
  request_.over_unix = over_unix();
  request_.over_tls = stream_.encrypted();
  request_.connection = number_;
  request_.peer_port = peer_port_;
  for (const auto& field : header) {
    request_.headers.emplace_back(lower_ascii(field.name_string()), std::string(field.value()));
  }
  const std::string_view own_id = request_.header("x-request-id");
  request_.id = is_clean_id(own_id) ? std::string(own_id) : engine_.next_id();
  told_.id = request_.id;
  told_.method = request_.method;
  note_sender();
  if (entrance_.https_port != 0 && !stream_.encrypted()) return send_to_https();
  if (std::optional<Response> refusal = examine())
    return refuse(*std::move(refusal), kTinyDrainBytes);
  if (!unread_) return dispatch();
  if (engine_.handlers.takes_body && !engine_.handlers.takes_body(request_)) return drop_body();
  const std::uint64_t limit =
      streamed_body_ ? engine_.options.upload_limit : engine_.options.body_limit;
  if (const auto length = parser_->content_length(); length && *length > limit)
    return refuse(engine_.error(request_, too_large(limit)), kDrainBytes);
  const auto receive_body = [](Session& s) {
    return s.streamed_body_ ? s.start_upload() : s.read_body();
  };
  if (!equal_ignoring_case(request_.header("expect"), "100-continue")) return receive_body(*this);
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  set_deadline(0);
  asio::async_write(stream_, asio::buffer(kContinue),
                    guarded([receive_body](Session& s, BoostError failed, std::size_t) {
                      if (!failed) receive_body(s);
                    }));
}

// A proxy that keeps the headers of its client adds its own behind them.
void Session::note_sender() {
  request_.peer = over_unix() ? "unix" : is_proxy_ ? "" : peer_;
  if (!is_proxy_) return;
  std::string forwarded;
  std::string_view scheme;
  for (const auto& [name, value] : request_.headers) {
    if (name == "x-forwarded-for") forwarded += (forwarded.empty() ? "" : ",") + value;
    if (name == "x-forwarded-proto") scheme = value;
  }
  told_.peer = client_behind(engine_.options.proxies, peer_, forwarded);
  if (!any_contains(engine_.options.proxies, told_.peer)) request_.peer = told_.peer;
  if (equal_ignoring_case(scheme, "https")) request_.over_tls = true;
}

std::optional<Response> Session::examine() {
  const auto& header = parser_->get();
  const auto length = parser_->content_length();
  const Result<> target = parse_target(std::string_view(header.target()), request_);
  told_.path = request_.path;
  if (!target) return error_response(target.error(), {.field = "path", .position = std::nullopt});
  // A short body is read before a thread is taken for it.
  streamed_body_ = (!length || *length > kPieceBytes) && engine_.handlers.streams_body &&
                   request_.header("content-encoding").empty() &&
                   engine_.handlers.streams_body(request_);
  if (header.method() == beast_http::verb::unknown ||
      header.method() == beast_http::verb::connect) {
    return error_response({Code::kUnsupported, "unknown request method"});
  }
  return engine_.handlers.gate ? engine_.handlers.gate(request_) : std::nullopt;
}

void Session::read_body() {
  body_parser_.emplace(std::move(*parser_));
  body_parser_->body_limit(engine_.options.body_limit);
  received_ = 0;
  waited_ = Nanos(0);
  request_.body_room = (over_unix() ? engine_.unix_bodies : engine_.bodies).room();
  ask_for_room();
}

// Pieces grow with the received bytes, so that a client that sends nothing costs nothing. Memory
// for a known length is set aside at once, but touched as the bytes arrive.
void Session::ask_for_room() {
  const std::size_t have = request_.body.size();
  const auto length = body_parser_->content_length();
  const auto most = static_cast<std::size_t>(length.value_or(engine_.options.body_limit));
  const std::size_t left = most > have ? most - have : 1;
  piece_bytes_ = std::min(std::clamp(have, kFirstPieceBytes, kPieceBytes), left);
  std::size_t bytes = have + piece_bytes_;
  capacity_ = bytes;
  if (have > 0 && length) capacity_ = most;
  if (!length) {
    if (bytes > request_.body.capacity()) capacity_ = std::max(bytes, std::min(2 * have, most));
    bytes = std::max({bytes, capacity_, std::min(request_.body.capacity(), most)});
  }
  const auto granted = [self = shared_from_this()] {
    asio::post(self->stream_.get_executor(), self->guarded([](Session& s) {
      if (!std::exchange(s.waits_for_room_, false)) return;
      s.room_timer_.cancel();
      s.read_piece();
    }));
  };
  if (request_.body_room->resize(bytes, granted)) return read_piece();
  waits_for_room_ = true;
  stream_.expires_never();
  room_timer_.expires_after(engine_.options.write_timeout);
  room_timer_.async_wait(guarded([](Session& s, BoostError error) {
    if (!std::exchange(s.waits_for_room_, false)) return;
    s.forget_body();
    if (!error) s.refuse_for_memory();
  }));
}

void Session::read_piece() {
  std::string& body = request_.body;
  const std::size_t have = body.size();
  body.reserve(capacity_);
  body.resize(have + piece_bytes_);
  receive(std::span(body).subspan(have), [](Session& s, BoostError error, std::size_t n) {
    s.request_.body.resize(s.request_.body.size() - (s.piece_bytes_ - n));
    if (error) return s.fail_parse(error);
    if (!s.body_parser_->is_done()) return s.ask_for_room();
    s.unread_ = false;
    s.dispatch();
  });
}

void Session::forget_body() {
  request_.body = {};
  request_.body_room.reset();
}

void Session::refuse_for_memory() {
  keep_alive_ = false;
  unread_ = true;
  Response response = engine_.error(
      request_,
      {Code::kUnavailable, "the server's memory for request bodies is in use: retry later"});
  response.set_header("Retry-After", "1");
  answer(std::move(response));
}

void Session::fail_parse(BoostError error) {
  forget_body();
  if (is_end(error)) return close();
  keep_alive_ = false;
  unread_ = true;
  if (error == beast_http::error::body_limit)
    return answer(engine_.error(request_, too_large(engine_.options.body_limit)));
  Response response = error_response(broken_body(error));
  if (error == beast_http::error::buffer_overflow) response.status = 431;
  answer(std::move(response));
}

void Session::refuse(Response response, std::uint64_t most_drained) {
  if (!unread_) return answer(std::move(response));
  const auto length = parser_->content_length();
  if (!length || *length > most_drained || !request_.header("expect").empty()) {
    keep_alive_ = false;
    return answer(std::move(response));
  }
  response_ = std::move(response);
  body_parser_.emplace(std::move(*parser_));
  body_parser_->body_limit(boost::none);
  set_deadline(static_cast<std::size_t>(*length));
  drain();
}

// The handler takes none: a short one is dropped, so that the request is answered all the same.
void Session::drop_body() {
  const auto length = parser_->content_length();
  if (!length || *length > kTinyDrainBytes) {
    const Error error{Code::kTooLarge, fmt::format("{} {} does not accept a request body",
                                                   method_name(request_.method), request_.path)};
    return refuse(engine_.error(request_, error), kTinyDrainBytes);
  }
  dropped_body_ = true;
  body_parser_.emplace(std::move(*parser_));
  set_deadline(0);
  drain();
}

void Session::drain() {
  auto& body = body_parser_->get().body();
  body.data = scratch_.data();
  body.size = scratch_.size();
  beast_http::async_read(stream_, buffer_, *body_parser_,
                         guarded([](Session& s, BoostError error, std::size_t) {
                           if (error && error != beast_http::error::need_buffer) return s.close();
                           if (!s.body_parser_->is_done()) return s.drain();
                           s.unread_ = false;
                           if (std::exchange(s.dropped_body_, false)) return s.dispatch();
                           s.answer(std::move(s.response_));
                         }));
}

void Session::dispatch() {
  if (io_.asks_alone(number_, told_.began) && is_quick()) {
    if (const auto there = engine_.handle_there())
      return take(io_.run([this] { return engine_.call(std::move(request_)); }));
  }
  run_on(engine_.handler_pool, [](Session& s) {
    asio::post(s.stream_.get_executor(),
               s.guarded([response = s.engine_.call(std::move(s.request_))](Session& t) mutable {
                 t.take(std::move(response));
               }));
  });
}

// A longer or packed body may have to wait for room.
bool Session::is_quick() const {
  return engine_.handlers.is_quick && request_.body.size() <= JsonBudget::kFreeBytes &&
         request_.header("content-encoding").empty() && engine_.handlers.is_quick(request_);
}

void Session::take(Response response) {
  if (!response.late) return answer(std::move(response));
  response_ = std::move(response);
  make_late();
}

void Session::make_late() {
  if (!stream_.socket().is_open()) return;
  LateQueue& queue = engine_.late_queue(response_);
  if (++queue.answers > kMostLateAnswers) {
    --queue.answers;
    Response busy = error_response({Code::kUnavailable, "too many slow questions wait: ask later"});
    busy.set_header("Retry-After", "5");
    busy.route = response_.route;
    return answer(std::move(busy));
  }
  state_ = State::kLate;
  watch_for_leaving();
  run_on(queue.pool, [](Session& s) {
    Response made = s.left_
                        ? error_response({Code::kUnavailable, "the client left before its turn"})
                        : Engine::make(s.response_.late, [&s] { return s.left_.load(); });
    --s.engine_.late_queue(s.response_).answers;
    asio::post(s.stream_.get_executor(), s.guarded([made = std::move(made)](Session& t) mutable {
      if (!t.stream_.socket().is_open()) return;
      t.state_ = State::kBusy;
      BoostError ignored;
      t.stream_.socket().cancel(ignored);
      t.room_timer_.cancel();
      made.route = t.response_.route;
      t.answer(std::move(made));
    }));
  });
}

// Nothing is read: the bytes of a next request stay where they are, and end the watch.
void Session::watch_for_leaving() {
  stream_.socket().async_wait(
      Channel::socket_type::wait_read, guarded([](Session& s, BoostError error) {
        if (error || s.state_ != State::kLate) return;
        char byte = 0;
        const ssize_t n =
            ::recv(s.stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        if (n > 0 && s.stream_.encrypted()) return s.look_for_end();
        if (n > 0) return;
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return s.watch_for_leaving();
        // It may have ended only what it sends, so it gets an answer: that it left.
        s.left_ = true;
        if (n < 0) s.close();
      }));
}

// The bytes may be TLS's word that the client leaves, with the end of the stream behind them.
void Session::look_for_end() {
  pollfd socket{stream_.socket().native_handle(), POLLRDHUP, 0};
  if (::poll(&socket, 1, 0) > 0) {
    left_ = true;
    return;
  }
  room_timer_.expires_after(kLeavingPause);
  room_timer_.async_wait(guarded([](Session& s, BoostError error) {
    if (!error && s.state_ == State::kLate) s.look_for_end();
  }));
}

// ---- writing

void Session::answer(Response response) {
  response_ = std::move(response);
  if (engine_.stopping) keep_alive_ = false;
  if (response_.events) keep_alive_ = false;
  response_.set_header("X-Request-Id", told_.id);
  if (entrance_.https_only && stream_.encrypted())
    response_.set_header("Strict-Transport-Security", "max-age=31536000");
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
  asio::async_write(stream_, buffers, guarded([](Session& s, BoostError error, std::size_t n) {
                      s.count_out(n);
                      s.on_written(error);
                    }));
}

void Session::on_written(BoostError error) {
  tell(!error && !left_);
  if (error) return close();
  next_or_close();
}

void Session::count_out(std::size_t bytes) {
  told_.bytes += bytes;
  engine_.traffic->bytes_out += bytes;
}

void Session::tell(bool whole) {
  if (!std::exchange(told_.open, false) || !engine_.handlers.done) return;
  Exchange exchange;
  exchange.id = told_.id;
  exchange.peer = over_unix() ? std::string_view("unix")
                  : is_proxy_ ? std::string_view(told_.peer)
                              : std::string_view(peer_);
  exchange.method = told_.method;
  exchange.path = told_.path;
  exchange.route = response_.route;
  exchange.status = response_.status;
  exchange.bytes = told_.bytes;
  exchange.took = std::chrono::steady_clock::now() - told_.began;
  exchange.whole = whole;
  if (response_.status >= 500) exchange.error = response_.bytes();
  engine_.handlers.done(exchange);
}

void Session::next_or_close() {
  if (keep_alive_) return read_header();
  stream_.encrypted() ? end_tls() : hang_up();
}

// Without a last word a client could not tell a whole answer from one that was cut off on the way.
void Session::end_tls() {
  stream_.expires_after(kLinger);
  // A read that waits without a deadline, as that of a push stream, goes on without one.
  room_timer_.expires_after(kLinger);
  room_timer_.async_wait(guarded([](Session& s, BoostError cancelled) {
    if (!cancelled) s.close();
  }));
  stream_.end_encryption(guarded([](Session& s, BoostError) {
    s.room_timer_.cancel();
    s.hang_up();
  }));
}

void Session::hang_up() {
  if (unread_) {
    BoostError ignored;
    stream_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
    stream_.expires_after(kLinger);
    return linger();
  }
  close();
}

void Session::linger() {
  stream_.plain().async_read_some(asio::buffer(scratch_),
                                  guarded([](Session& s, BoostError error, std::size_t) {
                                    if (error) return s.close();
                                    s.linger();
                                  }));
}

void Session::close() {
  if (state_ == State::kLate) tell(false);
  left_ = true;
  BoostError ignored;
  stream_.socket().shutdown(asio::socket_base::shutdown_both, ignored);
  stream_.close();
  room_timer_.cancel();
}

// ---- push streams

void Session::start_push() {
  state_ = State::kPushing;
  // A writer of the stream never holds the session, whose end belongs to the server's own threads.
  response_.events->attach([weak = weak_from_this(), executor = stream_.get_executor()] {
    asio::post(executor, [weak] {
      if (const std::shared_ptr<Session> self = weak.lock())
        self->guarded([](Session& s) { s.pump(); })();
    });
  });
  stream_.expires_never();
  watch_for_hangup();
  if (engine_.stopping) response_.events->close();
  tell(true);
  pushed_ = std::move(head_);
  pump();
}

void Session::watch_for_hangup() {
  stream_.async_read_some(asio::buffer(scratch_),
                          guarded([](Session& s, BoostError error, std::size_t) {
                            if (!error) return s.watch_for_hangup();
                            s.response_.events->close();
                            s.close();
                          }));
}

void Session::pump() {
  if (writing_ || state_ != State::kPushing) return;
  if (response_.events->overflowed()) return close();
  if (pushed_.empty()) pushed_ = response_.events->drain();
  if (pushed_.empty()) {
    if (!response_.events->closed()) return;
    state_ = State::kBusy;
    return stream_.encrypted() ? end_tls() : close();
  }
  writing_ = true;
  set_deadline(pushed_.size());
  asio::async_write(stream_, asio::buffer(pushed_),
                    guarded([](Session& s, BoostError error, std::size_t n) {
                      s.count_out(n);
                      s.writing_ = false;
                      s.pushed_.clear();
                      if (!error) return s.pump();
                      s.response_.events->close();
                      s.close();
                    }));
}

void Session::start_stream() {
  chunked_ = !http_1_0_ && !response_.stream_length;
  if (http_1_0_ && !response_.stream_length) keep_alive_ = false;
  const Framing framing = response_.stream_length ? Framing::kLength
                          : chunked_              ? Framing::kChunked
                                                  : Framing::kUntilClose;
  head_ = response_head(response_, framing, keep_alive_);
  if (head_only_) return write_bytes();
  streamed_ = 0;
  all_made_ = false;
  next_part();
}

void Session::next_part() {
  run_on(engine_.stream_pool, [](Session& s) { s.make_part(); });
}

void Session::make_part() {
  part_.clear();
  Result<> done;
  const bool made = sys::guard_call("a streamed answer",
                                    [&] { done = spilled_ > 0 ? read_spilled() : produce(); });
  streamed_ += part_.size();
  const bool last = all_made_ && spilled_ == 0;
  const std::uint64_t length = response_.stream_length.value_or(streamed_);
  const bool broken = !made || !done || streamed_ > length || (last && streamed_ != length);
  asio::post(stream_.get_executor(), guarded([last, broken](Session& s) {
               if (!broken) return s.send_part(last);
               s.tell(false);
               s.close();
             }));
}

Result<> Session::produce() {
  while (part_.empty() && !all_made_) all_made_ = !TRY(response_.stream(part_));
  // Without a file it waits in memory.
  if (part_.size() > kMostPartBytes) static_cast<void>(spill());
  return {};
}

// The file has no name and goes with its descriptor.
Result<> Session::spill() {
  if (!spill_) {
    const std::string& directory = engine_.options.spill_directory;
    spill_ = sys::Fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!spill_) return fail_errno(directory, errno);
  }
  if (::lseek(spill_.get(), 0, SEEK_SET) < 0) return fail_errno("a streamed answer", errno);
  TRY(sys::write_all(spill_.get(), std::span(part_).subspan(kPieceBytes)));
  spill_at_ = 0;
  spilled_ = part_.size() - kPieceBytes;
  part_ = part_.substr(0, kPieceBytes);
  return {};
}

Result<> Session::read_spilled() {
  part_.resize(std::min<std::uint64_t>(spilled_, kPieceBytes));
  const ssize_t n = ::pread(spill_.get(), part_.data(), part_.size(), spill_at_);
  if (n <= 0) return fail(Code::kIo, "cannot read the rest of a response");
  part_.resize(static_cast<std::size_t>(n));
  spill_at_ += n;
  spilled_ -= static_cast<std::size_t>(n);
  // Room on the disk is given back when nothing is left.
  if (spilled_ == 0) spill_.reset();
  return {};
}

void Session::send_part(bool last) {
  if (chunked_ && !part_.empty()) head_ += fmt::format("{:x}\r\n", part_.size());
  const std::string_view end = !chunked_       ? ""
                               : part_.empty() ? "0\r\n\r\n"
                               : last          ? "\r\n0\r\n\r\n"
                                               : "\r\n";
  set_deadline(part_.size());
  const std::array<asio::const_buffer, 3> buffers{asio::buffer(head_), asio::buffer(part_),
                                                  asio::buffer(end)};
  asio::async_write(stream_, buffers, guarded([last](Session& s, BoostError error, std::size_t n) {
                      s.count_out(n);
                      s.head_.clear();
                      if (!error && !last) return s.next_part();
                      s.part_ = {};
                      s.on_written(error);
                    }));
}

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
