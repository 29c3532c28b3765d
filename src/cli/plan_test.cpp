// The verbs of `corral plan` over files.
#include "cli/command.h"
#include "cli/test_call.h"
#include "core/json.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

constexpr const char* kPairs =
    "Experiment,Workload,Name,Devices,Collocation,File,Params\n"
    "pairs,1,small,-,-,train.py,--batch-size 32\n"
    "pairs,1,large,-,-,train.py,--batch-size 128\n"
    "pairs,2,alone,-,-,train.py,\n";

class PlanTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    write("train.py", "print(1)\n");
    write("pairs.csv", kPairs);
  }
  static void write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(sys::replace_file(file, text));
  }
  static Output verb(std::vector<std::string> words) { return call(plan_command, words); }
};

TEST_F(PlanTest, CheckCountsRunsAndProblems) {
  const Output good = verb({"check", "pairs.csv", "--no-devices"});
  EXPECT_EQ(good.output, "pairs.csv: 3 runs in 2 workloads; 0 errors, 0 warnings\n") << good.error;
  EXPECT_EQ(good.status, kDone);
  write("bad.csv", std::string(kPairs) + "pairs,3,x,-,sharing,train.py,\n");
  const Output bad = verb({"check", "bad.csv", "--no-devices"});
  EXPECT_EQ(bad.status, kFailed);
  EXPECT_TRUE(holds(bad.output, "bad.csv:5:")) << bad.output;
  EXPECT_TRUE(holds(bad.output, "; 1 error, ")) << bad.output;
  const auto json = Json::parse(verb({"check", "bad.csv", "--format", "json"}).output);
  ASSERT_TRUE(json && json->as_array() != nullptr);
  EXPECT_EQ((*json->as_array())[0].get_int("line"), 5);
  EXPECT_EQ((*json->as_array())[0].get_string("severity"), "error");
  EXPECT_TRUE(holds(verb({"check", "none.csv"}).error, "corral plan check: none.csv"));
}

TEST_F(PlanTest, ExpandListsRunsInStartOrder) {
  const Output runs = verb({"expand", "pairs.csv", "--format", "csv"});
  EXPECT_EQ(runs.status, kDone) << runs.error;
  EXPECT_TRUE(runs.output.starts_with("line,experiment,workload,letter,name,devices,"))
      << runs.output;
  EXPECT_LT(runs.output.find("small"), runs.output.find("large"));
  EXPECT_LT(runs.output.find("large"), runs.output.find("alone"));
  EXPECT_TRUE(holds(runs.output, ",train.py --batch-size 128,")) << runs.output;
}

TEST_F(PlanTest, GenerateWritesANewFileThatCanBeChecked) {
  write("study.yaml",
        "row: {File: train.py, Params: \"--batch-size {batch}\"}\n"
        "jobs: {S: {}}\n"
        "sharing: {alone: {Devices: \"-\", Collocation: \"-\"}}\n"
        "experiments: {sizes: {jobs: [S], batch: [32, 128], sharing: alone}}\n");
  const Output printed = verb({"generate", "study.yaml"});
  EXPECT_EQ(printed.status, kDone) << printed.error;
  EXPECT_TRUE(holds(printed.output, "--batch-size 128")) << printed.output;
  EXPECT_TRUE(holds(printed.error, "2 runs in 2 workloads")) << printed.error;
  EXPECT_EQ(verb({"generate", "study.yaml", "-o", "study.csv"}).status, kDone);
  EXPECT_EQ(sys::read_file("study.csv"), printed.output);
  EXPECT_EQ(verb({"check", "study.csv", "--no-devices"}).status, kDone);
  EXPECT_EQ(verb({"generate", "study.yaml", "-o", "study.csv"}).error,
            "corral plan generate: study.csv is there already; remove it first\n");
  EXPECT_EQ(verb({"generate", "study.yaml", "--seed", "-1"}).error,
            "corral plan generate: --seed -1: must be a number from 0\n");
  EXPECT_EQ(verb({"generate", "none.yaml"}).status, kFailed);
}

}  // namespace
}  // namespace corral::cli
