#include "cli/bench_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "cli/bench_training.h"
#include "cli/destination.h"
#include "collect/sampler/listeners.h"
#include "core/text.h"
#include "sys/process.h"

namespace corral::cli {
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

Setting corral(std::string name, std::string about, std::vector<std::string> words) {
  return {.kind = Kind::kCorral,
          .name = std::move(name),
          .about = std::move(about),
          .words = std::move(words)};
}

Setting default_setting() {
  return corral("default", "corral run: every listener at 10 Hz, capture, output", {});
}

Setting with_listeners(const std::string& names) {
  return corral(names, "corral run --no-capture --listeners " + names + ", 10 Hz",
                {"--no-capture", "--listeners", names});
}

const std::vector<Setting>& fixed_settings() {
  static const std::vector<Setting> all = {
      {.kind = Kind::kOff, .name = "off", .about = "nothing, twice"},
      corral("none", "corral run --no-listeners --no-capture: only the recorder",
             {"--no-listeners", "--no-capture"}),
      corral("capture", "corral run --no-listeners: the training's phases", {"--no-listeners"}),
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
  const char* path = std::getenv("PATH");
  if (peer.modules.empty()) {
    const std::string program(peer.program);
    const auto found = sys::find_in_path(program, path != nullptr ? path : "/usr/bin:/bin");
    return found ? "" : fmt::format("{} is not installed", peer.program);
  }
  const auto there = can_import(python, std::string(peer.modules));
  return there ? "" : there.error().message;
}

Setting setting_of(const Peer& peer, const std::string& python) {
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

Result<std::vector<Setting>> settings_of(std::string_view words) {
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

Result<std::vector<Setting>> peers_of(std::string_view words, const std::string& python) {
  std::vector<Setting> settings;
  for (const std::string_view part : split(words, ',')) {
    const std::string_view word = trim(part);
    if (word.empty() || word == "none") continue;
    bool found = false;
    for (const Peer& peer : kPeers) {
      if (word != "all" && word != peer.name) continue;
      found = true;
      add_once(settings, setting_of(peer, python));
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

}  // namespace corral::cli
