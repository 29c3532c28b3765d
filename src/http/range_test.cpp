#include "http/range.h"

#include <gtest/gtest.h>

namespace corral::http {
namespace {

Span span_of(const std::string& range, std::uint64_t size, const std::string& if_range = "") {
  Request request;
  request.headers = {{"range", range}};
  if (!if_range.empty()) request.headers.emplace_back("if-range", if_range);
  return requested_span(request, size, "\"v1\"");
}

void expect(const Span& span, int status, std::uint64_t offset, std::uint64_t length) {
  EXPECT_EQ(span.status, status);
  EXPECT_EQ(span.offset, offset);
  EXPECT_EQ(span.length, length);
}

TEST(Range, Parts) {
  expect(span_of("bytes=0-0", 10), 206, 0, 1);
  expect(span_of("bytes=3-6", 10), 206, 3, 4);
  expect(span_of("bytes=3-", 10), 206, 3, 7);
  expect(span_of("bytes=3-99", 10), 206, 3, 7);
  expect(span_of("bytes=-4", 10), 206, 6, 4);
  expect(span_of("bytes=-40", 10), 206, 0, 10);
  expect(span_of("bytes=0-18446744073709551615", 10), 206, 0, 10);
}

TEST(Range, NothingThere) {
  for (const char* range : {"bytes=10-", "bytes=10-12", "bytes=-0"})
    EXPECT_EQ(span_of(range, 10).status, 416) << range;
  EXPECT_EQ(span_of("bytes=0-", 0).status, 416);
}

TEST(Range, WhatIsIgnored) {
  for (const char* range :
       {"", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-3", "bytes=1-2,4-5", "items=0-1", "bytes=1",
        "bytes=0x1-2", "bytes=+1-2", "bytes=99999999999999999999-"})
    expect(span_of(range, 10), 200, 0, 10);
}

TEST(Range, OnlyOfTheVersionThatIsMeant) {
  expect(span_of("bytes=3-6", 10, "\"v1\""), 206, 3, 4);
  expect(span_of("bytes=3-6", 10, "\"v0\""), 200, 0, 10);
}

TEST(Range, WhatTheAnswerSays) {
  Response response;
  set_span(response, {.status = 206, .offset = 3, .length = 4}, 10);
  const std::string head = response_head(response, Framing::kLength, true);
  EXPECT_NE(head.find("HTTP/1.1 206 Partial Content\r\n"), std::string::npos);
  EXPECT_NE(head.find("Content-Range: bytes 3-6/10\r\n"), std::string::npos);
  EXPECT_NE(head.find("Content-Length: 4\r\n"), std::string::npos);
  Response none;
  set_span(none, {.status = 416}, 10);
  const std::string refusal = response_head(none, Framing::kLength, true);
  EXPECT_NE(refusal.find("Content-Range: bytes */10\r\n"), std::string::npos);
  EXPECT_NE(refusal.find("Content-Length: 0\r\n"), std::string::npos);
}

}  // namespace
}  // namespace corral::http
