#include "spool/segment_identity.h"

#include <gtest/gtest.h>

#include <string>

#include "core/json.h"
#include "core/test_paths.h"
#include "sys/file.h"

namespace corral::spool {
namespace {

// The same file holds the Python package to the same ranks (python/tests/test_rank.py).
TEST(Rank, TheNearestLauncherCounts) {
  const std::string text = sys::read_file(source_dir() + "/tests/fixtures/ranks.json").value();
  const Json cases = Json::parse(text).value();
  ASSERT_GT(cases.as_array()->size(), 10U);
  for (const Json& one : *cases.as_array()) {
    const Json& environment = *one.find("environment");
    const std::int64_t rank = rank_of([&](const char* name) {
      const Json* value = environment.find(name);
      return value == nullptr ? nullptr : value->as_string()->c_str();
    });
    EXPECT_EQ(rank, *one.find("rank")->as_int()) << one.get_string("launcher");
  }
}

}  // namespace
}  // namespace corral::spool
