// The cost of sampling: one tick of listener "proc" and of the default set on this machine, one of
// listener "nvidia" on a fake driver, one walk over a run of 20 processes, a read of the perf
// events, and single files for comparison. CPU time is what counts; goals in docs/benchmarks.md.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collect/nvidia/fake/control.h"
#include "collect/nvidia/nvidia_listener.h"
#include "collect/proc_file.h"
#include "collect/sampler/listeners.h"
#include "collect/sampler/sampler.h"
#include "collect/tree/process_table.h"
#include "core/test_paths.h"
#include "sys/clock.h"
#include "sys/file.h"

namespace corral::collect {
namespace {

struct Sampled {
  Sampled(const ListenerContext& context, std::string_view name) {
    listener = find_listener(name)->open(context, table);
    const std::size_t columns =
        std::max(table.series(kFastGroup).size(), table.series(kSlowGroup).size());
    values.resize(columns);
    present.resize(columns);
  }
  Row row() { return {values, present}; }

  SeriesTable table;
  std::unique_ptr<Listener> listener;
  std::vector<double> values;
  std::vector<std::uint8_t> present;
};

// A run of that many processes that sleep; ended with the object.
class SleepingRun {
 public:
  explicit SleepingRun(int processes) {
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      for (int i = 1; i < processes; ++i) {
        if (::fork() == 0) sleep_until_the_end();
      }
      [[maybe_unused]] const ssize_t n = ::write(ready[1], "x", 1);
      sleep_until_the_end();
    }
    char c = 0;
    [[maybe_unused]] const ssize_t n = ::read(ready[0], &c, 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~SleepingRun() {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  [[noreturn]] static void sleep_until_the_end() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  pid_t pid_;
};

void tick_of_the_host(benchmark::State& state) {
  Sampled proc({}, "proc");
  Row row = proc.row();
  for (auto _ : state) proc.listener->sample_fast(row);
  state.counters["series"] = static_cast<double>(proc.table.series(kFastGroup).size());
}
BENCHMARK(tick_of_the_host)->Unit(benchmark::kMicrosecond);

// A tick of every listener on the host's lane, with a run of 20 processes: at 10 Hz nine of ten
// ticks are fast ones, the tenth is both.
void tick_of_the_default_set(benchmark::State& state) {
  const SleepingRun run(20);
  std::vector<std::unique_ptr<Sampled>> all;
  PerfCounters perf = PerfCounters::open(run.pid());
  const ListenerContext context{.run_pid = run.pid(), .supervisor_pid = ::getpid(), .perf = &perf};
  for (const ListenerEntry& entry : listeners()) {
    if (entry.lane == Lane::kHost) all.push_back(std::make_unique<Sampled>(context, entry.name));
  }
  std::erase_if(all, [](const auto& sampled) { return sampled->listener == nullptr; });
  std::size_t series = 0;
  for (const auto& sampled : all) {
    for (const Group group : {kFastGroup, kSlowGroup})
      series += sampled->table.series(group).size();
  }
  int tick = 0;
  for (auto _ : state) {
    const bool slow = ++tick % 10 == 0;
    for (const auto& sampled : all) {
      Row row = sampled->row();
      sampled->listener->sample_fast(row);
      if (slow) sampled->listener->sample_slow(row);
    }
  }
  state.counters["series"] = static_cast<double>(series);
}
BENCHMARK(tick_of_the_default_set)->Unit(benchmark::kMicrosecond);

void tick_of_one(benchmark::State& state, const char* name, Group group) {
  const SleepingRun run(1);
  Sampled sampled({.run_pid = run.pid(), .supervisor_pid = ::getpid()}, name);
  if (!sampled.listener) return state.SkipWithError("nothing to measure here");
  Row row = sampled.row();
  for (auto _ : state) {
    group == kFastGroup ? sampled.listener->sample_fast(row) : sampled.listener->sample_slow(row);
  }
  state.counters["series"] = static_cast<double>(sampled.table.series(group).size());
}
BENCHMARK_CAPTURE(tick_of_one, cgroup, "cgroup", kFastGroup)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(tick_of_one, cgroup_slow, "cgroup", kSlowGroup)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(tick_of_one, energy, "energy", kFastGroup)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(tick_of_one, node_slow, "node", kSlowGroup)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(tick_of_one, sensors_slow, "sensors", kSlowGroup)->Unit(benchmark::kMicrosecond);

void read_one_file(benchmark::State& state, const char* path) {
  ProcFile file = ProcFile::open(path).value();
  for (auto _ : state) benchmark::DoNotOptimize(file.read());
}
BENCHMARK_CAPTURE(read_one_file, stat, "/proc/stat")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(read_one_file, meminfo, "/proc/meminfo")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(read_one_file, vmstat, "/proc/vmstat")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(read_one_file, diskstats, "/proc/diskstats")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(read_one_file, net_dev, "/proc/net/dev")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(read_one_file, pressure_io, "/proc/pressure/io")->Unit(benchmark::kMicrosecond);

void walk_over_processes(benchmark::State& state) {
  const SleepingRun run(static_cast<int>(state.range(0)));
  tree::ProcessTable table({.run_pid = run.pid(), .supervisor_pid = ::getpid()});
  std::uint64_t seen = 0;
  for (auto _ : state) seen = table.walk().processes;
  state.counters["processes"] = static_cast<double>(seen);
}
BENCHMARK(walk_over_processes)->Arg(1)->Arg(20)->Arg(200)->Unit(benchmark::kMicrosecond);

void read_perf_events(benchmark::State& state) {
  const SleepingRun run(1);
  PerfCounters perf = PerfCounters::open(run.pid());
  Sampled tree({.run_pid = run.pid(), .supervisor_pid = ::getpid(), .perf = &perf}, "tree");
  Row row = tree.row();
  for (auto _ : state) tree.listener->sample_fast(row);
}
BENCHMARK(read_perf_events)->Unit(benchmark::kMicrosecond);

// Time that passes as it does, and a tick's interval more at each request.
class TickingClock final : public sys::Clock {
 public:
  BootTime now() override { return sys::boot_now() + ahead_; }
  bool sleep_until(BootTime) override { return true; }
  void tick() { ahead_ += std::chrono::milliseconds(100); }
  [[nodiscard]] double ahead() const { return seconds(ahead_); }

 private:
  Nanos ahead_{0};
};

// Eight times the one GPU of the fixture, in a file of its own.
std::filesystem::path eight_gpus() {
  std::ifstream in(corral::source_dir() + "/tests/fixtures/nvml/one.timeline");
  const auto path = std::filesystem::temp_directory_path() /
                    ("corral_bench_" + std::to_string(::getpid()) + ".timeline");
  std::ofstream out(path);
  for (std::string line; std::getline(in, line);) {
    const bool of_gpu = line.find("gpu0.") != std::string::npos;
    if (!of_gpu && !line.starts_with("gpus")) out << line << '\n';
    for (char gpu = '0'; of_gpu && gpu < '8'; ++gpu) {
      std::string copy = line;
      copy[copy.find("gpu0.") + 3] = gpu;
      out << copy << '\n';
    }
  }
  out << "gpus 8\n";
  return path;
}

// Listener "nvidia" on the fake driver, whose own time is in it: utilization, memory, clocks,
// throttling, seven fields and sixteen GPM metrics of each device.
void tick_of_eight_gpus(benchmark::State& state) {
  const auto timeline = eight_gpus();
  ::setenv("CORRAL_FAKE_NVML", timeline.c_str(), 1);
  void* library = ::dlopen(corral::fake_nvml().c_str(), RTLD_NOW);
  auto* set_time = library == nullptr ? nullptr
                                      : reinterpret_cast<decltype(corral_fake_set_time)*>(
                                            ::dlsym(library, "corral_fake_set_time"));
  if (set_time == nullptr) return state.SkipWithError("no fake driver");
  TickingClock clock;
  SeriesTable table;
  const auto listener =
      nvidia::open_listener({.library_path = corral::fake_nvml()}, table, nvidia::clocks_on(clock));
  std::filesystem::remove(timeline);
  if (listener == nullptr) return state.SkipWithError("the fake driver has no device");
  std::vector<double> values(table.series(kFastGroup).size());
  std::vector<std::uint8_t> present(values.size());
  Row row(values, present);
  for (auto _ : state) {
    clock.tick();
    set_time(clock.ahead());
    listener->sample_fast(row);
  }
  state.counters["series"] = static_cast<double>(std::ranges::count(present, 1));
}
BENCHMARK(tick_of_eight_gpus)->Unit(benchmark::kMicrosecond);

std::size_t column_of(const Sampler& sampler, int group, std::string_view name) {
  const auto series = sampler.series(group);
  return static_cast<std::size_t>(
      std::ranges::find(series, name, [](const SeriesInfo& s) { return s.metric->name; }) -
      series.begin());
}

// The thread as it runs beside a training at 10 Hz: cold caches, wake-up and ring included. The
// counters are what counts: CPU time of the thread, and how long a read of "proc" takes on the
// clock.
void sampler_thread(benchmark::State& state, std::vector<std::string> names) {
  constexpr int kTicks = 50;
  const SleepingRun run(20);
  for (auto _ : state) {
    SamplerOptions options{.listeners = names, .run_pid = run.pid()};
    options.perf = PerfCounters::open(run.pid());
    const auto sampler = Sampler::open(std::move(options)).value();
    if (!sampler->start()) state.SkipWithError("no timer");
    sys::system_clock().sleep_until(sys::boot_now() + kTicks * std::chrono::milliseconds(100));
    sampler->stop();
    const std::size_t cpu_column = column_of(*sampler, kSlowGroup, "corral.collector.cpu");
    const std::size_t latency_column = column_of(*sampler, kFastGroup, "corral.collector.latency");
    std::vector<double> cpu;
    std::vector<double> latency;
    sampler->drain([&](const RowView& row) {
      if (row.group == kSlowGroup) cpu.push_back(row.values[cpu_column]);
      if (row.group == kFastGroup) latency.push_back(row.values[latency_column]);
    });
    std::ranges::nth_element(latency, latency.begin() + kTicks / 2);
    state.counters["cpu_us_per_tick"] = (cpu.back() - cpu.front()) * 1e6 / kTicks;
    state.counters["proc_median_us"] = latency[kTicks / 2] * 1e6;
    state.counters["missed"] = static_cast<double>(sampler->missed_ticks());
  }
}
// The least that any tick takes here: a thread that wakes ten times a second and asks the kernel
// for the files that listener "proc" reads at every tick, one bare pread each, nothing parsed.
void bare_thread(benchmark::State& state, const std::vector<const char*>& paths) {
  constexpr int kTicks = 50;
  std::vector<sys::Fd> files;
  for (const char* path : paths) {
    if (auto file = sys::open_file(path, O_RDONLY)) files.push_back(std::move(*file));
  }
  std::vector<char> buffer(64u << 10);
  for (auto _ : state) {
    Nanos cpu{0};
    std::thread([&] {
      const Nanos before = sys::thread_cpu_time();
      for (int i = 0; i < kTicks; ++i) {
        sys::system_clock().sleep_until(sys::boot_now() + std::chrono::milliseconds(100));
        for (const sys::Fd& file : files)
          benchmark::DoNotOptimize(::pread(file.get(), buffer.data(), buffer.size(), 0));
      }
      cpu = sys::thread_cpu_time() - before;
    }).join();
    state.counters["cpu_us_per_tick"] = seconds(cpu) * 1e6 / kTicks;
  }
}
BENCHMARK_CAPTURE(bare_thread, wake, {})->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare_thread, wake_and_read,
                  {"/proc/stat", "/proc/loadavg", "/proc/meminfo", "/proc/vmstat",
                   "/proc/diskstats", "/proc/net/dev", "/proc/pressure/cpu",
                   "/proc/pressure/memory", "/proc/pressure/io"})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

std::vector<std::string> host_lane() {
  std::vector<std::string> names;
  for (const ListenerEntry& entry : listeners()) {
    if (entry.lane == Lane::kHost) names.emplace_back(entry.name);
  }
  return names;
}
BENCHMARK_CAPTURE(sampler_thread, default_set, host_lane())
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sampler_thread, proc_and_tree, {"proc", "tree"})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace corral::collect
