#include "http/server.h"

#include <fmt/core.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <list>
#include <memory>
#include <random>
#include <thread>

#include "core/text.h"
#include "http/gzip.h"
#include "http/session.h"

namespace corral::http {

// ---- Engine

namespace {

// Unpacks a compressed body; returns the fault of one that cannot be unpacked.
Result<> unpack(Request& request, std::size_t limit) {
  const std::string_view encoding = request.header("content-encoding");
  if (!equal_ignoring_case(encoding, "gzip") && !equal_ignoring_case(encoding, "x-gzip")) {
    if (encoding.empty() || equal_ignoring_case(encoding, "identity")) return {};
    return fail(Code::kUnsupported, "Content-Encoding: only gzip is accepted");
  }
  if (request.streamed)
    return fail(Code::kUnsupported, "a file must be sent without Content-Encoding");
  const std::size_t compressed = request.body.size();
  request.body = TRY(gunzip(request.body, limit, [&](std::size_t bytes) {
    return !request.body_room || request.body_room->resize(compressed + bytes);
  }));
  if (request.body_room) request.body_room->resize(request.body.capacity());
  std::erase_if(request.headers, [](const auto& h) { return h.first == "content-encoding"; });
  return {};
}

// An exception of `work` is a 500.
template <class Work>
Response answered(Work work) {
  try {
    return work();
  } catch (const std::exception& e) {
    sys::note_thread_failure("a request", e.what());
    return error_response({Code::kInternal, std::string("the request failed: ") + e.what()});
  } catch (...) {
    sys::note_thread_failure("a request", "unknown exception");
    return error_response({Code::kInternal, "the request failed"});
  }
}

}  // namespace

Engine::Engine(HttpOptions o, HttpHandlers h)
    : options(std::move(o)),
      handlers(std::move(h)),
      traffic(handlers.traffic ? handlers.traffic : std::make_shared<Traffic>()),
      bodies(options.body_memory, options.body_limit, traffic),
      unix_bodies(options.body_memory, options.body_limit, traffic),
      documents(options.json_memory),
      door(1),
      handler_pool(options.handler_threads),
      stream_pool(options.stream_threads),
      upload_pool(options.upload_threads) {
  for (int i = 0; i < options.io_threads; ++i) io.push_back(std::make_unique<IoThread>());
  std::random_device random;
  next_id_ = (std::uint64_t{random()} << 32) | random();
}

Result<JsonBudget::Room> Engine::prepare(Request& request) {
  if (!handlers.unpacks || !handlers.unpacks(request)) TRY(unpack(request, options.body_limit));
  if (handlers.reads_json && !handlers.reads_json(request)) return JsonBudget::Room();
  return documents.acquire(request.body, options.write_timeout);
}

Response Engine::handle(Request request) {
  const Result<JsonBudget::Room> room = prepare(request);
  if (room) return handlers.handle(std::move(request));
  Response response = error(request, room.error());
  if (room.error().code == Code::kUnsupported) response.status = 415;
  if (room.error().code == Code::kUnavailable) response.set_header("Retry-After", "1");
  return response;
}

Response Engine::call(Request request) {
  return answered([&] { return handle(std::move(request)); });
}

Response Engine::end(BodyTaker& taker, const Result<>& taken) {
  return answered([&] { return taker.end(taken); });
}

Response Engine::make(const LateAnswer& late, const std::function<bool()>& left) {
  return answered([&] { return late(left); });
}

Response Engine::error(const Request& request, const Error& error) const {
  return handlers.error ? handlers.error(request, error) : error_response(error);
}

// In turns, and past those that are busy.
IoThread& Engine::next_io() {
  for (std::size_t i = 1; i < io.size(); ++i) {
    IoThread& one = *io[next_io_++ % io.size()];
    if (!one.busy()) return one;
  }
  return *io[next_io_++ % io.size()];
}

Engine::HandledThere Engine::handle_there() {
  const std::size_t most = std::max<std::size_t>(1, io.size() - 1);
  const auto end = [](std::atomic<std::size_t>* count) { --*count; };
  if (++handled_there_ <= most) return {&handled_there_, end};
  --handled_there_;
  return {nullptr, end};
}

std::string Engine::next_id() { return fmt::format("{:016x}", next_id_++); }

bool Engine::add(const std::shared_ptr<Session>& session) {
  const Lock lock(mutex_);
  traffic->accepted += 1;
  const std::string& peer = session->peer();
  const bool tcp = !session->over_unix();
  const std::size_t others = tcp ? tcp_ : sessions_.size() - tcp_;
  const auto same = peers_.find(peer);
  const bool counts = tcp && !session->is_proxy() && same != peers_.end();
  const std::size_t of_peer = counts ? same->second : 0;
  if (stopping || others >= options.max_connections ||
      of_peer >= options.max_connections_per_peer) {
    traffic->turned_away += 1;
    return false;
  }
  if (tcp) {
    tcp_ += 1;
    peers_[peer] += 1;
  }
  traffic->open += 1;
  sessions_.emplace(session.get(), session);
  return true;
}

void Engine::remove(const Session* session) {
  const Lock lock(mutex_);
  if (sessions_.erase(session) == 0) return;
  traffic->open -= 1;
  if (!session->over_unix()) {
    tcp_ -= 1;
    const auto peer = peers_.find(session->peer());
    if (--peer->second == 0) peers_.erase(peer);
  }
  if (sessions_.empty()) empty_.notify_all();
}

std::vector<std::shared_ptr<Session>> Engine::live() {
  const Lock lock(mutex_);
  std::vector<std::shared_ptr<Session>> sessions;
  for (const auto& [key, weak] : sessions_) {
    if (std::shared_ptr<Session> session = weak.lock()) sessions.push_back(std::move(session));
  }
  return sessions;
}

bool Engine::wait_until_empty(Nanos limit) {
  Lock lock(mutex_);
  return empty_.wait_for(lock.native(), limit,
                         [this]() REQUIRES(mutex_) { return sessions_.empty(); });
}

// ---- accepting

namespace {

using Acceptor = asio::basic_socket_acceptor<Protocol, asio::any_io_executor>;
// After EMFILE and the like: long enough for connections to end, short enough to go unnoticed.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

// Accepts on one socket until closed; all on the thread of Engine::door.
class Doorman {
 public:
  Doorman(Engine& engine, Listener listener)
      : engine_(engine),
        executor_(engine.door.context().get_executor()),
        acceptor_(executor_),
        pause_(executor_),
        entrance_{.is_unix = listener.is_unix,
                  .tls = std::move(listener.tls),
                  .https_port = listener.https_port,
                  .https_only = listener.https_only} {
    const int family = entrance_.is_unix ? AF_UNIX : AF_INET;
    acceptor_.assign(Protocol(family, 0), listener.socket.release());
    acceptor_.non_blocking(true);
    // Else accept() waits for another connection when one was given up meanwhile.
    acceptor_.set_option(asio::socket_base::enable_connection_aborted(true));
  }

  // Without memory for the next wait it tries again: a server that accepts no more is dead.
  void accept() {
    const auto wait = [this] {
      acceptor_.async_wait(Acceptor::wait_read, [this](BoostError error) { on_ready(error); });
    };
    while (!sys::guard_call("accepting connections", wait))
      std::this_thread::sleep_for(kAcceptPause);
  }
  void close() {
    asio::post(executor_, [this] {
      BoostError ignored;
      acceptor_.close(ignored);
      pause_.cancel();
    });
  }

 private:
  void on_ready(BoostError error) {
    if (engine_.stopping || error == asio::error::operation_aborted) return;
    bool pauses = false;
    const auto take = [&] {
      IoThread& io = engine_.next_io();
      Protocol::socket socket(io.pool().context());
      if (!error) acceptor_.accept(socket, error);
      pauses =
          error && error != asio::error::would_block && error != asio::error::connection_aborted;
      if (error) return;
      auto session = std::make_shared<Session>(std::move(socket), engine_, io, entrance_);
      if (engine_.add(session)) session->start();
    };
    const auto pause = [&] {
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](BoostError cancelled) {
        if (!cancelled) accept();
      });
    };
    sys::guard_call("accepting a connection", take);
    if (pauses && sys::guard_call("accepting connections", pause)) return;
    accept();
  }

  Engine& engine_;
  asio::any_io_executor executor_;
  Acceptor acceptor_;
  asio::steady_timer pause_;
  const Session::Entrance entrance_;
};

}  // namespace

// ---- HttpServer

struct HttpServer::Impl {
  Impl(HttpOptions options, HttpHandlers handlers)
      : engine(std::move(options), std::move(handlers)) {}

  Result<> start(std::vector<Listener> listeners);

  Engine engine;
  std::list<Doorman> doormen;
  bool stopped = false;
};

// No connection is accepted before all threads run. After a failure the destructor ends those that
// are.
Result<> HttpServer::Impl::start(std::vector<Listener> listeners) {
  TRY(engine.handler_pool.start("the handlers of HTTP"));
  TRY(engine.stream_pool.start("the answers of HTTP"));
  TRY(engine.upload_pool.start("the uploads of HTTP"));
  TRY(engine.late_answers.pool.start("the slow answers of HTTP"));
  TRY(engine.late_pictures.pool.start("the pictures of HTTP"));
  TRY(engine.late_elsewhere.pool.start("the questions of HTTP"));
  for (const auto& io : engine.io) TRY(io->pool().start("the I/O of HTTP"));
  TRY(engine.door.start("accepting connections"));
  for (Listener& listener : listeners) doormen.emplace_back(engine, std::move(listener)).accept();
  return {};
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(std::vector<Listener> listeners,
                                                      HttpOptions options, HttpHandlers handlers) {
  if (options.body_memory < options.body_limit) {
    return fail(Code::kInvalidArgument,
                fmt::format("memory for request bodies must hold one whole body, {} bytes",
                            options.body_limit));
  }
  try {
    std::unique_ptr<HttpServer> server(
        new HttpServer(std::make_unique<Impl>(std::move(options), std::move(handlers))));
    TRY(server->impl_->start(std::move(listeners)));
    return server;
  } catch (const std::exception& e) {
    return fail(Code::kIo, std::string("cannot start the HTTP server: ") + e.what());
  }
}

HttpServer::~HttpServer() {
  try {
    stop(Nanos(0));
  } catch (const std::exception&) {
    std::abort();  // a thread that cannot be joined would use members that are destroyed here
  }
}

void HttpServer::stop(Nanos grace) {
  if (std::exchange(impl_->stopped, true)) return;
  Engine& engine = impl_->engine;
  engine.stopping = true;
  for (Doorman& doorman : impl_->doormen) doorman.close();
  for (const auto& session : engine.live()) session->finish_soon();
  if (!engine.wait_until_empty(grace)) {
    for (const auto& session : engine.live()) session->cut_off();
  }
  engine.handler_pool.join();
  engine.upload_pool.join();
  engine.stream_pool.join();
  engine.late_answers.pool.join();
  engine.late_pictures.pool.join();
  engine.late_elsewhere.pool.join();
  engine.door.join();
  for (const auto& io : engine.io) io->pool().join();
}

}  // namespace corral::http
