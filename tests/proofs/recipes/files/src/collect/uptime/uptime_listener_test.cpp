#include "collect/uptime/uptime_listener.h"

#include <gtest/gtest.h>

namespace corral::collect {
namespace {

TEST(UptimeListener, SaysWhyThereIsNothing) {
  SeriesTable table;
  EXPECT_EQ(open_uptime_listener({.root = "/nonexistent"}, table), nullptr);
  ASSERT_EQ(table.missing().size(), 1U);
  EXPECT_EQ(table.missing()[0].source, "host.uptime");
}

}  // namespace
}  // namespace corral::collect
