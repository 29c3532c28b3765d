#include "metric/catalogue.h"

#include <algorithm>
#include <array>

namespace corral::metric {
namespace {

constexpr Kind kGauge = Kind::kGauge;
constexpr Kind kCounter = Kind::kCounter;
constexpr Aggregation kMean = Aggregation::kMean;
constexpr Aggregation kSum = Aggregation::kSum;
constexpr Aggregation kOnce = Aggregation::kSharedOnce;
constexpr Owner kRun = Owner::kRun;
constexpr Owner kHost = Owner::kWorkload;
constexpr bool kFast = false;
constexpr bool kSlow = true;

// Ordered by scope and group, as docs/metrics.md shows them.
constexpr auto kCatalogue = std::to_array<Metric>({
    // Host CPU: /proc/stat, whose clock ticks at 10 ms.
    {"host.cpu.busy", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time that all CPUs of the host spent working (user, nice, system, interrupts), by "
     "anyone; without steal. From /proc/stat, in steps of 10 ms."},
    {"host.cpu.core.busy", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time that one CPU (the source) spent working, as host.cpu.busy. From /proc/stat, in "
     "steps of 10 ms."},
    {"host.cpu.user", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time of all CPUs in user mode, nice and guests included. From /proc/stat."},
    {"host.cpu.system", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time of all CPUs in the kernel, without interrupts. From /proc/stat."},
    {"host.cpu.irq", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time of all CPUs in hard and soft interrupts. From /proc/stat."},
    {"host.cpu.iowait", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "Idle time of all CPUs while a task that last ran there waited for a block device; idle time, "
     "not work, and a lower bound. From /proc/stat."},
    {"host.cpu.steal", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "Time in which the hypervisor ran something else although a CPU of this machine had work. "
     "From /proc/stat."},
    // Host scheduler.
    {"host.load.1m", "", "", kGauge, kMean, kHost, "scheduler", kFast,
     "Runnable tasks and tasks in uninterruptible sleep, averaged over about 1 minute; the kernel "
     "renews it every 5 s. From /proc/loadavg."},
    {"host.load.5m", "", "", kGauge, kMean, kHost, "scheduler", kFast,
     "As host.load.1m, over about 5 minutes."},
    {"host.load.15m", "", "", kGauge, kMean, kHost, "scheduler", kFast,
     "As host.load.1m, over about 15 minutes."},
    {"host.threads", "", "", kGauge, kOnce, kHost, "scheduler", kFast,
     "Threads that exist on the host (in this PID namespace's view of /proc/loadavg), kernel "
     "threads included."},
    {"host.processes.running", "", "", kGauge, kOnce, kHost, "scheduler", kFast,
     "Threads that run or wait for a CPU at the instant of the read, the sampler's own included. "
     "From /proc/stat."},
    {"host.processes.blocked", "", "", kGauge, kOnce, kHost, "scheduler", kFast,
     "Threads that wait for I/O to complete at the instant of the read. From /proc/stat."},
    {"host.scheduler.context_switches", "", "1/s", kCounter, kOnce, kHost, "scheduler", kFast,
     "Context switches of all CPUs since boot. From /proc/stat."},
    {"host.scheduler.interrupts", "", "1/s", kCounter, kOnce, kHost, "scheduler", kFast,
     "Interrupts serviced since boot. From /proc/stat."},
    {"host.scheduler.forks", "", "1/s", kCounter, kOnce, kHost, "scheduler", kFast,
     "Processes and threads created since boot. From /proc/stat."},
    // Host memory: /proc/meminfo.
    {"host.memory.total", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Memory that the kernel manages (MemTotal): less than what is plugged in."},
    {"host.memory.used", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "MemTotal less MemAvailable: memory that could not be had without swapping."},
    {"host.memory.available", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "The kernel's estimate of what new programs could get without swapping (MemAvailable)."},
    {"host.memory.free", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Memory that holds nothing at all (MemFree); a healthy host has little of it."},
    {"host.memory.cached", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page cache with tmpfs and shared memory, without buffers and swap cache (Cached)."},
    {"host.memory.buffers", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page cache of block devices themselves: file system metadata (Buffers)."},
    {"host.memory.anonymous", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Memory of processes that no file backs, mapped now (AnonPages)."},
    {"host.memory.mapped", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page cache that processes have mapped, libraries included (Mapped)."},
    {"host.memory.shared", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "tmpfs and shared memory, DataLoader buffers among them (Shmem)."},
    {"host.memory.slab", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "The kernel's own data structures (Slab)."},
    {"host.memory.page_tables", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page tables of all processes (PageTables)."},
    {"host.memory.dirty", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page cache that waits to be written to storage (Dirty)."},
    {"host.memory.writeback", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page cache that is being written to storage (Writeback)."},
    {"host.memory.committed", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Memory that programs were promised, touched or not (Committed_AS)."},
    {"host.swap.total", "B", "", kGauge, kOnce, kHost, "memory", kFast, "Swap space (SwapTotal)."},
    {"host.swap.used", "B", "", kGauge, kOnce, kHost, "memory", kFast, "SwapTotal less SwapFree."},
    // Host paging: /proc/vmstat.
    {"host.paging.in", "B", "B/s", kCounter, kOnce, kHost, "memory", kFast,
     "Bytes that the block layer read for the page cache, direct I/O and swap (pgpgin, in steps of "
     "1 KiB)."},
    {"host.paging.out", "B", "B/s", kCounter, kOnce, kHost, "memory", kFast,
     "Bytes that the block layer was given to write (pgpgout, in steps of 1 KiB)."},
    {"host.paging.swap_in", "B", "B/s", kCounter, kOnce, kHost, "memory", kFast,
     "Bytes brought back from swap (pswpin, whole pages)."},
    {"host.paging.swap_out", "B", "B/s", kCounter, kOnce, kHost, "memory", kFast,
     "Bytes moved out to swap (pswpout, whole pages)."},
    {"host.paging.faults", "", "1/s", kCounter, kOnce, kHost, "memory", kFast,
     "Page faults of all processes, minor and major (pgfault)."},
    {"host.paging.major_faults", "", "1/s", kCounter, kOnce, kHost, "memory", kFast,
     "Page faults that had to wait for storage (pgmajfault)."},
    {"host.paging.oom_kills", "", "1/s", kCounter, kOnce, kHost, "memory", kFast,
     "Processes that the kernel killed because memory ran out (oom_kill)."},
    // Host disks: /proc/diskstats.
    {"host.disk.read", "B", "B/s", kCounter, kOnce, kHost, "io", kFast,
     "Bytes that one whole disk (the source) read. From /proc/diskstats; no partitions, loop, RAM "
     "or stacked devices, so that the sum counts nothing twice."},
    {"host.disk.write", "B", "B/s", kCounter, kOnce, kHost, "io", kFast,
     "Bytes that one whole disk wrote. From /proc/diskstats."},
    {"host.disk.reads", "", "1/s", kCounter, kOnce, kHost, "io", kFast,
     "Read requests that one whole disk completed, after merging. From /proc/diskstats."},
    {"host.disk.writes", "", "1/s", kCounter, kOnce, kHost, "io", kFast,
     "Write requests that one whole disk completed, after merging. From /proc/diskstats."},
    {"host.disk.busy", "s", "share", kCounter, kMean, kHost, "io", kFast,
     "Time in which one whole disk had at least one request under way; a disk that serves many at "
     "once is not full at 100 %. From /proc/diskstats, in steps of 1 ms."},
    {"host.disk.queue", "s", "requests", kCounter, kOnce, kHost, "io", kFast,
     "Time that requests spent at one whole disk, added up: its rate is the mean number of "
     "requests under way. From /proc/diskstats, in steps of 1 ms."},
    // Host network: /proc/net/dev of the supervisor's network namespace.
    {"host.net.rx", "B", "B/s", kCounter, kOnce, kHost, "network", kFast,
     "Bytes received by one interface (the source) of the supervisor's network namespace. From "
     "/proc/net/dev; RDMA does not pass here, and a bond or bridge repeats its members."},
    {"host.net.tx", "B", "B/s", kCounter, kOnce, kHost, "network", kFast,
     "Bytes sent by one interface, as host.net.rx."},
    {"host.net.rx_packets", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Packets received by one interface."},
    {"host.net.tx_packets", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Packets sent by one interface."},
    {"host.net.rx_errors", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Broken packets that one interface received."},
    {"host.net.tx_errors", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Packets that one interface failed to send."},
    {"host.net.rx_drops", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Packets received by one interface and thrown away, mostly for want of buffers."},
    {"host.net.tx_drops", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Packets to be sent by one interface and thrown away."},
    // Host pressure: PSI totals. System-wide "cpu full" is undefined in the kernel (always 0), so
    // it is not here.
    {"host.pressure.cpu.some", "s", "share", kCounter, kMean, kHost, "pressure", kFast,
     "Time in which at least one task waited for a CPU. Pressure stall information, "
     "/proc/pressure/cpu."},
    {"host.pressure.memory.some", "s", "share", kCounter, kMean, kHost, "pressure", kFast,
     "Time in which at least one task waited for memory (reclaim, swap, thrashing). "
     "/proc/pressure/memory."},
    {"host.pressure.memory.full", "s", "share", kCounter, kMean, kHost, "pressure", kFast,
     "Time in which every task that had something to do waited for memory. /proc/pressure/memory."},
    {"host.pressure.io.some", "s", "share", kCounter, kMean, kHost, "pressure", kFast,
     "Time in which at least one task waited for storage. /proc/pressure/io."},
    {"host.pressure.io.full", "s", "share", kCounter, kMean, kHost, "pressure", kFast,
     "Time in which every task that had something to do waited for storage. /proc/pressure/io."},
    // The run's process tree.
    {"run.cpu.used", "s", "cores", kCounter, kSum, kRun, "cpu", kFast,
     "CPU time of the run's whole process tree since its exec, exited processes included: perf "
     "task-clock, in nanoseconds. Where the kernel does not allow perf it is run.cpu.user plus "
     "run.cpu.system, at their rate."},
    {"run.cpu.user", "s", "cores", kCounter, kSum, kRun, "cpu", kSlow,
     "User-mode CPU time, summed over /proc/PID/stat of the run's processes and their reaped "
     "children; the kernel estimates the split. A child whose parent ignores SIGCHLD drops out "
     "when it ends."},
    {"run.cpu.system", "s", "cores", kCounter, kSum, kRun, "cpu", kSlow,
     "CPU time in the kernel, as run.cpu.user."},
    {"run.scheduler.context_switches", "", "1/s", kCounter, kSum, kRun, "scheduler", kFast,
     "Context switches of the run's process tree, exited processes included (perf "
     "context-switches)."},
    {"run.scheduler.migrations", "", "1/s", kCounter, kSum, kRun, "scheduler", kFast,
     "Moves of the run's threads from one CPU to another, exited processes included (perf "
     "cpu-migrations)."},
    {"run.processes", "", "", kGauge, kSum, kRun, "scheduler", kSlow,
     "Processes of the run that are alive, those that outlived their parent included, zombies not; "
     "at most 4,096 are followed."},
    {"run.threads", "", "", kGauge, kSum, kRun, "scheduler", kSlow,
     "Threads of the run's living processes."},
    {"run.memory.rss", "B", "", kGauge, kSum, kRun, "memory", kSlow,
     "Resident memory, summed over /proc/PID/statm of the run's living processes; a page that "
     "several processes share counts once for each. The kernel may be late by up to 64 pages per "
     "thread."},
    {"run.memory.rss_peak", "B", "", kGauge, kMean, kRun, "memory", kSlow,
     "Highest resident memory that any single process of the run had so far (VmHWM of "
     "/proc/PID/status, seen at the walks)."},
    {"run.memory.minor_faults", "", "1/s", kCounter, kSum, kRun, "memory", kFast,
     "Page faults of the run's process tree that needed no storage, exited processes included: "
     "perf minor-faults, or the sum over /proc/PID/stat where the kernel does not allow perf."},
    {"run.memory.major_faults", "", "1/s", kCounter, kSum, kRun, "memory", kFast,
     "Page faults of the run's process tree that had to wait for storage; source as "
     "run.memory.minor_faults."},
    {"run.io.read_syscall_bytes", "B", "B/s", kCounter, kSum, kRun, "io", kSlow,
     "Bytes that the run's processes and their reaped children got from read calls, the page "
     "cache, pipes and terminals included (rchar of /proc/PID/io); not mmap. Processes that live "
     "between two walks count through the parent that reaps them."},
    {"run.io.write_syscall_bytes", "B", "B/s", kCounter, kSum, kRun, "io", kSlow,
     "Bytes that the run gave to write calls, whatever became of them (wchar of /proc/PID/io)."},
    {"run.io.read_syscalls", "", "1/s", kCounter, kSum, kRun, "io", kSlow,
     "Read calls of the run (syscr)."},
    {"run.io.write_syscalls", "", "1/s", kCounter, kSum, kRun, "io", kSlow,
     "Write calls of the run (syscw)."},
    {"run.io.read_block_bytes", "B", "B/s", kCounter, kSum, kRun, "io", kSlow,
     "Bytes that the run made the block layer fetch, mmap included (read_bytes of /proc/PID/io); "
     "the gap to read_syscall_bytes is the page cache."},
    {"run.io.write_block_bytes", "B", "B/s", kCounter, kSum, kRun, "io", kSlow,
     "Bytes of page cache that the run made dirty for the block layer to write (write_bytes of "
     "/proc/PID/io); what is truncated before it is written (cancelled_write_bytes) is not "
     "subtracted."},
    // What measuring costs.
    {"corral.collector.cpu", "s", "cores", kCounter, kSum, kRun, "collector", kSlow,
     "CPU time of the sampler thread."},
    {"corral.collector.latency", "s", "", kGauge, kMean, kRun, "collector", kFast,
     "How long the latest read of one listener (the source) took; NAME.slow is its walk over "
     "single processes."},
    {"corral.collector.missed_ticks", "", "1/s", kCounter, kSum, kRun, "collector", kSlow,
     "Ticks that passed without a sample because the sampler was late; they are not made up for."},
    {"corral.collector.dropped_rows", "", "1/s", kCounter, kSum, kRun, "collector", kSlow,
     "Samples thrown away because nobody took them in time."},
    {"corral.collector.bytes", "B", "B/s", kCounter, kSum, kRun, "collector", kSlow,
     "Bytes of frames that the supervisor wrote for this run."},
    {"corral.supervisor.cpu", "s", "cores", kCounter, kSum, kRun, "collector", kSlow,
     "CPU time of the whole supervisor, the sampler thread included; the server is not."},
    {"corral.supervisor.rss", "B", "", kGauge, kSum, kRun, "collector", kSlow,
     "Resident memory of the supervisor, libraries included."},
});

constexpr std::size_t kCount = kCatalogue.size();

constexpr std::array<std::uint16_t, kCount> sorted_by_name() {
  std::array<std::uint16_t, kCount> order{};
  for (std::size_t i = 0; i < kCount; ++i) order[i] = static_cast<std::uint16_t>(i);
  std::sort(order.begin(), order.end(),
            [](auto a, auto b) { return kCatalogue[a].name < kCatalogue[b].name; });
  return order;
}
constexpr auto kByName = sorted_by_name();

consteval bool names_are_unique() {
  for (std::size_t i = 1; i < kCount; ++i)
    if (kCatalogue[kByName[i - 1]].name == kCatalogue[kByName[i]].name) return false;
  return true;
}
consteval bool only_counters_have_rates() {
  for (const Metric& m : kCatalogue)
    if ((m.kind == Kind::kCounter) == m.rate_unit.empty()) return false;
  return true;
}
static_assert(names_are_unique());
static_assert(only_counters_have_rates());

}  // namespace

std::span<const Metric> catalogue() { return kCatalogue; }

const Metric* find_metric(std::string_view name) {
  const auto* at =
      std::lower_bound(kByName.begin(), kByName.end(), name,
                       [](auto index, auto wanted) { return kCatalogue[index].name < wanted; });
  if (at == kByName.end() || kCatalogue[*at].name != name) return nullptr;
  return &kCatalogue[*at];
}

}  // namespace corral::metric
