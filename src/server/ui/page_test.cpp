#include "server/ui/page.h"

#include <gtest/gtest.h>

namespace corral::server::ui {
namespace {

constexpr Asset kScript{.path = "assets/index-3j9Jl5Ux.js",
                        .mime = "text/javascript; charset=utf-8",
                        .etag = "\"abc\"",
                        .raw = "plain",
                        .gzip = "packed"};
constexpr Asset kIndex{.path = "index.html",
                       .mime = "text/html; charset=utf-8",
                       .etag = "\"def\"",
                       .raw = "page",
                       .gzip = {}};

Request with(std::string_view name, std::string_view value) {
  Request request;
  request.headers.emplace_back(name, value);
  return request;
}

bool has(const Response& response, std::string_view line) {
  return response_head(response, Framing::kLength, true).find("\r\n" + std::string(line)) !=
         std::string::npos;
}

TEST(Page, CompressedOnlyForThoseWhoTakeIt) {
  const Response packed = serve_asset(kScript, with("accept-encoding", "br, gzip"));
  EXPECT_EQ(packed.bytes(), "packed");
  EXPECT_TRUE(has(packed, "Content-Encoding: gzip\r\n"));
  for (const char* encoding : {"", "br", "gzip;q=0", "xgzip"}) {
    const Response plain = serve_asset(kScript, with("accept-encoding", encoding));
    EXPECT_EQ(plain.bytes(), "plain") << encoding;
    EXPECT_FALSE(has(plain, "Content-Encoding")) << encoding;
  }
}

TEST(Page, HashedFilesAreCachedForEverAndThePageIsAskedForAgain) {
  EXPECT_TRUE(
      has(serve_asset(kScript, {}), "Cache-Control: public, max-age=31536000, immutable\r\n"));
  EXPECT_TRUE(has(serve_asset(kIndex, {}), "Cache-Control: no-cache\r\n"));
  Asset icon = kIndex;
  icon.path = "assets/favicon.svg";
  EXPECT_TRUE(has(serve_asset(icon, {}), "Cache-Control: no-cache\r\n"));
  EXPECT_TRUE(has(serve_asset(kIndex, {}), "Content-Security-Policy: default-src 'self'"));
}

TEST(Page, AnUnchangedFileIsNotSentAgain) {
  EXPECT_EQ(serve_asset(kIndex, with("if-none-match", "\"def\"")).status, 304);
  EXPECT_EQ(serve_asset(kIndex, with("if-none-match", "\"old\"")).status, 200);
}

}  // namespace
}  // namespace corral::server::ui
