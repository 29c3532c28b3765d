#include "cli/bench_stage.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>

#include "cli/destination.h"
#include "collect/sampler/listeners.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTrialSteps = 300;
constexpr Nanos kProbing{std::chrono::seconds(60)};  // the first import of PyTorch can take long

// A classifier of the size of handwritten digits, one thread, seeded: the same work each time.
constexpr std::string_view kScript = R"python(
import os, sys, time
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
kind, steps = sys.argv[1], int(sys.argv[2])
times = []

def torch_steps():
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    torch.set_num_threads(1)
    images, labels = torch.rand(1440, 64), torch.randint(0, 10, (1440,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    loss_of = nn.CrossEntropyLoss()
    while True:
        for batch, wanted in loader:
            optimizer.zero_grad()
            loss_of(model(batch), wanted).backward()
            optimizer.step()
            yield

def numpy_steps():
    import numpy

    random = numpy.random.default_rng(0)
    images, labels = random.random((1440, 64)), random.integers(0, 10, 1440)
    first, second = random.normal(0, 0.1, (64, 256)), random.normal(0, 0.1, (256, 10))
    while True:
        chosen = random.integers(0, 1440, 32)
        batch = images[chosen]
        hidden = numpy.maximum(batch @ first, 0)
        scores = hidden @ second
        parts = numpy.exp(scores - scores.max(1, keepdims=True))
        error = parts / parts.sum(1, keepdims=True)
        error[numpy.arange(32), labels[chosen]] -= 1
        back = error @ second.T * (hidden > 0)
        second -= 0.002 * hidden.T @ error
        first -= 0.002 * batch.T @ back
        yield

running = torch_steps() if kind == "torch" else numpy_steps()
for _ in range(steps):
    began = time.perf_counter_ns()
    next(running)
    times.append(time.perf_counter_ns() - began)
file = os.environ.get("CORRAL_BENCH_STEPS")
if file:
    with open(file, "w") as out:
        out.writelines(f"{time / 1e9:.9f}\n" for time in times)
)python";

struct BuiltIn {
  std::string_view name, modules, about;
};
constexpr std::array kBuiltIns = {
    BuiltIn{"torch", "torch", "a small PyTorch network, one thread"},
    BuiltIn{"numpy", "numpy", "a small network in NumPy, one thread"},
    BuiltIn{"loop", "", "a loop of fixed work, one thread (no training)"},
};

Result<BuiltIn> choose(const std::string& wanted, const std::string& python) {
  std::string why;
  for (const BuiltIn& kind : kBuiltIns) {
    if (wanted != "auto" && wanted != kind.name) continue;
    const auto there =
        kind.modules.empty() ? Result<>() : can_import(python, std::string(kind.modules));
    if (there) return kind;
    if (wanted != "auto")
      return fail(Code::kInvalidArgument,
                  fmt::format("--training {}: {}", wanted, there.error().message));
  }
  return kBuiltIns.back();
}

std::vector<std::string> training_command(const BuiltIn& kind, const TrainingOptions& options,
                                          std::int64_t steps) {
  if (kind.name == "loop") return {program_path().string(), "bench", "loop", std::to_string(steps)};
  return {python_program(), (options.directory / "training.py").string(), std::string(kind.name),
          std::to_string(steps)};
}

Result<Measurement> try_once(const std::vector<std::string>& command,
                             const TrainingOptions& options, Interrupts& interrupts) {
  const fs::path file = options.directory / "trial.json";
  const fs::path errors = options.directory / "trial.err";
  Child child = TRY(Child::start({.argv = measured(file, command),
                                  .environment = options.environment,
                                  .output = {},
                                  .error_output = errors}));
  const ChildEnd end = TRY(child.wait(interrupts));
  if (end.status != 0) return tl::unexpected(failed_training(end.status, errors));
  return read_measurement(file);
}

// So many steps that a run takes `length`, its start included; a tenth of it at least is steps.
std::int64_t steps_for(Nanos length, const Measurement& trial) {
  const double stepping = std::accumulate(trial.steps_s.begin(), trial.steps_s.end(), 0.0);
  const double start = std::max(0.0, trial.wall_s - stepping);
  const double each =
      stepping / static_cast<double>(std::max<std::size_t>(1, trial.steps_s.size()));
  const double left = std::max(seconds(length) - start, seconds(length) / 10);
  return std::max(std::int64_t{1},
                  static_cast<std::int64_t>(std::llround(left / std::max(each, 1e-6))));
}

Result<> find_program(const std::string& program) {
  const auto found = sys::find_in_path(program);
  return found ? Result<>() : fail(Code::kInvalidArgument, found.error().message);
}

Result<Training> prepare_ours(const TrainingOptions& options, Interrupts& interrupts) {
  TRY(sys::replace_file(options.directory / "training.py", kScript, 0600, false));
  const BuiltIn kind = TRY(choose(options.kind, python_program()));
  const Measurement trial =
      TRY(try_once(training_command(kind, options, kTrialSteps), options, interrupts));
  const std::int64_t steps = steps_for(options.length, trial);
  const double start =
      trial.wall_s - std::accumulate(trial.steps_s.begin(), trial.steps_s.end(), 0.0);
  return Training{.about = fmt::format("{}, {} steps", kind.about, steps),
                  .command = training_command(kind, options, steps),
                  .expected_s = std::max(seconds(options.length), start)};
}

}  // namespace

Result<> can_import(const std::string& python, const std::string& modules) {
  int status = 0;
  const auto output = sys::capture_output(
      {.argv = {python, "-c", "import " + modules}, .directory = {}, .limit = kProbing}, &status);
  if (output && status == 0) return {};
  return fail(Code::kNotFound, fmt::format("{} cannot import {}", python, modules));
}

std::vector<std::string> measured(const fs::path& file, const std::vector<std::string>& command) {
  std::vector<std::string> words = {program_path().string(), "bench", "measure", file.string()};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Error failed_training(int wait_status, const fs::path& errors) {
  const std::string text = sys::read_file(errors).value_or("");
  const std::string_view all = trim(text);
  const std::string_view line = all.substr(all.rfind('\n') + 1);
  const std::string how = WIFSIGNALED(wait_status)
                              ? fmt::format("by signal {}", WTERMSIG(wait_status))
                              : fmt::format("with status {}", WEXITSTATUS(wait_status));
  return {Code::kInvalidArgument,
          fmt::format("the training ended {}{}{}", how, line.empty() ? "" : ": ", line)};
}

Result<Training> prepare_training(const TrainingOptions& options, Interrupts& interrupts) {
  if (options.command.empty()) return prepare_ours(options, interrupts);
  std::vector<std::string> command = options.command;
  if (command[0].ends_with(".py")) command.insert(command.begin(), python_program());
  TRY(find_program(command[0]));
  const Measurement trial = TRY(try_once(command, options, interrupts));
  return Training{
      .about = join(options.command, " "), .command = command, .expected_s = trial.wall_s};
}

namespace {

using Kind = Setting::Kind;

// A program that is found in $PATH, or a script: Python's where `modules` are named, else the
// shell's. It prints something as soon as it is at work, and ends at SIGTERM.
struct Peer {
  std::string_view name;
  std::string_view about;         // its task and its rate
  std::string_view program = {};  // must be in $PATH
  std::string_view modules = {};
  std::string_view words = {};  // its command line, split at blanks
  std::string_view script = {};
  bool around = false;  // it starts the training itself
};

constexpr std::string_view kPsLoop =
    "while :; do ps -eo pid,ppid,pcpu,pmem,rss,nlwp,comm; sleep 0.1; done";

// Reads the metrics that users' own scripts usually read.
constexpr std::string_view kPsutil = R"python(
import time
import psutil
due = time.monotonic()
while True:
    print(psutil.cpu_percent(percpu=True), psutil.virtual_memory(), psutil.swap_memory(),
          psutil.disk_io_counters(), psutil.net_io_counters(), psutil.getloadavg(), flush=True)
    due += 0.1
    time.sleep(max(0.0, due - time.monotonic()))
)python";

constexpr std::string_view kMlflow = R"python(
import os, signal, sys
import mlflow
from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor
mlflow.set_tracking_uri("sqlite:///" + os.environ["CORRAL_BENCH_DIRECTORY"] + "/mlflow.db")
run = mlflow.start_run()
monitor = SystemMetricsMonitor(run.info.run_id, sampling_interval=1)
monitor.start()
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("ready", flush=True)
while True:
    signal.pause()
)python";

// radT's own listeners and its own logger, as its benchmark starts them.
constexpr std::string_view kRadt = R"python(
import multiprocessing, os, shutil, signal
address = "sqlite:///" + os.environ["CORRAL_BENCH_DIRECTORY"] + "/radt.db"
os.environ["MLFLOW_TRACKING_URI"] = address
import mlflow
from radt.run.benchmark import _MLFlowLogger
from radt.run.listeners import listeners
programs = {"SMI": "nvidia-smi", "TOP": "top", "PS": "ps", "Free": "free", "IOstat": "iostat"}
mlflow.set_tracking_uri(address)
run = mlflow.start_run().info.run_id
queue = multiprocessing.Queue()
workers = [_MLFlowLogger(run, queue)]
workers += [listeners[name](run, queue) for name, program in programs.items()
            if name in listeners and shutil.which(program)]
for worker in workers:
    worker.start()
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("ready", flush=True)
while True:
    signal.pause()
)python";

// Other tools that watch a machine, as `corral bench listeners` runs them beside a training.
constexpr std::array kPeers = {
    Peer{.name = "nvidia-smi",
         .about = "nvidia-smi --query-gpu, 10 Hz",
         .program = "nvidia-smi",
         .words = "nvidia-smi --query-gpu=timestamp,power.draw,utilization.gpu,utilization.memory,"
                  "memory.used,temperature.gpu,clocks.sm,pstate --format=csv -lms 100"},
    Peer{.name = "top", .about = "top -b, 10 Hz", .program = "top", .words = "top -b -d 0.1"},
    Peer{.name = "ps", .about = "ps -e in a shell loop, 10 Hz", .program = "ps", .script = kPsLoop},
    Peer{.name = "iostat",
         .about = "iostat -x, 1 Hz (its fastest)",
         .program = "iostat",
         .words = "iostat -x -m 1"},
    Peer{.name = "free", .about = "free, 10 Hz", .program = "free", .words = "free -w -s 0.1"},
    Peer{.name = "psutil",
         .about = "CPUs, memory, disks, network by psutil, 10 Hz",
         .modules = "psutil",
         .script = kPsutil},
    Peer{.name = "mlflow",
         .about = "MLflow's system metrics, 1 Hz (its default: 0.1 Hz), into SQLite, in a process "
                  "beside the training",
         .modules = "mlflow,psutil",
         .script = kMlflow},
    Peer{.name = "radt",
         .about = "radT's listeners at their 1 Hz, its logger into SQLite",
         .modules = "radt",
         .script = kRadt},
    Peer{.name = "nsys",
         .about = "nsys profile, as it is by default",
         .program = "nsys",
         .words = "nsys profile --force-overwrite=true --output=nsys-report",
         .around = true},
};

Setting corral_setting(std::string name, std::string about, std::vector<std::string> words) {
  return {.kind = Kind::kCorral,
          .name = std::move(name),
          .about = std::move(about),
          .words = std::move(words)};
}

Setting default_setting() {
  return corral_setting("default", "corral run: every listener at 10 Hz, capture, output", {});
}

Setting with_listeners(const std::string& names) {
  return corral_setting(names, "corral run --no-capture --listeners " + names + ", 10 Hz",
                        {"--no-capture", "--listeners", names});
}

const std::vector<Setting>& fixed_settings() {
  static const std::vector<Setting> all = {
      {.kind = Kind::kOff, .name = "off", .about = "nothing, twice"},
      corral_setting("none", "corral run --no-listeners --no-capture: only the recorder",
                     {"--no-listeners", "--no-capture"}),
      corral_setting("capture", "corral run --no-listeners: the training's phases",
                     {"--no-listeners"}),
      default_setting(),
  };
  return all;
}

void add_once(std::vector<Setting>& settings, Setting one) {
  if (std::ranges::find(settings, one.name, &Setting::name) == settings.end())
    settings.push_back(std::move(one));
}

// Adds the fixed settings and each listener, also those that have nothing to measure on this host.
void add_each(std::vector<Setting>& settings) {
  for (const Setting& fixed : fixed_settings()) add_once(settings, fixed);
  for (const auto& entry : collect::listeners())
    add_once(settings, with_listeners(std::string(entry.name)));
}

std::string why_missing(const Peer& peer, const std::string& python) {
  if (peer.modules.empty()) {
    const auto found = sys::find_in_path(std::string(peer.program));
    return found ? "" : fmt::format("{} is not installed", peer.program);
  }
  const auto there = can_import(python, std::string(peer.modules));
  return there ? "" : there.error().message;
}

Setting peer_setting(const Peer& peer, const std::string& python) {
  Setting out{.kind = peer.around ? Kind::kAround : Kind::kBeside,
              .name = std::string(peer.name),
              .about = std::string(peer.about)};
  out.missing = why_missing(peer, python);
  if (peer.script.empty()) {
    for (const std::string_view word : split(peer.words, ' ')) out.words.emplace_back(word);
  } else if (peer.modules.empty()) {
    out.words = {"/bin/sh", "-c", std::string(peer.script)};
  } else {
    out.words = {python, "-c", std::string(peer.script)};
  }
  return out;
}

}  // namespace

Result<std::vector<Setting>> parse_settings(std::string_view words) {
  std::vector<Setting> settings;
  for (const std::string_view part : split(words, ',')) {
    const std::string_view word = trim(part);
    if (word.empty() || word == "each") {
      if (word == "each") add_each(settings);
      continue;
    }
    const auto fixed = std::ranges::find(fixed_settings(), word, &Setting::name);
    if (fixed != fixed_settings().end()) {
      add_once(settings, *fixed);
    } else {
      const auto names = TRY(collect::select_listeners(word));
      add_once(settings, with_listeners(join(names, "+")));
    }
  }
  return settings;
}

Result<std::vector<Setting>> parse_peers(std::string_view words, const std::string& python) {
  std::vector<Setting> settings;
  for (const std::string_view part : split(words, ',')) {
    const std::string_view word = trim(part);
    if (word.empty() || word == "none") continue;
    bool found = false;
    for (const Peer& peer : kPeers) {
      if (word != "all" && word != peer.name) continue;
      found = true;
      add_once(settings, peer_setting(peer, python));
    }
    if (!found)
      return fail(Code::kInvalidArgument, fmt::format("--peers: '{}' is none of all, none, {}",
                                                      word, join(peer_names(), ", ")));
  }
  return settings;
}

std::vector<std::string> peer_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kPeers));
  for (const Peer& peer : kPeers) names.emplace_back(peer.name);
  return names;
}

Setting planted_burner(double share) {
  return {.kind = Kind::kPlanted,
          .name = fmt::format("planted {:g} %", share * 100),
          .about = "a burner of so much of the training's processor, which both are bound to",
          .words = {program_path().string(), "bench", "burn", fmt::format("{:.6f}", share)},
          .planted = share};
}

namespace {

constexpr Nanos kStarting{std::chrono::seconds(60)};  // importing MLflow can take long
constexpr Nanos kEnding{std::chrono::seconds(5)};
constexpr Nanos kIdleFor{std::chrono::milliseconds(100)};
constexpr double kIdleShare = 0.02;

// The last processor that this process may run on: the first ones serve interrupts.
int last_processor() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return -1;
  for (int n = CPU_SETSIZE - 1; n >= 0; --n) {
    if (CPU_ISSET(static_cast<std::size_t>(n), &set)) return n;
  }
  return -1;
}

// Waits until the file has something in it; false when the process was quicker to end, or the time
// is over.
bool wait_for_output(const fs::path& file, pid_t pid, Interrupts& interrupts) {
  const BootTime deadline = sys::boot_now() + kStarting;
  std::error_code error;
  while (sys::boot_now() < deadline) {
    if (fs::file_size(file, error) > 0 && !error) return true;
    const auto identity = sys::identity_of(pid);
    if (!identity || !sys::is_alive(*identity)) return false;
    if (interrupts.wait(std::chrono::milliseconds(20))) return false;
  }
  return false;
}

}  // namespace

Stage::Stage(fs::path directory) : directory_(std::move(directory)) {
  environment_ = environment_elsewhere();
  environment_.push_back("CORRAL_BENCH_DIRECTORY=" + directory_.string());
}

Result<Stage> Stage::open() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "corral-overhead-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return fail_errno(name, errno);
  return Stage(name);
}

Stage::~Stage() {
  if (directory_.empty()) return;  // moved from
  server_.reset();
  std::error_code error;
  fs::remove_all(directory_, error);
}

Result<Child> Stage::start(std::vector<std::string> argv, int processor) {
  return Child::start({.argv = std::move(argv),
                       .environment = environment_,
                       .output = {},
                       .error_output = file("run.err"),
                       .processor = processor});
}

Result<> Stage::serve(Interrupts& interrupts) {
  if (server_) return {};
  const fs::path output = file("server.out");
  server_.emplace(
      TRY(Child::start({.argv = {program_path().string(), "serve", "--store", file("store"),
                                 "--spool", file("spool"), "--listen", "127.0.0.1:0"},
                        .environment = environment_,
                        .output = output,
                        .error_output = file("server.err")})));
  if (wait_for_output(output, server_->pid(), interrupts)) return {};
  if (interrupts.asked()) return fail(Code::kUnavailable, "interrupted");
  return fail(Code::kUnavailable,
              "the store's server did not start: " +
                  sys::read_file(file("server.err")).value_or("it printed nothing"));
}

ChildEnd Stage::settle(Interrupts& interrupts) {
  ChildEnd so_far;
  if (!server_) return so_far;
  const BootTime deadline = sys::boot_now() + kEnding;
  double before = server_->cpu_s();
  for (;;) {
    const BootTime from = sys::boot_now();
    const bool asked = interrupts.wait(kIdleFor);
    so_far.cpu_s = server_->cpu_s();
    const double share = (so_far.cpu_s - before) / seconds(sys::boot_now() - from);
    if (asked || share < kIdleShare || sys::boot_now() > deadline) break;
    before = so_far.cpu_s;
  }
  so_far.written_bytes = server_->written_bytes();
  return so_far;
}

Result<OneRun> Stage::run(const Setting& setting, bool on, const std::vector<std::string>& training,
                          Interrupts& interrupts) {
  std::error_code error;
  for (const char* name : {"run.json", "run.json.steps", "run.err", "tool.out"})
    fs::remove(file(name), error);
  const Job job{
      .setting = setting, .argv = measured(file("run.json"), training), .interrupts = interrupts};
  const int processor = setting.kind == Setting::Kind::kPlanted ? last_processor() : -1;
  if (!on || setting.kind == Setting::Kind::kOff) return alone(job, processor);
  if (setting.kind == Setting::Kind::kCorral) return within(job, corral_run(setting));
  if (setting.kind == Setting::Kind::kAround) return within(job, setting.words);
  return beside(job);
}

// Waits for the process that runs the training, and reads its measurements.
Result<ChildEnd> Stage::finish(Child& child, Interrupts& interrupts, OneRun& run) {
  const ChildEnd end = TRY(child.wait(interrupts));
  if (end.status != 0) return tl::unexpected(failed_training(end.status, file("run.err")));
  run.training = TRY(read_measurement(file("run.json")));
  return end;
}

Result<OneRun> Stage::alone(const Job& job, int processor) {
  OneRun run{.began = sys::utc_now(), .training = {}};
  const BootTime began = sys::boot_now();
  Child child = TRY(start(job.argv, processor));
  TRY(finish(child, job.interrupts, run));
  run.whole_s = seconds(sys::boot_now() - began);
  return run;
}

std::vector<std::string> Stage::corral_run(const Setting& setting) const {
  std::vector<std::string> argv = {
      program_path().string(), "run",    "--quiet",   "--store", file("store"), "--spool",
      file("spool"),           "--name", setting.name};
  argv.insert(argv.end(), setting.words.begin(), setting.words.end());
  argv.emplace_back("--");
  return argv;
}

Result<OneRun> Stage::within(const Job& job, std::vector<std::string> argv) {
  const bool ours = job.setting.kind == Setting::Kind::kCorral;
  const ChildEnd before = ours ? settle(job.interrupts) : ChildEnd();
  OneRun run{.began = sys::utc_now(), .training = {}};
  const BootTime began = sys::boot_now();
  argv.insert(argv.end(), job.argv.begin(), job.argv.end());
  Child child = TRY(start(std::move(argv)));
  const ChildEnd end = TRY(finish(child, job.interrupts, run));
  run.whole_s = seconds(sys::boot_now() - began);
  const ChildEnd after = ours ? settle(job.interrupts) : ChildEnd();
  run.collecting_cpu_s =
      end.cpu_s - run.training.cpu_s - run.training.own_cpu_s + after.cpu_s - before.cpu_s;
  run.collecting_peak_bytes = end.peak_bytes;
  run.collecting_written_bytes =
      end.written_bytes - run.training.written_bytes + after.written_bytes - before.written_bytes;
  return run;
}

Result<Child> Stage::start_tool(const Setting& setting, int processor, Interrupts& interrupts) {
  const fs::path output = file("tool.out");
  Child tool = TRY(Child::start({.argv = setting.words,
                                 .environment = environment_,
                                 .output = output,
                                 .error_output = file("run.err"),
                                 .processor = processor}));
  if (setting.planted > 0 || wait_for_output(output, tool.pid(), interrupts)) return tool;
  if (interrupts.asked()) return fail(Code::kUnavailable, "interrupted");
  const std::string text = sys::read_file(file("run.err")).value_or("");
  return fail(Code::kNotFound,
              fmt::format("{} does not start: {}", setting.name, text.substr(0, text.find('\n'))));
}

Result<OneRun> Stage::beside(const Job& job) {
  const int processor = job.setting.planted > 0 ? last_processor() : -1;
  Child tool = TRY(start_tool(job.setting, processor, job.interrupts));
  const double cpu_before = tool.cpu_s();
  const std::int64_t written_before = tool.written_bytes();
  OneRun run = TRY(alone(job, processor));
  run.collecting_cpu_s = tool.cpu_s() - cpu_before;
  const std::int64_t written = tool.written_bytes();
  const ChildEnd end = TRY(tool.stop(job.interrupts, kEnding));
  run.collecting_peak_bytes = end.peak_bytes;
  run.collecting_written_bytes = written - written_before;
  return run;
}

}  // namespace corral::cli
