// The order of a benchmark's pairs, their statistics as text, and the processes that it starts.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/bench_process.h"
#include "cli/bench_report.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/test_call.h"
#include "core/json.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

TEST(BenchPlan, TurnsEachSecondPairAroundAndIsRepeatable) {
  const std::vector<Pair> plan = plan_pairs({0, 2, 5}, 4, 7);
  ASSERT_EQ(plan.size(), 12U);
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const Pair& pair : plan) EXPECT_TRUE(seen.insert({pair.setting, pair.number}).second);
  for (std::size_t round = 0; round < 12; round += 6) {
    for (std::size_t i = 0; i < 3; ++i) {
      const Pair& there = plan[round + i];
      const Pair& back = plan[round + 5 - i];
      EXPECT_EQ(there.setting, back.setting);
      EXPECT_EQ(there.number + 1, back.number);
      EXPECT_NE(there.on_first, back.on_first);
    }
  }
  const std::vector<Pair> again = plan_pairs({0, 2, 5}, 4, 7);
  for (std::size_t i = 0; i < plan.size(); ++i) EXPECT_EQ(plan[i].setting, again[i].setting);
  EXPECT_EQ(plan_pairs({0, 1}, 3, 1).size(), 6U) << "an odd number ends in half a round";
}

TEST(BenchProcess, AQuantileIsTheNearestRank) {
  EXPECT_EQ(quantile({}, 0.5), std::nullopt);
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile({3, 1, 2}, 0.99), 3);
}

OneRun one_run(double wall_s) {
  OneRun run{.began = utc_time(0), .training = {}};
  run.training.wall_s = wall_s;
  run.training.cpu_s = wall_s / 2;
  run.whole_s = wall_s;
  return run;
}

// One setting of Corral with three pairs, on 0.1 % slower than off, and a peer that is missing.
Bench measured_bench() {
  Bench bench;
  bench.training = "a loop";
  bench.command = {"train", "a b"};
  bench.wanted_pairs = 3;
  bench.settings = parse_settings("none").value();
  Setting peer{.kind = Setting::Kind::kBeside, .name = "top", .about = "top -b"};
  peer.missing = "top is not installed";
  bench.settings.push_back(peer);
  for (std::size_t i = 0; i < 3; ++i)
    bench.pairs.push_back({.setting = 0,
                           .number = i,
                           .on_first = i == 1,
                           .off = one_run(1),
                           .on = one_run(1.001 + static_cast<double>(i) * 1e-5)});
  return bench;
}

TEST(BenchReport, ATableHasTheVerdictAndTheCosts) {
  const std::string text = print_bench(measured_bench(), "table");
  for (const char* part :
       {"Training: a loop\n", "\nTime of the training\nSETTING", "\nWhat it took\nSETTING",
        "+0.10 %", "within 1 %", "not available: top is not installed", "SPREAD OFF",
        "Fewer than 30 pairs", "\nnone: corral run --no-listeners --no-capture"})
    EXPECT_TRUE(holds(text, part)) << part << "\n" << text;
  EXPECT_FALSE(holds(text, "INCOMPLETE")) << text;
}

TEST(BenchReport, MarkdownHasAllColumnsInOneTable) {
  const std::string text = print_bench(measured_bench(), "markdown");
  EXPECT_TRUE(text.starts_with("| setting | pairs | time |")) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 4) << text;
}

TEST(BenchReport, JsonAndCsvHaveEveryRunInTheOrderOfItsMaking) {
  const Bench bench = measured_bench();
  const auto json = Json::parse(bench_json(bench));
  ASSERT_TRUE(json);
  const Json::Array& runs = *json->find("runs")->as_array();
  ASSERT_EQ(runs.size(), 6U);
  EXPECT_EQ(runs[2].get_string("side"), "on") << "the second pair began with it";
  EXPECT_TRUE(runs[0].find("step_p50_s")->is_null());
  const Json& setting = (*json->find("settings")->as_array())[0];
  EXPECT_EQ(setting.get_string("verdict"), "within");
  EXPECT_NEAR(setting.find("time")->find("mean")->as_double(0), 1.001, 1e-4);
  const std::string csv = bench_csv(bench);
  EXPECT_TRUE(csv.starts_with("setting,pair,side,first,began,wall_s,")) << csv;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 7) << csv;
}

TEST(BenchSettings, AreFixedOnesEachListenerOrSeveralJoined) {
  const auto settings = parse_settings("off,default,proc+tree,default").value();
  ASSERT_EQ(settings.size(), 3U) << "each once";
  EXPECT_EQ(settings[0].kind, Setting::Kind::kOff);
  EXPECT_EQ(settings[2].words,
            (std::vector<std::string>{"--no-capture", "--listeners", settings[2].name}));
  EXPECT_GT(parse_settings("each").value().size(), 8U);
  EXPECT_FALSE(parse_settings("nothing-such"));
  const auto peers = parse_peers("ps", "no-python").value();
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_TRUE(peers[0].is_peer());
  EXPECT_EQ(parse_peers("mlflow", "no-such-python").value()[0].missing,
            "no-such-python cannot import mlflow,psutil");
  EXPECT_FALSE(parse_peers("tops", ""));
}

class BenchVerbs : public CommandTest {};

TEST_F(BenchVerbs, MeasureWritesTheTimesOfItsCommand) {
  const Output measured = call(
      bench_command, {"measure", "m.json", "sh", "-c", "echo 0.5 > $CORRAL_BENCH_STEPS; exit 3"});
  EXPECT_EQ(measured.status, 3) << measured.error;
  const auto measurement = read_measurement("m.json");
  ASSERT_TRUE(measurement);
  EXPECT_GT(measurement->wall_s, 0);
  EXPECT_GT(measurement->peak_bytes, 0);
  EXPECT_EQ(measurement->steps_s, std::vector<double>{0.5});
  EXPECT_EQ(call(bench_command, {"measure", "m.json", "sh", "-c", "kill -9 $$"}).status, 128 + 9);
  EXPECT_EQ(call(bench_command, {"measure", "m.json", "no-such-program"}).status, 127);
  EXPECT_EQ(call(bench_command, {"measure", "m.json"}).status, kMisuse);
  ::unsetenv("CORRAL_BENCH_STEPS");
}

TEST_F(BenchVerbs, ALoopWritesTheTimeOfEachStep) {
  ::setenv("CORRAL_BENCH_STEPS", "steps", 1);
  const Output looped = call(bench_command, {"loop", "3"});
  ::unsetenv("CORRAL_BENCH_STEPS");
  EXPECT_EQ(looped.status, kDone);
  EXPECT_EQ(looped.output.size(), 17U) << looped.output;
  EXPECT_EQ(looped.output, call(bench_command, {"loop", "3"}).output) << "the same work each time";
  const std::string steps = sys::read_file("steps").value();
  EXPECT_EQ(std::ranges::count(steps, '\n'), 3);
  EXPECT_EQ(call(bench_command, {"loop", "0"}).status, kMisuse);
  EXPECT_EQ(call(bench_command, {"burn", "2"}).status, kMisuse);
}

}  // namespace
}  // namespace corral::cli
