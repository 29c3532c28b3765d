// Proves that the sampler thread neither allocates nor forks: a binary of its own, because it
// replaces malloc and fork.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "collect/sampler/sampler.h"
#include "collect/test_roots.h"
#include "core/test_paths.h"
#include "sys/file.h"

namespace {

std::atomic<pid_t> watched{0};
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> forks{0};

// gettid() of glibc is a plain system call: safe inside malloc.
bool is_watched() {
  const pid_t thread = watched.load(std::memory_order_relaxed);
  return thread != 0 && thread == static_cast<pid_t>(::syscall(SYS_gettid));
}
void note(std::atomic<std::uint64_t>& counter) {
  if (is_watched()) counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// operator new, std::vector and fopen all end in these four; fork covers system() and popen() less
// posix_spawn.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's own names
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
pid_t __libc_fork();
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(size_t size) {
  note(allocations);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  note(allocations);
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  note(allocations);
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  note(allocations);
  return __libc_memalign(alignment, size);
}
pid_t fork() {
  note(forks);
  return __libc_fork();
}
}

namespace corral::collect {
namespace {

pid_t sampler_thread() {
  for (const std::string& thread : sys::list_directory("/proc/self/task")) {
    const auto name = sys::read_file("/proc/self/task/" + thread + "/comm");
    if (name && *name == "corral-sampler\n") return static_cast<pid_t>(std::stoi(thread));
  }
  return 0;
}

// A run that forks all the time, so that the walk meets new and vanishing processes.
pid_t start_busy_run() {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::setsid();
  for (;;) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
  }
}

// A thousand ticks of that sampler, at a millisecond each.
void expect_quiet(SamplerOptions options) {
  options.interval = std::chrono::milliseconds(1);
  options.slow_interval = std::chrono::milliseconds(2);
  auto sampler = Sampler::open(std::move(options)).value();
  ASSERT_TRUE(sampler->start());
  std::uint64_t rows = 0;
  const auto take = [&](const RowView&) { ++rows; };
  while (sampler->ticks() < 1) sampler->drain(take);
  const pid_t thread = sampler_thread();
  ASSERT_NE(thread, 0);
  watched = thread;
  while (sampler->ticks() < 1001) sampler->drain(take);
  watched = 0;
  sampler->stop();
  EXPECT_EQ(allocations.exchange(0), 0u);
  EXPECT_EQ(forks.exchange(0), 0u);
  EXPECT_GE(rows, 1000u);
}

TEST(SamplerThread, NeitherAllocatesNorForksInAThousandTicks) {
  const pid_t run = start_busy_run();
  PerfCounters perf = PerfCounters::open(run);
  expect_quiet({.listeners = {"proc", "tree", "cgroup", "energy", "node", "sensors"},
                .run_pid = run,
                .perf = std::move(perf)});
  ::kill(run, SIGKILL);
  ::waitpid(run, nullptr, 0);
}

// Covers parts that this machine may lack: a group, sensors, several NUMA nodes, NFS, GPUs.
TEST(SamplerThread, NeitherAllocatesNorForksOnAMachineThatHasEverything) {
  const std::string group = "sys/fs/cgroup/job/";
  const std::string cpu = "sys/devices/system/cpu/cpu0/";
  const std::string card = "sys/class/drm/card0/device/";
  const FakeRoot root{
      {"proc/7/cgroup", "0::/job\n"},
      {"proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
      {"proc/self/mountstats",
       "device a:/b mounted on /b with fstype nfs\n\tbytes: 1 2 3 4 5 6\n\tper-op statistics\n"
       "\tREAD: 1 2 3 4 5 6 7 8\n"},
      {"proc/vmstat", "pgsteal_kswapd 1\ncompact_stall 2\n"},
      {group + "cgroup.type", "domain\n"},
      {group + "cpu.stat", "usage_usec 5\nnr_periods 1\nnr_throttled 1\nthrottled_usec 1\n"},
      {group + "cpu.max", "5 10\n"},
      {group + "memory.current", "5\n"},
      {group + "memory.max", "50\n"},
      {group + "memory.stat", "anon 5\nfile 6\n"},
      {group + "memory.events", "max 5\noom_kill 6\n"},
      {group + "io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n"},
      {group + "pids.current", "5\n"},
      {group + "cpu.pressure", "some avg10=0.00 total=5\nfull avg10=0.00 total=5\n"},
      {"sys/class/powercap/intel-rapl:0/name", "package-0\n"},
      {"sys/class/powercap/intel-rapl:0/energy_uj", "5\n"},
      {"sys/class/hwmon/hwmon0/name", "nvme\n"},
      {"sys/class/hwmon/hwmon0/temp1_input", "5000\n"},
      {"sys/class/hwmon/hwmon1/name", "ina3221\n"},
      {"sys/class/hwmon/hwmon1/in1_label", "VDD_IN\n"},
      {"sys/class/hwmon/hwmon1/in1_input", "5\n"},
      {"sys/class/hwmon/hwmon1/curr1_input", "5\n"},
      {cpu + "cpufreq/scaling_cur_freq", "5\n"},
      {cpu + "thermal_throttle/core_throttle_count", "5\n"},
      {"sys/devices/system/node/node0/meminfo", "Node 0 MemUsed: 5 kB\n"},
      {"sys/devices/system/node/node0/numastat", "local_node 5\n"},
      {"sys/devices/system/node/node1/meminfo", "Node 1 MemUsed: 5 kB\n"},
      {"sys/devices/system/node/node1/numastat", "local_node 5\n"},
      {card + "vendor", "0x1002\n"},
      {card + "gpu_busy_percent", "5\n"},
      {card + "power/runtime_status", "active\n"},
      {card + "gpu_metrics", std::string("\x20\0\1\3", 4) + std::string(28, '\1')},
      {card + "uevent", "PCI_SLOT_NAME=0000:03:00.0\n"},
      {"proc/7/stat", "7 (a) S 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 0 0 0\n"},
      {"proc/7/fdinfo/3", "drm-client-id: 1\ndrm-pdev: 0000:03:00.0\ndrm-engine-gfx: 1 ns\n"},
      {"proc/7/fd/0", ""},
      {"sys/class/drm/card1/device/vendor", "0x8086\n"},
      {"sys/class/drm/card1/gt_act_freq_mhz", "5\n"},
  };
  std::filesystem::create_symlink("/dev/dri/renderD128", root.path() / "proc/7/fd/3");
  expect_quiet({.listeners = {"cgroup", "energy", "node", "sensors", "drm-processes", "amd",
                              "intel", "jetson"},
                .root = root.path(),
                .run_pid = 7});
}

// The fake driver answers without allocating, too.
TEST(SamplerThread, NeitherAllocatesNorForksBesideNvidiaGpus) {
  for (const char* gpus : {"one", "mig"}) {
    const std::string timeline = source_dir() + "/tests/fixtures/nvml/" + gpus + ".timeline";
    ::setenv("CORRAL_FAKE_NVML", timeline.c_str(), 1);
    expect_quiet({.listeners = {"nvidia", "nvidia-processes"},
                  .run_pid = ::getpid(),
                  .library_path = fake_nvml()});
  }
}

TEST(SamplerThread, WouldBeCaughtAllocatingOrForking) {
  watched = static_cast<pid_t>(::syscall(SYS_gettid));
  const std::string heap(1000, 'x');
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  watched = 0;
  ::waitpid(child, nullptr, 0);
  EXPECT_GT(allocations.exchange(0), 0u) << heap.size();
  EXPECT_GT(forks.exchange(0), 0u);
}

}  // namespace
}  // namespace corral::collect
