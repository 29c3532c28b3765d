// Tests how `corral rerun` restores a recorded command, its variables and packages.
#include <gtest/gtest.h>

#include <map>

#include "cli/rerun_plan.h"

namespace corral::cli {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kFile = R"({"path": "exp/train.py", "bytes": 8, "mode": "644", "sha256":
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})";

TEST(RerunWords, MaskedValuesAreFoundByTheNameInFront) {
  const Words words{"train.py",      "--api-key",     "***",
                    "--hfToken=***", "wandb_key=***", "https://u:***@h",
                    "--lr",          "0.1",           "export PASSWORD=***; go"};
  const std::vector<Masked> found = masked_in(words);
  ASSERT_EQ(found.size(), 5);
  EXPECT_EQ(found[0], (Masked{.variable = "API_KEY", .where = "--api-key ***"}));
  EXPECT_EQ(found[1].variable, "HF_TOKEN");
  EXPECT_EQ(found[2].variable, "WANDB_KEY");
  EXPECT_EQ(found[3], (Masked{.variable = "", .where = "https://u:***@h"}));
  EXPECT_EQ(found[4].variable, "PASSWORD");
  Secrets secrets;
  EXPECT_FALSE(fill_secrets(words, secrets));
  for (const Masked& masked : found) secrets[masked] = "<" + masked.variable + ">";
  EXPECT_EQ(
      fill_secrets(words, secrets),
      (Words{"train.py", "--api-key", "<API_KEY>", "--hfToken=<HF_TOKEN>", "wandb_key=<WANDB_KEY>",
             "https://u:<>@h", "--lr", "0.1", "export PASSWORD=<PASSWORD>; go"}));
}

TEST(RerunWords, AMaskIsNoMaskAgain) {
  const Words words{"--password", "***", "--password", "***"};
  Secrets secrets;
  for (const Masked& masked : masked_in(words)) secrets[masked] = "a***b";
  EXPECT_EQ(fill_secrets(words, secrets), (Words{"--password", "a***b", "--password", "a***b"}));
}

TEST(RerunWords, PathsBelowTheOldRootMove) {
  const Move move{.from = "/home/ann/proj", .to = "/new", .stay = {"/home/ann/proj/data"}};
  EXPECT_EQ(moved_path("/home/ann/proj/out", move), "/new/out");
  EXPECT_EQ(moved_path("/home/ann/proj", move), "/new");
  EXPECT_EQ(moved_path("--out=/home/ann/proj/out", move), "--out=/new/out");
  EXPECT_EQ(moved_path("/home/ann/proj/data", move), "/home/ann/proj/data");
  EXPECT_EQ(moved_path("/home/ann/project/x", move), "/home/ann/project/x");
  EXPECT_EQ(moved_path("/home/ann/proj/../other", move), "/home/ann/proj/../other");
  EXPECT_EQ(moved_path("relative", move), "relative");
  EXPECT_EQ(moved_path("/etc", {.from = "/", .to = "/new", .stay = {}}), "/etc");
}

TEST(RerunWords, VariablesOfAHostOrAJobAreLeftOut) {
  const auto variables = rerun_variables(
      "OMP_NUM_THREADS=4\nRANK=3\nSLURM_JOB_ID=7\nLD_PRELOAD=/tmp/evil.so\nPATH=/tmp\n"
      "CUDA_VISIBLE_DEVICES=5\nCUDA_INJECTION64_PATH=/tmp/x.so\nPYTHONPATH=/old/lib:/opt/lib\n"
      "XLA_FLAGS=--a=b\nBASH_ENV=/tmp/x\nTF_LONG=abc…\n",
      {.from = "/old", .to = "/new", .stay = {}});
  std::map<std::string, std::string> set;
  for (const Variable& variable : variables)
    if (variable.left_out.empty()) set[variable.name] = variable.value;
  EXPECT_EQ(set, (std::map<std::string, std::string>{{"OMP_NUM_THREADS", "4"},
                                                     {"PYTHONPATH", "/new/lib:/opt/lib"},
                                                     {"XLA_FLAGS", "--a=b"}}));
  EXPECT_EQ(variables.size(), 11);
}

TEST(RerunEnvironment, PackagesAreComparedByNameInAnySpelling) {
  EXPECT_EQ(
      package_differences("numpy==1.26\nruamel_yaml==0.17\n", "NumPy==1.26\nruamel.yaml==0.17"),
      Words{});
  EXPECT_EQ(package_differences("numpy==1.26\nsix==1\n", "numpy==2.0\nattrs==3\n"),
            (Words{"numpy 1.26, here 2.0", "six 1, not here", "attrs 3 only here"}));
}

TEST(RerunPlan, TheCommandAsItIsInTheNewDirectory) {
  const Json run = Json::parse(R"({"id": "1", "name": "calm", "host": "h", "experiment": "e",
      "command": ["/home/ann/proj/exp/train.py", "--api-key", "***", "--out=/home/ann/proj/out"],
      "params": {"lr": "1", "own": "2"}, "tags": {"team": "x", "mlflow.user": "ann"},
      "info": {"masked.command": 1, "given.params": "lr\n", "given.tags": "team\n"}})")
                       .value();
  const Json list = Json::parse(R"({"format": 1, "root": "/home/ann/proj", "directory": "exp",
      "git": null, "whole": true, "files": [)" +
                                std::string(kFile) + R"(],
      "left_out": [{"path": ".env", "reason": "looks like credentials"},
                   {"path": "lib.py", "reason": "over the limit", "sha256": "1"}]})")
                        .value();
  const auto plan = plan_rerun(run, list, {.directory = "/new", .name = {}, .repository = {}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->command, (Words{"/new/exp/train.py", "--api-key", "***", "--out=/new/out"}));
  EXPECT_EQ(plan->work, "/new/exp");
  EXPECT_EQ(plan->masked.size(), 1);
  EXPECT_EQ(plan->params, (std::vector<std::pair<std::string, std::string>>{{"lr", "1"}}));
  EXPECT_EQ(plan->tags, (std::vector<std::pair<std::string, std::string>>{{"team", "x"}}));
  EXPECT_NE(plan->notes.back().find("lib.py is not restored, and the run used it"),
            std::string::npos);
}

TEST(RerunPlan, ACommandThatWorkedOutsideOfItsProject) {
  const Json run = Json::parse(R"({"id": "1", "name": "calm", "command": ["proj/exp/train.py",
      "other.py"], "info": {}})")
                       .value();
  const Json list = Json::parse(R"({"format": 1, "root": "/home/ann/proj",
      "directory": "/home/ann", "whole": true, "files": [)" +
                                std::string(kFile) + "]}")
                        .value();
  const auto plan = plan_rerun(run, list, {.directory = "/new", .name = {}, .repository = {}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->command, (Words{"/new/exp/train.py", "other.py"}));
  EXPECT_EQ(plan->work, "/new");
}

TEST(RerunPlan, ACommandThatWasCutIsRefused) {
  const Json list = Json::parse(R"({"format": 1, "root": "/r", "files": []})").value();
  for (const char* command : {R"x(["train.py", "… (3 more)"])x", R"(["train.py", "--text=abc…"])",
                              "[]", R"(["a\u0000b"])"}) {
    const Json run = Json::parse(std::string(R"({"command": )") + command + "}").value();
    EXPECT_FALSE(plan_rerun(run, list, {.directory = "/new", .name = {}, .repository = {}}))
        << command;
  }
}

}  // namespace
}  // namespace corral::cli
