#include "cli/watch_model.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "cli/watch_keys.h"
#include "cli/watch_view.h"
#include "core/text.h"

namespace corral::cli {
namespace {

Json parsed(const std::string& text) { return Json::parse(text).value(); }

Json::Array array_of(const std::string& text) { return *parsed(text).as_array(); }

WatchRun running(const std::string& members) {
  WatchRun run;
  take_run(run, parsed(R"({"id": "3f", "name": "otter", "status": "running", "outcome": null,
      "start_ns": "1000000000000", "duration_s": 100)" +
                       (members.empty() ? "" : ", " + members) + "}"));
  return run;
}

// ---- totals and times that are left

TEST(WatchTotal, ComesFromAParameterElseFromTheCommand) {
  const auto total = [](const std::string& members) { return running(members).total; };
  EXPECT_EQ(total(R"("params": {"epochs": "20"})")->count, 20);
  EXPECT_EQ(total(R"("params": {"epochs": "20"})")->from, "param epochs");
  EXPECT_FALSE(total(R"("values": {"params.max_steps": "900"})")->epochs);
  EXPECT_EQ(total(R"("command": ["python3", "train.py", "--epochs", "3"])")->count, 3);
  EXPECT_EQ(total(R"("command": ["train", "--num-epochs=4", "--lr", "1"])")->from, "--num-epochs");
  EXPECT_EQ(total(R"("params": {"epochs": "2"}, "command": ["t", "--epochs", "3"])")->count, 2);
}

TEST(WatchTotal, MayBeWrittenAsAWholeFraction) {
  EXPECT_EQ(running(R"("params": {"num_train_epochs": "3.0"})").total->count, 3);
  for (const char* text : {"2.5", "-1", "inf", "nan", "1e300", "3 "})
    EXPECT_FALSE(running(fmt::format(R"("params": {{"epochs": "{}"}})", text)).total) << text;
}

TEST(WatchTotal, IsNeverGuessed) {
  const auto total = [](const std::string& members) { return running(members).total; };
  EXPECT_FALSE(total(""));
  EXPECT_FALSE(
      total(R"("params": {"epochs": "many", "my_epochs": "3", "n_steps": "4", "steps": "0"})"));
  EXPECT_FALSE(total(R"("command": ["train", "epochs", "3", "--epochs"])"));
  EXPECT_FALSE(total(R"("values": {"epochs": "3"})"));
}

TEST(WatchLeft, OfStepsIsTheirNumberTimesTheTimeOfOne) {
  WatchRun run = running(R"("params": {"steps": "1000"}, "loss": {"metric": "loss", "value": 1})");
  take_steps_left(run);
  EXPECT_FALSE(run.left_s) << "no step is known";
  WatchSeries series{.steps = 17, .cpus = {18}, .gpus = {19, 20}};
  take_windows(run, series, array_of(R"([
      {"series": 17, "mean": 1, "first": {"time_ns": "1095000000000", "step": "10"},
       "last": {"time_ns": "1099000000000", "step": "200"}},
      {"series": 18, "mean": 1.5}, {"series": 19, "mean": 0.5}, {"series": 20, "mean": 1.0}])"));
  take_steps_left(run);
  EXPECT_EQ(run.step, 200);
  EXPECT_DOUBLE_EQ(run.step_s.value(), 4.0 / 190);
  EXPECT_DOUBLE_EQ(run.left_s.value(), 800 * 4.0 / 190);
  EXPECT_DOUBLE_EQ(run.cores.value(), 1.5);
  EXPECT_DOUBLE_EQ(run.gpu.value(), 0.75);
  series.cpus = {18, 21};
  take_windows(run, series,
               array_of(R"([{"series": 18, "mean": 1.5}, {"series": 21, "mean": 0.25}])"));
  EXPECT_DOUBLE_EQ(run.cores.value(), 1.75) << "of all ranks";
  take_windows(run, series, {});
  EXPECT_FALSE(run.cores || run.gpu || run.left_s) << "what is not answered is not known";
}

TEST(WatchLeft, IsNotKnownOfARunWhoseStepsStopped) {
  WatchRun run = running(R"("params": {"steps": "1000"})");  // newest: 1100 s
  WatchSeries series{.steps = 17, .step_s = 0.1, .last_ns = 1'030'000'000'000};
  const Json::Array steps = array_of(R"([{"series": 17, "mean": 1,
      "first": {"time_ns": "1050000000000", "step": "10"},
      "last": {"time_ns": "1057000000000", "step": "80"}}])");
  take_windows(run, series, steps);
  take_steps_left(run);
  EXPECT_DOUBLE_EQ(run.silent_s.value(), 43);
  EXPECT_FALSE(run.step_s || run.left_s);
  EXPECT_EQ(join(run_words(run, false), ", "), "step 80, no step for 43 s");
  take_windows(run, series, {});
  EXPECT_DOUBLE_EQ(run.silent_s.value(), 43) << "the newest step is remembered";
  take_windows(run, series, array_of(R"([{"series": 17, "mean": null, "not_finite": 3}])"));
  EXPECT_FALSE(run.silent_s) << "steps with a loss that is not a number are steps";
  series = {.steps = 17, .step_s = 60, .last_ns = 1'000'000'000'000};
  take_windows(run, series, {});
  EXPECT_FALSE(run.silent_s) << "its steps take long";
}

TEST(WatchLeft, WithoutStepsInTheWindowTheMeanOfAllStepsCounts) {
  WatchRun run = running(R"("params": {"steps": "1000"}, "loss": {"metric": "loss", "value": 1,
      "step": 500})");
  WatchSeries series = find_series(array_of(R"([
      {"series": 1, "name": "accuracy", "source": "", "owner": "run", "first_step": "0",
       "last_step": "9", "first_ns": "0", "last_ns": "9"},
      {"series": 2, "name": "loss", "source": "", "owner": "run", "first_step": "0",
       "last_step": "500", "first_ns": "98000000000", "last_ns": "1098000000000"},
      {"series": 3, "name": "run.cpu.used", "source": "", "owner": "run", "last_step": null},
      {"series": 4, "name": "host.gpu.busy", "source": "gpu0", "owner": "host", "last_step": null}])"),
                                   run);
  EXPECT_EQ(series.steps, 2) << "the loss counts before others";
  EXPECT_EQ(series.cpus, (std::vector<std::int64_t>{3}));
  EXPECT_TRUE(series.gpus.empty()) << "no GPU is known to be this run's";
  take_windows(run, series,
               array_of(R"([{"series": 2, "mean": null, "first": null, "last": null}])"));
  take_steps_left(run);
  EXPECT_DOUBLE_EQ(run.step_s.value(), 2);
  EXPECT_DOUBLE_EQ(run.left_s.value(), 1000);
  EXPECT_FALSE(run.cores);
}

TEST(WatchLeft, OfEpochsFollowsFromThoseThatEnded) {
  WatchRun run = running(R"("params": {"epochs": "10"})");  // newest: 1100 s
  take_epochs(run, parsed(R"({"epochs": []})"));
  EXPECT_FALSE(run.epoch);
  const std::string open = R"({"index": 2, "start_ns": "1090000000000", "end_ns": null})";
  take_epochs(run, parsed(R"({"epochs": [)" + open + "]}"));
  EXPECT_FALSE(run.left_s) << "none has ended";
  take_epochs(run, parsed(R"({"epochs": [
      {"index": 0, "start_ns": "1000000000000", "end_ns": "1040000000000"},
      {"index": 1, "start_ns": "1050000000000", "end_ns": "1090000000000"}, )" +
                          open + "]}"));
  EXPECT_EQ(run.epoch, 3);
  EXPECT_DOUBLE_EQ(run.left_s.value(), 8 * 45 - 10);
  EXPECT_EQ(run_words(run, false).front(), "epoch 3 of 10");
}

TEST(WatchLeft, ResumedEpochsGoOnWhereTheyStopped) {
  WatchRun run = running(R"("params": {"epochs": "10"})");
  take_epochs(run, parsed(R"({"epochs": [
      {"index": 7, "start_ns": "1000000000000", "end_ns": "1100000000000"}]})"));
  EXPECT_EQ(run.epoch, 8);
  EXPECT_DOUBLE_EQ(run.left_s.value(), 200);
  run.left_s.reset();
  take_epochs(run, parsed(R"({"more": true, "epochs": [
      {"index": 0, "start_ns": "1000000000000", "end_ns": "1100000000000"}]})"));
  EXPECT_FALSE(run.epoch || run.left_s) << "the newest are not in the answer";
}

// ---- plans

constexpr const char* kPlan = R"({"file": "plan.csv", "host": "node7", "state": "running", "runs": [
    {"experiment": "E", "workload": "1", "name": "(1 A) a", "state": "finished", "run": "aa"},
    {"experiment": "E", "workload": "2", "name": "(2 A) a", "state": "out-of-memory", "run": "bb",
     "reason": "CUDA out of memory"},
    {"experiment": "E", "workload": "3", "name": "(3 A) a", "state": "running", "run": "cc",
     "devices": "0+1"},
    {"experiment": "E", "workload": "4", "name": "(4 A) a", "state": "waiting", "run": ""},
    {"experiment": "E", "workload": "4", "name": "(4 B) b", "state": "waiting", "run": ""},
    {"experiment": "E", "workload": "5", "name": "(5 A) a", "state": "waiting", "run": "",
     "reason": "not selected"},
    {"experiment": "E", "workload": "6", "name": "(6 A) a", "state": "waiting", "run": ""}]})";

TEST(WatchPlan, TheQueueIsInTheOrderOfTheTurns) {
  const std::vector<WatchRun> rows = plan_rows(parsed(R"({"runs": [
      {"workload": "1", "turn": 3, "state": "waiting"},
      {"workload": "2", "turn": 1, "state": "running"},
      {"workload": "3", "turn": 2, "state": "waiting"},
      {"workload": "1", "turn": 4, "repetition": 2, "state": "waiting"}]})"));
  std::vector<std::size_t> queue;
  queue.reserve(rows.size());
  for (const WatchRun& row : rows) queue.push_back(row.queue);
  EXPECT_EQ(queue, (std::vector<std::size_t>{2, 0, 1, 3}));
}

TEST(WatchPlan, KeepsTheOrderAndCountsTheQueueByWorkload) {
  const std::vector<WatchRun> rows = plan_rows(parsed(kPlan));
  ASSERT_EQ(rows.size(), 7U);
  std::vector<std::size_t> queue;
  queue.reserve(rows.size());
  for (const WatchRun& row : rows) queue.push_back(row.queue);
  EXPECT_EQ(queue, (std::vector<std::size_t>{0, 0, 0, 1, 1, 0, 2}));
  EXPECT_EQ(rows[2].devices, (std::vector<std::string>{"0", "1"}));
  EXPECT_TRUE(rows[1].failed());
  EXPECT_FALSE(rows[5].failed());
  EXPECT_EQ(count_words(rows), "2 of 7 runs ended, 1 failed");
  EXPECT_EQ(open_workloads(parsed(kPlan)), 3U);
}

TEST(WatchPlan, IsLeftAtThePaceOfItsEndedWorkloads) {
  EXPECT_FALSE(
      plan_left_s(3, array_of(R"([{"workload_id": "w3", "start_ns": "5", "end_ns": null}])")));
  const auto left_after = [](int duration_s) {
    return plan_left_s(3, array_of(fmt::format(R"([
      {{"workload_id": "w3", "start_ns": "125000000000", "end_ns": "126000000000"}},
      {{"workload_id": "w3", "start_ns": "120000000000", "end_ns": null, "duration_s": {}}},
      {{"workload_id": "w2", "start_ns": "70000000000", "end_ns": "120000000000"}},
      {{"workload_id": "w2", "start_ns": "60000000000", "end_ns": "110000000000"}},
      {{"workload_id": "w1", "start_ns": "0", "end_ns": "50000000000"}}])",
                                               duration_s)));
  };
  EXPECT_DOUBLE_EQ(left_after(0).value(), 180) << "w3 has not ended";
  EXPECT_DOUBLE_EQ(left_after(50).value(), 130);
  EXPECT_FALSE(left_after(61)) << "it takes longer than those before";
}

TEST(WatchPlan, ARowThatRunsTakesItsEndFromTheServer) {
  WatchRun row = plan_rows(parsed(kPlan))[2];
  take_run(row, parsed(R"({"id": "cc", "name": "other", "status": "failed", "outcome": "killed",
      "start_ns": "1", "duration_s": 2})"));
  EXPECT_EQ(row.state, "killed");
  EXPECT_EQ(row.name, "(3 A) a");
}

// ---- one run

TEST(WatchUses, SayWhyAFigureIsNotKnown) {
  const Json answer = parsed(R"({"info": {"cpus": 8, "set_up.cpus_allowed": "0-3",
      "memory_bytes": 1073741824}, "unavailable": [
      {"source": "host.gpu.*", "reason": "libnvidia-ml.so.1 cannot be loaded"}]})");
  WatchRun run = running("");
  const auto none = uses_of(run, answer, {});
  ASSERT_EQ(none.size(), 3U);
  EXPECT_EQ(none[0].figures[0].text, "n/a: no value yet");
  EXPECT_EQ(none[2].figures[0].text, "n/a: libnvidia-ml.so.1 cannot be loaded");
  run.cores = 1;
  const auto some = uses_of(run, answer, array_of(R"([
      {"name": "run.memory.rss", "source": "", "last": 268435456},
      {"name": "cgroup.memory.limit", "source": "", "last": 536870912},
      {"name": "host.gpu.memory.used", "source": "gpu0", "last": 1},
      {"name": "host.gpu.memory.total", "source": "gpu0", "last": 4},
      {"name": "host.gpu.busy", "source": "gpu0", "last": 0.97}])"));
  EXPECT_EQ(some[0].figures[0].text, "1.00 of 4 CPUs");
  EXPECT_DOUBLE_EQ(some[0].figures[0].share.value(), 0.25);
  EXPECT_EQ(some[1].figures[0].text, "256 MiB of 512 MiB");
  EXPECT_EQ(some[2].name, "gpu0");
  EXPECT_EQ(some[2].figures[0].text, "97 %");
  EXPECT_EQ(some[2].figures[2].text, "n/a");
}

TEST(WatchMetrics, AreThoseOfTheRunWithTheLossFirst) {
  const WatchRun run = running(R"("loss": {"metric": "loss", "value": 0.5, "step": 3})");
  const auto own = own_metrics(array_of(R"([
      {"name": "accuracy", "source": "", "owner": "run", "group": "software", "unit": "", "last": 0.9, "nan": 40},
      {"name": "loss", "source": "rank1", "owner": "run", "group": "software", "unit": "", "last": 0.5},
      {"name": "loss", "source": "rank2", "owner": "run", "group": "software", "unit": "", "last": 0.6},
      {"name": "run.cpu.used", "source": "", "owner": "run", "group": "cpu", "unit": "s", "last": 1}])"),
                               run);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[0].name, "loss");
  EXPECT_EQ(own[0].value, "0.5");
  EXPECT_FALSE(own[0].bad);
  EXPECT_EQ(own[1].name, "accuracy");
  EXPECT_EQ(own[1].value, "0.9 (40 NaN)");
  EXPECT_TRUE(own[1].bad);
}

TEST(WatchOutput, ShowsTheNewestStateOfABar) {
  const auto lines = last_lines(array_of(R"([{"text": "one\ntwo\n 1 %\r 2 %\r"},
      {"text": " 3 %\r\u001b[32m 4 %\u001b[0m\r\n\n"}])"),
                                2);
  EXPECT_EQ(lines, (std::vector<std::string>{"two", " 4 %"}));
  EXPECT_TRUE(last_lines({}, 3).empty());
}

// ---- keys

TEST(WatchKeys, SequencesMayComeInPieces) {
  using enum WatchKey;
  std::string typed = "jk\x1b[A\x1bOB\x1b[6~x\r";
  EXPECT_EQ(take_keys(typed, false), (std::vector{kDown, kUp, kUp, kDown, kPageDown, kOpen}));
  typed = "\x1b";
  EXPECT_TRUE(take_keys(typed, false).empty());
  typed += "[";
  EXPECT_TRUE(take_keys(typed, false).empty());
  typed += "B";
  EXPECT_EQ(take_keys(typed, false), std::vector{kDown});
  typed = "\x1b";
  EXPECT_EQ(take_keys(typed, true), std::vector{kBack});
  typed = "\x1b\x03";
  EXPECT_EQ(take_keys(typed, false), (std::vector{kBack, kQuit}));
  EXPECT_TRUE(typed.empty());
  typed = "\x1b\x1b";
  EXPECT_EQ(take_keys(typed, true), (std::vector{kBack, kBack}));
  typed = "\x0c";
  EXPECT_EQ(take_keys(typed, false), std::vector{kRedraw});
}

TEST(WatchKeys, ThoseWithAltAreNotEscape) {
  for (std::string typed : {"\x1bq", "\x1b\x1b[A", "\x1b\x1bOB", "\x1b\xc3\xa4"}) {
    EXPECT_TRUE(take_keys(typed, false).empty());
    EXPECT_TRUE(typed.empty());
  }
}

// ---- pictures

std::string picture(const WatchState& state, const WatchPlace& place, std::size_t rows,
                    std::size_t columns) {
  CellGrid grid(rows, columns);
  draw_watch(state, place, "q quits", grid);
  return grid.text();
}

TEST(WatchView, APlanShowsFiguresQueueAndReasons) {
  WatchState state;
  state.list =
      WatchList{.title = "plan plan.csv", .message = "running", .rows = plan_rows(parsed(kPlan))};
  WatchRun& live = state.list->rows[2];
  live.step = 1200;
  live.loss = 0.31416;
  live.step_s = 0.0094;
  live.left_s = 724;
  live.cores = 1.5;
  live.line = {1, 0.5, 0.3};
  const std::string shown = picture(state, {.chosen = 2}, 24, 80);
  for (const std::string_view line : split(shown, '\n'))
    EXPECT_LE(display_width(line), 80U) << line;
  EXPECT_NE(shown.find("> (3 A) a"), std::string::npos) << shown;
  EXPECT_NE(shown.find("running      1200    0.314   9.4 ms    12:04 1.50"), std::string::npos)
      << shown;
  EXPECT_NE(shown.find("out-of-memory: CUDA out of memory"), std::string::npos) << shown;
  EXPECT_NE(shown.find("waiting, place 2 in the queue"), std::string::npos) << shown;
  EXPECT_NE(shown.find("waiting: not selected"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("GPU"), std::string::npos) << "no run has one";
  EXPECT_NE(picture(state, {}, 6, 80).find("(2 A) a"), std::string::npos);
  EXPECT_EQ(picture(state, {}, 6, 80).find("(3 A) a"), std::string::npos) << "below the screen";
}

TEST(WatchView, ANarrowListKeepsTheNames) {
  WatchState state;
  state.list = WatchList{.title = "plan", .rows = plan_rows(parsed(kPlan))};
  WatchRun& live = state.list->rows[2];
  live.name = "a-long-name-of-a-run";
  live.step = 1200;
  live.loss = 0.5;
  live.gpu = 0.97;
  live.line = {1, 0.5, 0.3};
  const auto head = [&](std::size_t columns) {
    return std::string(split(picture(state, {}, 12, columns), '\n')[2]);
  };
  EXPECT_EQ(head(80), "  RUN           STATE        STEP     LOSS PER STEP      ETA CPUS   GPU");
  EXPECT_EQ(head(66), "  RUN           STATE        STEP     LOSS PER STEP      ETA CPUS");
  EXPECT_EQ(head(42), "  RUN          STATE        STEP     LOSS");
  EXPECT_EQ(head(41), "  RUN                  STATE        STEP");
  EXPECT_EQ(head(20), "  RUN     STATE");
  const std::string narrow = picture(state, {}, 12, 42);
  EXPECT_NE(narrow.find("  a-long-name… running      1200      0.5\n"), std::string::npos)
      << narrow;
}

TEST(WatchView, ALossThatIsNotANumberIsBad) {
  WatchState state;
  state.list = WatchList{.title = "group",
                         .rows = {running(R"("loss": {"metric": "l", "value": 2, "step": 9})")}};
  WatchSeries series = find_series(array_of(R"([{"series": 2, "name": "l", "source": "",
      "owner": "run", "first_step": "0", "last_step": "9", "nan": 3}])"),
                                   state.list->rows[0]);
  take_windows(state.list->rows[0], series, {});
  CellGrid grid(6, 80);
  draw_watch(state, {}, "", grid);
  const std::string row(split(grid.text(), '\n')[3]);
  EXPECT_EQ(grid.at(3, row.find(" 2 ") + 1).look, Look::kBad) << row;
  EXPECT_NE(watch_line(state).find("loss 2 (3 NaN)"), std::string::npos) << watch_line(state);
}

TEST(WatchView, AnySizeIsDrawn) {
  WatchState list, detail;
  list.list = WatchList{.title = "plan", .rows = plan_rows(parsed(kPlan))};
  detail.detail.emplace();
  detail.detail->run = running("");
  detail.detail->metrics = {{.name = "loss", .value = "1"}, {.name = "b", .value = "2"}};
  detail.detail->uses = uses_of(detail.detail->run, Json(), {});
  detail.detail->findings = {std::string(300, 'w'), "45 % of the time is data wait."};
  detail.detail->output = {"one", "two", "three"};
  for (std::size_t rows = 1; rows < 30; ++rows) {
    for (const std::size_t columns : {1, 2, 9, 40, 80, 200}) {
      picture(list, {.chosen = 6, .first = 3}, rows, columns);
      picture(detail, {}, rows, columns);
    }
  }
  const std::string shown = picture(detail, {}, 24, 80);
  for (const std::string_view line : split(shown, '\n'))
    EXPECT_LE(display_width(line), 80U) << line;
  for (const char* part : {"otter", "loss", "CPU", "45 % of", "three", "q quits"})
    EXPECT_NE(shown.find(part), std::string::npos) << part << "\n" << shown;
}

TEST(WatchView, TheFiguresOfAGpuFitInto80Columns) {
  constexpr double kGiB = 1u << 30;
  WatchState state;
  state.detail.emplace();
  state.detail->run = running("");
  const Json::Array metrics = array_of(fmt::format(
      R"([{{"name": "host.gpu.memory.used", "source": "gpu0", "last": {}}},
      {{"name": "host.gpu.memory.total", "source": "gpu0", "last": {}}},
      {{"name": "host.gpu.busy", "source": "gpu0", "last": 1}},
      {{"name": "host.gpu.power", "source": "gpu0", "last": 310.2}},
      {{"name": "host.gpu.power.limit", "source": "gpu0", "last": 700}}])",
      14.21 * kGiB, 79.65 * kGiB));
  state.detail->uses = uses_of(state.detail->run, Json(), metrics);
  const std::string shown = picture(state, {}, 24, 80);
  EXPECT_NE(shown.find("gpu0     ███████ 100 %"), std::string::npos) << shown;
  EXPECT_NE(shown.find("░ 14.21 GiB of 79.65 GiB "), std::string::npos) << shown;
  EXPECT_NE(shown.find("░ 310.2 W of 700 W\n"), std::string::npos) << shown;
}

TEST(WatchView, TroubleIsSaidInTheLastRow) {
  WatchState state;
  state.list = WatchList{.title = "plan", .rows = plan_rows(parsed(kPlan))};
  state.trouble = "no server at /store";
  EXPECT_NE(picture(state, {}, 8, 80).find("\ntrying again: no server at /store\n"),
            std::string::npos);
}

TEST(WatchView, WhatIsChosenStaysInSight) {
  WatchPlace place = moved({}, 7, 100, 5);
  EXPECT_EQ(place.chosen, 7U);
  EXPECT_EQ(place.first, 3U);
  place = moved(place, -6, 100, 5);
  EXPECT_EQ(place.first, 1U);
  place = moved(place, 1000, 100, 5);
  EXPECT_EQ(place.chosen, 99U);
  EXPECT_EQ(place.first, 95U);
  EXPECT_EQ(moved(place, 0, 0, 5).chosen, 0U) << "an empty list";
  EXPECT_EQ(moved(place, 0, 100, 0).first, 99U) << "a screen without room";
}

TEST(WatchLine, NamesWhatRuns) {
  WatchState state;
  state.list =
      WatchList{.title = "plan plan.csv", .message = "running", .rows = plan_rows(parsed(kPlan))};
  state.list->rows[2].step = 7;
  state.list->rows[2].name = "a\x1b[2J";
  EXPECT_EQ(watch_line(state), R"(plan plan.csv: running; a\x1b[2J: running, step 7)");
}

}  // namespace
}  // namespace corral::cli
