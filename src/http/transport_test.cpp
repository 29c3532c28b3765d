#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <latch>
#include <thread>

#include "core/guarded.h"
#include "core/ids.h"
#include "http/server.h"
#include "http/test_client.h"
#include "sys/thread_guard.h"

namespace corral::http {
namespace {

// Tells of its end.
class CountsItsEnd {
 public:
  explicit CountsItsEnd(std::latch& ended) : ended_(ended) {}
  CountsItsEnd(const CountsItsEnd&) = delete;
  CountsItsEnd& operator=(const CountsItsEnd&) = delete;
  ~CountsItsEnd() { ended_.count_down(); }

 private:
  std::latch& ended_;
};

class Transport : public ::testing::Test {
 protected:
  void start(HttpOptions options = {}) {
    std::vector<Listener> listeners;
    auto tcp = sys::listen_tcp({"127.0.0.1", 0});
    ASSERT_TRUE(tcp);
    port_ = *sys::bound_port(*tcp);
    listeners.push_back({std::move(*tcp), false});
    HttpHandlers handlers{gate_, handle_, {}, done_, traffic_};
    handlers.is_quick = is_quick_;
    auto server = HttpServer::start(std::move(listeners), std::move(options), std::move(handlers));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  // Every request is answered with this stream.
  std::shared_ptr<PushStream> start_pushing() {
    auto events = std::make_shared<PushStream>();
    handle_ = [events](const Request&) {
      Response response = text_response("");
      response.events = events;
      return response;
    };
    start();
    return events;
  }

  std::function<std::optional<Response>(const Request&)> gate_;
  std::function<Response(Request)> handle_ = [](const Request& request) {
    return text_response(std::string(method_name(request.method)) + " " + request.path + " " +
                         std::to_string(request.body.size()));
  };
  std::function<bool(const Request&)> is_quick_;
  std::function<void(const Exchange&)> done_;
  std::shared_ptr<Traffic> traffic_;
  std::uint16_t port_ = 0;
  std::unique_ptr<HttpServer> server_;
};

// For any number of threads that the user may still have, a start fails or the server serves and
// ends; it never hangs.
TEST(TransportThreads, AStartWithoutThreadsFailsAndLeavesNothingBehind) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can act as a user without processes";
  // Another test that runs now has threads of a user of its own.
  const uid_t kUser = 100'000 + static_cast<uid_t>(::getpid());
#ifdef __SANITIZE_THREAD__
  constexpr int kSanitizers = 1;  // a thread of its own
#else
  constexpr int kSanitizers = 0;
#endif
  constexpr int kThreads = kSanitizers + 1 + 1 + 3 + 2 + 2 + 4;  // the last four for late answers
  for (int allowed = 1; allowed <= kThreads + 2; ++allowed) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(120);
      const rlimit limit{static_cast<rlim_t>(allowed), static_cast<rlim_t>(allowed)};
      if (::setrlimit(RLIMIT_NPROC, &limit) != 0 || ::setresuid(kUser, kUser, kUser) != 0)
        ::_exit(100);
      std::vector<Listener> listeners;
      auto tcp = sys::listen_tcp({"127.0.0.1", 0});
      if (!tcp) ::_exit(101);
      listeners.push_back({std::move(*tcp), false});
      auto server = HttpServer::start(
          std::move(listeners),
          {.io_threads = 1, .handler_threads = 3, .stream_threads = 2, .upload_threads = 2}, {});
      if (!server) ::_exit(server.error().code == Code::kUnavailable ? 1 : 102);
      (*server)->stop(Nanos(0));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << allowed << ": signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), allowed > kThreads ? 0 : 1) << allowed;
  }
}

// Each on a server of its own: what was asked there before decides, too.
TEST_F(Transport, OnlyAQuickRequestThatComesAloneIsHandledWhereItWasRead) {
  std::thread::id reads;
  gate_ = [&](const Request&) -> std::optional<Response> {
    reads = std::this_thread::get_id();
    return std::nullopt;
  };
  handle_ = [&](const Request&) {
    return text_response(std::this_thread::get_id() == reads ? "there" : "elsewhere");
  };
  is_quick_ = [](const Request& request) { return request.path == "/quick"; };
  const auto asked = [&](TestClient& client, std::string_view path, std::size_t bytes) {
    client.send("POST " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'x'));
    const auto reply = client.reply();
    return reply ? reply->body : "nothing";
  };
  const auto asked_first = [&](std::string_view path, std::size_t bytes) {
    start({.io_threads = 1});
    TestClient client(port_);
    return asked(client, path, bytes);
  };
  EXPECT_EQ(asked_first("/quick", 1), "there");
  EXPECT_EQ(asked_first("/other", 1), "elsewhere");
  EXPECT_EQ(asked_first("/quick", 16 << 10), "there");
  EXPECT_EQ(asked_first("/quick", (16 << 10) + 1), "elsewhere") << "it may wait for room";
  start({.io_threads = 1});
  TestClient one(port_), two(port_);
  EXPECT_EQ(asked(one, "/quick", 1), "there");
  EXPECT_EQ(asked(two, "/quick", 1), "elsewhere") << "another asked just now";
}

// Both would wait where they were read, and nobody would be accepted or answered any more.
TEST_F(Transport, BesideQuickRequestsThatWaitOneIoThreadIsFree) {
  std::latch wait(2), leave(1);
  handle_ = [&](const Request& request) {
    if (request.path == "/waits") {
      wait.count_down();
      leave.wait();
    }
    return text_response(request.path);
  };
  is_quick_ = [](const Request&) { return true; };
  start({.io_threads = 2, .handler_threads = 2});
  TestClient one(port_), two(port_);
  for (TestClient* client : {&one, &two}) client->send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
  wait.wait();
  TestClient other(port_);
  const auto reply = other.get("/other");
  leave.count_down();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "/other");
  for (TestClient* client : {&one, &two}) EXPECT_EQ(client->reply()->body, "/waits");
}

TEST_F(Transport, AnswersSeveralRequestsOnOneConnection) {
  start();
  TestClient client(port_);
  EXPECT_EQ(client.get("/a")->body, "GET /a 0");
  EXPECT_EQ(client.get("/b")->body, "GET /b 0");
}

TEST_F(Transport, PipelinedRequestsAreAnsweredInOrder) {
  start();
  TestClient client(port_);
  client.send(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: "
      "3\r\n\r\nabcGET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.reply()->body, "GET /1 0");
  EXPECT_EQ(client.reply()->body, "POST /2 3");
  EXPECT_EQ(client.reply()->body, "GET /3 0");
}

TEST_F(Transport, HeadHasTheLengthAndNoBody) {
  start();
  TestClient client(port_);
  client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.reply(true)->head.find("Content-Length: 9"), std::string::npos);
  EXPECT_EQ(client.get("/b")->body, "GET /b 0");
}

TEST_F(Transport, MalformedHttpIsAnsweredAndTheConnectionClosed) {
  start();
  for (const char* bytes :
       {"nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nbad header\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
    TestClient client(port_);
    client.send(bytes);
    const auto reply = client.reply();
    ASSERT_TRUE(reply) << bytes;
    EXPECT_EQ(reply->status, 400) << bytes;
    EXPECT_NE(reply->body.find(R"("code":"invalid_argument")"), std::string::npos) << reply->body;
    client.shutdown_send();
    EXPECT_TRUE(client.ends()) << bytes;
  }
}

TEST_F(Transport, ALongHeaderIsRefused) {
  start();
  TestClient client(port_);
  client.send("GET / HTTP/1.1\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(client.reply()->status, 431);
}

TEST_F(Transport, ABodyOverTheLimitIsRefusedAndTheConnectionLivesOn) {
  start({.body_limit = 1000});
  TestClient client(port_);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" +
              std::string(100'000, 'x'));
  EXPECT_EQ(client.reply()->status, 413);
  EXPECT_EQ(client.get("/b")->body, "GET /b 0");
}

TEST_F(Transport, AnEndlessBodyGetsItsAnswerBeforeTheConnectionCloses) {
  start({.body_limit = 1000});
  TestClient client(port_);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n" +
              std::string(0x800, 'x') + "\r\n");
  EXPECT_EQ(client.reply()->status, 413);
  client.shutdown_send();
  EXPECT_TRUE(client.ends());
}

TEST_F(Transport, AskingBeforeSendingIsAnswered) {
  start();
  TestClient client(port_);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.reply()->status, 100);
  client.send("abc");
  EXPECT_EQ(client.reply()->body, "POST / 3");
}

TEST_F(Transport, TheGateRefusesBeforeTheBodyIsHandled) {
  std::atomic<int> handled = 0;
  gate_ = [](const Request& request) -> std::optional<Response> {
    if (request.header("x-bad").empty()) return std::nullopt;
    return error_response({Code::kPermission, "no"});
  };
  handle_ = [&](const Request&) {
    ++handled;
    return text_response("ok");
  };
  start();
  TestClient client(port_);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nX-Bad: 1\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(client.reply()->status, 403);
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(client.get("/")->body, "ok");
}

TEST_F(Transport, AThrowingHandlerIsA500AndTheConnectionLivesOn) {
  handle_ = [](const Request& request) -> Response {
    if (request.path == "/throw") throw std::runtime_error("broken");
    return text_response("ok");
  };
  start();
  TestClient client(port_);
  const auto reply = client.get("/throw");
  EXPECT_EQ(reply->status, 500);
  EXPECT_NE(reply->body.find("broken"), std::string::npos);
  EXPECT_EQ(client.get("/")->body, "ok");
}

TEST_F(Transport, ASilentClientLosesItsConnection) {
  start({.idle_timeout = std::chrono::milliseconds(100)});
  TestClient client(port_);
  EXPECT_TRUE(client.ends());
}

TEST_F(Transport, StreamedAnswersAreChunkedAndTheConnectionLivesOn) {
  handle_ = [](const Request&) {
    Response response = text_response("");
    response.stream = [i = 0](std::string& part) mutable -> Result<bool> {
      part += std::string(50'000, static_cast<char>('a' + i));
      return ++i < 3;
    };
    return response;
  };
  start();
  TestClient client(port_);
  client.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_until("\r\n0\r\n\r\n"));
  EXPECT_NE(client.seen().find("Transfer-Encoding: chunked"), std::string::npos);
  const auto body_at = client.seen().find("\r\n\r\n");
  EXPECT_GE(std::ranges::count(client.seen().substr(body_at), 'c'), 50'000);
  EXPECT_TRUE(client.send("GET /y HTTP/1.1\r\nHost: x\r\n\r\n"));
}

TEST_F(Transport, AFailedStreamEndsWithoutItsLastChunk) {
  handle_ = [](const Request&) {
    Response response = text_response("");
    response.stream = [calls = 0](std::string& part) mutable -> Result<bool> {
      if (++calls > 1) return fail(Code::kIo, "disk");
      part = "some";
      return true;
    };
    return response;
  };
  start();
  TestClient client(port_);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(client.seen().find("\r\n0\r\n\r\n"), std::string::npos);
}

TEST_F(Transport, AProducerGoesWithItsClient) {
  std::latch ended(1);
  handle_ = [&](const Request&) {
    Response response = text_response("");
    response.stream = [told = std::make_shared<CountsItsEnd>(ended)](std::string& part) {
      part = std::string(1 << 20, 'x');
      return Result<bool>(true);
    };
    return response;
  };
  start();
  {
    TestClient client(port_);
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(client.read_until("xxx"));
  }
  ended.wait();
}

// The thread that makes parts is never one that waits for a client.
TEST_F(Transport, SlowReadersHoldNoThread) {
  constexpr int kSlow = 200;
  constexpr std::size_t kPart = 64u << 10;
  constexpr std::size_t kParts = 200;  // more than the sockets' buffers take
  // Connections outlive the test's own variables.
  const auto ended = std::make_shared<std::atomic<int>>(0);
  handle_ = [ended](const Request& request) {
    Response response = text_response("");
    const bool slow = request.path == "/slow";
    const std::shared_ptr<void> counted(nullptr, [ended](void*) { *ended += 1; });
    response.stream = [i = std::size_t{0},
                       left = counted](std::string& part) mutable -> Result<bool> {
      part.assign(kPart, 'x');
      return ++i < kParts;
    };
    if (!slow) response.stream_length = kPart * kParts;
    return response;
  };
  start({.stream_threads = 2, .write_timeout = std::chrono::minutes(10)});
  std::vector<TestClient> slow;
  slow.reserve(kSlow);
  for (int i = 0; i < kSlow; ++i) {
    slow.emplace_back(port_, 4096);
    slow.back().send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (TestClient& client : slow) EXPECT_TRUE(client.read_until("xxx"));
  TestClient fast(port_);
  const auto reply = fast.get("/fast");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body.size(), kPart * kParts);
  EXPECT_TRUE(fast.get("/fast")) << "and once more";
  EXPECT_LE(*ended, 2) << "all slow ones are still at it";
  EXPECT_TRUE(slow.back().read_until("\r\n0\r\n\r\n"));
  EXPECT_GT(slow.back().seen().size(), kPart * kParts);
}

TEST_F(Transport, TheRestOfALongPartWaitsInAFile) {
  const auto text = [](std::size_t part) {
    std::string all;
    for (std::size_t i = 0; all.size() < (8u << 20); ++i) all += std::to_string(part + i) + ' ';
    return all;
  };
  handle_ = [text](const Request&) {
    Response response = text_response("");
    response.stream = [text, i = 0](std::string& part) mutable -> Result<bool> {
      part += text(static_cast<std::size_t>(i));
      return ++i < 2;
    };
    response.stream_length = text(0).size() + text(1).size();
    return response;
  };
  start();
  const auto files = [] {
    return std::ranges::count_if(sys::fs::directory_iterator("/proc/self/fd"), [](const auto& fd) {
      std::error_code gone;
      return sys::fs::read_symlink(fd, gone).string().ends_with(" (deleted)");
    });
  };
  const auto before = files();
  TestClient client(port_, 4096);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_until("99 100 "));
  EXPECT_GT(files(), before);
  const auto reply = client.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, text(0) + text(1));
  EXPECT_EQ(files(), before);
}

TEST_F(Transport, PushStreamsReachTheClientAndEndWithTheServer) {
  const auto events = start_pushing();
  TestClient client(port_);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_until("\r\n\r\n"));
  EXPECT_TRUE(events->push("data: 1\n\n"));
  EXPECT_TRUE(client.read_until("data: 1\n\n"));
  EXPECT_TRUE(events->push("data: 2\n\n"));
  EXPECT_TRUE(client.read_until("data: 2\n\n"));
  server_->stop(std::chrono::seconds(5));
  EXPECT_TRUE(client.ends());
}

TEST_F(Transport, APushStreamThatOnlyItsHeadWasAskedOfEndsWithItsConnection) {
  const auto events = start_pushing();
  TestClient client(port_);
  client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.ends());
  server_.reset();
  EXPECT_TRUE(events->closed()) << "its writer would go on for ever";
}

TEST_F(Transport, ALateAnswerHoldsUpNoOtherRequest) {
  std::latch leave(1);
  handle_ = [&](const Request& request) {
    Response response = text_response("at once");
    if (request.path == "/at-once") return response;
    response.late = [&](const auto&) {
      leave.wait();
      return text_response(std::to_string(::getpriority(PRIO_PROCESS, 0)));
    };
    return response;
  };
  start({.io_threads = 1, .handler_threads = 1});
  TestClient waiting(port_);
  TestClient other(port_);
  waiting.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\nGET /at-once HTTP/1.1\r\nHost: x\r\n\r\n");
  other.send("GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto now = other.reply();
  ASSERT_TRUE(now);
  EXPECT_EQ(now->body, "at once");
  leave.count_down();
  const auto late = waiting.reply();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->body, std::to_string(::getpriority(PRIO_PROCESS, 0) + 10));
  const auto next = waiting.reply();
  ASSERT_TRUE(next) << "the connection lives on";
  EXPECT_EQ(next->body, "at once");
}

TEST_F(Transport, LateAnswersOfDifferentKindsDoNotWaitForEachOther) {
  std::optional<std::latch> leave;
  handle_ = [&](const Request& request) {
    Response response;
    const bool waits = request.path == "/waits";
    if (request.query_value("picture")) response.late_kind = Response::Late::kPicture;
    if (request.query_value("elsewhere")) response.late_kind = Response::Late::kElsewhere;
    response.late = [&leave, waits](const auto&) {
      if (waits) leave->wait();
      return text_response("made");
    };
    return response;
  };
  start();
  using Pair = std::pair<std::string, std::string>;
  for (const auto& [slow, quick] :
       {Pair{"/waits?picture", "/"}, Pair{"/waits", "/?picture"}, Pair{"/waits", "/?elsewhere"},
        Pair{"/waits?elsewhere", "/"}, Pair{"/waits?elsewhere", "/?elsewhere"}}) {
    leave.emplace(1);
    TestClient first(port_);
    TestClient second(port_);
    first.send("GET " + slow + " HTTP/1.1\r\nHost: x\r\n\r\n");
    second.send("GET " + quick + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(second.reply()) << quick;
    leave->count_down();
    EXPECT_TRUE(first.reply()) << slow;
  }
}

TEST_F(Transport, AThrowingLateAnswerIsA500) {
  handle_ = [](const Request&) {
    Response response;
    response.late = [](const auto&) -> Response { throw std::runtime_error("broken"); };
    return response;
  };
  start();
  TestClient client(port_);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto reply = client.reply();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->head.starts_with("HTTP/1.1 500"));
}

TEST_F(Transport, ALateAnswerKnowsThatItsClientLeft) {
  std::latch entered(1), ended(1);
  std::atomic<int> begun = 0;
  handle_ = [&](const Request&) {
    Response response;
    response.late = [&](const std::function<bool()>& left) {
      const bool is_first = ++begun == 1;
      if (is_first) entered.count_down();
      while (!left()) std::this_thread::yield();
      if (is_first) ended.count_down();
      return text_response("nobody reads this");
    };
    return response;
  };
  // A client may be gone before the server has read its request, of which nothing is told then.
  std::latch told(1);
  std::atomic<bool> first = true;
  done_ = [&](const Exchange& exchange) {
    EXPECT_FALSE(exchange.whole);
    if (first.exchange(false)) told.count_down();
  };
  start();
  {
    TestClient client(port_);
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    entered.wait();
    TestClient behind(port_);
    behind.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  ended.wait();
  told.wait();
  server_->stop(std::chrono::seconds(10));
  EXPECT_LE(begun, 2);
}

TEST_F(Transport, AClientThatOnlyStoppedSendingIsToldThatItWasGivenUp) {
  handle_ = [](const Request&) {
    Response response;
    response.late = [](const std::function<bool()>& left) {
      while (!left()) std::this_thread::yield();
      return error_response({Code::kUnavailable, "given up"});
    };
    return response;
  };
  start();
  TestClient client(port_);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  client.shutdown_send();
  const auto reply = client.reply();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->head.starts_with("HTTP/1.1 503"));
}

TEST_F(Transport, SoManyLateAnswersMayWaitAndNoMore) {
  std::latch one_refused(1);
  handle_ = [&](const Request&) {
    Response response;
    response.late = [&](const std::function<bool()>& left) {
      while (!one_refused.try_wait() && !left()) std::this_thread::yield();
      return text_response("made");
    };
    return response;
  };
  start();
  std::atomic<int> made = 0, refused = 0;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 65; ++i) {
      clients.emplace_back([&] {
        TestClient client(port_);
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        const auto reply = client.reply();
        if (reply && reply->head.starts_with("HTTP/1.1 200")) ++made;
        if (reply && reply->head.starts_with("HTTP/1.1 503") && ++refused == 1)
          one_refused.count_down();
      });
    }
  }
  EXPECT_EQ(made, 64);
  EXPECT_EQ(refused, 1);
}

TEST_F(Transport, StoppingLetsTheRequestInFlightFinish) {
  std::latch entered(1);
  std::latch leave(1);
  handle_ = [&](const Request&) {
    entered.count_down();
    leave.wait();
    return text_response("done");
  };
  start();
  TestClient idle(port_);
  TestClient client(port_);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  entered.wait();
  std::jthread stopper([&] { server_->stop(std::chrono::seconds(10)); });
  EXPECT_TRUE(idle.ends());
  leave.count_down();
  const auto reply = client.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "done");
  EXPECT_NE(reply->head.find("Connection: close"), std::string::npos);
}

TEST_F(Transport, SmuggledRequestsAreNeverHandled) {
  std::atomic<int> handled = 0;
  handle_ = [&](const Request&) {
    ++handled;
    return text_response("ok");
  };
  start();
  const std::string hidden = "GET /admin HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const std::string& fields :
       {std::string("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
        std::string("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
        std::string("Content-Length: 0\r\nContent-Length: 34\r\n"),
        std::string("Content-Length : 34\r\n"), std::string("X: a\r\n Content-Length: 34\r\n"),
        std::string("Content-Length: 0\nX: y\r\n"), std::string("Transfer-Encoding: x\r\n"),
        std::string("Host: y\r\n")}) {
    TestClient client(port_);
    client.send("POST / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n0\r\n\r\n" + hidden);
    const auto reply = client.reply();
    ASSERT_TRUE(reply) << fields;
    EXPECT_EQ(reply->status, fields.starts_with("Transfer-Encoding: x") ? 501 : 400) << fields;
    EXPECT_NE(reply->head.find("Connection: close"), std::string::npos) << fields;
    client.shutdown_send();
    EXPECT_TRUE(client.ends()) << fields;
    EXPECT_EQ(client.seen(), "") << fields;
  }
  EXPECT_EQ(handled, 0);
}

TEST_F(Transport, BrokenChunksAreRefusedAndTheConnectionClosed) {
  start();
  for (const char* chunks :
       {"x\r\nabc\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n",
        "-3\r\nabc\r\n0\r\n\r\n", "fffffffffffffffff\r\nabc\r\n0\r\n\r\n"}) {
    TestClient client(port_);
    client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
                std::string(chunks));
    const auto reply = client.reply();
    ASSERT_TRUE(reply) << chunks;
    EXPECT_EQ(reply->status, 400) << chunks;
    client.shutdown_send();
    EXPECT_TRUE(client.ends()) << chunks;
  }
}

TEST_F(Transport, LongTrailersAndExtensionsEndNothingButTheirConnection) {
  start();
  const std::uint64_t failures = sys::thread_failures();
  std::string many_fields = "0\r\n";
  while (many_fields.size() < 100'000) many_fields += "X-A: b\r\n";
  for (const std::string& body :
       {long_trailer(), "2;" + std::string(65'600, 'x') + "\r\n{}\r\n0\r\n\r\n",
        "2;a=\"" + std::string(65'600, 'x') + "\"\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}\r\n0\r\n" + std::string(65'600, 'x') + ": a\r\n\r\n", many_fields + "\r\n"}) {
    TestClient client(port_);
    client.send("POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body);
    const auto reply = client.reply();
    ASSERT_TRUE(reply) << body.substr(0, 20);
    EXPECT_EQ(reply->status, 431) << body.substr(0, 20);
    EXPECT_NE(reply->body.find("trailers"), std::string::npos) << reply->body;
    EXPECT_EQ(TestClient(port_).get("/next")->body, "GET /next 0");
  }
  EXPECT_EQ(sys::thread_failures(), failures) << "it was refused before anything threw";
  TestClient client(port_);
  client.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
              ("2;a=b\r\n{}\r\n0\r\nX-A: " + std::string(30'000, 'x') + "\r\n\r\n"));
  EXPECT_EQ(client.reply()->body, "POST /a 2");
}

TEST_F(Transport, AnExceptionOnAnIoCountsItsEndItsConnectionAndIsCounted) {
  gate_ = [](const Request& request) -> std::optional<Response> {
    if (request.path == "/gate") throw std::runtime_error("broken gate");
    return std::nullopt;
  };
  done_ = [](const Exchange& exchange) {
    if (exchange.path == "/done") throw 1;
  };
  handle_ = [](const Request& request) {
    Response response = text_response("ok");
    if (request.path == "/stream")
      response.stream = [](std::string&) -> Result<bool> {
        throw std::runtime_error("broken stream");
      };
    return response;
  };
  start({.io_threads = 1});
  for (const char* path : {"/gate", "/done", "/stream"}) {
    const std::uint64_t failures = sys::thread_failures();
    TestClient client(port_);
    client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(client.ends()) << path;
    EXPECT_EQ(sys::thread_failures(), failures + 1) << path;
    EXPECT_EQ(TestClient(port_).get("/next")->body, "ok") << path;
  }
}

TEST_F(Transport, AHeadThatTricklesInIsCutOffHoweverAliveItLooks) {
  start({.header_timeout = std::chrono::milliseconds(100)});
  TestClient client(port_);
  client.send("GET / HTTP/1.1\r\n");
  // Each header would be a sign of life.
  while (client.send("X: y\r\n") && !client.readable(std::chrono::milliseconds(10))) {
  }
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(client.seen(), "");
}

TEST_F(Transport, ABodyThatTricklesInIsCutOff) {
  start({.write_timeout = std::chrono::milliseconds(100)});
  TestClient client(port_);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
  while (client.send("x") && !client.readable(std::chrono::milliseconds(10))) {
  }
  EXPECT_TRUE(client.ends());
}

TEST_F(Transport, EmptyLinesBetweenRequestsArePassedOver) {
  start();
  TestClient client(port_);
  client.send("POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na\r");
  EXPECT_EQ(client.reply()->body, "POST /1 1");
  client.send("\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.reply()->body, "GET /2 0");
}

TEST_F(Transport, CompressedBodiesReachTheHandlerUnpacked) {
  handle_ = [](const Request& request) {
    return text_response(request.body + " " + std::string(request.header("content-encoding")));
  };
  start();
  TestClient client(port_);
  const std::string hello(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00"
      "\x00\x00",
      25);
  const auto post = [&](const std::string& encoding, const std::string& body) {
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Encoding: " + encoding +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.reply();
  };
  EXPECT_EQ(post("gzip", hello)->body, "hello ");
  EXPECT_EQ(post("identity", "plain")->body, "plain identity");
  EXPECT_EQ(post("gzip", "plain")->status, 400);
  EXPECT_EQ(post("br", "plain")->status, 415);
}

TEST_F(Transport, EveryAnswerNamesItsRequest) {
  start();
  TestClient client(port_);
  EXPECT_NE(client.get("/", "Host: x\r\nX-Request-Id: a-1.b:2_c\r\n")
                ->head.find("X-Request-Id: a-1.b:2_c\r\n"),
            std::string::npos);
  for (const std::string& id : {std::string("a b"), std::string(65, 'x'), std::string("<script>"),
                                std::string("gr\xc3\xbcn")}) {
    const auto reply = client.get("/", "Host: x\r\nX-Request-Id: " + id + "\r\n");
    const std::size_t at = reply->head.find("X-Request-Id: ");
    ASSERT_NE(at, std::string::npos);
    const std::string made = reply->head.substr(at + 14, reply->head.find('\r', at) - at - 14);
    EXPECT_EQ(made.size(), 16U) << made;
  }
}

TEST_F(Transport, WhatHappenedIsToldOncePerRequest) {
  struct Seen {
    std::string id, peer, path, route, error;
    Method method;
    int status;
    std::uint64_t bytes;
  };
  Guarded<std::vector<Seen>> seen;
  traffic_ = std::make_shared<Traffic>();
  done_ = [&](const Exchange& e) {
    seen.with([&](auto& list) {
      list.push_back({std::string(e.id), std::string(e.peer), std::string(e.path),
                      std::string(e.route), std::string(e.error), e.method, e.status, e.bytes});
    });
  };
  handle_ = [](const Request& request) {
    Response response = error_response({Code::kInternal, "broken"});
    if (request.path == "/ok") response = text_response("ok");
    response.route = "/{path...}";
    return response;
  };
  start();
  {
    TestClient client(port_);
    const auto ok = client.get("/ok?token=secret", "Host: x\r\nX-Request-Id: one\r\n");
    EXPECT_EQ(ok->status, 200);
    EXPECT_EQ(client.get("/bad")->status, 500);
    client.send("nonsense\r\n\r\n");
    EXPECT_EQ(client.reply()->status, 400);
    EXPECT_EQ(traffic_->open, 1);
    EXPECT_EQ(traffic_->accepted, 1U);
  }
  server_.reset();
  EXPECT_EQ(traffic_->open, 0);
  seen.with([&](auto& list) {
    ASSERT_EQ(list.size(), 3U);
    EXPECT_EQ(list[0].id, "one");
    EXPECT_EQ(list[0].peer, "127.0.0.1");
    EXPECT_EQ(list[0].path, "/ok");
    EXPECT_EQ(list[0].route, "/{path...}");
    EXPECT_EQ(list[0].method, Method::kGet);
    EXPECT_EQ(list[0].error, "");
    EXPECT_EQ(list[1].status, 500);
    EXPECT_NE(list[1].error.find("broken"), std::string::npos);
    EXPECT_EQ(list[2].status, 400);
    EXPECT_EQ(list[2].path, "");
    EXPECT_EQ(traffic_->bytes_out, list[0].bytes + list[1].bytes + list[2].bytes);
  });
}

TEST_F(Transport, OneAddressMayNotTakeEveryConnection) {
  start({.max_connections = 3, .max_connections_per_peer = 2});
  TestClient first(port_);
  EXPECT_EQ(first.get("/")->status, 200);
  {
    TestClient second(port_);
    EXPECT_EQ(second.get("/")->status, 200);
    TestClient third(port_);
    EXPECT_TRUE(third.ends());
    second.shutdown_send();
    EXPECT_TRUE(second.ends());
  }
  // Its place is free again, as soon as the server has noticed.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::optional<TestClient::Reply> reply;
  while (!reply && std::chrono::steady_clock::now() < deadline) reply = TestClient(port_).get("/");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
}

TEST_F(Transport, StoppingAcknowledgesTheUploadsThatAreOnTheirWay) {
  handle_ = [](const Request& request) {
    return text_response(std::to_string(request.body.size()));
  };
  std::latch begun(3);
  gate_ = [&](const Request&) -> std::optional<Response> {
    begun.count_down();
    return std::nullopt;
  };
  start();
  std::vector<TestClient> uploads;
  for (int i = 0; i < 3; ++i) {
    uploads.emplace_back(port_).send(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + std::string(100'000, 'x'));
  }
  TestClient idle(port_);
  begun.wait();
  std::jthread stopper([&] { server_->stop(std::chrono::seconds(10)); });
  EXPECT_TRUE(idle.ends());
  for (TestClient& upload : uploads) {
    upload.send(std::string(100'000, 'x'));
    const auto reply = upload.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, "200000");
    EXPECT_NE(reply->head.find("Connection: close"), std::string::npos);
    EXPECT_TRUE(upload.ends());
  }
  stopper.join();
  TestClient late(port_);
  EXPECT_FALSE(late.connected());
}

TEST_F(Transport, ARequestThatFindsItsPoolJoinedEndsWithTheServer) {
  std::latch pool_ended(1);
  std::latch at_gate(1);
  traffic_ = std::make_shared<Traffic>();
  handle_ = [&](const Request&) {
    static thread_local std::unique_ptr<CountsItsEnd> told;
    told = std::make_unique<CountsItsEnd>(pool_ended);
    return text_response("");
  };
  gate_ = [&](const Request& request) -> std::optional<Response> {
    if (request.path == "/first") return std::nullopt;
    at_gate.count_down();
    pool_ended.wait();  // in an io thread; handed to the pool when that has no thread any more
    return std::nullopt;
  };
  start({.handler_threads = 1});
  TestClient client(port_);
  ASSERT_TRUE(client.get("/first"));
  client.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
  at_gate.wait();
  server_.reset();
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(traffic_->open, 0);
}

TEST_F(Transport, ConnectionsOverTheLimitAreClosed) {
  start({.max_connections = 1});
  TestClient first(port_);
  EXPECT_EQ(first.get("/")->status, 200);
  TestClient second(port_);
  EXPECT_TRUE(second.ends());
  EXPECT_EQ(first.get("/")->status, 200);
}

TEST(UnixSocket, IsOfMode0600AndReplacesALeftOver) {
  const sys::fs::path directory =
      sys::fs::temp_directory_path() / ("corral-" + SessionId::random().hex());
  sys::fs::create_directory(directory);
  const sys::fs::path path = directory / "s.sock";
  {
    const auto left_over = sys::listen_unix(path);
    ASSERT_TRUE(left_over);
  }
  auto socket = sys::listen_unix(path);
  ASSERT_TRUE(socket) << socket.error().message;
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  std::vector<Listener> listeners;
  listeners.push_back({std::move(*socket), true});
  auto server = HttpServer::start(std::move(listeners), {},
                                  {nullptr, [](const Request& request) {
                                     return text_response(request.over_unix ? "unix" : "tcp");
                                   }});
  ASSERT_TRUE(server);
  TestClient client(path);
  EXPECT_EQ(client.get("/")->body, "unix");
  server->reset();
  sys::fs::remove_all(directory);
}

}  // namespace
}  // namespace corral::http
