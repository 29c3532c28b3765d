#include "server/life.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "core/guarded.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"
#include "http/test_client.h"
#include "store/open/sqlite_store.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::server {
namespace {

using http::TestClient;

class Life : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_.parent_path()); }

  Result<std::unique_ptr<RunningServer>> start(ServeOptions options = {}) {
    options.store_dir = directory_;
    StoreLock lock = TRY(lock_store(directory_));
    auto store = TRY(store::open_sqlite_store({.directory = directory_}));
    return start_server(std::move(options), std::move(lock), std::move(store));
  }
  static std::uint16_t port_of(const RunningServer& server) {
    return static_cast<std::uint16_t>(
        parse_int(server.url().substr(server.url().rfind(':') + 1)).value_or(0));
  }

  const fs::path directory_ =
      fs::temp_directory_path() / ("corral-" + RunId::random().hex()) / "store";
};

TEST_F(Life, AnswersOverTcpAndOverTheUnixSocket) {
  const auto server = start();
  ASSERT_TRUE(server) << server.error().message;
  TestClient tcp(port_of(**server));
  const auto reply = tcp.get("/api/corral/v1/version");
  ASSERT_TRUE(reply);
  const auto json = Json::parse(reply->body);
  ASSERT_TRUE(json) << reply->body;
  EXPECT_EQ(json->get_int("api"), 1);
  EXPECT_EQ(json->get_int("pid"), ::getpid());
  TestClient local(sys::socket_path(directory_));
  EXPECT_EQ(local.get("/health")->body, "OK");
  struct stat info {};
  ASSERT_EQ(::stat((*server)->socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

// Long bodies of PUT are streamed only where files come in.
TEST_F(Life, ABoardOfAnyLengthIsSavedOverTheWire) {
  const auto server = start();
  ASSERT_TRUE(server);
  TestClient client(port_of(**server));
  const std::string body = R"({"state":")" + std::string(256 << 10, 'x') + "\"}";
  const std::string head =
      "PUT /api/corral/v1/boards/b HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\n";
  client.send(head + fmt::format("Content-Length: {}\r\n\r\n", body.size()) + body);
  const auto saved = client.reply();
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->status, 200) << saved->body;
  client.send(head + fmt::format("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                                 body.size(), body));
  const auto again = client.reply();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->status, 200) << again->body;
  const auto boards = client.get("/api/corral/v1/boards");
  ASSERT_TRUE(boards);
  EXPECT_GT(boards->body.size(), 256U << 10);
}

TEST_F(Life, ForeignHostsAreRefusedAtTheDoor) {
  const auto server = start();
  ASSERT_TRUE(server);
  TestClient client(port_of(**server));
  EXPECT_EQ(client.get("/api/corral/v1/version", "Host: evil.example\r\n")->status, 403);
  EXPECT_EQ(
      client.get("/api/corral/v1/version", "Host: localhost\r\nOrigin: http://evil.example\r\n")
          ->status,
      403);
  EXPECT_EQ(client.get("/api/corral/v1/version")->status, 200);
}

TEST_F(Life, IsFoundWhileItRunsAndLeavesNothingBehind) {
  EXPECT_FALSE(sys::find_server(directory_));
  {
    const auto server = start();
    ASSERT_TRUE(server);
    const auto found = sys::find_server(directory_);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->url, (*server)->url());
    EXPECT_EQ(found->pid, ::getpid());
  }
  EXPECT_FALSE(sys::find_server(directory_));
  EXPECT_FALSE(fs::exists(sys::server_record_path(directory_)));
  EXPECT_FALSE(fs::exists(sys::socket_path(directory_)));
}

TEST_F(Life, ASecondServerIsToldWhoHasTheStore) {
  const auto server = start();
  ASSERT_TRUE(server);
  const auto second = lock_store(directory_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_NE(second.error().message.find((*server)->url()), std::string::npos)
      << second.error().message;
  EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos);
}

// The remembered port is one of the kernel's choice: one of Corral's own could be taken by another
// server of this machine at any moment.
TEST_F(Life, ThePortIsRememberedAndAnotherOneIsTakenWhenItIsBusy) {
  const fs::path remembered = sys::server_port_path(directory_);
  const auto port_file = [&] { return sys::read_file(remembered).value_or(""); };
  auto squatter = sys::listen_tcp({"127.0.0.1", 0});
  ASSERT_TRUE(squatter);
  const std::uint16_t port = *sys::bound_port(*squatter);
  const std::string line = std::to_string(port) + "\n";
  ASSERT_TRUE(sys::replace_file(remembered, line, 0600));
  {
    const auto server = start();
    ASSERT_TRUE(server);
    EXPECT_GE(port_of(**server), limits::kFirstPort);
    EXPECT_LE(port_of(**server), limits::kLastPort);
    EXPECT_NE(port_of(**server), port);
    EXPECT_EQ(port_file(), std::to_string(port_of(**server)) + "\n");
  }
  squatter->reset();
  ASSERT_TRUE(sys::replace_file(remembered, line, 0600));
  const auto server = start();
  ASSERT_TRUE(server);
  EXPECT_EQ(port_of(**server), port);
  EXPECT_EQ(port_file(), line);
}

TEST_F(Life, ABusyExplicitAddressIsAnErrorThatSaysWhatToDo) {
  const auto squatter = sys::listen_tcp({"127.0.0.1", 0});
  ASSERT_TRUE(squatter);
  const auto server =
      start({.listen = sys::ListenAddress{"127.0.0.1", *sys::bound_port(*squatter)}});
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Code::kUnavailable);
  EXPECT_NE(server.error().message.find("--listen"), std::string::npos) << server.error().message;
}

TEST_F(Life, ATokenClosesTcpAndLeavesTheSocketOpen) {
  const fs::path token = directory_ / "token";
  ASSERT_TRUE(sys::replace_file(token, "0123456789abcdef\n", 0600));
  const auto server = start({.token_file = token});
  ASSERT_TRUE(server) << server.error().message;
  TestClient client(port_of(**server));
  EXPECT_EQ(client.get("/api/corral/v1/version")->status, 401);
  EXPECT_EQ(client
                .get("/api/corral/v1/version",
                     "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n")
                ->status,
            200);
  TestClient local(sys::socket_path(directory_));
  EXPECT_EQ(local.get("/api/corral/v1/version")->status, 200);
}

TEST_F(Life, AnAddressBeyondLoopbackWantsATokenOrAWord) {
  const sys::ListenAddress everywhere{"0.0.0.0", 0};
  const auto refused = start({.listen = everywhere});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("--token-file"), std::string::npos);
  EXPECT_NE(refused.error().message.find("--insecure"), std::string::npos);
  EXPECT_TRUE(start({.listen = everywhere, .insecure = true}));
  const fs::path token = directory_ / "token";
  ASSERT_TRUE(sys::replace_file(token, "0123456789abcdef\n", 0600));
  EXPECT_TRUE(start({.listen = everywhere, .token_file = token}));
  // A name that only begins like an address of this machine.
  EXPECT_FALSE(check_exposure({.listen = sys::ListenAddress{"127.evil.example", 5000}}));
  for (const char* loopback : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) {
    EXPECT_TRUE(check_exposure({.listen = sys::ListenAddress{loopback, 5000}})) << loopback;
  }
}

TEST_F(Life, FurtherNamesAreTakenWhenTheyWereNamed) {
  const auto server = start({.allow_hosts = {"Mlflow.Lab"}});
  ASSERT_TRUE(server);
  TestClient client(port_of(**server));
  EXPECT_EQ(client.get("/version", "Host: mlflow.lab:443\r\n")->status, 200);
  EXPECT_EQ(client.get("/version", "Host: lab\r\n")->status, 403);
}

TEST_F(Life, WhatIsAnsweredIsCountedLoggedAndComplainedAbout) {
  const fs::path log = directory_.parent_path() / "access.log";
  std::string complaints;
  {
    const auto server =
        start({.access_log = log, .complain = [&](std::string_view what) { complaints += what; }});
    ASSERT_TRUE(server) << server.error().message;
    TestClient client(port_of(**server));
    EXPECT_EQ(client.get("/health?token=secret")->status, 200);
    EXPECT_EQ(
        client.get("/api/corral/v1/runs/none", "Host: localhost\r\nX-Request-Id: id-7\r\n")->status,
        404);
    const std::string figures = client.get("/metrics")->body;
    for (
        const char* line :
        {R"(corral_http_requests_total{route="/health",method="GET",status="2xx"} 1)",
         R"(corral_http_requests_total{route="/api/corral/v1/runs/{run}",method="GET",status="4xx"} 1)",
         R"(corral_http_request_seconds_count{route="/health",method="GET"} 1)",
         "corral_http_connections 1", "corral_points_total 0", "# TYPE process_open_fds gauge",
         "# TYPE process_resident_memory_bytes gauge"}) {
      EXPECT_NE(figures.find(std::string(line) + "\n"), std::string::npos) << line << figures;
    }
  }
  const std::string lines = sys::read_file(log).value_or("");
  EXPECT_NE(lines.find(" 127.0.0.1 GET /health 200 "), std::string::npos) << lines;
  EXPECT_NE(lines.find(" id-7 127.0.0.1 GET /api/corral/v1/runs/none 404 "), std::string::npos);
  EXPECT_EQ(lines.find("secret"), std::string::npos);
  EXPECT_EQ(complaints, "");
}

TEST_F(Life, WhatFailsIsComplainedAboutWithItsId) {
  std::string complaints;
  {
    const auto server = start({.complain = [&](std::string_view what) { complaints += what; },
                               .events = {.max_streams = 0}});
    ASSERT_TRUE(server) << server.error().message;
    TestClient client(port_of(**server));
    EXPECT_EQ(
        client.get("/api/corral/v1/stream", "Host: localhost\r\nX-Request-Id: id-8\r\n")->status,
        503);
  }
  EXPECT_TRUE(complaints.starts_with("request id-8: GET /api/corral/v1/stream answered 503: "))
      << complaints;
  EXPECT_NE(complaints.find("too many event streams"), std::string::npos);
}

TEST_F(Life, ComplaintsThatNobodyTakesEndNothing) {
  const auto server = start({.complain = [](std::string_view) -> void {
                               throw std::runtime_error("cannot write to file");
                             },
                             .events = {.max_streams = 0}});
  ASSERT_TRUE(server) << server.error().message;
  TestClient client(port_of(**server));
  EXPECT_EQ(client.get("/api/corral/v1/stream")->status, 503);
  EXPECT_EQ(client.get("/health")->status, 200);
}

TEST_F(Life, WhatIsInTheWayOfItsSocketIsNamedAndStays) {
  const fs::path socket = sys::socket_path(directory_);
  ASSERT_TRUE(sys::replace_file(socket, "notes"));
  const auto server = start();
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find(socket.string()), std::string::npos)
      << server.error().message;
  EXPECT_EQ(sys::read_file(socket).value_or(""), "notes");
  EXPECT_FALSE(fs::exists(sys::server_record_path(directory_)));
}

TEST_F(Life, LeavesWhenNobodyNeedsIt) {
  const auto server = start({.idle_exit = true, .idle_after = std::chrono::milliseconds(50)});
  ASSERT_TRUE(server);
  EXPECT_EQ((*server)->wait({}), LeaveReason::kIdle);
}

TEST_F(Life, AnOpenEventStreamKeepsItUntilAsked) {
  const auto server = start({.idle_exit = true, .idle_after = std::chrono::milliseconds(300)});
  ASSERT_TRUE(server);
  TestClient page(port_of(**server));
  page.send("GET /api/corral/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(page.read_until("retry:"));
  std::stop_source stop;
  const auto begin = std::chrono::steady_clock::now();
  std::jthread asker([&] {
    sys::system_clock().sleep_until(sys::boot_now() + std::chrono::milliseconds(600));
    stop.request_stop();
  });
  EXPECT_EQ((*server)->wait(stop.get_token()), LeaveReason::kAsked);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(600));
  (*server)->stop();
  EXPECT_TRUE(page.ends());
}

TEST_F(Life, AnAnswerThatIsStillOnItsWayKeepsIt) {
  constexpr std::uintmax_t kBytes = 64u << 20;  // more than sockets hold
  ASSERT_TRUE(sys::make_directories(directory_ / "artifacts"));
  ASSERT_TRUE(sys::replace_file(directory_ / "artifacts" / "big", ""));
  fs::resize_file(directory_ / "artifacts" / "big", kBytes);
  const auto server = start({.idle_exit = true, .idle_after = std::chrono::milliseconds(100)});
  ASSERT_TRUE(server);
  TestClient client(port_of(**server));
  client.send("GET /api/2.0/mlflow-artifacts/artifacts/big HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  std::atomic<bool> left = false;
  std::jthread waiter([&] {
    EXPECT_EQ((*server)->wait({}), LeaveReason::kIdle);
    left = true;
  });
  sys::system_clock().sleep_until(sys::boot_now() + std::chrono::milliseconds(300));
  EXPECT_FALSE(left);
  const auto reply = client.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body.size(), kBytes);
}

TEST_F(Life, AServerWithoutItsStoreSaysSoRefusesAndLeaves) {
  Guarded<std::string> said;
  ServeOptions options;
  options.farewell = std::chrono::milliseconds(200);
  options.complain = [&](std::string_view what) {
    said.with([&](std::string& all) { all += std::string(what) + "\n"; });
  };
  const auto server = start(std::move(options));
  ASSERT_TRUE(server);
  TestClient client(port_of(**server));
  ASSERT_EQ(client.get("/health")->status, 200);
  const fs::path moved = directory_.parent_path() / "moved";
  fs::rename(directory_, moved);
  // Reads are refused, too, even before the first write: an answer about a session lets its spool
  // be emptied.
  for (const char* path : {"/health", "/api/corral/v1/runs", "/api/2.0/mlflow/experiments/get"}) {
    const auto reply = client.get(path);
    ASSERT_TRUE(reply) << path;
    EXPECT_EQ(reply->status, 503) << path;
    EXPECT_NE(reply->body.find(directory_.string()), std::string::npos) << reply->body;
  }
  EXPECT_EQ((*server)->wait({}), LeaveReason::kLost);
  EXPECT_NE(
      said.with([](const std::string& all) { return all; }).find("was deleted, moved or repl"),
      std::string::npos);
  // Another one may be there by now.
  fs::create_directories(directory_);
  ASSERT_TRUE(sys::replace_file(sys::server_record_path(directory_), "another's"));
  (*server)->stop();
  EXPECT_EQ(sys::read_file(sys::server_record_path(directory_)).value_or(""), "another's");
  EXPECT_TRUE(fs::exists(sys::server_record_path(moved)));
}

// Acts as a store in a database, whose files are elsewhere.
TEST_F(Life, AServerWhoseDirectoryIsGoneServesOn) {
  Guarded<std::string> said;
  std::stop_source stop;
  ServeOptions options;
  options.complain = [&](std::string_view what) {
    said.with([&](std::string& all) { all += what; });
    stop.request_stop();
  };
  const auto server = start(std::move(options));
  ASSERT_TRUE(server);
  fs::remove(sys::server_lock_path(directory_));
  EXPECT_EQ((*server)->wait(stop.get_token()), LeaveReason::kAsked);
  EXPECT_NE(said.with([](const std::string& all) { return all; }).find("goes on serving at http"),
            std::string::npos);
  EXPECT_EQ(TestClient(port_of(**server)).get("/health")->status, 200);
}

TEST_F(Life, StopIsTakenFromTheUnixSocketOnly) {
  auto server = start();
  ASSERT_TRUE(server);
  TestClient client(port_of(**server));
  client.send("POST /api/corral/v1/stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.reply()->status, 403);
  std::jthread owner([&] {
    (*server)->wait({});
    server->reset();
  });
  const auto stopped = stop_server(directory_);
  EXPECT_TRUE(stopped) << stopped.error().message;
  EXPECT_EQ(stop_server(directory_).error().code, Code::kNotFound);
}

TEST_F(Life, JobsRunUntilTheServerStops) {
  std::atomic<bool> ended = false;
  {
    ServeOptions options;
    options.jobs.emplace_back([&](const std::stop_token& stop) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any().wait(lock, stop, [] { return false; });
      ended = true;
    });
    const auto server = start(std::move(options));
    ASSERT_TRUE(server);
    EXPECT_FALSE(ended);
  }
  EXPECT_TRUE(ended);
}

TEST_F(Life, ALongTrailerWithoutATokenEndsNothing) {
  const auto server = start();
  ASSERT_TRUE(server) << server.error().message;
  const auto port = static_cast<std::uint16_t>(
      *parse_int((*server)->url().substr((*server)->url().rfind(':') + 1)));
  http::TestClient client(port);
  client.send("POST /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
              http::long_trailer());
  EXPECT_TRUE(client.reply());
  const auto next = http::TestClient(port).get("/health");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->status, 200);
}

TEST_F(Life, AJobThatFailsIsCountedAndBeginsAgain) {
  const std::uint64_t failures = sys::thread_failures();
  std::counting_semaphore<> called(0);
  {
    ServeOptions options;
    options.jobs.emplace_back([&, calls = 0](const std::stop_token&) mutable {
      called.release();
      if (++calls == 1) throw std::runtime_error("no room");
    });
    const auto server = start(std::move(options));
    ASSERT_TRUE(server);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(called.try_acquire_for(std::chrono::seconds(20)));
    http::TestClient client(sys::fs::path((*server)->socket()));
    const auto figures = client.get("/metrics");
    ASSERT_TRUE(figures);
    EXPECT_NE(figures->body.find(fmt::format("corral_thread_failures_total {}\n", failures + 1)),
              std::string::npos)
        << figures->body;
  }
}

TEST(ListenAddress, TakesWhatPeopleWriteAndRefusesTheRest) {
  EXPECT_EQ(sys::ListenAddress::parse("5050").value().text(), "127.0.0.1:5050");
  EXPECT_EQ(sys::ListenAddress::parse(":5050").value().text(), "127.0.0.1:5050");
  EXPECT_EQ(sys::ListenAddress::parse("node7:80").value().text(), "node7:80");
  EXPECT_EQ(sys::ListenAddress::parse("[::1]:80").value().text(), "[::1]:80");
  EXPECT_TRUE(sys::ListenAddress::parse("0.0.0.0:80").value().is_wildcard());
  for (const char* text :
       {"", "host", "host:", "host:65536", "host:-1", "::1:80", "[::1:80", "[]:80"}) {
    EXPECT_FALSE(sys::ListenAddress::parse(text)) << text;
  }
}

TEST(StorePaths, ALongStorePathGetsAShortSocket) {
  const fs::path deep = fs::path("/tmp") / std::string(120, 'x') / "store";
  const fs::path socket = sys::socket_path(deep);
  EXPECT_LE(socket.native().size(), sys::kUnixPathBytes);
  EXPECT_EQ(socket, sys::socket_path(deep / ""));
  EXPECT_NE(socket, sys::socket_path(deep.parent_path() / "other"));
}

}  // namespace
}  // namespace corral::server
