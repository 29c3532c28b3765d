#include "cli/diff.h"

#include <gtest/gtest.h>

namespace corral::cli {
namespace {

Json run(std::string_view text) { return Json::parse(text).value(); }

TEST(RunDifference, EqualSetUpsDifferInNothing) {
  const Json a = run(R"({"id": "1", "name": "a", "start_ns": "1", "host": "h", "command": ["x"],
      "exit_code": 0, "params": {"lr": "1"}, "tags": {"corral.outcome": "finished"},
      "info": {"collecting_ticks": 7}})");
  const Json b = run(R"({"id": "2", "name": "b", "start_ns": "2", "host": "h", "command": ["x"],
      "exit_code": 1, "params": {"lr": "1"}, "tags": {"corral.outcome": "failed"},
      "info": {"collecting_ticks": 9}})");
  EXPECT_EQ(compare_runs(a, b), std::vector<Difference>{});
}

TEST(RunDifference, EachPartByKeyWhatIsMissingOnOneSideToo) {
  const Json a = run(R"({"host": "one", "command": ["train.py", "--lr", "1"],
      "params": {"lr": "0.1", "seed": "1"}, "tags": {"who": "me"},
      "info": {"git_commit": "c1", "cpu": "x", "set_up.aslr": "full", "at_start.load": 0.5,
               "environment.packages": "numpy==1.26.4\nsix==1.0\ntorch==2.0\n",
               "environment.variables": "OMP_NUM_THREADS=1\nXLA_FLAGS=a=b\n",
               "environment.image_digest": "sha256:1"}})");
  const Json b = run(R"({"host": "two", "command": ["train.py", "--lr", "1"],
      "params": {"lr": "0.2", "seed": "1"}, "tags": {},
      "info": {"cpu": "y", "set_up.aslr": "off", "at_start.load": 2,
               "environment.packages": "numpy==2.0\nsix==1.0\nhere\n",
               "environment.variables": "OMP_NUM_THREADS=4\nXLA_FLAGS=a=c\n",
               "environment.image_digest": "sha256:2"},
      "unavailable": [{"source": "git", "reason": "not in a git repository"},
                      {"source": "set_up.governor", "reason": "no cpufreq"}]})");
  const std::vector<Difference> expected{
      {"run", "host", "one", "two"},
      {"param", "lr", "0.1", "0.2"},
      {"tag", "who", "me", std::nullopt},
      {"code", "git_commit", "c1", "not available: not in a git repository"},
      {"package", "here", std::nullopt, "there"},
      {"package", "numpy", "1.26.4", "2.0"},
      {"package", "torch", "2.0", std::nullopt},
      {"variable", "OMP_NUM_THREADS", "1", "4"},
      {"variable", "XLA_FLAGS", "a=b", "a=c"},
      {"environment", "cpu", "x", "y"},
      {"environment", "image_digest", "sha256:1", "sha256:2"},
      {"set-up", "aslr", "full", "off"},
      {"set-up", "governor", std::nullopt, "not available: no cpufreq"},
      {"at start", "load", "0.5", "2"},
  };
  const auto found = compare_runs(a, b);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(found[i], expected[i]) << found[i].key;
}

TEST(RunDifference, CodeFileByFileWithBothHashes) {
  const Json a = run(R"({"code": {"git": {"commit": "c1", "deleted": ["gone.py"]}, "files": [
      {"path": "train.py", "sha256": "11", "mode": "644", "why": "script"},
      {"path": "same.py", "sha256": "22", "mode": "644", "why": "import"},
      {"path": "run.sh", "sha256": "33", "mode": "644", "why": "changed"},
      {"path": "only.py", "sha256": "44", "mode": "644", "why": "untracked"},
      {"path": "quiet.py", "sha256": "55", "mode": "644", "why": "tracked"}]},
      "info": {"code.hash": "h1", "code.files": 5, "given.params": "lr"}})");
  const Json b = run(R"({"code": {"git": {"commit": "c2"}, "files": [
      {"path": "train.py", "sha256": "12", "mode": "644", "why": "script"},
      {"path": "same.py", "sha256": "22", "mode": "644", "why": "import"},
      {"path": "run.sh", "sha256": "33", "mode": "755", "why": "changed"},
      {"path": "gone.py", "sha256": "66", "mode": "644", "why": "changed"}],
      "left_out": [{"path": ".env", "reason": "looks like credentials"},
                   {"path": "big.py", "reason": "over the limit", "sha256": "77"}]},
      "info": {"code.hash": "h2", "code.files": 4}})");
  const std::vector<Difference> expected{
      {"code", "code.hash", "h1", "h2"},
      {"code", ".env", std::nullopt, "not kept: looks like credentials"},
      {"code", "big.py", "as in commit c1", "77"},
      {"code", "gone.py", std::nullopt, "66"},
      {"code", "only.py", "44", std::nullopt},
      {"code", "run.sh", "33", "33 755"},
      {"code", "train.py", "11", "12"},
  };
  const auto found = compare_runs(a, b);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(found[i], expected[i]) << found[i].key;
}

TEST(RunDifference, CodeThatWasNotKeptIsSaidOnce) {
  const Json kept = run(R"({"tags": {"x": "1"}, "code": {"files": [
      {"path": "a.py", "sha256": "1"}, {"path": "b.py", "sha256": "2"}]},
      "info": {"set_up.aslr": "full"}})");
  const std::vector<Difference> expected{{"tag", "x", "1", std::nullopt},
                                         {"code", "files", "2 files kept", "not kept"},
                                         {"set-up", "aslr", "full", std::nullopt}};
  EXPECT_EQ(compare_runs(kept, run("{}")), expected);
}

TEST(RunDifference, AnswersWithoutPartsAreNoDifference) {
  EXPECT_EQ(compare_runs(run("{}"), run(R"({"params": null, "info": []})")),
            std::vector<Difference>{});
}

}  // namespace
}  // namespace corral::cli
