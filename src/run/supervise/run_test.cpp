// Tests of a supervisor's parts that need no run: command, environment, stopper, facts, locks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "core/json.h"
#include "run/command.h"
#include "run/progress.h"
#include "run/record/facts.h"
#include "run/record/sampling_lock.h"
#include "run/supervise/signals.h"
#include "spool/test_spool.h"
#include "sys/clock.h"

namespace corral::run {
namespace {

namespace fs = spool::fs;
using spool::TestDirectory;
using std::chrono::seconds;

// ---- stopper
constexpr BootTime at(int s) { return BootTime(seconds(s)); }

// Returns all signals of a caller that looks once a second, as (second, signal).
std::vector<std::pair<int, int>> play(Stopper& stopper, int from, int to) {
  std::vector<std::pair<int, int>> sent;
  for (int s = from; s <= to; ++s) {
    while (const auto signal = stopper.due(at(s))) sent.emplace_back(s, *signal);
  }
  return sent;
}

TEST(Stopper, AsksPolitelyThenFirmlyThenEndsIt) {
  Stopper stopper(seconds(10));
  EXPECT_FALSE(stopper.asked());
  EXPECT_FALSE(stopper.wake_at());
  EXPECT_TRUE(play(stopper, 0, 100).empty());
  stopper.ask(SIGINT, codec::EndReason::kInterrupt, at(100));
  EXPECT_EQ(play(stopper, 100, 200),
            (std::vector<std::pair<int, int>>{{100, SIGINT}, {110, SIGTERM}, {115, SIGKILL}}));
  EXPECT_FALSE(stopper.wake_at());
  EXPECT_EQ(stopper.reason(), codec::EndReason::kInterrupt);
}

TEST(Stopper, AskedAgainItGoesToTheNextStageAtOnce) {
  Stopper stopper(seconds(10));
  stopper.ask(SIGINT, codec::EndReason::kInterrupt, at(0));
  EXPECT_EQ(stopper.due(at(0)), SIGINT);
  EXPECT_EQ(stopper.wake_at(), at(10));
  stopper.ask(SIGINT, codec::EndReason::kInterrupt, at(1));
  EXPECT_EQ(stopper.due(at(1)), SIGTERM);
  stopper.ask(SIGINT, codec::EndReason::kInterrupt, at(2));
  EXPECT_EQ(stopper.due(at(2)), SIGKILL);
  stopper.ask(SIGINT, codec::EndReason::kInterrupt, at(3));
  EXPECT_FALSE(stopper.due(at(100)));
}

TEST(Stopper, TheFirstReasonStaysAndTermSkipsTheInterrupt) {
  Stopper stopper(seconds(10));
  stopper.ask(SIGTERM, codec::EndReason::kMaxTime, at(0));
  stopper.ask(SIGINT, codec::EndReason::kInterrupt, at(0));
  EXPECT_EQ(stopper.reason(), codec::EndReason::kMaxTime);
  EXPECT_EQ(play(stopper, 0, 20), (std::vector<std::pair<int, int>>{{0, SIGTERM}, {5, SIGKILL}}));
}

TEST(Stopper, RestartsForWhatOutlivedTheCommandWithTheSameReason) {
  Stopper stopper(seconds(1));
  stopper.ask(SIGINT, codec::EndReason::kInterrupt, at(0));
  play(stopper, 0, 20);
  stopper.restart(SIGTERM, at(30));
  EXPECT_EQ(play(stopper, 30, 40),
            (std::vector<std::pair<int, int>>{{30, SIGTERM}, {35, SIGKILL}}));
  EXPECT_EQ(stopper.reason(), codec::EndReason::kInterrupt);
}

// ---- ranks elsewhere
std::string said_of(std::vector<std::string> command,
                    std::map<std::string, std::string> variables) {
  return ranks_elsewhere(command, "here", [&](const char* name) { return variables[name]; });
}

TEST(RanksElsewhere, AreWarnedOfWhereTheCommandSaysSo) {
  const TestDirectory directory;
  const std::string hosts = (directory.path() / "hosts").string();
  ASSERT_TRUE(sys::replace_file(hosts, "# two\na slots=4\nb slots=4\na\n"));
  const std::map<std::string, std::string> one = {{"SLURM_JOB_ID", "7"},
                                                  {"SLURM_JOB_NUM_NODES", "1"}};
  const std::map<std::string, std::string> four = {{"SLURM_JOB_ID", "7"},
                                                   {"SLURM_JOB_NUM_NODES", "4"}};
  EXPECT_EQ(said_of({"/usr/bin/srun", "python", "train.py"}, four),
            "srun starts ranks on 4 hosts, but only processes on here are recorded in this run; to "
            "record every rank: srun ... corral run ...");
  for (const auto& command :
       std::vector<std::vector<std::string>>{{"srun", "-N2", "x"},
                                             {"srun", "--nodes=2-4", "x"},
                                             {"srun", "-N", "3", "x"},
                                             {"mpirun", "-H", "a:2,b:2", "x"},
                                             {"mpiexec", "--host", "a,b", "x"},
                                             {"mpirun", "--hostfile", hosts, "x"}})
    EXPECT_NE(said_of(command, one), "") << command[1];
  EXPECT_NE(said_of({"srun", "x"}, {}), "") << "asks for a job elsewhere";
  for (const auto& command : std::vector<std::vector<std::string>>{{"srun", "x"},
                                                                   {"mpirun", "-n", "8", "x"},
                                                                   {"mpirun", "-H", "a,a", "x"},
                                                                   {"python", "-N2"}})
    EXPECT_EQ(said_of(command, one), "") << command[0];
  EXPECT_EQ(said_of({"srun", "-N1", "x"}, four), "");
  EXPECT_NE(said_of({"mpirun", "x"}, four), "");
  EXPECT_EQ(said_of({}, four), "");
}

// ---- command
class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("PATH", bin().c_str(), 1);
    ::unsetenv("CORRAL_PYTHON");
    fs::create_directories(bin());
    for (const char* name : {"python3", "mypython", "tool"}) executable(bin() / name);
    fs::current_path(dir_.path());
  }
  void TearDown() override {
    fs::current_path("/");
    ::setenv("PATH", old_path_.c_str(), 1);
  }
  [[nodiscard]] fs::path bin() const { return dir_.path() / "bin"; }
  static void executable(const fs::path& path) {
    ASSERT_TRUE(sys::replace_file(path, "#!/bin/sh\n", 0755));
    fs::permissions(path, fs::perms::owner_all);
  }
  static Result<Command> resolve(std::vector<std::string> words, const std::string& python = "") {
    Options options;
    options.command = std::move(words);
    options.python = python;
    return resolve_command(options);
  }
  static std::string error_of(const Result<Command>& command, Code code) {
    EXPECT_FALSE(command);
    if (command) return {};
    EXPECT_EQ(command.error().code, code) << command.error().message;
    return command.error().message;
  }
  static bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  TestDirectory dir_;
  std::string old_path_ = std::getenv("PATH");
};

TEST_F(CommandTest, AScriptIsRunByPythonWithItsArgumentsUntouched) {
  ASSERT_TRUE(sys::replace_file("train.py", ""));
  const auto command = resolve({"train.py", "--lr", "", "a b"});
  ASSERT_TRUE(command) << command.error().message;
  EXPECT_EQ(command->argv, (std::vector<std::string>{(bin() / "python3").string(), "train.py",
                                                     "--lr", "", "a b"}));
  EXPECT_EQ(command->interpreter, bin() / "python3");
}

TEST_F(CommandTest, TheInterpreterIsTheOptionsElseTheVariablesElsePython3) {
  ASSERT_TRUE(sys::replace_file("train.py", ""));
  ::setenv("CORRAL_PYTHON", "mypython", 1);
  EXPECT_EQ(resolve({"train.py"})->interpreter, bin() / "mypython");
  EXPECT_EQ(resolve({"train.py"}, (bin() / "tool").string())->interpreter, bin() / "tool");
  ::setenv("CORRAL_PYTHON", "nopython", 1);
  const std::string message = error_of(resolve({"train.py"}), Code::kNotFound);
  EXPECT_TRUE(holds(message, "nopython") && holds(message, "CORRAL_PYTHON") &&
              holds(message, "train.py"))
      << message;
}

TEST_F(CommandTest, WhoMissesAModuleIsToldWhichInterpreterItWas) {
  ASSERT_TRUE(sys::replace_file("train.py", ""));
  constexpr const char* kTail = "Traceback\nModuleNotFoundError: No module named 'torch'\n";
  Options options;
  options.command = {"train.py"};
  const fs::path python = resolve({"train.py"})->interpreter;
  EXPECT_EQ(
      interpreter_advice(options, kTail),
      "train.py ran with " + python.string() + "; CORRAL_PYTHON=/path/to/python chooses another");
  EXPECT_EQ(interpreter_advice(options, "ValueError: 3\n"), "");
  ::setenv("CORRAL_PYTHON", "mypython", 1);
  EXPECT_EQ(interpreter_advice(options, kTail), "");
  ::unsetenv("CORRAL_PYTHON");
  options.environment = "venv=env";
  EXPECT_EQ(interpreter_advice(options, kTail), "");
}

TEST_F(CommandTest, AMissingScriptNamesTheNearestOne) {
  ASSERT_TRUE(sys::replace_file("train.py", ""));
  ASSERT_TRUE(sys::replace_file("trian.txt", ""));
  fs::create_directories("sub");
  ASSERT_TRUE(sys::replace_file("sub/evaluate.py", ""));
  EXPECT_TRUE(holds(error_of(resolve({"trian.py"}), Code::kNotFound), "did you mean train.py?"));
  EXPECT_TRUE(holds(error_of(resolve({"sub/evalute.py"}), Code::kNotFound),
                    "did you mean sub/evaluate.py?"));
  const std::string nothing_near = error_of(resolve({"something_else.py"}), Code::kNotFound);
  EXPECT_TRUE(holds(nothing_near, "something_else.py: no such script") &&
              holds(nothing_near, dir_.path().string()))
      << nothing_near;
}

TEST_F(CommandTest, ADirectoryIsNoScript) {
  fs::create_directories("train.py");
  EXPECT_TRUE(holds(error_of(resolve({"train.py"}), Code::kPermission), "is a directory"));
  fs::create_directories(bin() / "nets");
  fs::create_directories("nets");
  for (const char* folder : {".", "nets"})
    EXPECT_EQ(error_of(resolve({folder}), Code::kPermission),
              fmt::format("{}: is a directory; name a script or a command", folder));
}

TEST_F(CommandTest, AnyOtherWordIsACommandOfThePath) {
  const auto command = resolve({"tool", "x.py"});
  ASSERT_TRUE(command);
  EXPECT_EQ(command->argv, (std::vector<std::string>{(bin() / "tool").string(), "x.py"}));
  EXPECT_TRUE(command->interpreter.empty());
  EXPECT_TRUE(resolve({(bin() / "tool").string()}));
  EXPECT_TRUE(holds(error_of(resolve({"tol"}), Code::kNotFound), "tol"));
}

TEST_F(CommandTest, WhatMayNotBeExecutedIsAnotherErrorThanWhatIsNotThere) {
  ASSERT_TRUE(sys::replace_file(bin() / "data", "", 0644));
  EXPECT_TRUE(holds(error_of(resolve({"data"}), Code::kPermission), "data"));
  EXPECT_TRUE(holds(error_of(resolve({"./missing"}), Code::kNotFound), "missing"));
}

// ---- environment
std::vector<std::string> environment_of(const std::vector<const char*>& inherited,
                                        const std::string& python_path = "/pkg") {
  std::vector<char*> all;
  for (const char* entry : inherited) all.push_back(const_cast<char*>(entry));
  all.push_back(nullptr);
  return child_environment(
      {.run_id = "run", .segments = "/seg", .spool_limit = 1000, .python_path = python_path},
      all.data());
}
std::string value_of(const std::vector<std::string>& environment, const std::string& name) {
  std::string value = "(none)";
  for (const std::string& entry : environment) {
    if (!entry.starts_with(name + "=")) continue;
    EXPECT_EQ(value, "(none)") << name << " is there twice";
    value = entry.substr(name.size() + 1);
  }
  return value;
}

TEST(ChildEnvironment, TellsTheTrainingWhereToLog) {
  const auto environment = environment_of({"HOME=/home/x", "EMPTY=", "WITH=a=b"});
  EXPECT_EQ(value_of(environment, "CORRAL_RUN_ID"), "run");
  EXPECT_EQ(value_of(environment, "CORRAL_SEGMENT_DIR"), "/seg");
  EXPECT_EQ(value_of(environment, "CORRAL_SPOOL_LIMIT"), "1000");
  EXPECT_EQ(value_of(environment, "HOME"), "/home/x");
  EXPECT_EQ(value_of(environment, "EMPTY"), "");
  EXPECT_EQ(value_of(environment, "WITH"), "a=b");
}

TEST(ChildEnvironment, PythonFindsThePackageFirstAndThenWhatTheUserHas) {
  const std::string ours = "/pkg/corral/_startup:/pkg";
  EXPECT_EQ(value_of(environment_of({}), "PYTHONPATH"), ours);
  EXPECT_EQ(value_of(environment_of({"PYTHONPATH=/a:/b"}), "PYTHONPATH"), ours + ":/a:/b");
  EXPECT_EQ(value_of(environment_of({"PYTHONPATH="}), "PYTHONPATH"), ours);
  EXPECT_EQ(value_of(environment_of({"PYTHONPATH=/a"}, ""), "PYTHONPATH"), "/a");
  EXPECT_EQ(value_of(environment_of({}, ""), "PYTHONPATH"), "(none)");
}

TEST(ChildEnvironment, WithoutCaptureNothingOfItIsFound) {
  char* inherited[] = {const_cast<char*>("CORRAL_CAPTURE=1"), nullptr};
  const auto environment = child_environment({.run_id = "run",
                                              .segments = "/seg",
                                              .spool_limit = 1000,
                                              .python_path = "/pkg",
                                              .capture = false,
                                              .max_epochs = "3"},
                                             inherited);
  EXPECT_EQ(value_of(environment, "PYTHONPATH"), "/pkg");
  EXPECT_EQ(value_of(environment, "CORRAL_CAPTURE"), "0");
  EXPECT_EQ(value_of(environment, "CORRAL_MAX_EPOCHS"), "3");
  EXPECT_EQ(value_of(environment, "CORRAL_MAX_STEPS"), "(none)");
}

TEST(ChildEnvironment, ExportersOfMetricsSendHereUnlessTheUserSaidWhere) {
  const auto with = [](std::vector<const char*> inherited, const std::string& otlp) {
    std::vector<char*> all;
    for (const char* entry : inherited) all.push_back(const_cast<char*>(entry));
    all.push_back(nullptr);
    return child_environment({.run_id = "run",
                              .segments = "/seg",
                              .python_path = "",
                              .statsd = "127.0.0.1:8125",
                              .otlp = otlp},
                             all.data());
  };
  const std::string here = "http://127.0.0.1:4318/v1/metrics";
  const std::string endpoint = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
  const std::string protocol = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL";
  const auto plain = with({}, here);
  EXPECT_EQ(value_of(plain, endpoint), here);
  EXPECT_EQ(value_of(plain, protocol), "http/protobuf");
  EXPECT_EQ(value_of(plain, "CORRAL_OTLP"), here);
  EXPECT_EQ(value_of(plain, "CORRAL_STATSD"), "127.0.0.1:8125");
  const auto outer = with({"CORRAL_OTLP=http://x/", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://x/",
                           "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/json"},
                          here);
  EXPECT_EQ(value_of(outer, endpoint), here);
  EXPECT_EQ(value_of(outer, protocol), "http/json");
  EXPECT_EQ(value_of(with({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://mine/"}, here), endpoint),
            "http://mine/");
  const auto all = with({"OTEL_EXPORTER_OTLP_ENDPOINT=http://mine/"}, here);
  EXPECT_EQ(value_of(all, endpoint), "(none)");
  EXPECT_EQ(value_of(all, "CORRAL_OTLP"), here);
  EXPECT_EQ(value_of(with({}, "unix:/s"), endpoint), "(none)");
  EXPECT_EQ(value_of(with({}, ""), "CORRAL_OTLP"), "(none)");
}

TEST(ChildEnvironment, OutputIsUnbufferedUnlessTheUserSaidOtherwise) {
  EXPECT_EQ(value_of(environment_of({}), "PYTHONUNBUFFERED"), "1");
  EXPECT_EQ(value_of(environment_of({"PYTHONUNBUFFERED="}), "PYTHONUNBUFFERED"), "");
  EXPECT_EQ(value_of(environment_of({"PYTHONUNBUFFERED=0"}), "PYTHONUNBUFFERED"), "0");
}

TEST(ChildEnvironment, AnOuterRunsVariablesAreReplacedAndNothingIsThereTwice) {
  const auto environment =
      environment_of({"CORRAL_RUN_ID=outer", "CORRAL_SEGMENT_DIR=/outer", "CORRAL_SPOOL_LIMIT=1",
                      "CORRAL_STORE=/kept", "NOVALUE"});
  EXPECT_EQ(value_of(environment, "CORRAL_RUN_ID"), "run");
  EXPECT_EQ(value_of(environment, "CORRAL_SEGMENT_DIR"), "/seg");
  EXPECT_EQ(value_of(environment, "CORRAL_SPOOL_LIMIT"), "1000");
  EXPECT_EQ(value_of(environment, "CORRAL_STORE"), "/kept");
  std::set<std::string> names;
  for (const std::string& entry : environment)
    EXPECT_TRUE(names.insert(entry.substr(0, entry.find('='))).second) << entry;
}

// ---- facts
TEST(Facts, ParamsTagsAndTheMachineAreThere) {
  Options options;
  options.command = {"train.py", "\xFF"};
  options.params = {{"lr", "0.1"}};
  options.tags = {{"who", "me"}};
  const auto facts =
      quick_facts(options, {.argv = {"/bin/python3", "train.py"}, .interpreter = "/bin/python3"});
  EXPECT_EQ(facts.at(0), (codec::Fact{codec::FactKind::kParam, "lr", "0.1"}));
  EXPECT_EQ(facts.at(1), (codec::Fact{codec::FactKind::kTag, "who", "me"}));
  std::map<std::string, Json> info;
  for (const codec::Fact& fact : facts) {
    if (fact.kind == codec::FactKind::kInfo) info[fact.key] = Json::parse(fact.value).value();
  }
  EXPECT_EQ(info.at("command").dump(), "[\"train.py\",\"\uFFFD\"]");
  EXPECT_EQ(*info.at("directory").as_string(), fs::current_path().string());
  EXPECT_EQ(*info.at("interpreter").as_string(), "/bin/python3");
  EXPECT_GT(*info.at("cpus").as_int(), 0);
  EXPECT_GT(*info.at("memory_bytes").as_int(), 1 << 20);
}

TEST(Facts, SecretsAmongTheParamsAreMasked) {
  Options options;
  options.command = {"train.py"};
  options.params = {{"lr", "0.1"},
                    {"password", "hunter2"},
                    {"api_key", ""},
                    {"tokenizer", "bpe"},
                    {"db", "postgresql://me:hunter2@host/db"}};
  const auto params = [&] {
    std::map<std::string, std::string> values;
    for (const codec::Fact& fact : quick_facts(options, {.argv = {"/bin/true"}, .interpreter = {}}))
      if (fact.kind == codec::FactKind::kParam || fact.key.starts_with("masked."))
        values[fact.key] = fact.value;
    return values;
  };
  EXPECT_EQ(params(), (std::map<std::string, std::string>{{"lr", "0.1"},
                                                          {"password", "***"},
                                                          {"api_key", ""},
                                                          {"tokenizer", "bpe"},
                                                          {"db", "postgresql://me:***@host/db"},
                                                          {"masked.params", "2"}}));
  options.mask = false;
  EXPECT_EQ(params(),
            (std::map<std::string, std::string>(options.params.begin(), options.params.end())));
}

TEST(Facts, AVeryLongCommandIsCutSoThatItsFrameIsTaken) {
  for (const std::string& word :
       {std::string(100'000, 'x'), std::string(5000, '\x01'), std::string("word")}) {
    Options options;
    options.command = {"train.py"};
    for (int i = 0; i < 3000; ++i) options.command.push_back(word);
    const codec::FactsBody body{quick_facts(options, {.argv = {"/bin/true"}, .interpreter = {}})};
    const codec::Bytes frame =
        codec::encode({.kind = {}, .session = SessionId::random(), .first = 1, .last = 1}, body);
    const auto back = codec::decode_facts(codec::decode_frame(frame).value());
    ASSERT_TRUE(back) << back.error().message;
    const auto command = std::ranges::find(back->facts, "command", &codec::Fact::key);
    const auto words = Json::parse(command->value);
    ASSERT_TRUE(words);
    EXPECT_EQ(*(*words->as_array())[0].as_string(), "train.py");
    EXPECT_TRUE(words->as_array()->back().as_string()->find("more") != std::string::npos);
  }
}

// ---- workload lock
TEST(SamplingLock, IsHeldByOneAndHandedOver) {
  const TestDirectory root;
  const std::string workload = workload_lock_name(workload_id_of("e", "w"));
  std::optional<SamplingLock> first(std::in_place, root.path(), workload);
  SamplingLock second(root.path(), workload);
  SamplingLock other(root.path(), workload_lock_name(workload_id_of("e", "x")));
  EXPECT_TRUE(first->hold());
  EXPECT_TRUE(first->hold());
  EXPECT_FALSE(second.hold());
  EXPECT_TRUE(other.hold());
  first.reset();
  EXPECT_TRUE(second.hold());
  SamplingLock third(root.path(), workload);
  EXPECT_FALSE(third.hold());
}

TEST(SamplingLock, TheHolderTellsThoseWhoWait) {
  const TestDirectory root;
  const std::string workload = workload_lock_name(workload_id_of("e", "w"));
  SamplingLock first(root.path(), workload);
  SamplingLock second(root.path(), workload);
  EXPECT_FALSE(second.published());
  ASSERT_TRUE(first.hold());
  EXPECT_FALSE(second.published());
  first.publish("a longer line");
  EXPECT_EQ(second.published(), "a longer line");
  first.publish("short");
  EXPECT_EQ(second.published(), "short");
  second.publish("not the holder's");
  EXPECT_EQ(second.published(), "short");
}

TEST(SamplingLock, LeavesNoFileBehind) {
  const TestDirectory root;
  {
    SamplingLock lock(root.path(), workload_lock_name(workload_id_of("e", "w")));
    ASSERT_TRUE(lock.hold());
    SamplingLock waiting(root.path(), workload_lock_name(workload_id_of("e", "w")));
    EXPECT_FALSE(waiting.hold());
  }
  EXPECT_TRUE(fs::is_empty(root.path()));
}

TEST(SamplingLock, AKilledHoldersLockIsFree) {
  const TestDirectory root;
  const std::string workload = workload_lock_name(workload_id_of("e", "w"));
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    SamplingLock lock(root.path(), workload);
    const char c = lock.hold() ? '1' : '0';
    if (::write(ready[1], &c, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  EXPECT_EQ(c, '1');
  SamplingLock lock(root.path(), workload);
  EXPECT_FALSE(lock.hold());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(lock.hold());
  ::close(ready[0]);
  ::close(ready[1]);
}

// Processes come and go, as supervisors do: two never hold the lock at once.
TEST(SamplingLock, NeverTwoHoldersWhileProcessesComeAndGo) {
  const TestDirectory root;
  const std::string workload = workload_lock_name(workload_id_of("e", "w"));
  const fs::path token = root.path() / "token";
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    for (int round = 0; round < 200;) {
      SamplingLock lock(root.path(), workload);
      if (!lock.hold()) {
        ::sched_yield();
        continue;
      }
      // O_EXCL: fails when another holder is inside.
      const int fd = ::open(token.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
      if (fd < 0) ::_exit(1);
      ::close(fd);
      ::sched_yield();
      ::unlink(token.c_str());
      ++round;
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

TEST(SamplingLock, AReleasedOneIsTheOthersForGood) {
  const TestDirectory root;
  SamplingLock first(root.path(), "host.lock");
  SamplingLock second(root.path(), "host.lock");
  EXPECT_TRUE(first.waits());
  EXPECT_TRUE(first.hold());
  EXPECT_FALSE(first.waits());
  first.release();
  EXPECT_TRUE(second.hold());
  second.release();
  EXPECT_FALSE(first.hold());
  EXPECT_FALSE(first.waits());
}

TEST(SamplingLock, OneForEachStoreAndWhatIsMeasured) {
  spool::Manifest manifest;
  manifest.machine = "m";
  manifest.destination.store = "/store";
  const std::vector<std::string> usual = {"proc", "tree"};
  const std::string name = host_lock_name(manifest, usual);
  EXPECT_TRUE(name.starts_with("host-") && name.ends_with(".lock")) << name;
  manifest.workload = WorkloadId::random();
  EXPECT_EQ(host_lock_name(manifest, usual), name) << "one for all workloads";
  EXPECT_EQ(host_lock_name(manifest, std::vector<std::string>{"proc"}), name)
      << "tree is the run's";
  EXPECT_NE(host_lock_name(manifest, std::vector<std::string>{"proc", "energy"}), name);
  EXPECT_EQ(host_lock_name(manifest, std::vector<std::string>{"tree"}), "");
  manifest.destination.store = "/other";
  EXPECT_NE(host_lock_name(manifest, usual), name);
  manifest.machine.clear();
  EXPECT_EQ(host_lock_name(manifest, usual), "");
  const TestDirectory root;
  EXPECT_FALSE(SamplingLock(root.path(), "").hold());
}

// ---- progress

spool::Record record(spool::RecordBody body) {
  return {.first = 1, .last = 1, .body = std::move(body)};
}
codec::SeriesDef series(std::uint32_t id, std::string name, std::string source = "") {
  codec::SeriesDef def;
  def.id = id;
  def.name = std::move(name);
  def.source = std::move(source);
  return def;
}
spool::Record declared(std::uint32_t id, std::string name) {
  return record(series(id, std::move(name)));
}
spool::Record logged(std::uint32_t id, std::int64_t step, double value) {
  return record(spool::Point{.series = id, .time = {}, .step = step, .value = value});
}
spool::Record began(std::uint64_t id, std::string name, std::string type, std::string index = "") {
  codec::PhaseRecord phase;
  phase.id = id;
  phase.begin = BootTime();
  phase.name = std::move(name);
  phase.type = std::move(type);
  if (!index.empty()) phase.attributes = {{"index", std::move(index)}};
  return record(std::move(phase));
}
spool::Record ended(std::uint64_t id) {
  codec::PhaseRecord phase;
  phase.id = id;
  phase.end = BootTime();
  return record(std::move(phase));
}

TEST(ProgressWatch, TheLossAndItsStepThenAnyStep) {
  ProgressWatch watch;
  const SessionId session = SessionId::random();
  const auto show = [&](std::vector<spool::Record> records) {
    watch.records(session, records);
    return std::pair(watch.now().loss.value_or(-1), watch.now().step.value_or(-1));
  };
  EXPECT_EQ(show({declared(1, "speed"), logged(1, 4, 100)}), std::pair(-1.0, std::int64_t{4}));
  EXPECT_EQ(show({declared(2, "val_loss"), logged(2, 1, 0.5)}), std::pair(0.5, std::int64_t{1}));
  EXPECT_EQ(show({logged(1, 5, 100)}), std::pair(0.5, std::int64_t{1}));
  EXPECT_EQ(show({declared(3, "loss"), logged(3, 5, 0.4), logged(2, 6, 0.9)}),
            std::pair(0.4, std::int64_t{5}));
  watch.records(SessionId::random(), std::vector{logged(3, 9, 7)});
  EXPECT_EQ(watch.now().loss, 0.4) << "number 3 of another process";
  watch.point("loss", 6, 0.3);
  EXPECT_EQ(watch.now().loss, 0.3);
}

TEST(ProgressWatch, TheInnermostPhaseThatLasts) {
  ProgressWatch watch;
  const SessionId session = SessionId::random();
  const auto show = [&](std::vector<spool::Record> records) {
    watch.records(session, records);
    return watch.now().phase;
  };
  EXPECT_EQ(show({began(1, "step", "step")}), "");
  EXPECT_EQ(show({began(2, "fit", "fit")}), "fit");
  EXPECT_EQ(show({began(3, "epoch", "fit/epoch", "3"), began(4, "step", "fit/epoch/step")}),
            "epoch 3");
  EXPECT_EQ(show({began(3, "epoch", "fit/epoch", "3")}), "epoch 3") << "sent again";
  EXPECT_EQ(show({began(5, "evaluation", "fit/epoch/evaluation")}), "evaluation");
  EXPECT_EQ(show({ended(5)}), "epoch 3");
  EXPECT_EQ(show({ended(3)}), "fit");
  EXPECT_EQ(show({ended(2)}), "fit") << "the last one, between two";
}

TEST(ProgressWatch, UseOfCpusAndGpus) {
  ProgressWatch watch;
  const codec::SchemaBody schema{.series = {series(1, "run.cpu.used"),
                                            series(2, "host.gpu.busy", "gpu0"),
                                            series(3, "host.gpu.busy", "gpu0.mig1")}};
  const auto at = [](std::int64_t ms, double cpu, double gpu) {
    return codec::SamplesBody{
        .groups = {{.times = {boot_time(ms * 1'000'000)},
                    .steps = {},
                    .columns = {{.series = 1, .present = {}, .values = {cpu}},
                                {.series = 2, .present = {}, .values = {gpu}},
                                {.series = 3, .present = {}, .values = {1}}}}}};
  };
  watch.name_gpu("gpu0", "GPU-x");
  watch.samples(schema, at(0, 10, 0.1));
  EXPECT_FALSE(watch.now().cores.has_value());
  watch.samples({}, at(500, 11, 0.2));
  watch.samples({}, at(2000, 13, 0.3));
  EXPECT_DOUBLE_EQ(watch.now().cores.value(), 1.5);
  EXPECT_EQ(watch.now().gpus,
            (std::vector<std::pair<std::string, double>>{{"0", 0.3}, {"GPU-x", 0.3}}));
  EXPECT_FALSE(watch.now().step.has_value());
}

}  // namespace
}  // namespace corral::run
