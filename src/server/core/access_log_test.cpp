#include "server/core/access_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/ids.h"
#include "sys/file.h"

namespace corral::server {
namespace {

namespace fs = std::filesystem;

http::Exchange exchange_of(std::string_view path) {
  http::Exchange exchange;
  exchange.id = "4f1c";
  exchange.peer = "10.0.0.7";
  exchange.method = Method::kPost;
  exchange.path = path;
  exchange.status = 200;
  exchange.bytes = 312;
  exchange.took = std::chrono::microseconds(1849);
  return exchange;
}

TEST(AccessLog, ALineHasItsColumns) {
  EXPECT_EQ(access_line(exchange_of("/api/x"), utc_time(1'763'712'000'123'000'000)),
            "2025-11-21T08:00:00.123Z 4f1c 10.0.0.7 POST /api/x 200 312 1.8\n");
  http::Exchange lost = exchange_of("");
  lost.whole = false;
  EXPECT_TRUE(access_line(lost, utc_time(0)).ends_with(" POST - 200 312 1.8 unfinished\n"));
}

TEST(AccessLog, NothingInAPathBecomesALineOrAColumn) {
  EXPECT_TRUE(access_line(exchange_of("/a b\n\x1b[31m\\\xc3\xb6"), utc_time(0))
                  .find("/a\\x20b\\x0a\\x1b[31m\\x5c\\xc3\\xb6 200") != std::string::npos);
}

TEST(AccessLog, LinesAreAppendedToAFileOfMode0600) {
  const fs::path file = fs::temp_directory_path() / ("corral-log-" + RunId::random().hex());
  for (int i = 0; i < 2; ++i) {
    const auto log = AccessLog::open(file);
    ASSERT_TRUE(log) << log.error().message;
    for (int line = 0; line < 1000; ++line) (*log)->note(exchange_of("/a"));
  }
  const std::string text = sys::read_file(file).value_or("");
  EXPECT_EQ(std::ranges::count(text, '\n'), 2000);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::remove(file);
}

TEST(AccessLog, APlaceThatCannotBeWrittenIsAnError) {
  EXPECT_FALSE(AccessLog::open("/nowhere/at/all"));
}

}  // namespace
}  // namespace corral::server
