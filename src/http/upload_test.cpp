// Streamed bodies and streamed answers of known length, over sockets.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "core/guarded.h"
#include "http/range.h"
#include "http/server.h"
#include "http/test_client.h"

namespace corral::http {
namespace {

class Upload : public ::testing::Test {
 protected:
  void start(HttpOptions options = {}) {
    std::vector<Listener> listeners;
    sys::Fd tcp = sys::listen_tcp({"127.0.0.1", 0}).value();
    port_ = sys::bound_port(tcp).value();
    listeners.push_back({std::move(tcp), false});
    HttpHandlers handlers;
    handlers.handle = [this](const Request& request) { return handle_(request); };
    handlers.streams_body = [](const Request& request) { return request.path.starts_with("/up"); };
    server_ =
        HttpServer::start(std::move(listeners), std::move(options), std::move(handlers)).value();
  }
  static std::string put(const std::string& path, const std::string& rest) {
    return "PUT " + path + " HTTP/1.1\r\nHost: x\r\n" + rest;
  }

  // Counts and sums what comes; the status says how it ended.
  std::function<Response(const Request&)> handle_ = [](const Request& request) {
    struct Seen {
      std::size_t bytes = 0;
      unsigned sum = 0;
    };
    const auto seen = std::make_shared<Seen>();
    const auto take = [seen](std::string_view piece) -> Result<> {
      seen->bytes += piece.size();
      for (const char c : piece) seen->sum += static_cast<unsigned char>(c);
      return {};
    };
    const auto end = [seen, streamed = request.streamed](const Result<>& taken) {
      if (!taken) return error_response(taken.error());
      return text_response(std::string(streamed ? "streamed " : "whole ") +
                           std::to_string(seen->bytes) + " " + std::to_string(seen->sum));
    };
    return take_body(request, {.take = take, .end = end});
  };
  // Takes every body, and tells how it ended.
  static std::function<Response(const Request&)> tells(std::promise<Code>& ended) {
    return [&ended](const Request& request) {
      return take_body(request,
                       {.take = [](std::string_view) { return Result<>(); },
                        .end =
                            [&ended](const Result<>& taken) {
                              ended.set_value(taken ? Code::kInternal : taken.error().code);
                              return text_response("");
                            }});
    };
  }
  std::uint16_t port_ = 0;
  std::unique_ptr<HttpServer> server_;
};

constexpr std::size_t kMany = 3'000'000;

TEST_F(Upload, ALongBodyIsStreamed) {
  start();
  TestClient client(port_);
  client.send(put("/up", "Content-Length: 3000000\r\n\r\n") + std::string(kMany, '\1'));
  EXPECT_EQ(client.reply()->body, "streamed 3000000 3000000");
  client.send(put("/other", "Content-Length: 3000000\r\n\r\n") + std::string(kMany, '\1'));
  EXPECT_EQ(client.reply()->body, "whole 3000000 3000000");
}

TEST_F(Upload, ShortAndEmptyBodiesComeWhole) {
  start();
  TestClient client(port_);
  client.send(put("/up", "Content-Length: 2\r\n\r\nAB"));
  EXPECT_EQ(client.reply()->body, "whole 2 131");
  client.send(put("/up", "Content-Length: 0\r\n\r\n"));
  EXPECT_EQ(client.reply()->body, "whole 0 0");
  client.send(put("/up", "\r\n"));
  EXPECT_EQ(client.reply()->body, "whole 0 0");
}

TEST_F(Upload, Chunks) {
  start();
  TestClient client(port_);
  client.send(put("/up", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"));
  EXPECT_EQ(client.reply()->body, "streamed 0 0");
  client.send(put("/up", "Transfer-Encoding: chunked\r\n\r\n2\r\nAB\r\n1;x=y\r\nC\r\n"));
  client.send("0\r\nTrailer: x\r\n\r\n");
  EXPECT_EQ(client.reply()->body, "streamed 3 198");
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "3e8\r\n" + std::string(1000, '\1') + "\r\n";
  client.send(put("/up", "Transfer-Encoding: chunked\r\n\r\n") + many + "0\r\n\r\n");
  EXPECT_EQ(client.reply()->body, "streamed 3000000 3000000");
}

// Bytes that the handler does not take stay with the client: the server reads no more than a piece
// and the sockets' own buffers ahead.
TEST_F(Upload, TheHandlerHoldsTheClientBack) {
  std::promise<void> go;
  std::promise<void> first;
  handle_ = [&](const Request& request) {
    if (!request.streamed) return text_response("short");
    const auto take = [&](std::string_view) -> Result<> {
      first.set_value();
      go.get_future().wait();
      return fail(Code::kNoSpace, "enough");
    };
    const auto end = [](const Result<>& taken) { return text_response(taken.error().message); };
    return take_body(request, {.take = take, .end = end});
  };
  start();
  constexpr std::size_t kPlenty = 256u << 20;
  TestClient client(port_);
  std::atomic<std::size_t> sent = 0;
  client.send(put("/up", "Content-Length: " + std::to_string(kPlenty) + "\r\n\r\n"));
  std::jthread sender([&] {
    const std::string piece(1u << 20, 'x');
    while (sent < kPlenty && client.send(piece)) sent += piece.size();
  });
  first.get_future().wait();
  // Until the kernel takes no more: no progress between two looks a while apart.
  std::promise<void> nothing;
  const std::future<void> never = nothing.get_future();
  std::size_t before = 0;
  do {
    before = sent;
    never.wait_for(std::chrono::milliseconds(200));
  } while (sent != before);
  EXPECT_LT(sent, kPlenty / 4);
  go.set_value();
  sender.join();
  EXPECT_EQ(client.reply()->body, "enough");
  EXPECT_EQ(sent, kPlenty);  // read and dropped, so that the connection lives on
  client.send(put("/up", "Content-Length: 2\r\n\r\nAB"));
  EXPECT_EQ(client.reply()->body, "short");
}

TEST_F(Upload, ARefusalReachesAClientThatIsStillSending) {
  handle_ = [](const Request&) { return error_response({Code::kNoSpace, "full"}); };
  start();
  TestClient client(port_);
  client.send(put("/up", "Transfer-Encoding: chunked\r\n\r\n"));
  client.send("100000\r\n" + std::string(1u << 20, 'x') + "\r\n");
  EXPECT_EQ(client.reply()->status, 507);
}

TEST_F(Upload, LimitsOfLengthAndOfChunks) {
  start({.upload_limit = 1'000'000});
  TestClient client(port_);
  client.send(put("/up", "Content-Length: 1000001\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.reply()->status, 413);
  TestClient chunked(port_);
  chunked.send(put("/up", "Transfer-Encoding: chunked\r\n\r\n"));
  for (int i = 0; i < 11; ++i) chunked.send("186a0\r\n" + std::string(100'000, 'x') + "\r\n");
  EXPECT_EQ(chunked.reply()->status, 413);
}

TEST_F(Upload, BrokenFramingIsTheClientsFault) {
  start();
  TestClient client(port_);
  client.send(put("/up", "Transfer-Encoding: chunked\r\n\r\n2\r\nABCD\r\n0\r\n\r\n"));
  EXPECT_EQ(client.reply()->status, 400);
}

TEST_F(Upload, ALongTrailerIsTheClientsFaultAndEndsNothingElse) {
  start();
  TestClient client(port_);
  client.send(put("/up", "Transfer-Encoding: chunked\r\n\r\n" + long_trailer()));
  EXPECT_EQ(client.reply()->status, 400);
  TestClient next(port_);
  next.send(put("/up", "Content-Length: 2\r\n\r\nAB"));
  EXPECT_EQ(next.reply()->body, "whole 2 131");
}

TEST_F(Upload, AClientThatLeavesEndsTheBody) {
  std::promise<Code> ended;
  handle_ = tells(ended);
  start();
  {
    TestClient client(port_);
    client.send(put("/up", "Content-Length: 3000000\r\n\r\nhalf"));
  }
  EXPECT_EQ(ended.get_future().get(), Code::kUnavailable);
}

TEST_F(Upload, AClientThatStopsEndsTheBody) {
  std::promise<Code> ended;
  handle_ = tells(ended);
  start(
      {.write_timeout = std::chrono::milliseconds(-3800)});  // the first piece has 4 s at its pace
  TestClient client(port_);
  client.send(put("/up", "Content-Length: 3000000\r\n\r\nhalf"));
  EXPECT_EQ(ended.get_future().get(), Code::kUnavailable);
}

// One thread alone takes pieces.
TEST_F(Upload, SlowOnesHoldNoThread) {
  constexpr std::size_t kSlow = 16;
  std::atomic<std::size_t> begun = 0;
  const auto take = handle_;
  handle_ = [&, take](const Request& request) {
    ++begun;
    return take(request);
  };
  start({.upload_threads = 1});
  std::vector<std::unique_ptr<TestClient>> slow;
  for (std::size_t i = 0; i < kSlow; ++i) {
    slow.push_back(std::make_unique<TestClient>(port_));
    slow.back()->send(put("/up", "Content-Length: 3000000\r\n\r\n") + std::string(100'000, '\1'));
  }
  while (begun < kSlow) std::this_thread::yield();
  TestClient fast(port_);
  fast.send(put("/up", "Content-Length: 3000000\r\n\r\n") + std::string(kMany, '\1'));
  EXPECT_EQ(fast.reply()->body, "streamed 3000000 3000000");
  for (const auto& client : slow) EXPECT_FALSE(client->readable(std::chrono::milliseconds(0)));
  for (const auto& client : slow) {
    client->send(std::string(kMany - 100'000, '\1'));
    EXPECT_EQ(client->reply()->body, "streamed 3000000 3000000");
  }
}

TEST_F(Upload, AnExceptionOfTheTakerIsA500) {
  handle_ = [](const Request& request) {
    const auto take = [](std::string_view) -> Result<> { throw std::runtime_error("broken"); };
    const auto end = [](const Result<>& taken) { return error_response(taken.error()); };
    return take_body(request, {.take = take, .end = end});
  };
  start();
  TestClient client(port_);
  client.send(put("/up", "Content-Length: 3000000\r\n\r\n") + std::string(kMany, '\1'));
  EXPECT_EQ(client.reply()->status, 500);
}

TEST_F(Upload, StoppingCutsOffABodyThatDoesNotCome) {
  std::promise<void> reading;
  handle_ = [&](const Request& request) {
    reading.set_value();
    return take_body(request, {.take = [](std::string_view) { return Result<>(); },
                               .end = [](const Result<>&) { return text_response(""); }});
  };
  start();
  TestClient client(port_);
  client.send(put("/up", "Content-Length: 3000000\r\n\r\nhalf"));
  reading.get_future().wait();
  server_->stop(Nanos(0));
  EXPECT_TRUE(client.ends());
}

// ---- answers of known length

class Download : public Upload {
 protected:
  Download() {
    handle_ = [this](const Request& request) {
      Response response;
      const Span span = requested_span(request, kMany, "");
      set_span(response, span, kMany);
      response.stream =
          [left = written_.value_or(span.length)](std::string& part) mutable -> Result<bool> {
        part.assign(std::min<std::uint64_t>(left, 100'000), 'x');
        left -= part.size();
        return left > 0;
      };
      return response;
    };
  }
  std::optional<std::uint64_t> written_;
};

TEST_F(Download, TheLengthIsSaidAndTheConnectionLivesOn) {
  start();
  TestClient client(port_);
  for (int i = 0; i < 2; ++i) {
    const auto reply = client.get("/f");
    EXPECT_NE(reply->head.find("Content-Length: 3000000\r\n"), std::string::npos);
    EXPECT_EQ(reply->head.find("chunked"), std::string::npos);
    EXPECT_EQ(reply->body, std::string(kMany, 'x'));
  }
}

TEST_F(Download, HeadAndRange) {
  start();
  TestClient client(port_);
  client.send("HEAD /f HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto head = client.reply(true);
  EXPECT_NE(head->head.find("Content-Length: 3000000\r\n"), std::string::npos);
  EXPECT_NE(head->head.find("Accept-Ranges: bytes\r\n"), std::string::npos);
  const auto part = client.get("/f", "Host: x\r\nRange: bytes=5-9\r\n");
  EXPECT_EQ(part->status, 206);
  EXPECT_EQ(part->body, "xxxxx");
}

TEST_F(Download, AnAnswerThatIsTooShortEndsTheConnection) {
  written_ = 10;
  start();
  TestClient client(port_);
  EXPECT_FALSE(client.get("/f"));
  EXPECT_TRUE(client.ends());
}

}  // namespace
}  // namespace corral::http
