// Commands that ask a server, against a real one whose store has two runs.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/test_call.h"
#include "core/json.h"
#include "server/life.h"
#include "store/open/sqlite_store.h"
#include "store/test_frames.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

namespace frames = store::testing;

constexpr std::int64_t kSecond = 1'000'000'000;

class ServedTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    // Nobody is asked.
    const sys::Fd nothing = sys::open_file("/dev/null", O_RDONLY).value();
    ::dup2(nothing.get(), STDIN_FILENO);
    server::StoreLock lock = server::lock_store(dir_ / "store").value();
    auto store = store::open_sqlite_store({.directory = dir_ / "store"}).value();
    add_run(*store, first_, "calm-otter", "0.1");
    add_run(*store, second_, "bold-crane", "0.2");
    server_ = server::start_server({.store_dir = dir_ / "store",
                                    .listen = sys::ListenAddress{.host = "127.0.0.1", .port = 0}},
                                   std::move(lock), std::move(store))
                  .value();
  }
  void TearDown() override {
    server_.reset();
    CommandTest::TearDown();
  }

  // Three losses, an epoch with two steps, a param and, for the second, no end.
  void add_run(store::Store& store, RunId run, const std::string& name, const std::string& lr) {
    frames::SessionWriter writer;
    codec::SessionBody session = frames::session_body(run, "supervisor");
    session.run_name = name;
    codec::PhasesBody phases;
    phases.phases = {phase(1, 0, "epoch", 1, 9), phase(2, 1, "step", 1, 3),
                     phase(3, 1, "step", 4, 8)};
    std::vector<codec::Frame> all = {
        writer.frame(session),
        writer.frame(codec::SchemaBody{.series = {frames::series_def(1, "loss")}}),
        writer.frame(frames::samples(1, {{kSecond, 1}, {2 * kSecond, 0.5}, {3 * kSecond, 0.25}})),
        writer.frame(codec::FactsBody{
            .facts = {{.kind = codec::FactKind::kParam, .key = "lr", .value = lr}}}),
        writer.frame(phases)};
    if (run == first_)
      all.push_back(writer.frame(codec::RunEndBody{.time = boot_time(10 * kSecond),
                                                   .reason = codec::EndReason::kExit,
                                                   .exit_code = 0,
                                                   .exit_signal = {}}));
    const auto appended = store.append(all);
    ASSERT_TRUE(appended && appended->refusals.empty());
  }
  static codec::PhaseRecord phase(std::uint64_t id, std::uint64_t parent, std::string name,
                                  std::int64_t begin_s, std::int64_t end_s) {
    codec::PhaseRecord record;
    record.id = id;
    record.parent = parent;
    record.begin = boot_time(begin_s * kSecond);
    record.end = boot_time(end_s * kSecond);
    record.type = name;
    record.name = std::move(name);
    record.lane = "node7/4711/main";
    return record;
  }

  Output ask(int (*command)(std::span<char* const>), std::vector<std::string> words) {
    words.insert(words.end(), {"--server", server_->url()});
    return call(command, std::move(words));
  }

  const RunId first_ = RunId::random(), second_ = RunId::random();
  std::unique_ptr<server::RunningServer> server_;
};

TEST_F(ServedTest, LsListsRunsExperimentsAndPlans) {
  const Output runs = ask(ls_command, {"runs", "--format", "csv", "--experiment", "digits"});
  EXPECT_EQ(runs.status, kDone) << runs.error;
  EXPECT_TRUE(holds(runs.output, first_.hex() + ",calm-otter,digits,")) << runs.output;
  EXPECT_TRUE(holds(runs.output, second_.hex() + ",bold-crane,digits,")) << runs.output;
  EXPECT_TRUE(holds(ask(ls_command, {"runs"}).output, first_.hex().substr(0, 8) + "  calm-otter"));
  EXPECT_TRUE(holds(ask(ls_command, {"experiments"}).output, "digits"));
  EXPECT_TRUE(holds(ask(ls_command, {"workloads"}).output, "digits"));
  const Output plans = ask(ls_command, {"plans"});
  EXPECT_EQ(plans.output + plans.error, "no plans yet\n");
  EXPECT_EQ(ask(ls_command, {"plans", "--format", "json"}).output, "[]\n");
  const Output unknown = ask(ls_command, {"runs", "--experiment", "digit"});
  EXPECT_EQ(unknown.error, "corral ls: no experiment 'digit'; corral ls experiments lists them\n");
  EXPECT_EQ(unknown.status, kFailed);
}

TEST_F(ServedTest, LsListsMetricsAndPhasesOfARun) {
  const Output metrics = ask(ls_command, {"metrics", "calm-otter", "--format", "csv"});
  EXPECT_TRUE(holds(metrics.output, "loss,,,gauge,run,")) << metrics.output << metrics.error;
  EXPECT_TRUE(holds(metrics.output, ",0.25,0.25,1,")) << metrics.output;
  const Output phases = ask(ls_command, {"phases", first_.hex(), "--format", "json"});
  const auto all = Json::parse(phases.output);
  ASSERT_TRUE(all && all->as_array() != nullptr) << phases.output << phases.error;
  EXPECT_EQ(all->as_array()->size(), 3U);
  EXPECT_EQ((*all->as_array())[0].find("duration_s")->as_double(0), 8);
  const Output summary = ask(ls_command, {"phases", first_.hex(), "--summary", "--format", "csv"});
  EXPECT_TRUE(holds(summary.output, "epoch,,1,8,8,")) << summary.output << summary.error;
  EXPECT_TRUE(holds(summary.output, "step,epoch,2,6,3,")) << summary.output;
  EXPECT_EQ(ask(ls_command, {"metrics", "nothing"}).status, kFailed);
}

TEST_F(ServedTest, ShowTellsHowARunEndedAndWhatItMeasured) {
  const Output shown = ask(show_command, {first_.hex()});
  EXPECT_EQ(shown.status, kDone) << shown.error;
  for (const char* part :
       {"calm-otter  ", "finished, exit status 0", "Params\n  lr", "METRIC", "loss", "node7"})
    EXPECT_TRUE(holds(shown.output, part)) << part << "\n" << shown.output;
  const auto json = Json::parse(ask(show_command, {first_.hex(), "--format", "json"}).output);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("metrics")->as_array()->size(), 1U);
  EXPECT_NE(json->find("health"), nullptr);
  EXPECT_EQ(ask(show_command, {"nothing"}).status, kFailed);
}

TEST_F(ServedTest, ShowChecksATrace) {
  const Output checked = ask(show_command, {first_.hex(), "--check-trace"});
  EXPECT_TRUE(holds(checked.output, "3 phases\n")) << checked.output << checked.error;
  const auto json =
      Json::parse(ask(show_command, {first_.hex(), "--check-trace", "--format", "json"}).output);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->get_int("phases"), 3);
  EXPECT_EQ(*json->find("ok")->as_bool() ? kDone : kFailed, checked.status);
}

TEST_F(ServedTest, DiffComparesTwoRuns) {
  const Output all = ask(diff_command, {first_.hex(), second_.hex(), "--format", "csv"});
  EXPECT_EQ(all.status, kDone) << all.error;
  EXPECT_TRUE(holds(all.output, "param,lr,0.1,0.2\n")) << all.output;
  EXPECT_EQ(ask(diff_command, {first_.hex(), second_.hex(), "--part", "package"}).output,
            "no difference\n");
  EXPECT_TRUE(holds(ask(diff_command, {first_.hex(), second_.hex()}).output, "calm-otter"));
  EXPECT_EQ(ask(diff_command, {first_.hex(), "nothing"}).status, kFailed);
}

TEST_F(ServedTest, ExportWritesPointsOfOneOrSeveralRuns) {
  const Output one = ask(export_command, {first_.hex(), "--metric", "loss"});
  EXPECT_EQ(one.status, kDone) << one.error;
  EXPECT_TRUE(one.output.starts_with("metric,source,time_ns,step,value\nloss,,")) << one.output;
  EXPECT_EQ(std::ranges::count(one.output, '\n'), 4);
  const Output two = ask(export_command, {first_.hex(), second_.hex(), "--output", "both.csv"});
  EXPECT_EQ(two.status, kDone) << two.error;
  const std::string both = sys::read_file("both.csv").value();
  EXPECT_TRUE(both.starts_with("run,metric,source,time_ns,step,value\n" + first_.hex() + ",loss"));
  EXPECT_EQ(std::ranges::count(both, '\n'), 7) << "one header";
  EXPECT_TRUE(holds(both, "\n" + second_.hex() + ",loss,"));
  const Output trace = ask(export_command, {"@1", "@2", "--format", "perfetto"});
  EXPECT_EQ(trace.error, "corral export: a Perfetto trace is of one run: name one\n");
  EXPECT_EQ(trace.status, kMisuse);
  const Output missing = ask(export_command, {"nothing", "--output", "none.csv"});
  EXPECT_EQ(missing.status, kFailed);
  EXPECT_FALSE(std::filesystem::exists("none.csv"));
}

TEST_F(ServedTest, RmNowAsksShowsAndRemoves) {
  const Output dry = ask(rm_command, {first_.hex(), first_.hex(), "--now", "--dry-run"});
  EXPECT_TRUE(holds(dry.output, "run calm-otter (" + first_.hex() + "), finished")) << dry.error;
  EXPECT_TRUE(holds(dry.output, "\n1 run, 3 points, ")) << dry.output;
  EXPECT_TRUE(dry.output.ends_with(" would go\n")) << dry.output;
  const Output unconfirmed = ask(rm_command, {first_.hex(), "--now"});
  EXPECT_EQ(unconfirmed.error, "corral rm: not a terminal; pass --yes to confirm\n");
  EXPECT_EQ(unconfirmed.status, kMisuse);
  const Output running = ask(rm_command, {second_.hex(), "--now", "--yes"});
  EXPECT_TRUE(running.error.ends_with(" (--force)\n")) << running.error;
  EXPECT_EQ(running.status, kFailed);
  EXPECT_TRUE(
      ask(rm_command, {first_.hex(), "--now", "--yes"}).output.starts_with("removed 1 run, 3"));
  EXPECT_EQ(ask(show_command, {first_.hex()}).status, kFailed);
  EXPECT_EQ(ask(rm_command, {"--experiment", "none", "--now", "--yes"}).error,
            "corral rm: no experiment 'none': corral ls experiments lists them\n");
  EXPECT_EQ(ask(rm_command, {"--experiment", "digits", "--now", "--yes", "--force"}).status, kDone);
  EXPECT_EQ(ask(ls_command, {"runs", "--format", "json"}).output, "[]\n");
}

TEST_F(ServedTest, RmMovesToTheTrashAndRestoreBringsBack) {
  const std::string first = first_.hex();
  EXPECT_TRUE(ask(rm_command, {first, "--dry-run"}).output.ends_with("would move to the trash\n"));
  const Output running = ask(rm_command, {first, second_.hex()});
  EXPECT_TRUE(running.error.ends_with(" (--force)\n")) << running.error;
  EXPECT_EQ(ask(ls_command, {"trash"}).error, "the trash is empty\n") << "all or none";
  EXPECT_EQ(ask(rm_command, {first}).output,
            "moved 1 run to the trash, removed for good after 30 days\nundo: corral restore " +
                first.substr(0, 8) + "\n");
  EXPECT_EQ(ask(rm_command, {first}).output, "nothing to move: already in the trash\n");
  EXPECT_FALSE(holds(ask(ls_command, {"runs", "--format", "csv"}).output, first));
  EXPECT_TRUE(holds(ask(ls_command, {"trash", "--format", "csv"}).output, first));
  EXPECT_EQ(ask(restore_command, {first.substr(0, 8)}).output,
            "calm-otter (" + first + "): restored\n");
  EXPECT_TRUE(holds(ask(ls_command, {"runs", "--format", "csv"}).output, first));
  EXPECT_TRUE(holds(ask(restore_command, {first}).error, "no run in the trash or the archive"));
  ask(rm_command, {"--experiment", "digits", "--force"});
  EXPECT_EQ(ask(restore_command, {"--experiment", "digits"}).status, kDone);
  EXPECT_TRUE(ask(rm_command, {"--trash", "--yes"}).output.starts_with("the trash is empty"));
  ask(rm_command, {first});
  EXPECT_TRUE(ask(rm_command, {"--trash", "--yes"}).output.starts_with("removed 1 run"));
}

TEST_F(ServedTest, RunsAreRenamedTaggedAndArchived) {
  const std::string first = first_.hex();
  EXPECT_EQ(ask(rename_command, {first, "baseline"}).output, "baseline (" + first + "): renamed\n");
  EXPECT_EQ(ask(rename_command, {first, "baseline"}).output,
            "baseline (" + first + "): nothing to change\n");
  EXPECT_EQ(ask(tag_command, {"baseline", "team=a=b", "none="}).output,
            "baseline (" + first + "): tagged\n");
  EXPECT_TRUE(
      holds(ask(show_command, {"baseline", "--format", "json"}).output, "\"team\":\"a=b\""));
  ask(tag_command, {"baseline", "team="});
  EXPECT_FALSE(holds(ask(show_command, {"baseline", "--format", "json"}).output, "\"team\""));
  EXPECT_TRUE(holds(ask(tag_command, {"baseline"}).error, "expected KEY=VALUE"));
  EXPECT_EQ(ask(archive_command, {"baseline"}).output, "baseline (" + first + "): archived\n");
  EXPECT_FALSE(holds(ask(ls_command, {"runs", "--format", "csv"}).output, first));
  EXPECT_TRUE(holds(ask(ls_command, {"archive", "--format", "csv"}).output, first));
  EXPECT_EQ(ask(restore_command, {"baseline"}).output, "baseline (" + first + "): restored\n");
}

TEST_F(ServedTest, ProfileNeedsARunThatRunsHere) {
  const Output ended = ask(profile_command, {first_.hex()});
  EXPECT_EQ(ended.error, "corral profile: run calm-otter (" + first_.hex() +
                             ") has ended: finished, exit status 0\n");
  EXPECT_EQ(ended.status, kFailed);
  const Output elsewhere = ask(profile_command, {second_.hex()});
  EXPECT_TRUE(elsewhere.error.ends_with(" runs on node7: profile it there\n")) << elsewhere.error;
  EXPECT_EQ(ask(profile_command, {second_.hex(), "--steps", "0"}).status, kMisuse);
}

TEST_F(ServedTest, RerunNeedsTheCodeOfTheRun) {
  const Output rerun = ask(rerun_command, {first_.hex(), "--dry-run"});
  EXPECT_EQ(rerun.error, "corral rerun: the code of run calm-otter was not kept\n");
  EXPECT_EQ(rerun.status, kFailed);
}

TEST_F(ServedTest, AServerThatIsNotThereIsNamed) {
  const std::string url = server_->url();
  server_.reset();
  const Output runs = call(ls_command, {"runs", "--server", url});
  EXPECT_EQ(runs.status, kFailed);
  EXPECT_EQ(
      runs.error,
      fmt::format("corral ls: no server at {}; start `corral serve` or check --server\n", url));
}

// ---- commands that need no server
TEST_F(CommandTest, LsRefusesWhatCannotBeListed) {
  EXPECT_TRUE(holds(call(ls_command, {"runz"}).error, "did you mean 'runs'?"));
  EXPECT_TRUE(holds(call(ls_command, {"something"}).error, "cannot be listed, did you mean '"));
  EXPECT_TRUE(holds(call(ls_command, {"metrics"}).error, "metrics of which run?"));
  EXPECT_TRUE(holds(call(ls_command, {"runs", "@1"}).error, "unexpected argument '@1'"));
  EXPECT_TRUE(holds(call(ls_command, {"metrics", "@1", "--summary"}).error, "--summary is of"));
  EXPECT_EQ(call(ls_command, {"runz"}).status, kMisuse);
}

TEST_F(CommandTest, WithoutAStoreTheCommandThatMakesOneIsNamed) {
  const Output runs = call(ls_command, {"runs"});
  EXPECT_EQ(runs.status, kFailed);
  EXPECT_EQ(runs.error, fmt::format("corral ls: there is no store at {}/XDG_DATA_HOME/corral yet; "
                                    "create it with `corral run`, or give --store DIR\n",
                                    dir_.string()));
}

TEST_F(CommandTest, ServeRefusesOptionsThatCannotBe) {
  const auto refusal = [](std::vector<std::string> words) {
    return call(serve_command, std::move(words)).error;
  };
  EXPECT_EQ(refusal({"--server", "http://h"}),
            "corral serve: --server names a running server; serve needs --store\n");
  EXPECT_TRUE(
      holds(refusal({"--store", "s", "--keep-days", "0"}), "--keep-days: expected a number"));
  EXPECT_TRUE(holds(refusal({"--store", "s", "--max-memory", "1k"}), "must be at least 64 MiB"));
  EXPECT_TRUE(holds(refusal({"--store", "s", "--read-store", "postgresql://h/d"}),
                    "names a replica of a database"));
  EXPECT_EQ(call(serve_command, {"--store", "s", "--stop"}).status, kFailed);
}

TEST_F(CommandTest, UndoOfNothingIsDone) {
  const Output undone = call(undo_command, {"--state", "state"});
  EXPECT_EQ(undone.output + undone.error, "nothing to put back\n");
  EXPECT_EQ(undone.status, kDone);
  EXPECT_EQ(call(undo_command, {"--state", "state", "--format", "csv"}).output,
            "change,state,reason\n");
}

TEST_F(CommandTest, DoctorHasARowForEachPartOfTheMachine) {
  const Output table = call(doctor_command, {"--store", "store", "--format", "csv"});
  EXPECT_EQ(table.status, kDone) << table.error;
  EXPECT_TRUE(table.output.starts_with("part,available,detail\nstore,true,")) << table.output;
  for (const char* part : {"\nserver,false,", "\nspool,true,", "\npython,", "\nlisteners,true,",
                           "\ncgroup,", "\nclock,true,UTC is known to "})
    EXPECT_TRUE(holds(table.output, part)) << part << "\n" << table.output;
  const Output broken = call(doctor_command, {"--store", "a://b", "--format", "csv"});
  EXPECT_TRUE(holds(broken.output, "\nstore,false,")) << broken.output;
}

TEST_F(CommandTest, TrustIsGivenListedAndRevoked) {
  ASSERT_TRUE(sys::replace_file("corral.toml", "spool = \"/mine\"\nname = \"x\"\n"));
  const Output trusted = call(trust_command, {});
  EXPECT_EQ(trusted.output,
            "corral.toml:\n  spool = \"/mine\"\n  name = \"x\"\ncorral.toml is trusted until it "
            "changes: from now on these count, too: spool\n")
      << trusted.error;
  const std::string name = (std::filesystem::canonical(dir_) / "corral.toml").string();
  EXPECT_EQ(call(trust_command, {"--list"}).output, name + "  trusted\n");
  ASSERT_TRUE(sys::replace_file("corral.toml", "name = \"y\"\n"));
  EXPECT_EQ(call(trust_command, {"--list"}).output, name + "  changed: not trusted\n");
  std::filesystem::remove("corral.toml");
  EXPECT_EQ(call(trust_command, {"--list"}).output, name + "  gone\n");
  EXPECT_EQ(call(trust_command, {"--revoke"}).output, "corral.toml is no longer trusted\n");
  EXPECT_EQ(call(trust_command, {"--revoke"}).error, "corral trust: corral.toml was not trusted\n");
  EXPECT_EQ(call(trust_command, {"--list"}).output, "");
}

TEST_F(CommandTest, RunRefusesOptionsThatCannotBe) {
  const auto refusal = [](std::vector<std::string> words) {
    words.emplace_back("true");
    const Output refused = call(run_command, std::move(words));
    EXPECT_EQ(refused.status, kMisuse);
    return refused.error;
  };
  EXPECT_TRUE(holds(refusal({"--param", "lr"}), "--param lr: expected KEY=VALUE, e.g. lr=0.1"));
  EXPECT_TRUE(holds(refusal({"--interval", "1ms"}), "must be 10ms to 1h"));
  EXPECT_TRUE(holds(refusal({"--max-steps", "0"}), "expected a whole number greater than 0"));
  EXPECT_TRUE(holds(refusal({"--watch", "x"}), "--watch x: expected the id of a process"));
  EXPECT_TRUE(holds(refusal({"--keep-code", "much"}), "expected a size or off"));
  EXPECT_TRUE(holds(refusal({"--max-time", "0"}), "--max-time must be greater than 0"));
  EXPECT_TRUE(holds(refusal({"--capture-mlflow", "--no-mlflow"}), "exclude each other"));
  EXPECT_TRUE(holds(refusal({"--listeners", "tpo"}), "tpo"));
  EXPECT_TRUE(holds(refusal({"--gate", "1"}), "expected two open descriptors"));
  EXPECT_TRUE(holds(refusal({"--name", std::string(300, 'x')}), "--name: at most 250 bytes"));
  EXPECT_TRUE(holds(call(run_command, {}).error, "missing script or command"));
}

TEST_F(CommandTest, APlanThatIsNotThereOrCannotBeChosenFrom) {
  EXPECT_EQ(call(run_command, {"none.csv"}).error, "corral run: none.csv: there is no such file\n");
  ASSERT_TRUE(sys::replace_file("plan.csv", "Experiment,Workload,File\n1,1,train.py\n"));
  EXPECT_EQ(call(run_command, {"plan.csv", "--shuffle", "x"}).error,
            "corral run: --shuffle x: expected a seed, e.g. 7\n");
  EXPECT_TRUE(holds(call(run_command, {"plan.csv", "--until", "soon"}).error,
                    "--until soon: expected a time, e.g. 18:30"));
}

}  // namespace
}  // namespace corral::cli
