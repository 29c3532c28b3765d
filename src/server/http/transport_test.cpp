#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <latch>
#include <thread>

#include "core/ids.h"
#include "server/http/server.h"
#include "server/http/test_client.h"

namespace corral::server {
namespace {

class Transport : public ::testing::Test {
 protected:
  void start(HttpOptions options = {}) {
    std::vector<Listener> listeners;
    auto tcp = sys::listen_tcp({"127.0.0.1", 0});
    ASSERT_TRUE(tcp);
    port_ = *sys::bound_port(*tcp);
    listeners.push_back({std::move(*tcp), false});
    auto server = HttpServer::start(std::move(listeners), options, {gate_, handle_});
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  std::function<std::optional<Response>(const Request&)> gate_;
  std::function<Response(Request)> handle_ = [](const Request& request) {
    return text_response(std::string(method_name(request.method)) + " " + request.path + " " +
                         std::to_string(request.body.size()));
  };
  std::uint16_t port_ = 0;
  std::unique_ptr<HttpServer> server_;
};

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

TEST_F(Transport, SlowHeadersLoseTheirConnection) {
  start({.idle_timeout = std::chrono::milliseconds(100)});
  TestClient client(port_);
  client.send("GET / HT");
  EXPECT_TRUE(client.ends());
}

TEST_F(Transport, StreamedAnswersAreChunkedAndTheConnectionLivesOn) {
  handle_ = [](const Request&) {
    Response response = text_response("");
    response.stream = [](StreamSink& sink) -> Result<> {
      for (int i = 0; i < 3; ++i) sink.write(std::string(50'000, static_cast<char>('a' + i)));
      return {};
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
    response.stream = [](StreamSink& sink) -> Result<> {
      sink.write("some");
      return fail(Code::kIo, "disk");
    };
    return response;
  };
  start();
  TestClient client(port_);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(client.seen().find("\r\n0\r\n\r\n"), std::string::npos);
}

TEST_F(Transport, AProducerLearnsThatItsClientHasGone) {
  std::atomic<bool> told = false;
  std::latch ended(1);
  handle_ = [&](const Request&) {
    Response response = text_response("");
    response.stream = [&](StreamSink& sink) -> Result<> {
      const std::string piece(1 << 20, 'x');
      while (sink.write(piece)) {
      }
      told = true;
      ended.count_down();
      return {};
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
  EXPECT_TRUE(told);
}

TEST_F(Transport, PushStreamsReachTheClientAndEndWithTheServer) {
  auto events = std::make_shared<PushStream>();
  handle_ = [&](const Request&) {
    Response response = text_response("");
    response.events = events;
    return response;
  };
  start();
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
}  // namespace corral::server
