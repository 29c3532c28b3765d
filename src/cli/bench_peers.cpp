#include "cli/bench_peers.h"

#include <array>

namespace corral::cli {
namespace {

constexpr std::string_view kPsLoop =
    "while :; do ps -eo pid,ppid,pcpu,pmem,rss,nlwp,comm; sleep 0.1; done";

// Reads what a user's own script usually reads.
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

}  // namespace

std::span<const Peer> peers() { return kPeers; }

}  // namespace corral::cli
