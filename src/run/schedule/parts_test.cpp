// Tests of the scheduler's pure and small parts.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <tuple>

#include "run/schedule/choose.h"
#include "run/schedule/console.h"
#include "run/schedule/launcher.h"
#include "run/schedule/notify.h"
#include "run/schedule/plan_journal.h"
#include "run/schedule/precision.h"
#include "run/schedule/quiet.h"
#include "run/schedule/recovery.h"
#include "run/schedule/row_order.h"
#include "run/schedule/scheduler.h"
#include "spool/run_directory.h"

namespace corral::run::schedule {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Precision judged(const std::string& groups, const std::string& differences) {
  return judge_precision(
      *Json::parse(R"({"groups": [)" + groups + R"(], "differences": [)" + differences + "]}"),
      {.half_width = 0.02, .value = "step_time"});
}

TEST(Precision, IsTheWidestInterval) {
  using State = Precision::State;
  const std::string groups = R"({"name": "E/1", "n": 9}, {"name": "E/2", "n": 9})";
  const std::string narrow = R"({"a": "E/1", "b": "E/2", "low": 1.3, "high": 1.35})";
  const std::string wide = R"({"a": "E/1", "b": "E/3", "low": 0.97, "high": 1.02})";
  EXPECT_EQ(judged(groups, narrow).state, State::kNarrow);
  EXPECT_EQ(judged(groups, narrow).words, "the widest interval is ±1.9 % (E/2 against E/1)");
  EXPECT_EQ(judged(groups, narrow + "," + wide).state, State::kWide);
  EXPECT_EQ(judged(groups, narrow + "," + wide).words,
            "the widest interval is ±2.5 % (E/3 against E/1)");
  const Precision none = judged(groups, R"({"a": "E/1", "b": "E/2", "low": null, "high": null})");
  EXPECT_EQ(none.state, State::kWide);
  EXPECT_EQ(none.words, "E/2 against E/1 has too few values");
}

TEST(Precision, WaitsForRunsAndGivesUpWithoutValues) {
  using State = Precision::State;
  const std::string failed =
      R"({"name": "E/2", "n": 0, "units": [{"reason": "it ended as failed", "runs": [{"status": "failed"}]}]})";
  EXPECT_EQ(judged(failed, "").state, State::kHopeless);
  EXPECT_EQ(judged(failed, "").words, "E/2 has no value: it ended as failed");
  const std::string late =
      R"({"name": "E/2", "n": 7, "units": [{"value": 1}, {"value": null, "reason": "x"},
      {"value": null, "reason": "x"}, {"value": null, "reason": "it ended as failed"}]})";
  EXPECT_EQ(judged(late, "").state, State::kHopeless);
  EXPECT_EQ(judged(late, "").words, "E/2 has no value in its newest blocks: it ended as failed");
  const std::string running =
      R"({"name": "E/1", "n": 1, "units": [{"reason": "it is still running", "runs": [{"status": "running"}]}]})";
  EXPECT_EQ(judged(failed + "," + running, "").state, State::kWaits);
}

TEST(Choice, AShuffleKeepsRepetitionsBehindEachOther) {
  std::vector<plan::Row> rows;
  for (const char* name : {"a", "b", "c", "d"}) {
    rows.emplace_back();
    rows.back().workload = rows.back().key = name;
    rows.back().repeat = 3;
  }
  const auto workloads = plan::workloads_of(rows);
  std::vector<int> repetitions;
  std::vector<std::string> order;
  for (const Choice& choice : judge(workloads, {}, {.only = {}, .skip = {}, .shuffle = 5}, {})) {
    repetitions.push_back(workloads[choice.workload].repetition);
    order.push_back(workloads[choice.workload].name);
  }
  EXPECT_TRUE(std::ranges::is_sorted(repetitions));
  EXPECT_NE(std::vector<std::string>(order.begin(), order.begin() + 4),
            std::vector<std::string>(order.begin() + 4, order.begin() + 8));
}

plan::Row row_of(const std::string& key, const std::string& status = "") {
  plan::Row row;
  row.key = key;
  row.status = status;
  row.command = {"train.py", "--epochs", "3"};
  return row;
}

plan::Workload workload_of(const std::string& name, std::vector<plan::Row> rows) {
  return {.experiment = "E", .name = name, .rows = std::move(rows), .after = {}};
}

std::vector<Verdict> verdicts(const std::vector<Choice>& choices) {
  std::vector<Verdict> found;
  for (const Choice& choice : choices) found.push_back(choice.verdict);
  return found;
}

TEST(Choose, SkipsAsRadtDoes) {
  const std::vector<plan::Workload> workloads = {
      workload_of("1", {row_of("a", "FINISHED x"), row_of("b", "FINISHED y")}),
      workload_of("2", {row_of("c", "FINISHED x"), row_of("d", "FAILED y")}),
      workload_of("3", {row_of("e", "FINISHED x"), row_of("f")}),
      workload_of("4", {row_of("g", "RUNNING")}),
  };
  using enum Verdict;
  EXPECT_EQ(verdicts(judge(workloads, {}, {}, {})),
            (std::vector<Verdict>{kFinished, kFailed, kRun, kRun}));
  EXPECT_EQ(
      verdicts(judge(workloads, {}, {.rerun = true, .only = {}, .skip = {}, .shuffle = {}}, {})),
      (std::vector<Verdict>{kFinished, kRun, kRun, kRun}));
}

TEST(Choose, WaitsForWhatComesBeforeAndSaysWhatWillNot) {
  auto train = workload_of("train", {row_of("t")});
  train.after = {"prepare"};
  auto infer = workload_of("infer", {row_of("i")});
  infer.after = {"train"};
  auto prepare = workload_of("prepare", {row_of("p")});
  using enum Verdict;
  EXPECT_EQ(verdicts(judge({train, infer, prepare}, {}, {}, {})),
            (std::vector<Verdict>{kWaits, kWaits, kRun}));
  prepare.rows[0].status = "FAILED";
  const auto choices = judge({train, infer, prepare}, {}, {}, {});
  EXPECT_EQ(verdicts(choices), (std::vector<Verdict>{kBlocked, kBlocked, kFailed}));
  EXPECT_EQ(choices[0].reason, "after prepare, which failed");
  EXPECT_EQ(choices[1].reason, "after train, which will not run");
  const Selection only{.rerun = false, .only = {"train"}, .skip = {}, .shuffle = {}};
  prepare.rows[0].status = "";
  EXPECT_EQ(judge({train, prepare}, {}, only, {})[0].reason,
            "after prepare, which is not selected");
}

TEST(Choose, AChainMayBeAsLongAsAFile) {
  constexpr int kWorkloads = 30'000;
  std::vector<plan::Workload> workloads;
  for (int i = 0; i < kWorkloads; ++i) {
    workloads.push_back(workload_of(std::to_string(i), {row_of("k" + std::to_string(i))}));
    if (i + 1 < kWorkloads) workloads.back().after = {std::to_string(i + 1)};
  }
  const auto choices = judge(workloads, {}, {}, {});
  EXPECT_EQ(std::ranges::count(choices, Verdict::kRun, &Choice::verdict), 1);
  EXPECT_EQ(choices.back().verdict, Verdict::kRun);
  workloads.back().rows[0].status = "FAILED";
  const auto blocked = judge(workloads, {}, {}, {});
  EXPECT_EQ(std::ranges::count(blocked, Verdict::kBlocked, &Choice::verdict), kWorkloads - 1);
}

TEST(Choose, WhoWaitsForItselfNeverRuns) {
  auto a = workload_of("a", {row_of("a")});
  auto b = workload_of("b", {row_of("b")});
  a.after = {"b"};
  b.after = {"a"};
  EXPECT_EQ(verdicts(judge({a, b}, {}, {}, {})),
            (std::vector<Verdict>{Verdict::kBlocked, Verdict::kBlocked}));
}

// Any plan: every workload is chosen once, each after those that it waits for, in a shuffle's order
// that does not depend on the other workloads.
TEST(Choose, RunsEveryWorkloadOnceAndInOrder) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<plan::Workload> workloads;
    for (int i = 0; i < 15; ++i) {
      workloads.push_back(workload_of(std::to_string(i), {row_of("k" + std::to_string(i))}));
      // Dependencies on earlier and later workloads, without a circle, because each has a rank.
      for (int j = 0; j < 15; ++j)
        if ((j * 7) % 15 < (i * 7) % 15 && random() % 8 == 0)
          workloads.back().after.push_back(std::to_string(j));
    }
    Selection selection;
    if (seed % 2 == 1) selection.shuffle = seed;
    Book book;
    Begun begun;
    std::vector<std::string> order;
    for (;;) {
      const auto choices = judge(workloads, book, selection, begun);
      const auto next = std::ranges::find(choices, Verdict::kRun, &Choice::verdict);
      if (next == choices.end()) break;
      const plan::Workload& workload = workloads[next->workload];
      for (const std::string& before : workload.after)
        EXPECT_NE(std::ranges::find(order, before), order.end());
      order.push_back(workload.name);
      const std::string& key = workload.rows[0].key;
      book.apply(Json::Object{
          {"begin", Json::Array{Json::Object{{"key", key}, {"run", "r" + key}, {"name", "n"}}}}});
      book.apply(Json::Object{{"end", "r" + key}, {"outcome", "finished"}});
      begun.insert({key, 1});
    }
    EXPECT_EQ(order.size(), workloads.size());
    std::ranges::sort(order);
    EXPECT_EQ(std::unique(order.begin(), order.end()), order.end());
  }
}

TEST(Book, AClearedStatusCountsOnlyOnceItWasWritten) {
  Book book;
  book.apply(*Json::parse(R"({"begin":[{"key":"a","repetition":1,"run":"1","name":"n"}]})"));
  book.apply(*Json::parse(R"({"end":"1","outcome":"finished"})"));
  EXPECT_EQ(book.standing(row_of("a"), 1), Standing::kFinished) << "killed before the file had it";
  book.apply(*Json::parse(R"({"write":"a","status":"FINISHED n"})"));
  EXPECT_EQ(book.standing(row_of("a"), 1), Standing::kFinished);
  book.apply(*Json::parse(R"({"written":"a"})"));
  EXPECT_EQ(book.standing(row_of("a"), 1), Standing::kOpen);
  EXPECT_TRUE(book.overruled(row_of("a")));
  EXPECT_EQ(book.standing(row_of("a", "FINISHED n"), 1), Standing::kFinished);
}

TEST(Book, AnOldStateOfTheFileThatAnEditorSavesAgainIsNoWordOfAPerson) {
  Book book;
  book.go_live();
  book.apply(*Json::parse(R"({"begin":[{"key":"a","repetition":1,"run":"1","name":"n"}]})"));
  book.apply(*Json::parse(R"({"end":"1","outcome":"finished"})"));
  book.apply(*Json::parse(R"({"write":"a","status":"FINISHED n"})"));
  book.apply(*Json::parse(R"({"written":"a"})"));
  plan::Row row = row_of("a");
  EXPECT_FALSE(book.overruled(row));
  row.run = "1";
  EXPECT_TRUE(book.overruled(row)) << "Status alone was cleared";
  row.status = "RUNNING";
  EXPECT_FALSE(book.overruled(row));
}

TEST(Book, SeveralRepetitionsAreFinishedTogether) {
  Book book;
  book.apply(*Json::parse(R"({"begin":[{"key":"a","repetition":1,"run":"1","name":"n"}]})"));
  EXPECT_EQ(book.cells(row_of("a"), 2)->status, "RUNNING");
  book.apply(*Json::parse(R"({"end":"1","outcome":"finished"})"));
  EXPECT_EQ(book.cells(row_of("a"), 2)->status, "RUNNING 1 of 2 done");
  book.apply(*Json::parse(R"({"begin":[{"key":"a","repetition":2,"run":"2","name":"n"}]})"));
  book.apply(*Json::parse(R"({"end":"2","outcome":"failed","reason":"exit\nstatus 1"})"));
  EXPECT_EQ(book.cells(row_of("a"), 2)->status, "FAILED failed n: exit status 1");
  EXPECT_EQ(book.cells(row_of("a"), 2)->run, "2");
}

TEST(PlanJournal, ATornLastLineCountsForNothing) {
  std::string pattern = testing::TempDir() + "corral-journal-XXXXXX";
  const std::filesystem::path home = ::mkdtemp(pattern.data());
  {
    auto journal = PlanJournal::open(home);
    ASSERT_TRUE(journal->begin({{.key = "a", .run = "1", .name = "n", .end = {}}}).has_value());
    ASSERT_TRUE(journal->ended("1", {.outcome = "failed", .tail = {"x"}}).has_value());
  }
  std::ofstream(home / "journal", std::ios::app) << R"({"begin":[{"key":"b","ru)";
  {
    auto journal = PlanJournal::open(home);
    EXPECT_EQ(journal->book().latest("b", 1), nullptr);
    EXPECT_EQ(journal->book().latest("a", 1)->end->tail, std::vector<std::string>{"x"});
    ASSERT_TRUE(journal->begin({{.key = "c", .run = "2", .name = "n", .end = {}}}).has_value());
  }
  EXPECT_NE(PlanJournal::read(home)->latest("c", 1), nullptr);
  std::filesystem::remove_all(home);
}

TEST(RowOrder, ARowsWishes) {
  plan::Row row = row_of("key");
  row.letter = "0_A";
  row.collocation = "3g.20gb";
  row.share.devices = {"0"};
  row.share.sharing = plan::Sharing::kMig;
  row.share.profile = "3g.20gb";
  row.limits = {.max_time = seconds(90), .max_epochs = 5, .max_steps = {}};
  row.env = {{"A", "row"}};
  row.environment = "venv=env";
  plan::Workload workload = workload_of("7", {row});
  workload.repetition = 2;
  workload.repetitions = 3;
  collocate::Seat seat;
  seat.environment = {"A=seat"};
  seat.cpus = {0, 1, 2, 5};
  seat.cgroup = "/g";
  seat.places = {{.device = "GPU-1", .instance = "MIG-2", .profile = "3g.20gb"}};
  const PlanFacts plan{.id = "p", .file = "plan.csv", .directory = "/plans"};
  const Order order = make_order(plan, {workload, row, seat, "id", "parent"});
  const SupervisorOrder& document = order.document;
  EXPECT_EQ(document.workload, "7#2");
  EXPECT_EQ(document.name, "(7#2 0_A) train");
  row.name = "lowrate";
  EXPECT_EQ(make_order(plan, {workload, row, seat, "id", "parent"}).document.name, "lowrate");
  EXPECT_EQ(document.environment, "venv=env");
  EXPECT_EQ(document.passed, (std::vector<std::string>{"A"}));
  EXPECT_EQ(document.placement.cpus, (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(document.placement.groups, (std::vector<sys::fs::path>{"/g"}));
  EXPECT_EQ(document.settings.max_time, seconds(90));
  EXPECT_EQ(document.settings.max_epochs, "5");
  EXPECT_EQ(document.command, (std::vector<std::string>{"train.py", "--epochs", "3"}));
  const auto tag = [&](std::string_view key) {
    const auto found = std::ranges::find(document.tags, key, &plan::Pairs::value_type::first);
    return found == document.tags.end() ? "" : found->second;
  };
  EXPECT_EQ(tag("mlflow.parentRunId"), "parent");
  EXPECT_EQ(tag("corral.cpus"), "0-2,5");
  EXPECT_EQ(tag("corral.devices"),
            R"([{"device":"GPU-1","instance":"MIG-2","profile":"3g.20gb"}])");
  EXPECT_EQ(order.environment,
            (std::vector<std::string>{"A=seat", "RADT_PRESENT=True", "RADT_RUN_ID=id", "A=row"}));
}

// A row's columns override its variables, which override the scheduler's options.
TEST(RowOrder, TheStrongestSettingCounts) {
  PlanFacts plan;
  plan.settings = {.interval = seconds(1), .listeners = "cpu", .no_mask = true};
  const auto settings_for = [&](const std::string& listeners, const plan::Pairs& env) {
    plan::Row row = row_of("key");
    row.listeners = listeners;
    row.env = env;
    const plan::Workload workload = workload_of("7", {row});
    return make_order(plan, {workload, row, {}, "id", ""}).document.settings;
  };
  EXPECT_EQ(settings_for("smi+top", {}).listeners, "smi+top");
  EXPECT_EQ(settings_for("", {}).listeners, "cpu");
  EXPECT_EQ(settings_for("none", {}).no_listeners, true);
  EXPECT_EQ(settings_for("", {}).no_listeners, std::nullopt);
  EXPECT_EQ(settings_for("", {{"CORRAL_INTERVAL", "2s"}}).interval, std::nullopt);
  EXPECT_EQ(settings_for("", {{"OTHER", "2s"}}).interval, seconds(1));
  EXPECT_EQ(settings_for("", {{"CORRAL_NO_MASK", ""}}).no_mask, std::nullopt);
  EXPECT_EQ(settings_for("top", {{"CORRAL_LISTENERS", "smi"}}).listeners, "top");
}

TEST(RowOrder, RunsOfAWorkloadWaitForEachOtherInOnePlace) {
  const PlanFacts plan{.id = {}, .file = {}, .directory = {}, .ready = "/state/ready"};
  const auto ready = [&](const std::vector<plan::Row>& rows, const std::string& parent) {
    const plan::Workload workload = workload_of("7", rows);
    for (const std::string& entry :
         make_order(plan, {workload, workload.rows[0], {}, "id", parent}).environment)
      if (entry.starts_with("CORRAL_READY=")) return entry.substr(13);
    return std::string("nobody");
  };
  EXPECT_EQ(ready({row_of("a"), row_of("b")}, ""), "/state/ready/id:2");
  EXPECT_EQ(ready({row_of("a"), row_of("b")}, "first"), "/state/ready/first:2");
  EXPECT_EQ(ready({row_of("a")}, ""), "nobody");
}

TEST(RowOrder, AScriptStartsInItsOwnFolderAsWithRadt) {
  const PlanFacts plan{.id = {}, .file = {}, .directory = "/plans", .ready = {}};
  const auto started = [&](const std::vector<std::string>& command, std::string environment = "") {
    plan::Row row = row_of("a");
    row.command = command;
    row.environment = std::move(environment);
    const plan::Workload workload = workload_of("7", {row});
    const Order order = make_order(plan, {workload, workload.rows[0], {}, "id", ""});
    EXPECT_EQ(order.directory, "/plans");
    return order.document.directory + "|" + order.document.command.back();
  };
  EXPECT_EQ(started({"train.py"}), "|train.py");
  EXPECT_EQ(started({"../nets/train.py"}), "/nets|train.py");
  EXPECT_EQ(started({"/data/x/train.py"}, "venv=env"), "/data/x|train.py");
  EXPECT_EQ(started({"nets/train.sh"}), "|nets/train.sh");
  EXPECT_EQ(started({"python3", "nets/train.py"}), "|nets/train.py");
  EXPECT_EQ(started({"nets/train.py"}, "mlproject=nets"), "|nets/train.py");
  EXPECT_EQ(started({"nets/train.py"}, "podman=image"), "|nets/train.py");
  EXPECT_EQ(started({"nets/train.py"}, "Singularity = image.sif"), "|nets/train.py");
}

TEST(DryRun, WordsAsAShellReadsThem) {
  EXPECT_EQ(shell_words({"a", "b c", "it's", ""}), "a 'b c' 'it'\\''s' ''");
}

TEST(Progress, FitsTheTerminal) {
  ProgressView view{
      .counts = {.waiting = 2, .running = 1, .finished = 3, .failed = 1},
      .now = "E/7",
      .remaining = minutes(90),
      .runs = {{.name = "(7 0_A) träin", .state = "running", .elapsed = seconds(75)}}};
  EXPECT_EQ(progress_lines(view, 99),
            (std::vector<std::string>{"4 of 7 runs done, 1 failed · E/7 · about 1:30:00 left",
                                      "  running  (7 0_A) träin  1:15"}));
  for (const std::string& line : progress_lines(view, 24)) EXPECT_LE(line.size(), 27U);
  EXPECT_EQ(progress_lines(view, 24)[1], "  running  (7 0_A) trä…");
  view.runs.resize(40);
  EXPECT_EQ(progress_lines(view, 99).size(), 14U);
}

TEST(Progress, ValuesStandBelowEachOtherAndTheRightOnesGiveWay) {
  const ProgressView view{.counts = {.running = 3},
                          .now = "E/7",
                          .remaining = {},
                          .runs = {{.name = "(7 0_A_mps) train",
                                    .state = "running",
                                    .phase = "epoch 3",
                                    .step = 1200,
                                    .loss = 0.31415926,
                                    .gpu = 0.97,
                                    .cores = 1.9,
                                    .elapsed = minutes(12)},
                                   {.name = "(7 0_B_mps) a model with a long name",
                                    .state = "running",
                                    .phase = "evaluation",
                                    .loss = std::nan(""),
                                    .cores = 0.04,
                                    .elapsed = seconds(3)},
                                   {.name = "c", .state = "preparing"}}};
  EXPECT_EQ(progress_lines(view, 120),
            (std::vector<std::string>{
                "0 of 3 runs done · E/7",
                "  running    (7 0_A_mps) train                     epoch 3     step 1200  loss "
                "0.3142  GPU 97 %   12:00",
                "  running    (7 0_B_mps) a model with a long name  evaluation             loss "
                "nan     0.0 cores  3.0 s",
                "  preparing  c"}));
  EXPECT_EQ(progress_lines(view, 79)[1],
            "  running    (7 0_A_mps)…  epoch 3     step 1200  loss 0.3142  GPU 97 %   12:00");
  EXPECT_EQ(progress_lines(view, 50)[1], "  running    (7 0_A_mps)…  epoch 3     step 1200");
  EXPECT_EQ(progress_words(view.runs[0]), "epoch 3, step 1200, loss 0.3142, GPU 97 %, 12:00");
  EXPECT_EQ(progress_words(view.runs[2]), "");
}

TEST(Progress, ARunsGpusAreThoseThatItWasGiven) {
  Member a{.row = row_of("a"), .run = "1", .name = "a", .stage = Member::Stage::kRunning};
  Member b = a;
  a.row.share.devices = {"0", "GPU-x"};
  b.row.share.devices = {"0"};
  a.progress = {.phase = "epoch 1", .cores = 1.5, .gpus = {{"0", 0.5}, {"1", 0.1}, {"GPU-x", 0.7}}};
  const std::vector<Member> all = {a, b};
  EXPECT_DOUBLE_EQ(progress_run(a, all, {}).gpu.value(), 0.6);
  EXPECT_DOUBLE_EQ(progress_run(b, all, {}).gpu.value(), 0.5) << "sampled by the other";
  Member cpu = b;
  cpu.row.share.devices = {};
  EXPECT_FALSE(progress_run(cpu, all, {}).gpu.has_value());
  a.end = End{.outcome = "finished"};
  EXPECT_FALSE(progress_run(a, all, {}).cores.has_value());
  EXPECT_EQ(progress_run(a, all, {}).phase, "epoch 1");
}

TEST(Progress, ComesAsASupervisorSaysIt) {
  const auto report = Json::parse(
      R"({"phase": "epoch 3", "step": 7, "loss": null, "cores": 1.5, "gpus": {"0": 0.9}})");
  const Progress read = parse_progress(*report);
  EXPECT_TRUE(std::isnan(read.loss.value()));
  EXPECT_EQ(std::tuple(read.phase, read.step.value(), read.cores.value()),
            std::tuple("epoch 3", 7, 1.5));
  EXPECT_EQ(read.gpus, (std::vector<std::pair<std::string, double>>{{"0", 0.9}}));
  EXPECT_EQ(parse_progress(Json("nonsense")), Progress{});
}

TEST(RecordedEnd, IsTheOutcomeElseTheExitStatus) {
  const auto end = [](const char* run) { return parse_recorded_end(*Json::parse(run)); };
  EXPECT_EQ(end(R"({"status": "failed", "outcome": "out-of-memory",
                    "tags": {"corral.outcome.reason": "the host"}, "exit_code": 1})"),
            (End{.outcome = "out-of-memory", .reason = "the host"}));
  EXPECT_EQ(end(R"({"status": "finished", "outcome": null, "exit_code": 0})"),
            End{.outcome = "finished"});
  EXPECT_EQ(end(R"({"status": "failed", "outcome": "unknown", "exit_code": 3})"),
            (End{.outcome = "failed", .reason = "exit status 3"}));
  EXPECT_EQ(end(R"({"status": "killed", "exit_code": null, "exit_signal": 9})"),
            (End{.outcome = "killed", .reason = "signal 9"}));
  EXPECT_FALSE(end(R"({"status": "running", "exit_code": null})").has_value());
  EXPECT_FALSE(
      end(R"({"status": "unknown", "outcome": "unknown", "exit_code": null})").has_value());
}

TEST(Progress, EstimatesFromWhatItHasSeen) {
  EXPECT_FALSE(estimate({}, 5, seconds(1)).has_value());
  const auto left = estimate({.spent = seconds(30), .done = 3}, 4, seconds(5));
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(left->all, seconds(55)) << "with the pauses between them";
  EXPECT_EQ(remaining_after(*left, seconds(4)), seconds(51));
  EXPECT_EQ(remaining_after(*left, seconds(400)), seconds(45)) << "it takes longer than the others";
  EXPECT_EQ(estimate({.spent = seconds(30), .done = 3}, 0, seconds(5))->all, Nanos(0));
}

TEST(Until, TimesAndDurations) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const UtcTime now(hours(24 * 20000) + hours(12));  // noon of 2024-10-04
  EXPECT_EQ(parse_until("18:30", now), now + hours(6) + minutes(30));
  EXPECT_EQ(parse_until("09:00", now), now + hours(21));
  EXPECT_EQ(parse_until("2024-10-05 13:00", now), now + hours(25));
  EXPECT_EQ(parse_until("2024-10-05T13:00:01", now), now + hours(25) + seconds(1));
  EXPECT_EQ(parse_until("90m", now), now + minutes(90));
  EXPECT_FALSE(parse_until("yesterday", now).has_value());
  EXPECT_FALSE(parse_until("25:99", now).has_value());
}

TEST(Quiet, SaysWhatDisturbs) {
  EXPECT_TRUE(disturbances({.busy_cpus = 0.3, .cpus = 8, .devices = {}}).empty());
  const auto found = disturbances({.busy_cpus = 2.5,
                                   .cpus = 8,
                                   .devices = {{.name = "GPU 0", .celsius = 84, .processes = 1},
                                               {.name = "GPU 1", .celsius = 40}}});
  EXPECT_EQ(found, (std::vector<std::string>{"other processes use 2.5 of 8 CPUs", "GPU 0 is 84 C",
                                             "1 other process on GPU 0"}));
}

TEST(Quiet, CountsBusyTime) {
  EXPECT_EQ(busy_ticks("cpu  100 50 30 9000 10 2 3 0 0 0\ncpu0 1 1 1 1 1 1 1\n"), 135);
  EXPECT_EQ(busy_ticks(""), 0);
}

TEST(Notify, ACommandGetsTheTextAndIsEndedInTime) {
  std::string pattern = testing::TempDir() + "corral-notify-XXXXXX";
  const std::filesystem::path home = ::mkdtemp(pattern.data());
  EXPECT_TRUE(
      send_notice("cat > '" + (home / "told").string() + "'", "{}", seconds(10)).has_value());
  std::string told;
  std::getline(std::ifstream(home / "told"), told);
  EXPECT_EQ(told, "{}");
  EXPECT_EQ(send_notice("exit 3", "", seconds(10)).error().message, "exit status 3");
  EXPECT_EQ(send_notice("sleep 60", "", std::chrono::milliseconds(50)).error().message,
            "it took too long and was ended");
  EXPECT_FALSE(send_notice("http://127.0.0.1:9/x", "", seconds(1)).has_value());
  std::filesystem::remove_all(home);
}

// An undo asks for the commands of a plan whose scheduler is gone.
TEST(Recovery, FindsTheCommandsOfAPlanThatStillRun) {
  std::string pattern = testing::TempDir() + "corral-recovery-XXXXXX";
  const std::filesystem::path home = ::mkdtemp(pattern.data());
  const sys::ProcessIdentity self = sys::identity_of(::getpid()).value();
  sys::ProcessIdentity gone = self;
  gone.start_ticks += 1;  // the PID belongs to another process by now
  auto journal = PlanJournal::open(home / "plan").value();
  std::vector<Attempt> attempts;
  const auto add = [&](const std::string& key, const sys::ProcessIdentity& child) {
    spool::Manifest manifest;
    manifest.run = RunId::random();
    manifest.child = child;
    const std::filesystem::path directory = home / "spool" / manifest.run.hex();
    std::filesystem::create_directories(directory);
    std::ofstream(directory / "manifest.json") << spool::to_json(manifest);
    attempts.push_back({.key = key, .run = manifest.run.hex(), .name = key, .end = {}});
  };
  add("lives", self);
  add("gone", gone);
  add("ended", self);
  ASSERT_TRUE(journal.begin(attempts));
  ASSERT_TRUE(journal.ended(attempts[2].run, {.outcome = "finished"}));
  const auto live = commands_of({.plan = home / "plan", .spool = {home / "none", home / "spool"}});
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].pid, self.pid);
  EXPECT_TRUE(commands_of({.plan = home / "other", .spool = {home / "spool"}}).empty());
  std::filesystem::remove_all(home);
}

TEST(Recovery, NamesWhoRunsAPlanNow) {
  std::string pattern = testing::TempDir() + "corral-recovery-XXXXXX";
  const std::filesystem::path home = ::mkdtemp(pattern.data());
  const collocate::JournalOwner owner{.plan = home, .spool = {}};
  EXPECT_EQ(scheduler_of(owner), "");
  EXPECT_TRUE(std::filesystem::is_empty(home));
  {
    const auto lock = PlanLock::acquire(home, UtcTime());
    ASSERT_TRUE(lock.has_value());
    EXPECT_TRUE(scheduler_of(owner).starts_with("process " + std::to_string(::getpid())));
  }
  EXPECT_EQ(scheduler_of(owner), "");
  std::filesystem::remove_all(home);
}

TEST(Notify, SendsWhatWaitsBeforeItEnds) {
  std::string pattern = testing::TempDir() + "corral-notify-XXXXXX";
  const std::filesystem::path home = ::mkdtemp(pattern.data());
  {
    Notifier notifier("cat >> '" + (home / "told").string() + "'", [](const std::string&) {});
    for (const char* text : {"1", "2", "3"}) notifier.send(text);
  }
  std::string told;
  std::getline(std::ifstream(home / "told"), told);
  EXPECT_EQ(told, "123");
  std::filesystem::remove_all(home);
}

TEST(PlanDocument, TellsInWhichOrderTheWorkloadsRun) {
  PlanDocument document("plan.csv", "h");
  document.fill({workload_of("1", {row_of("a"), row_of("b")}), workload_of("2", {row_of("c")}),
                 workload_of("3", {row_of("d")})},
                Book(), {{.workload = 2, .reason = {}}, {.workload = 0, .reason = {}}});
  std::vector<int> turns;
  for (const RunEntry& run : document.runs()) turns.push_back(run.turn);
  EXPECT_EQ(turns, (std::vector<int>{2, 2, 0, 1}));
  EXPECT_NE(document.json(UtcTime()).find(R"("turn":1,"state")"), std::string::npos);
}

TEST(Notices, SayWhatFailed) {
  const PlanFacts plan{.id = "p", .file = "plan.csv", .directory = "/"};
  const PlanDocument document("plan.csv", "h");
  Member member{.row = row_of("a"), .run = "1", .name = "n"};
  member.end = End{.outcome = "failed", .reason = "exit status 1", .tail = {"x"}};
  const auto text = failure_notice({plan, "http://h:1", document}, workload_of("7", {}), {member});
  EXPECT_EQ(
      text,
      R"x({"event":"failed","plan":"p","file":"plan.csv","url":"http://h:1/plans/p",)x"
      R"x("workload":"E/7","runs":[{"name":"n","run":"1","outcome":"failed",)x"
      R"x("reason":"exit status 1","tail":["x"]}],"text":"plan.csv: n: failed (exit status 1)"})x");
}

}  // namespace
}  // namespace corral::run::schedule
