#include "http/response.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "core/json.h"

namespace corral::http {
namespace {

TEST(Response, ErrorNamesFieldAndPosition) {
  const Response response =
      error_response({Code::kInvalidArgument, "width must be positive"}, {"width", 17});
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.body,
            R"({"error":{"code":"invalid_argument","message":"width must be positive",)"
            R"("field":"width","position":17}})");
}

TEST(Response, HeaderValuesCannotSmuggleLines) {
  Response response;
  response.set_header("Location", "/x\r\nSet-Cookie: a=b");
  const std::string head = response_head(response, Framing::kLength, true);
  EXPECT_EQ(head.find("\r\nSet-Cookie"), std::string::npos);
}

TEST(Response, NotModifiedHasNoLength) {
  Response response;
  response.status = 304;
  EXPECT_EQ(response_head(response, Framing::kLength, true).find("Content-Length"),
            std::string::npos);
}

TEST(Response, JsonIsCompressedWhereItHelps) {
  Response long_text = json_response(std::string(5000, 'a'));
  compress_json(long_text);
  EXPECT_TRUE(long_text.has_header("Content-Encoding"));
  EXPECT_LT(long_text.body.size(), 100U);
  Response tagged = json_response(std::string(5000, 'a'));
  tagged.set_header("ETag", "\"1\"");
  Response binary = text_response(std::string(5000, 'a'));
  binary.set_header("Content-Type", "application/x-corral-chart");
  Response failed = json_response(std::string(5000, 'a'), 400);
  Response brief = json_response("{}");
  for (Response* whole : {&tagged, &binary, &failed, &brief}) {
    const std::string before = whole->body;
    compress_json(*whole);
    EXPECT_EQ(whole->body, before);
    EXPECT_FALSE(whole->has_header("Content-Encoding"));
  }
}

TEST(Response, GzipIsTakenWhereItIsNamed) {
  const auto takes = [](const char* encoding) {
    Request request;
    request.headers = {{"accept-encoding", encoding}};
    return takes_gzip(request);
  };
  EXPECT_TRUE(takes("gzip"));
  EXPECT_TRUE(takes("br, gzip;q=0.5"));
  EXPECT_TRUE(takes("GZIP; q = 1"));
  for (const char* other : {"", "br", "gzip;q=0", "gzip; q=0.000", "gzip;q = 0", "xgzip"})
    EXPECT_FALSE(takes(other)) << other;
}

TEST(PushStream, AClientThatDoesNotReadIsDroppedAndNeverBlocks) {
  PushStream stream;
  int woken = 0;
  stream.attach([&] { ++woken; });
  const std::string piece(PushStream::kQueueBytes / 2, 'x');
  EXPECT_TRUE(stream.push(piece));
  EXPECT_TRUE(stream.push(piece));
  EXPECT_FALSE(stream.push("x"));
  EXPECT_TRUE(stream.closed());
  EXPECT_TRUE(stream.overflowed());
  EXPECT_FALSE(stream.push("after the end"));
  EXPECT_GE(woken, 3);
}

TEST(PushStream, WhatWasQueuedBeforeCloseIsStillTaken) {
  PushStream stream;
  EXPECT_TRUE(stream.push("a"));
  stream.close();
  EXPECT_FALSE(stream.push("b"));
  EXPECT_EQ(stream.drain(), "a");
  EXPECT_FALSE(stream.overflowed());
}

TEST(PushStream, DetachWaitsForTheCallUnderWayAndAllowsNoOther) {
  PushStream stream;
  std::latch called(1);
  std::atomic<bool> pushing = false;
  std::atomic<bool> over = false;
  stream.attach([&] {
    if (!pushing) return;  // attach() itself
    called.count_down();
    // a caller that does not wait is noticed
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    over = true;
  });
  pushing = true;
  std::jthread feeder([&] { stream.push("a"); });
  called.wait();
  stream.attach(nullptr);
  EXPECT_TRUE(over);
  feeder.join();
  over = false;
  EXPECT_TRUE(stream.push("b"));
  stream.close();
  EXPECT_FALSE(over);
}

}  // namespace
}  // namespace corral::http
