// Session: one connection. Internal to this folder; includes Boost.
//
// All functions run on the connection's own I/O thread unless a comment names another. A session
// keeps itself alive through its pending operations.
//   [TLS's handshake ->] header -> gate -> body -> handler pool [-> slow pool] -> answer (bytes |
//   chunked stream | push stream) -> header ...
// No body is kept before the gate has accepted its head. If a refused request has a short body, the
// body is drained and the connection stays open. Otherwise the answer is sent, further input is
// read and dropped for a moment (so that a reset does not destroy the answer), and the connection
// closes.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
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
#include "http/channel.h"
#include "http/head.h"
#include "http/io_thread.h"
#include "http/json_budget.h"
#include "http/pool.h"
#include "http/server.h"
#include "sys/thread_guard.h"

namespace corral::http {

// The size of a connection's buffer. It must hold a complete head, or the chunk extensions or
// trailers of a body, which the parser needs in one piece. Beast throws at a field of 64 KiB or
// more, so no field can be longer.
inline constexpr std::size_t kBufferBytes = 64u << 10;
static_assert(kBufferBytes > kHeadBytes + (4u << 10));

class Session;

// Late answers that wait for each other.
struct LateQueue {
  explicit LateQueue(int threads) : pool(threads, Pool::Priority::kLow) {}
  std::atomic<int> answers{0};  // that wait or are made
  Pool pool;
};

// State that all sessions share; outlives them.
struct Engine {
  Engine(HttpOptions o, HttpHandlers h);

  // Runs on a pool thread; never throws.
  Response call(Request request);
  static Response end(BodyTaker& taker, const Result<>& taken);
  static Response make(const LateAnswer& late, const std::function<bool()>& left);
  [[nodiscard]] Response error(const Request& request, const Error& error) const;
  // Returns an id that is unique in this server and very likely differs from those of earlier ones.
  std::string next_id();
  // Returns false when the server or the peer's share is full, or the server is stopping.
  bool add(const std::shared_ptr<Session>& session);
  void remove(const Session* session);
  std::vector<std::shared_ptr<Session>> live();
  // Returns true when the last session has ended within `limit`.
  bool wait_until_empty(Nanos limit);

  // Constant after construction.
  HttpOptions options;
  HttpHandlers handlers;
  std::shared_ptr<Traffic> traffic;

  // Safe from any thread.
  BodyBudget bodies;       // bodies of clients over TCP
  BodyBudget unix_bodies;  // bodies of this user's own clients, which TCP clients cannot hold up
  JsonBudget documents;
  std::atomic<bool> stopping{false};

 private:
  // Unpacks the body and returns the room that parsing it needs.
  Result<JsonBudget::Room> prepare(Request& request);
  Response handle(Request request);

  // A joined pool keeps work that is posted to it later, with the sessions in it, and destroys it
  // with itself. Members that the sessions' destructors use are therefore declared above the pools.
  Mutex mutex_;
  std::condition_variable empty_;
  // Guarded by mutex_.
  std::map<const Session*, std::weak_ptr<Session>> sessions_ GUARDED_BY(mutex_);
  // The number of connections of each peer over TCP, by IP address.
  std::map<std::string, std::size_t, std::less<>> peers_ GUARDED_BY(mutex_);
  std::size_t tcp_ GUARDED_BY(mutex_) = 0;

  std::atomic<std::uint64_t> next_id_;
  std::atomic<std::size_t> next_io_{0};
  std::atomic<std::size_t> handled_there_{0};

 public:
  Pool door;  // accepts connections, whatever the I/O threads do
  std::vector<std::unique_ptr<IoThread>> io;
  // For a new connection; any thread.
  IoThread& next_io();
  // Held while a request is handled on an I/O thread. Null: as many are as may be at once. One of
  // several threads stays free for the connections of the others.
  using HandledThere =
      std::unique_ptr<std::atomic<std::size_t>, void (*)(std::atomic<std::size_t>*)>;
  HandledThere handle_there();
  Pool handler_pool;
  Pool stream_pool;
  Pool upload_pool;
  LateQueue late_answers{1};
  LateQueue late_pictures{1};
  LateQueue late_elsewhere{2};
  LateQueue& late_queue(const Response& response) {
    switch (response.late_kind) {
      case Response::Late::kPicture:
        return late_pictures;
      case Response::Late::kElsewhere:
        return late_elsewhere;
      case Response::Late::kComputed:
        break;
    }
    return late_answers;
  }
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  // The same for all connections of a listener.
  struct Entrance {
    bool is_unix = false;
    std::shared_ptr<const Tls> tls{};
    std::uint16_t https_port = 0;  // Listener::https_port
    bool https_only = false;
  };
  // The socket belongs to the thread's context.
  Session(Channel::socket_type socket, Engine& engine, IoThread& io, Entrance entrance);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] bool over_unix() const { return entrance_.is_unix; }
  [[nodiscard]] const std::string& peer() const { return peer_; }  // an IP address, else empty
  [[nodiscard]] bool is_proxy() const { return is_proxy_; }

  // Any thread.
  void start();
  // Ends idle connections and push streams at once, others after their answer.
  void finish_soon();
  void cut_off();

 private:
  using Parser = beast::http::request_parser<beast::http::empty_body>;
  using BodyParser = beast::http::request_parser<beast::http::buffer_body>;
  enum class State { kIdle, kBusy, kLate, kPushing };

  // Beast completes some operations with an int 0 for the number of bytes.
  template <class T>
  static auto counted(T&& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<T>, int>) {
      return static_cast<std::size_t>(value);
    } else {
      return std::forward<T>(value);
    }
  }
  // Makes a handler for the I/O thread that keeps the session alive. An exception of `work` ends
  // this connection only.
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

  void meet();
  void encrypt();
  void send_to_https();
  void read_header();
  void read_head();
  void on_head(std::size_t length);
  void on_header();
  void note_sender();
  void refuse_head(const HeadFault& fault);
  std::optional<Response> examine();
  void read_body();
  void ask_for_room();
  void read_piece();
  void forget_body();
  void refuse_for_memory();
  void dispatch();
  [[nodiscard]] bool is_quick() const;
  void take(Response response);
  void make_late();
  void watch_for_leaving();
  void look_for_end();
  void start_upload();
  // Called with an error, or with the number of received bytes; 0 ends the body.
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
  void end_tls();
  void hang_up();
  void linger();
  void close();

  void start_stream();
  void next_part();
  // Runs on the stream pool while the I/O thread can only end the session.
  void make_part();
  Result<> produce();
  Result<> spill();
  Result<> read_spilled();
  void send_part(bool last);

  void start_push();
  void watch_for_hangup();
  void pump();

  void set_deadline(std::size_t bytes);

  // Only the I/O thread. Declared first because the constants below are read from it.
  Channel stream_;

  // Constant after construction.
  Engine& engine_;
  IoThread& io_;
  const Entrance entrance_;
  const std::string peer_;
  const bool is_proxy_;
  const std::uint16_t peer_port_;
  const std::uint64_t number_;  // numbers the connections of this process

  // Only the I/O thread, or a pool's thread while that waits for it.
  State state_ = State::kIdle;
  beast::flat_buffer buffer_{kBufferBytes};
  std::optional<Parser> parser_;
  std::optional<BodyParser> body_parser_;
  bool streamed_body_ = false;
  bool dropped_body_ = false;    // the request is handled without its body
  std::uint64_t received_ = 0;   // bytes of the body
  Nanos waited_{};               // time spent waiting for the body
  std::size_t piece_bytes_ = 0;  // size of the next read of a body in memory
  std::size_t capacity_ = 0;     // capacity that the body needs for it
  bool waits_for_room_ = false;
  asio::steady_timer room_timer_;  // also of look_for_end() and end_tls()
  std::size_t head_seen_ = 0;      // received bytes of the head
  std::array<char, 4096> scratch_{};
  Request request_;
  Response response_;
  // Facts about the request that is being answered, because a handler takes the request itself.
  struct Told {
    std::string id;
    std::string path;
    std::string peer;  // the client of a proxy
    Method method = Method::kOther;
    std::chrono::steady_clock::time_point began{};
    std::uint64_t bytes = 0;  // sent bytes of the answer's body
    bool open = false;        // not yet reported to the observer
  } told_;
  std::string head_;
  std::string piece_;           // a piece of a streamed body
  std::string part_;            // a part of a streamed answer
  std::uint64_t streamed_ = 0;  // bytes of all parts so far
  bool all_made_ = false;       // the producer has nothing more
  sys::Fd spill_;               // a file with the rest of a long part
  off_t spill_at_ = 0;
  std::uint64_t spilled_ = 0;  // bytes left in the file
  std::string pushed_;
  bool head_only_ = false;
  bool http_1_0_ = false;
  bool chunked_ = false;  // the streamed answer is chunked
  bool keep_alive_ = false;
  bool unread_ = false;            // the client may still be sending, so linger before closing
  bool writing_ = false;           // a push is being written
  std::atomic<bool> left_{false};  // nobody waits for the late answer
};

}  // namespace corral::http
