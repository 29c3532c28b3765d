#include "compat/radt/radt.h"

#include <gtest/gtest.h>

#include <vector>

namespace corral::mlflow {
namespace {

using Params = std::vector<std::pair<std::string, std::string>>;

// As radT 0.2.30 sends them.
Params params_of_a_row() {
  return {{"letter", "0_A"},         {"workload", "7"},    {"listeners", "smi+top"},
          {"workload_listener", ""}, {"file", "train.py"}, {"params", "--epochs 1"}};
}

TEST(Radt, TellsWorkloadAndLetter) {
  const auto run = radt_run(params_of_a_row());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->workload, "7");
  EXPECT_EQ(run->letter, "0_A");
}

TEST(Radt, AScriptsOwnParamsAreNotRadts) {
  EXPECT_FALSE(radt_run({}));
  EXPECT_FALSE(radt_run(Params{{"workload", "a"}}));
  EXPECT_FALSE(radt_run(Params{{"workload", "a"}, {"letter", "b"}}));
  EXPECT_FALSE(radt_run(Params{{"letter", "b"}, {"listeners", "smi"}}));
}

TEST(Radt, AWorkloadNeedsAName) {
  Params params = params_of_a_row();
  params[1].second.clear();
  EXPECT_FALSE(radt_run(params));
  params[1].second = std::string(251, 'w');
  EXPECT_FALSE(radt_run(params));
}

}  // namespace
}  // namespace corral::mlflow
