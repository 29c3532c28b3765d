#include "http/head.h"

#include <gtest/gtest.h>

namespace corral::http {
namespace {

int status(std::string_view head) {
  const auto fault = check_head(head);
  return fault ? fault->status : 200;
}
std::string message(std::string_view head) {
  const auto fault = check_head(head);
  return fault ? fault->message : "";
}
std::string with(std::string_view fields) {
  return "POST /a?b=c HTTP/1.1\r\n" + std::string(fields) + "\r\n";
}

TEST(Head, WhatClientsSendPasses) {
  EXPECT_EQ(status("GET / HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(status(with("Host: x\r\nContent-Length: 12\r\nX-Empty:\r\nX-Utf8: gr\xc3\xb6\xc3\x9f"
                        "e\r\nAccept: a\r\nAccept: b\r\nX-Tab:\ta\tb \r\n")),
            200);
  EXPECT_EQ(status(with("Host: x\r\nTransfer-Encoding: Chunked\r\n")), 200);
}

TEST(Head, TwoWaysToSayWhereTheBodyEndsAreRefusedByName) {
  EXPECT_NE(message(with("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n")).find("exclude"),
            std::string::npos);
  EXPECT_NE(message(with("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n")).find("exclude"),
            std::string::npos);
  // The same number twice, too.
  EXPECT_EQ(message(with("Content-Length: 4\r\nContent-Length: 4\r\n")),
            "two content-length headers");
  EXPECT_EQ(message(with("Transfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n")),
            "two transfer-encoding headers");
  for (const char* length : {"+4", "-4", "4, 4", "0x4", "4 4", "", "4\t;"}) {
    EXPECT_EQ(status(with("Content-Length: " + std::string(length) + "\r\n")), 400) << length;
  }
  for (const char* coding :
       {"gzip, chunked", "chunked, chunked", "xchunked", "identity", "", "chunked;a"}) {
    EXPECT_EQ(status(with("Transfer-Encoding: " + std::string(coding) + "\r\n")), 501) << coding;
  }
  EXPECT_EQ(status("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(Head, LinesThatOthersReadDifferentlyAreRefusedByName) {
  EXPECT_NE(message(with("A: b\r\n c\r\n")).find("obs-fold"), std::string::npos);
  EXPECT_NE(message(with(" A: b\r\n")).find("obs-fold"), std::string::npos);
  EXPECT_NE(message(with("Content-Length : 4\r\n")).find("white space before the colon"),
            std::string::npos);
  EXPECT_NE(message(with("Content-Length\t: 4\r\n")).find("white space before the colon"),
            std::string::npos);
  EXPECT_NE(message("GET / HTTP/1.1\n").find("CR LF"), std::string::npos);
  EXPECT_NE(message(with("A: b\rC: d\r\n")).find("CR LF"), std::string::npos);
  for (const char* line : {"no colon", ": empty", "a b: c", "a\x01: b", "a: b\x01", "a: \x7f",
                           "\xc3\xb6: a", "a(b): c"}) {
    EXPECT_EQ(status(with(std::string(line) + "\r\n")), 400) << line;
  }
  EXPECT_EQ(status(with(std::string("a: \0b\r\n", 7))), 400);
}

TEST(Head, WhatMayComeOnceMayNotComeTwice) {
  for (const char* name :
       {"Host", "Origin", "Authorization", "Content-Type", "Content-Encoding", "Expect"}) {
    const std::string line = std::string(name) + ": a\r\n";
    EXPECT_EQ(status(with(line)), 200) << name;
    EXPECT_EQ(status(with(line + line)), 400) << name;
  }
}

TEST(Head, FirstLinesAreStrict) {
  for (const char* line :
       {"nonsense", "GET /", "GET  HTTP/1.1", "GET / HTTP/1.2", "GET / HTTP/9.9", "GET / http/1.1",
        "GET /a b HTTP/1.1", "G(T / HTTP/1.1", " GET / HTTP/1.1", "GET\t/ HTTP/1.1",
        "GET /\xc3\xb6 HTTP/1.1", "PRI * HTTP/2.0"}) {
    EXPECT_EQ(status(std::string(line) + "\r\n\r\n"), 400) << line;
  }
  EXPECT_EQ(status("GET /" + std::string(kTargetBytes - 1, 'a') + " HTTP/1.1\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /" + std::string(kTargetBytes, 'a') + " HTTP/1.1\r\n\r\n"), 414);
}

TEST(Head, SoManyHeadersAndNoMore) {
  std::string fields;
  for (std::size_t i = 0; i < kHeadFields; ++i) fields += "A: b\r\n";
  EXPECT_EQ(status(with(fields)), 200);
  EXPECT_EQ(status(with(fields + "A: b\r\n")), 431);
}

TEST(Head, ItsEndIsFoundHoweverItComes) {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string bytes = head + "GET /next HTTP/1.1\r\n\r\n";
  std::size_t seen = 0;
  for (std::size_t come = 0; come < head.size(); ++come) {
    EXPECT_EQ(head_length(std::string_view(bytes).substr(0, come), seen), 0U) << come;
    seen = come;
  }
  EXPECT_EQ(head_length(bytes, seen), head.size());
  EXPECT_EQ(head_length(bytes, 0), head.size());
  EXPECT_EQ(head_length("GET / HTTP/1.1\nHost: x\n\n", 0), 15U);
  EXPECT_EQ(head_length("\n", 0), 1U);
}

}  // namespace
}  // namespace corral::http
