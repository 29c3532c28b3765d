#include "metric/catalogue.h"

#include <algorithm>
#include <array>

#include "metric/catalogue_gpu.h"
#include "metric/catalogue_words.h"

namespace corral::metric {
namespace rows {
namespace {

constexpr auto kHostAndDevices = std::to_array<Metric>({
    // Host CPU: /proc/stat, whose clock ticks at 10 ms.
    {"host.cpu.busy", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time that all CPUs of the host spent working (user, nice, system, interrupts), by "
     "anyone; without steal. From /proc/stat, in steps of 10 ms; a step that is more than the CPUs "
     "can have worked since the reading before is told with the next one."},
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
    // Reclaim, huge pages and NUMA nodes.
    {"host.paging.refaults", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Page cache that had been dropped and was read again (workingset_refault_file): data that did "
     "not fit into memory."},
    {"host.paging.reclaimed", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory that the kernel took back in the background (pgsteal_kswapd)."},
    {"host.paging.reclaimed_directly", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory that processes had to take back themselves before they got any, which makes them wait "
     "(pgsteal_direct)."},
    {"host.paging.compaction_stalls", "", "1/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Times that a process waited for memory to be moved together (compact_stall)."},
    {"host.hugepages.faults", "", "1/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Page faults that were given a transparent huge page (thp_fault_alloc)."},
    {"host.hugepages.fallbacks", "", "1/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Page faults that wanted a transparent huge page and got small ones (thp_fault_fallback)."},
    {"host.hugepages.total", "B", "", kGauge, kOnce, kHost, "memory", kSlow,
     "Huge pages of one size (the source) that are set aside. From /sys/kernel/mm/hugepages."},
    {"host.hugepages.free", "B", "", kGauge, kOnce, kHost, "memory", kSlow,
     "Huge pages of one size (the source) that are set aside and not in use."},
    {"host.numa.memory.used", "B", "", kGauge, kOnce, kHost, "memory", kSlow,
     "Memory of one NUMA node (the source) that is not free, page cache included (MemUsed)."},
    {"host.numa.memory.free", "B", "", kGauge, kOnce, kHost, "memory", kSlow,
     "Memory of one NUMA node that holds nothing at all (MemFree)."},
    {"host.numa.memory.local", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory of one NUMA node given to processes that ran on it (local_node)."},
    {"host.numa.memory.remote", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory of one NUMA node given to processes that ran on another (other_node)."},
    {"host.numa.memory.misses", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory of one NUMA node given to processes that wanted another node's (numa_miss)."},
    {"host.numa.hint_faults", "", "1/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Page faults that NUMA balancing caused to see who uses a page (numa_hint_faults)."},
    {"host.numa.migrated", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory that NUMA balancing moved to another node (numa_pages_migrated)."},
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
    // NFS mounts: /proc/self/mountstats.
    {"host.nfs.read", "B", "B/s", kCounter, kOnce, kHost, "network", kSlow,
     "Bytes that came from the server of one NFS mount (the source), for every process of the "
     "supervisor's mount namespace. From /proc/self/mountstats, as all host.nfs.*."},
    {"host.nfs.write", "B", "B/s", kCounter, kOnce, kHost, "network", kSlow,
     "Bytes that went to the server of one NFS mount."},
    {"host.nfs.operations", "", "1/s", kCounter, kOnce, kHost, "network", kSlow,
     "Requests of one NFS mount, of all kinds."},
    {"host.nfs.retransmits", "", "1/s", kCounter, kOnce, kHost, "network", kSlow,
     "Requests of one NFS mount that were sent again."},
    {"host.nfs.rtt", "s", "requests", kCounter, kOnce, kHost, "network", kSlow,
     "Time between requests of one NFS mount and their answers, added up: its rate is the mean "
     "number of requests at the server."},
    {"host.nfs.time", "s", "requests", kCounter, kOnce, kHost, "network", kSlow,
     "Time from making requests of one NFS mount to their end, the client's queue included, added "
     "up."},
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
    // Energy of the processors: RAPL through perf or powercap.
    {"host.energy.package", "J", "W", kCounter, kOnce, kHost, "energy", kFast,
     "Energy that one processor package (the source) used, cores and caches included. RAPL, by "
     "perf or powercap; a model in some processors, and never the whole machine. Corral adds up "
     "over the counter's wrap-arounds."},
    {"host.energy.cores", "J", "W", kCounter, kOnce, kHost, "energy", kFast,
     "The cores' part of host.energy.package: not to be added to it."},
    {"host.energy.uncore", "J", "W", kCounter, kOnce, kHost, "energy", kFast,
     "The part of host.energy.package that is not its cores (RAPL's second plane), the graphics of "
     "the processor as a rule: not to be added to it."},
    {"host.energy.dram", "J", "W", kCounter, kOnce, kHost, "energy", kFast,
     "Energy of the memory at one package (the source), beside host.energy.package. RAPL."},
    {"host.energy.platform", "J", "W", kCounter, kOnce, kHost, "energy", kFast,
     "Energy of the whole platform as its maker wired it up (RAPL psys); it contains the packages "
     "and is not their sum."},
    // Sensors: hwmon, thermal zones, cpufreq, thermal_throttle below /sys.
    {"host.temperature", "Cel", "", kGauge, kMean, kHost, "sensors", kSlow,
     "Temperature of one sensor (the source: chip and label). From /sys/class/hwmon, else "
     "/sys/class/thermal; a package stands for its cores."},
    {"host.fan", "rpm", "", kGauge, kMean, kHost, "sensors", kSlow,
     "Speed of one fan (the source: chip and label). From /sys/class/hwmon."},
    {"host.power.sensor", "W", "", kGauge, kOnce, kHost, "sensors", kSlow,
     "Power that one meter (the source: chip and label) shows, its own mean where it keeps one: "
     "ACPI's power_meter is the whole machine. From /sys/class/hwmon."},
    {"host.power.rail", "W", "", kGauge, kOnce, kHost, "sensors", kFast,
     "Power of one rail of a Jetson board (the source), from its INA3221; VDD_IN is the board."},
    {"host.cpu.frequency.mean", "Hz", "", kGauge, kMean, kHost, "sensors", kSlow,
     "Mean of the frequencies that the CPUs run at (scaling_cur_freq; at most 64 CPUs, spread "
     "evenly)."},
    {"host.cpu.frequency.min", "Hz", "", kGauge, kMean, kHost, "sensors", kSlow,
     "The slowest of the CPUs of host.cpu.frequency.mean."},
    {"host.cpu.frequency.max", "Hz", "", kGauge, kMean, kHost, "sensors", kSlow,
     "The fastest of the CPUs of host.cpu.frequency.mean."},
    {"host.cpu.throttles.core", "", "1/s", kCounter, kOnce, kHost, "sensors", kSlow,
     "Times that a core made itself slower because it was hot, over all cores "
     "(core_throttle_count)."},
    {"host.cpu.throttles.package", "", "1/s", kCounter, kOnce, kHost, "sensors", kSlow,
     "Times that a processor package made itself slower because it was hot, over all packages "
     "(package_throttle_count)."},
    {"host.cpu.throttled.package", "s", "share", kCounter, kOnce, kHost, "sensors", kSlow,
     "Time that processor packages spent slowed down because they were hot, added up "
     "(package_throttle_total_time_ms)."},
});

constexpr auto kRunAndCollector = std::to_array<Metric>({
    // The run's process tree.
    {"run.cpu.used", "s", "cores", kCounter, kSum, kRun, "cpu", kFast,
     "CPU time of the run's whole process tree since its exec, exited processes included: perf "
     "task-clock, in nanoseconds. Where the kernel does not allow perf it is run.cpu.user plus "
     "run.cpu.system, at their rate."},
    {"run.cpu.user", "s", "cores", kCounter, kSum, kRun, "cpu", kSlow,
     "User-mode CPU time of the run's processes, ended ones included: /proc/PID/stat with the rest "
     "below a tick from the process's clock, and wait(2) of orphans; the kernel estimates the "
     "split. Children of a process that ignores SIGCHLD are counted where the kernel gives exit "
     "records (CAP_NET_ADMIN)."},
    {"run.cpu.system", "s", "cores", kCounter, kSum, kRun, "cpu", kSlow,
     "CPU time in the kernel, as run.cpu.user."},
    {"run.pmu.instructions", "", "1/s", kCounter, kSum, kRun, "cpu", kFast,
     "Instructions that the run's process tree finished, exited processes included: perf, from the "
     "processor's own counters. User mode alone where the kernel allows no more. Scaled up where "
     "run.pmu.counted_share is below 1."},
    {"run.pmu.cycles", "", "Hz", kCounter, kSum, kRun, "cpu", kFast,
     "Clock cycles of CPUs while they ran the run, as run.pmu.instructions; instructions over "
     "cycles is how well they were used."},
    {"run.pmu.cache_references", "", "1/s", kCounter, kSum, kRun, "cpu", kFast,
     "Accesses to the last cache before memory (what exactly is the processor's choice), as "
     "run.pmu.instructions."},
    {"run.pmu.cache_misses", "", "1/s", kCounter, kSum, kRun, "cpu", kFast,
     "Of run.pmu.cache_references those that had to go to memory."},
    {"run.pmu.branch_misses", "", "1/s", kCounter, kSum, kRun, "cpu", kFast,
     "Branches that the processor guessed wrong, as run.pmu.instructions."},
    {"run.pmu.stalled_cycles", "", "Hz", kCounter, kSum, kRun, "cpu", kFast,
     "Of run.pmu.cycles those in which nothing was finished because data or a unit was missing "
     "(stalled-cycles-backend; few processors have it)."},
    {"run.pmu.counted_share", "", "", kGauge, kMean, kRun, "cpu", kFast,
     "Least share of the time in which one of the events run.pmu.* was counted: below 1 they take "
     "turns at the processor's few counters, and values are scaled up."},
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
     "thread. Without pages of hugetlbfs: those are run.memory.hugetlb."},
    {"run.memory.hugetlb", "B", "", kGauge, kSum, kRun, "memory", kSlow,
     "Memory in pages of hugetlbfs (HugetlbPages of /proc/PID/status), summed over the run's "
     "living "
     "processes; a page that several processes share counts once for each."},
    {"run.memory.rss_peak", "B", "", kGauge, kMean, kRun, "memory", kSlow,
     "Highest resident memory that any single process of the run had so far: the greatest of what "
     "the walks see (VmHWM of /proc/PID/status), what wait(2) tells of processes that have ended "
     "and, where they can be had, the kernel's exit records. Without the records the peak of a "
     "process that lived between two walks is known when the run ends."},
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
    // What the run has of GPUs.
    {"run.gpu.processes", "", "", kGauge, kSum, kRun, "gpu", kSlow,
     "Processes of the run that have a compute context on the device (the source), clients of MPS "
     "included; of AMD's and Intel's GPUs, that have it open."},
    {"run.gpu.memory.used", "B", "", kGauge, kSum, kRun, "gpu", kSlow,
     "Memory of the device that the run's processes have allocated; of AMD's and Intel's GPUs what "
     "is in it now (the machine's, where the GPU has none), buffers that several files share once "
     "for each."},
    {"run.gpu.busy", "share", "", kGauge, kSum, kRun, "gpu", kSlow,
     "Share of the SMs' time that the driver's samples give to the run's processes, summed over "
     "them. Sampled: an estimate, not a count. Of AMD's and Intel's GPUs the busiest kind of "
     "engine's share of the last second, as run.gpu.engine.busy."},
    {"run.gpu.engine.busy", "s", "share", kCounter, kSum, kRun, "gpu", kSlow,
     "Time that engines of one kind (\"amd0.gfx\", \"intel0.rcs\") worked for the run's processes, "
     "of all engines of that kind, as the kernel counts it for each open file of the GPU (fdinfo); "
     "not what ROCm gives to /dev/kfd. Where cycles are counted (xe), from when it was first "
     "seen."},
    // The control group that the run's first process is in when it starts; whatever else is in it
    // counts too, so that runs that share one are counted once.
    {"cgroup.cpu.used", "s", "cores", kCounter, kOnce, kRun, "cpu", kFast,
     "CPU time of the run's control group (the source), its exited processes and everything else "
     "in it included. From cpu.stat (v2) or cpuacct.usage (v1)."},
    {"cgroup.cpu.user", "s", "cores", kCounter, kOnce, kRun, "cpu", kFast,
     "The part of cgroup.cpu.used in user mode."},
    {"cgroup.cpu.system", "s", "cores", kCounter, kOnce, kRun, "cpu", kFast,
     "The part of cgroup.cpu.used in the kernel."},
    {"cgroup.cpu.throttled", "s", "cores", kCounter, kOnce, kRun, "cpu", kFast,
     "Time for which CPUs of the group were held back by its quota, added up over the CPUs "
     "(throttled_usec, throttled_time of cpu.stat), where the tightest quota is: at the group or "
     "above it. Low CPU use beside it is no idleness."},
    {"cgroup.cpu.periods", "", "1/s", kCounter, kOnce, kRun, "cpu", kFast,
     "Periods of the CPU quota in which the group wanted to run (nr_periods)."},
    {"cgroup.cpu.throttled_periods", "", "1/s", kCounter, kOnce, kRun, "cpu", kFast,
     "Periods in which the group used up its quota and was held back (nr_throttled); their share "
     "of cgroup.cpu.periods says how often."},
    {"cgroup.cpu.limit", "cores", "", kGauge, kOnce, kRun, "cpu", kSlow,
     "CPU quota of the group, the tightest of its own and those above it (cpu.max, "
     "cpu.cfs_quota_us)."},
    {"cgroup.tasks", "", "", kGauge, kOnce, kRun, "scheduler", kSlow,
     "Threads in the group (pids.current)."},
    {"cgroup.memory.used", "B", "", kGauge, kOnce, kRun, "memory", kFast,
     "Memory charged to the group, page cache and kernel memory included (memory.current, "
     "memory.usage_in_bytes): what the limit is compared with."},
    {"cgroup.memory.peak", "B", "", kGauge, kOnce, kRun, "memory", kSlow,
     "Highest cgroup.memory.used so far, as the kernel saw it between the samples too; from before "
     "the run if the group is older (memory.peak, memory.max_usage_in_bytes)."},
    {"cgroup.memory.limit", "B", "", kGauge, kOnce, kRun, "memory", kSlow,
     "Memory limit of the group, the tightest of its own and those above it (memory.max, "
     "memory.limit_in_bytes)."},
    {"cgroup.memory.anonymous", "B", "", kGauge, kOnce, kRun, "memory", kSlow,
     "Memory of the group that no file backs (anon, total_rss of memory.stat)."},
    {"cgroup.memory.file", "B", "", kGauge, kOnce, kRun, "memory", kSlow,
     "Page cache that is charged to the group (file, total_cache of memory.stat); most of it can "
     "be had back."},
    {"cgroup.memory.swap", "B", "", kGauge, kOnce, kRun, "memory", kSlow,
     "Swap that the group uses (memory.swap.current, total_swap)."},
    {"cgroup.memory.major_faults", "", "1/s", kCounter, kOnce, kRun, "memory", kSlow,
     "Page faults of the group that had to wait for storage (pgmajfault of memory.stat)."},
    {"cgroup.memory.high_hits", "", "1/s", kCounter, kOnce, kRun, "memory", kSlow,
     "Times that the group was slowed down because it was above memory.high (v2)."},
    {"cgroup.memory.limit_hits", "", "1/s", kCounter, kOnce, kRun, "memory", kSlow,
     "Times that the group ran into its memory limit (max of memory.events, memory.failcnt)."},
    {"cgroup.memory.oom_kills", "", "1/s", kCounter, kOnce, kRun, "memory", kSlow,
     "Processes of the group that the kernel killed because memory ran out (oom_kill)."},
    {"cgroup.io.read", "B", "B/s", kCounter, kOnce, kRun, "io", kSlow,
     "Bytes that block devices read for the group (io.stat, blkio.throttle; devices that are "
     "stacked on others are left out)."},
    {"cgroup.io.write", "B", "B/s", kCounter, kOnce, kRun, "io", kSlow,
     "Bytes that block devices were given to write for the group; v1 charges what leaves the page "
     "cache later to the root group, v2 to the group that wrote it."},
    {"cgroup.io.reads", "", "1/s", kCounter, kOnce, kRun, "io", kSlow,
     "Read requests for the group."},
    {"cgroup.io.writes", "", "1/s", kCounter, kOnce, kRun, "io", kSlow,
     "Write requests for the group, as cgroup.io.write."},
    {"cgroup.pressure.cpu.some", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which at least one task of the group waited for a CPU, its quota included "
     "(cpu.pressure, v2)."},
    {"cgroup.pressure.cpu.full", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which every task of the group that had something to do waited for a CPU."},
    {"cgroup.pressure.memory.some", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which at least one task of the group waited for memory (memory.pressure, v2)."},
    {"cgroup.pressure.memory.full", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which every task of the group that had something to do waited for memory."},
    {"cgroup.pressure.io.some", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which at least one task of the group waited for storage (io.pressure, v2)."},
    {"cgroup.pressure.io.full", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which every task of the group that had something to do waited for storage."},
    // What measuring costs.
    {"corral.collector.cpu", "s", "cores", kCounter, kSum, kRun, "collector", kSlow,
     "CPU time of one sampling thread: the host's, and one for each listener (the source) that "
     "asks a vendor's library."},
    {"corral.collector.wakeups", "", "1/s", kCounter, kSum, kRun, "collector", kSlow,
     "How often a sampling thread woke (its voluntary context switches)."},
    {"corral.collector.lateness", "s", "", kGauge, kMean, kRun, "collector", kSlow,
     "The greatest time since the value before by which a tick of a sampling thread began after "
     "it was due."},
    {"corral.collector.latency", "s", "", kGauge, kMean, kRun, "collector", kFast,
     "How long the latest read of one listener (the source) took; NAME.slow is its walk over "
     "single processes."},
    {"corral.collector.call.longest", "s", "", kGauge, kMean, kRun, "collector", kSlow,
     "Longest of the last second's calls of one kind into a vendor's library (the source)."},
    {"corral.collector.call.mean", "s", "", kGauge, kMean, kRun, "collector", kSlow,
     "Mean of the last second's calls of one kind into a vendor's library."},
    {"corral.collector.call.p99", "s", "", kGauge, kMean, kRun, "collector", kSlow,
     "What 99 % of the run's calls of one kind into a vendor's library took at most, rounded up to "
     "a power of two of microseconds."},
    {"corral.collector.missed_ticks", "", "1/s", kCounter, kSum, kRun, "collector", kSlow,
     "Ticks that passed without a sample because the sampler was late; they are not made up for."},
    {"corral.collector.dropped_rows", "", "1/s", kCounter, kSum, kRun, "collector", kSlow,
     "Samples thrown away because nobody took them in time."},
    {"corral.collector.bytes", "B", "B/s", kCounter, kSum, kRun, "collector", kSlow,
     "Bytes of frames that the supervisor wrote for this run."},
    {"corral.supervisor.cpu", "s", "cores", kCounter, kSum, kRun, "collector", kSlow,
     "CPU time of the whole supervisor, its sampling threads included; the server is not."},
    {"corral.supervisor.wakeups", "", "1/s", kCounter, kSum, kRun, "collector", kSlow,
     "How often any thread of the supervisor woke (voluntary context switches)."},
    {"corral.supervisor.rss", "B", "", kGauge, kSum, kRun, "collector", kSlow,
     "Resident memory of the supervisor, libraries included."},
});

}  // namespace
}  // namespace rows

namespace {

// Ordered by scope and group, as docs/metrics.md shows them.
constexpr auto kCatalogue = [] {
  std::array<Metric,
             rows::kHostAndDevices.size() + rows::kGpus.size() + rows::kRunAndCollector.size()>
      all{};
  auto* at = std::copy(rows::kHostAndDevices.begin(), rows::kHostAndDevices.end(), all.begin());
  at = std::copy(rows::kGpus.begin(), rows::kGpus.end(), at);
  std::copy(rows::kRunAndCollector.begin(), rows::kRunAndCollector.end(), at);
  return all;
}();

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

std::string_view owner_name(Owner owner) {
  if (owner == Owner::kRun) return "run";
  return owner == Owner::kHost ? "host" : "workload";
}

const Metric* find_metric(std::string_view name) {
  const auto* at =
      std::lower_bound(kByName.begin(), kByName.end(), name,
                       [](auto index, auto wanted) { return kCatalogue[index].name < wanted; });
  if (at == kByName.end() || kCatalogue[*at].name != name) return nullptr;
  return &kCatalogue[*at];
}

}  // namespace corral::metric
