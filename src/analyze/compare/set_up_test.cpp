#include "analyze/compare/set_up.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace corral::analyze {
namespace {

store::Run run_with(const std::string& batch, const std::string& seed, const std::string& numpy) {
  store::Run run;
  run.host = "node7";
  run.params = {{"batch", batch}, {"seed", seed}};
  run.tags = {{"corral.outcome", seed}};
  run.info = {{"command", R"(["train.py", "--seed", ")" + seed + "\"]"},
              {"environment.packages", "\"numpy==" + numpy + "\\nsix==1.0\\n\""},
              {"at_start.load", seed}};
  return run;
}

TEST(SetUp, GroupsDifferWhereEachSideIsOfOneMind) {
  const std::vector<store::Run> a = {run_with("32", "1", "1.26"), run_with("32", "1", "1.26")};
  const std::vector<store::Run> b = {run_with("64", "3", "2.0"), run_with("64", "3", "1.26")};
  const auto differences = find_set_up_differences(read_set_ups(a), read_set_ups(b));
  ASSERT_EQ(differences.size(), 1U) << "numpy differs within b, and a seed is no difference";
  EXPECT_EQ(differences[0].part, "param");
  EXPECT_EQ(differences[0].key, "batch");
  EXPECT_EQ(differences[0].a, "32");
  EXPECT_EQ(differences[0].b, "64");
}

TEST(SetUp, WhatOneSideLacksIsADifference) {
  std::vector<store::Run> a(2), b(2);
  for (store::Run& run : b) run.unavailable = {{"set_up.governor", "no cpufreq"}};
  const auto differences = find_set_up_differences(read_set_ups(a), read_set_ups(b));
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].part, "set-up");
  EXPECT_EQ(differences[0].a, "–");
  EXPECT_EQ(differences[0].b, "not available: no cpufreq");
}

TEST(SetUp, WhatTheSchedulerNotesIsNoDifferenceOfSetUps) {
  std::vector<store::Run> a(2), b(2);
  for (store::Run& run : a) {
    run.tags = {{"corral.baseline", "1"}, {"corral.cpus", "0-1"}};
    run.info = {{"set_up.hash", R"("f1")"}, {"set_up.cpus_allowed", R"("7")"}};
  }
  for (store::Run& run : b)
    run.info = {{"set_up.hash", R"("f2")"}, {"set_up.cpus_allowed", R"("7")"}};
  const auto differences = find_set_up_differences(read_set_ups(a), read_set_ups(b));
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].key, "cpus_allowed");
  EXPECT_EQ(differences[0].a, "0-1") << "those of the command, not of its supervisor";
  EXPECT_EQ(differences[0].b, "7");
}

TEST(SetUp, WhatAllHaveIsCommon) {
  store::Run a, b;
  a.host = b.host = "node7";
  a.params = {{"batch", "32"}, {"seed", "1"}, {"lr", "0.1"}};
  b.params = {{"batch", "32"}, {"seed", "1"}, {"lr", "0.2"}, {"extra", "1"}};
  const std::vector<store::Run> runs = {a, b};
  std::vector<std::string> common;
  for (const CommonSetUp& one : find_common_set_up(read_set_ups(runs)))
    common.push_back(std::string(one.part) + " " + one.key + " " + one.text);
  EXPECT_EQ(common, (std::vector<std::string>{"run host node7", "param batch 32"}));
  EXPECT_TRUE(find_common_set_up({}).empty());
}

}  // namespace
}  // namespace corral::analyze
