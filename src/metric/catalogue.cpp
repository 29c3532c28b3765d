#include "metric/catalogue.h"

#include <algorithm>
#include <array>

namespace corral::metric {
namespace {

// Short words for the rows.
constexpr Kind kGauge = Kind::kGauge;
constexpr Kind kCounter = Kind::kCounter;
constexpr Aggregation kMean = Aggregation::kMean;
constexpr Aggregation kSum = Aggregation::kSum;
constexpr Aggregation kOnce = Aggregation::kSharedOnce;
constexpr Owner kRun = Owner::kRun;
constexpr Owner kHost = Owner::kHost;
constexpr bool kFast = false;
constexpr bool kSlow = true;

// Ordered by scope and group, as docs/metrics.md shows them.
constexpr auto kCatalogue = std::to_array<Metric>({
    // Host CPU: /proc/stat, whose clock ticks at 10 ms.
    {"host.cpu.busy", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time that all CPUs of the host spent on work (user, nice, system, interrupts), for all "
     "processes; without steal. From /proc/stat, in steps of 10 ms; an excess step is reported "
     "with the next reading."},
    {"host.cpu.core.busy", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time that one CPU (the source) spent on work, as host.cpu.busy. From /proc/stat, in "
     "steps of 10 ms."},
    {"host.cpu.user", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time of all CPUs in user mode, nice and guests included. From /proc/stat."},
    {"host.cpu.system", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time of all CPUs in the kernel, without interrupts. From /proc/stat."},
    {"host.cpu.irq", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "CPU time of all CPUs in hard and soft interrupts. From /proc/stat."},
    {"host.cpu.iowait", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "Idle time of all CPUs while a task that last ran there waited for a block device: idle time, "
     "not work, and a lower bound. From /proc/stat."},
    {"host.cpu.steal", "s", "cores", kCounter, kOnce, kHost, "cpu", kFast,
     "Time in which the hypervisor ran something else although a CPU of this machine had work. "
     "From /proc/stat."},
    // Host scheduler.
    {"host.load.1m", "", "", kGauge, kMean, kHost, "scheduler", kFast,
     "Runnable tasks and tasks in uninterruptible sleep, averaged over about 1 minute; updated "
     "every 5 s. From /proc/loadavg."},
    {"host.load.5m", "", "", kGauge, kMean, kHost, "scheduler", kFast,
     "As host.load.1m, over about 5 minutes."},
    {"host.load.15m", "", "", kGauge, kMean, kHost, "scheduler", kFast,
     "As host.load.1m, over about 15 minutes."},
    {"host.threads", "", "", kGauge, kOnce, kHost, "scheduler", kFast,
     "Threads on the host (as the PID namespace of /proc/loadavg sees it), including kernel "
     "threads."},
    {"host.processes.running", "", "", kGauge, kOnce, kHost, "scheduler", kFast,
     "Threads that run or wait for a CPU at the time of the read, including the sampler's own. "
     "From /proc/stat."},
    {"host.processes.blocked", "", "", kGauge, kOnce, kHost, "scheduler", kFast,
     "Threads that wait for I/O at the time of the read. From /proc/stat."},
    {"host.scheduler.context_switches", "", "1/s", kCounter, kOnce, kHost, "scheduler", kFast,
     "Context switches of all CPUs since boot. From /proc/stat."},
    {"host.scheduler.interrupts", "", "1/s", kCounter, kOnce, kHost, "scheduler", kFast,
     "Interrupts serviced since boot. From /proc/stat."},
    {"host.scheduler.forks", "", "1/s", kCounter, kOnce, kHost, "scheduler", kFast,
     "Processes and threads created since boot. From /proc/stat."},
    // Host memory: /proc/meminfo.
    {"host.memory.total", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Memory that the kernel manages (MemTotal), less than the installed memory."},
    {"host.memory.used", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "MemTotal minus MemAvailable: memory that is not available without swapping."},
    {"host.memory.available", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "The kernel's estimate of the memory available to new programs without swapping "
     "(MemAvailable)."},
    {"host.memory.free", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Unused memory (MemFree); a healthy host has little of it."},
    {"host.memory.cached", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page cache with tmpfs and shared memory, without buffers and swap cache (Cached)."},
    {"host.memory.buffers", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page cache of block devices themselves: file system metadata (Buffers)."},
    {"host.memory.anonymous", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Mapped memory of processes that is not backed by a file (AnonPages)."},
    {"host.memory.mapped", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page cache that processes have mapped, libraries included (Mapped)."},
    {"host.memory.shared", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "tmpfs and shared memory, including DataLoader buffers (Shmem)."},
    {"host.memory.slab", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "The kernel's own data structures (Slab)."},
    {"host.memory.page_tables", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page tables of all processes (PageTables)."},
    {"host.memory.dirty", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page cache that waits to be written to storage (Dirty)."},
    {"host.memory.writeback", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Page cache that is being written to storage (Writeback)."},
    {"host.memory.committed", "B", "", kGauge, kOnce, kHost, "memory", kFast,
     "Memory promised to programs, used or not (Committed_AS)."},
    {"host.swap.total", "B", "", kGauge, kOnce, kHost, "memory", kFast, "Swap space (SwapTotal)."},
    {"host.swap.used", "B", "", kGauge, kOnce, kHost, "memory", kFast, "SwapTotal minus SwapFree."},
    // Host paging: /proc/vmstat.
    {"host.paging.in", "B", "B/s", kCounter, kOnce, kHost, "memory", kFast,
     "Bytes that the block layer read for the page cache, direct I/O and swap (pgpgin, in steps of "
     "1 KiB)."},
    {"host.paging.out", "B", "B/s", kCounter, kOnce, kHost, "memory", kFast,
     "Bytes that the block layer was given to write (pgpgout, in steps of 1 KiB)."},
    {"host.paging.swap_in", "B", "B/s", kCounter, kOnce, kHost, "memory", kFast,
     "Bytes read back from swap (pswpin, whole pages)."},
    {"host.paging.swap_out", "B", "B/s", kCounter, kOnce, kHost, "memory", kFast,
     "Bytes written to swap (pswpout, whole pages)."},
    {"host.paging.faults", "", "1/s", kCounter, kOnce, kHost, "memory", kFast,
     "Page faults of all processes, minor and major (pgfault)."},
    {"host.paging.major_faults", "", "1/s", kCounter, kOnce, kHost, "memory", kFast,
     "Page faults that had to wait for storage (pgmajfault)."},
    {"host.paging.oom_kills", "", "1/s", kCounter, kOnce, kHost, "memory", kFast,
     "Processes that the kernel killed because memory ran out (oom_kill)."},
    // Reclaim, huge pages and NUMA nodes.
    {"host.paging.refaults", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Page cache that was dropped and read again (workingset_refault_file): data that did not fit "
     "into memory."},
    {"host.paging.reclaimed", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory that the kernel reclaimed in the background (pgsteal_kswapd)."},
    {"host.paging.reclaimed_directly", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory that processes reclaimed themselves during an allocation, which makes them wait "
     "(pgsteal_direct)."},
    {"host.paging.compaction_stalls", "", "1/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Times that a process waited for memory compaction (compact_stall)."},
    {"host.hugepages.faults", "", "1/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Page faults that received a transparent huge page (thp_fault_alloc)."},
    {"host.hugepages.fallbacks", "", "1/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Page faults that requested a transparent huge page and received small ones "
     "(thp_fault_fallback)."},
    {"host.hugepages.total", "B", "", kGauge, kOnce, kHost, "memory", kSlow,
     "Reserved huge pages of one size (the source). From /sys/kernel/mm/hugepages."},
    {"host.hugepages.free", "B", "", kGauge, kOnce, kHost, "memory", kSlow,
     "Reserved huge pages of one size (the source) that are not in use."},
    {"host.numa.memory.used", "B", "", kGauge, kOnce, kHost, "memory", kSlow,
     "Memory of one NUMA node (the source) that is not free, including page cache (MemUsed)."},
    {"host.numa.memory.free", "B", "", kGauge, kOnce, kHost, "memory", kSlow,
     "Unused memory of one NUMA node (MemFree)."},
    {"host.numa.memory.local", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory of one NUMA node allocated by processes that ran on it (local_node)."},
    {"host.numa.memory.remote", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory of one NUMA node allocated by processes that ran on another node (other_node)."},
    {"host.numa.memory.misses", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory of one NUMA node allocated by processes that preferred another node (numa_miss)."},
    {"host.numa.hint_faults", "", "1/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Page faults that NUMA balancing caused to find out which node uses a page "
     "(numa_hint_faults)."},
    {"host.numa.migrated", "B", "B/s", kCounter, kOnce, kHost, "memory", kSlow,
     "Memory that NUMA balancing moved to another node (numa_pages_migrated)."},
    // Host disks: /proc/diskstats.
    {"host.disk.read", "B", "B/s", kCounter, kOnce, kHost, "io", kFast,
     "Bytes read from one whole disk (the source). From /proc/diskstats; without partitions, loop, "
     "RAM and stacked devices, so the sum counts nothing twice."},
    {"host.disk.write", "B", "B/s", kCounter, kOnce, kHost, "io", kFast,
     "Bytes written to one whole disk. From /proc/diskstats."},
    {"host.disk.reads", "", "1/s", kCounter, kOnce, kHost, "io", kFast,
     "Read requests that one whole disk completed, after merging. From /proc/diskstats."},
    {"host.disk.writes", "", "1/s", kCounter, kOnce, kHost, "io", kFast,
     "Write requests that one whole disk completed, after merging. From /proc/diskstats."},
    {"host.disk.busy", "s", "share", kCounter, kMean, kHost, "io", kFast,
     "Time in which one whole disk had at least one request in flight; a disk that serves many at "
     "once is not saturated at 100 %. From /proc/diskstats, in steps of 1 ms."},
    {"host.disk.queue", "s", "requests", kCounter, kOnce, kHost, "io", kFast,
     "Total time of requests at one whole disk: its rate is the mean number of requests in flight. "
     "From /proc/diskstats, in steps of 1 ms."},
    // Host network: /proc/net/dev of the supervisor's network namespace.
    {"host.net.rx", "B", "B/s", kCounter, kOnce, kHost, "network", kFast,
     "Bytes received by one interface (the source) of the supervisor's network namespace. From "
     "/proc/net/dev; excludes RDMA, and a bond or bridge repeats its members."},
    {"host.net.tx", "B", "B/s", kCounter, kOnce, kHost, "network", kFast,
     "Bytes sent by one interface, as host.net.rx."},
    {"host.net.rx_packets", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Packets received by one interface."},
    {"host.net.tx_packets", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Packets sent by one interface."},
    {"host.net.rx_errors", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Damaged packets received by one interface."},
    {"host.net.tx_errors", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Packets that one interface failed to send."},
    {"host.net.rx_drops", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Received packets that one interface dropped, mostly for lack of buffers."},
    {"host.net.tx_drops", "", "1/s", kCounter, kOnce, kHost, "network", kFast,
     "Outgoing packets that one interface dropped."},
    // NFS mounts: /proc/self/mountstats.
    {"host.nfs.read", "B", "B/s", kCounter, kOnce, kHost, "network", kSlow,
     "Bytes received from the server of one NFS mount (the source), for all processes of the "
     "supervisor's mount namespace. From /proc/self/mountstats, as all host.nfs.*."},
    {"host.nfs.write", "B", "B/s", kCounter, kOnce, kHost, "network", kSlow,
     "Bytes sent to the server of one NFS mount."},
    {"host.nfs.operations", "", "1/s", kCounter, kOnce, kHost, "network", kSlow,
     "Requests of one NFS mount, of all types."},
    {"host.nfs.retransmits", "", "1/s", kCounter, kOnce, kHost, "network", kSlow,
     "Retransmitted requests of one NFS mount."},
    {"host.nfs.rtt", "s", "requests", kCounter, kOnce, kHost, "network", kSlow,
     "Total time between requests of one NFS mount and their answers: its rate is the mean number "
     "of requests at the server."},
    {"host.nfs.time", "s", "requests", kCounter, kOnce, kHost, "network", kSlow,
     "Total time of requests of one NFS mount, including the client's queue."},
    // Host pressure: PSI totals. System-wide "cpu full" is undefined in the kernel (always 0), so
    // it is not here.
    {"host.pressure.cpu.some", "s", "share", kCounter, kMean, kHost, "pressure", kFast,
     "Time in which at least one task waited for a CPU. Pressure stall information, "
     "/proc/pressure/cpu."},
    {"host.pressure.memory.some", "s", "share", kCounter, kMean, kHost, "pressure", kFast,
     "Time in which at least one task waited for memory (reclaim, swap, thrashing). "
     "/proc/pressure/memory."},
    {"host.pressure.memory.full", "s", "share", kCounter, kMean, kHost, "pressure", kFast,
     "Time in which all non-idle tasks waited for memory. /proc/pressure/memory."},
    {"host.pressure.io.some", "s", "share", kCounter, kMean, kHost, "pressure", kFast,
     "Time in which at least one task waited for storage. /proc/pressure/io."},
    {"host.pressure.io.full", "s", "share", kCounter, kMean, kHost, "pressure", kFast,
     "Time in which all non-idle tasks waited for storage. /proc/pressure/io."},
    // Energy of the processors: RAPL through perf or powercap.
    {"host.energy.package", "J", "W", kCounter, kOnce, kHost, "energy", kFast,
     "Energy of one processor package (the source), including cores and caches. RAPL, by perf or "
     "powercap; a model in some processors, and never the whole machine. Wrap-arounds of the "
     "counter are corrected."},
    {"host.energy.cores", "J", "W", kCounter, kOnce, kHost, "energy", kFast,
     "The cores' part of host.energy.package: do not add it."},
    {"host.energy.uncore", "J", "W", kCounter, kOnce, kHost, "energy", kFast,
     "The part of host.energy.package outside of its cores (RAPL's second plane), usually the "
     "processor's graphics: do not add it."},
    {"host.energy.dram", "J", "W", kCounter, kOnce, kHost, "energy", kFast,
     "Energy of the memory at one package (the source), in addition to host.energy.package. RAPL."},
    {"host.energy.platform", "J", "W", kCounter, kOnce, kHost, "energy", kFast,
     "Energy of the whole platform as its vendor wired it (RAPL psys); includes the packages and "
     "is not their sum."},
    // Sensors: hwmon, thermal zones, cpufreq, thermal_throttle below /sys.
    {"host.temperature", "Cel", "", kGauge, kMean, kHost, "sensors", kSlow,
     "Temperature of one sensor (the source: chip and label). From /sys/class/hwmon, else "
     "/sys/class/thermal; a package represents its cores."},
    {"host.fan", "rpm", "", kGauge, kMean, kHost, "sensors", kSlow,
     "Speed of one fan (the source: chip and label). From /sys/class/hwmon."},
    {"host.power.sensor", "W", "", kGauge, kOnce, kHost, "sensors", kSlow,
     "Power reading of one meter (the source: chip and label), its own mean if it has one: ACPI's "
     "power_meter is the whole machine. From /sys/class/hwmon."},
    {"host.power.rail", "W", "", kGauge, kOnce, kHost, "sensors", kFast,
     "Power of one rail of a Jetson board (the source), from its INA3221; VDD_IN is the board."},
    {"host.cpu.frequency.mean", "Hz", "", kGauge, kMean, kHost, "sensors", kSlow,
     "Mean current frequency of the CPUs (scaling_cur_freq; at most 64 CPUs, spread evenly)."},
    {"host.cpu.frequency.min", "Hz", "", kGauge, kMean, kHost, "sensors", kSlow,
     "Minimum over the CPUs of host.cpu.frequency.mean."},
    {"host.cpu.frequency.max", "Hz", "", kGauge, kMean, kHost, "sensors", kSlow,
     "Maximum over the CPUs of host.cpu.frequency.mean."},
    {"host.cpu.throttles.core", "", "1/s", kCounter, kOnce, kHost, "sensors", kSlow,
     "Times that a core throttled because of its temperature, over all cores "
     "(core_throttle_count)."},
    {"host.cpu.throttles.package", "", "1/s", kCounter, kOnce, kHost, "sensors", kSlow,
     "Times that a processor package throttled because of its temperature, over all packages "
     "(package_throttle_count)."},
    {"host.cpu.throttled.package", "s", "share", kCounter, kOnce, kHost, "sensors", kSlow,
     "Total time that processor packages were throttled because of their temperature "
     "(package_throttle_total_time_ms)."},
    // NVIDIA GPUs: the driver's management library (NVML), the source is the device ("gpu0").
    {"host.gpu.busy", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the driver's sample period (1/6 to 1 s) in which at least one kernel was resident "
     "on the GPU, if only on one SM: how often it was used, not how much of it. NVML's "
     "utilization; on AMD's GPUs gpu_busy_percent and on Jetson boards load, with the same "
     "meaning."},
    {"host.gpu.busy.samples", "share", "", kGauge, kMean, kHost, "gpu", kSlow,
     "As host.gpu.busy, each of the driver's own samples at the driver's own time (about six a "
     "second); its ring of them is drained once a second."},
    {"host.gpu.memory.busy", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the driver's sample period in which the GPU's memory was read or written. NVML's "
     "memory utilization; of AMD's GPUs mem_busy_percent."},
    {"host.gpu.memory.busy.samples", "share", "", kGauge, kMean, kHost, "gpu", kSlow,
     "As host.gpu.memory.busy, each of the driver's own samples at the driver's own time; its ring "
     "of them is drained once a second."},
    {"host.gpu.encoder.busy", "share", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Utilization of the video encoder, sampled by the driver."},
    {"host.gpu.decoder.busy", "share", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Utilization of the video decoder, sampled by the driver."},
    {"host.gpu.memory.used", "B", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Allocated memory of the device, of all processes. Older drivers include their reserved "
     "memory. Driver 580 does not, although NVIDIA's header says so."},
    {"host.gpu.memory.free", "B", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Unallocated memory of the device."},
    {"host.gpu.memory.total", "B", "", kGauge, kOnce, kHost, "gpu", kSlow,
     "Memory of the device, including the driver's reserved memory."},
    {"host.gpu.memory.reserved", "B", "", kGauge, kOnce, kHost, "gpu", kSlow,
     "Memory of the device reserved by the driver and the firmware."},
    {"host.gpu.power", "W", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Power of the whole device as nvidia-smi shows it: averaged over a second on Ampere and "
     "later but for GA100, the latest reading elsewhere. Where the GPU has no figure of its own "
     "it is the module's, CPU and GPU together, and the fact power_scope says so. Sampled: some "
     "sensors (A100, H100) see 25 ms of each 100 ms. Of AMD's GPUs the driver's mean, where it "
     "keeps one."},
    {"host.gpu.power.instant", "W", "", kGauge, kOnce, kHost, "gpu", kFast,
     "The power sensor's latest reading. Sampled: some sensors (A100, H100) see 25 ms of each 100 "
     "ms, so that a load with a steady beat is read wrong."},
    {"host.gpu.power.samples", "W", "", kGauge, kOnce, kHost, "gpu", kSlow,
     "Power of the whole device, each of the driver's own samples at the driver's own time (some "
     "20 to 50 a second, as the device has it); its ring of them is drained once a second."},
    {"host.gpu.power.limit", "W", "", kGauge, kOnce, kHost, "gpu", kSlow,
     "Power limit that the driver enforces."},
    {"host.gpu.energy", "J", "W", kCounter, kOnce, kHost, "gpu", kFast,
     "Energy of the whole device since the driver was loaded; updated every 10 to 100 ms. NVIDIA's "
     "is compared with power over time; a difference over 10 % is reported."},
    {"host.gpu.clock.sm", "Hz", "", kGauge, kMean, kHost, "gpu", kFast,
     "Clock of the SMs; their activity is counted in its cycles, so read the two together."},
    {"host.gpu.clock.sm.samples", "Hz", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Clock of the SMs, each of the driver's own samples at the driver's own time; its ring of "
     "them is drained once a second."},
    {"host.gpu.clock.graphics", "Hz", "", kGauge, kMean, kHost, "gpu", kFast,
     "Clock of the GPU's engines, of vendors other than NVIDIA and of Jetson boards."},
    {"host.gpu.idle", "s", "share", kCounter, kMean, kHost, "gpu", kFast,
     "Time that the GPU spent in its power-saving idle state (Intel's RC6): the rest was busy or "
     "about to sleep."},
    {"host.gpu.engine.busy", "s", "share", kCounter, kMean, kHost, "gpu", kFast,
     "Time in which one engine of the GPU was busy, of Intel's (\"intel0.rcs0\"): rcs render and "
     "compute, ccs compute, bcs copy, vcs video, vecs video enhancement."},
    {"host.gpu.clock.memory", "Hz", "", kGauge, kMean, kHost, "gpu", kFast,
     "Clock of the device's memory."},
    {"host.gpu.clock.memory.samples", "Hz", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Clock of the device's memory, each of the driver's own samples at the driver's own time; its "
     "ring of them is drained once a second."},
    {"host.gpu.temperature", "Cel", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Temperature of the GPU's die."},
    {"host.gpu.memory.temperature", "Cel", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Temperature of the device's memory."},
    {"host.gpu.fan", "rpm", "", kGauge, kMean, kHost, "gpu", kSlow, "Speed of the GPU's fan."},
    {"host.gpu.performance_state", "", "", kGauge, kMean, kHost, "gpu", kSlow,
     "Performance state, from 0 (the fastest clocks) to 15."},
    {"host.gpu.throttle.reasons", "", "", kGauge, kMean, kHost, "gpu", kFast,
     "Why the clocks are not higher, a sum of bits: 1 idle, 2 clocks set by the user, 4 power cap, "
     "8 hardware slowdown, 16 sync boost, 32 software thermal, 64 hardware thermal, 128 power "
     "brake, 256 display clocks."},
    {"host.gpu.throttle.power", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the power limit held the clocks down; a capped card under load spends most of "
     "its time so."},
    {"host.gpu.throttle.thermal", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the temperature held the clocks down."},
    {"host.gpu.throttle.sync_boost", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down to match other devices of its boost group."},
    {"host.gpu.throttle.board_limit", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which a limit of the board held the clocks down."},
    {"host.gpu.throttle.low_utilization", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which low utilization held the clocks down."},
    {"host.gpu.throttle.reliability", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which a voltage limit held the clocks down."},
    {"host.gpu.throttle.application_clocks", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down by any limit below the clocks set for applications."},
    {"host.gpu.throttle.base_clocks", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down by any limit below the base clocks."},
    {"host.gpu.throttle.software_thermal", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down by the driver, for its temperature."},
    {"host.gpu.throttle.hardware_thermal", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down by the hardware, for its temperature."},
    {"host.gpu.throttle.memory_thermal", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down for the temperature of the device's memory."},
    {"host.gpu.throttle.regulator_thermal", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down for the temperature of its voltage regulators."},
    {"host.gpu.throttle.power_brake", "s", "share", kCounter, kMean, kHost, "gpu", kSlow,
     "Time in which the clocks were held down by the hardware, for a signal of the power supply."},
    {"host.gpu.pcie.tx", "B", "B/s", kCounter, kOnce, kHost, "gpu", kFast,
     "Bytes that the device sent over PCIe. The driver's counter may wrap; one of 32 bits is "
     "unwrapped if it is read often enough for the link's rate, and unavailable otherwise."},
    {"host.gpu.pcie.rx", "B", "B/s", kCounter, kOnce, kHost, "gpu", kFast,
     "Bytes that the device received over PCIe; as host.gpu.pcie.tx."},
    {"host.gpu.nvlink.tx", "B", "B/s", kCounter, kOnce, kHost, "gpu", kFast,
     "Bytes that the device sent over all its NVLinks: everything on the links from NVLink 5 on, "
     "payload alone before."},
    {"host.gpu.nvlink.rx", "B", "B/s", kCounter, kOnce, kHost, "gpu", kFast,
     "Bytes that the device received over all its NVLinks: everything on the links from NVLink 5 "
     "on, payload alone before."},
    {"host.gpu.pcie.replays", "", "1/s", kCounter, kOnce, kHost, "gpu", kSlow,
     "Retransmitted PCIe packets."},
    {"host.gpu.ecc.corrected", "", "1/s", kCounter, kOnce, kHost, "gpu", kSlow,
     "Memory errors that ECC corrected since the driver was loaded."},
    {"host.gpu.ecc.uncorrected", "", "1/s", kCounter, kOnce, kHost, "gpu", kSlow,
     "Memory errors that ECC could not correct since the driver was loaded."},
    // Activity of its units: GPM, averages over the latest 120 to 200 ms, Hopper and later.
    {"host.gpu.graphics.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the time in which the compute or graphics engine was busy. Mean of a window of at "
     "least 100 ms (GPM or DCGM)."},
    {"host.gpu.sm.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles with at least one resident warp, the mean over all SMs: how much of "
     "the GPU was used. Per cycle of host.gpu.clock.sm, not per second. Mean of a window of at "
     "least 100 ms (GPM or DCGM)."},
    {"host.gpu.sm.occupancy", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Resident warps on the SMs as a share of the maximum; a high value is not efficiency. Mean of "
     "a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.integer", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their integer pipe was active. Mean of a window of at "
     "least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.tensor", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their tensor core pipe was active; all kinds of matrix "
     "operations together. Mean of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.tensor_fp16", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their FP16 and BF16 tensor core (HMMA) pipe was active. "
     "Mean of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.tensor_fp64", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their FP64 tensor core (DMMA) pipe was active. Mean of a "
     "window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.tensor_int8", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their integer tensor core (IMMA) pipe was active. Mean of "
     "a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.fp64", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their FP64 pipe was active, tensor cores not counted. Mean "
     "of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.fp32", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their FP32 pipe was active, tensor cores not counted. Mean "
     "of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.pipe.fp16", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "Share of the SMs' cycles in which their FP16 pipe was active, tensor cores not counted. Mean "
     "of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.dram.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "By GPM the bandwidth of the device's memory that was used, of what it has in theory; by "
     "DCGM (field 1005) the share of cycles in which the memory's interface was active. The two "
     "are not the same. Mean of a window of at least 100 ms."},
    {"host.gpu.pcie.tx_rate", "B/s", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Traffic that the device sent over PCIe, protocol included. Mean of a window of at least 100 "
     "ms (GPM or DCGM)."},
    {"host.gpu.pcie.rx_rate", "B/s", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Traffic that the device received over PCIe, protocol included. Mean of a window of at least "
     "100 ms (GPM or DCGM)."},
    {"host.gpu.nvlink.tx_rate", "B/s", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Traffic that the device sent over all NVLinks. Whether protocol headers count is unclear: "
     "NVIDIA's documents disagree. Mean of a window of at least 100 ms (GPM or DCGM)."},
    {"host.gpu.nvlink.rx_rate", "B/s", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Traffic that the device received over all NVLinks. Whether protocol headers count is "
     "unclear: NVIDIA's documents disagree. Mean of a window of at least 100 ms (GPM or DCGM)."},
    // One MIG instance ("gpu0.mig1"). Apart from the whole device's, so that no sum counts twice.
    {"host.gpu.mig.memory.used", "B", "", kGauge, kOnce, kHost, "gpu", kFast,
     "As host.gpu.memory.used, of one MIG instance."},
    {"host.gpu.mig.memory.free", "B", "", kGauge, kOnce, kHost, "gpu", kFast,
     "As host.gpu.memory.free, of one MIG instance."},
    {"host.gpu.mig.memory.total", "B", "", kGauge, kOnce, kHost, "gpu", kFast,
     "Memory of one MIG instance."},
    {"host.gpu.mig.graphics.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.graphics.active, of the GPU instance that one MIG device belongs to, as a share "
     "of that instance."},
    {"host.gpu.mig.sm.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.sm.active, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance; values above 1 have been seen and are kept."},
    {"host.gpu.mig.sm.occupancy", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.sm.occupancy, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.pipe.integer", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.pipe.integer, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.pipe.tensor", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.pipe.tensor, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.pipe.fp64", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.pipe.fp64, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.pipe.fp32", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.pipe.fp32, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.pipe.fp16", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.pipe.fp16, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    {"host.gpu.mig.dram.active", "share", "", kGauge, kMean, kHost, "gpu", kFast,
     "As host.gpu.dram.active, of the GPU instance that one MIG device belongs to, as a share of "
     "that instance."},
    // The run's process tree.
    {"run.cpu.used", "s", "cores", kCounter, kSum, kRun, "cpu", kFast,
     "CPU time of the run's whole process tree since its exec, including exited processes: perf "
     "task-clock, in nanoseconds; on a virtual machine it includes the time that the hypervisor "
     "took "
     "away meanwhile (host.cpu.steal). Without permission for perf it is run.cpu.user plus "
     "run.cpu.system, at their rate."},
    {"run.cpu.user", "s", "cores", kCounter, kSum, kRun, "cpu", kSlow,
     "User-mode CPU time of the run's processes, ended ones included: /proc/PID/stat with the rest "
     "below a tick from the process's clock, and wait(2) of orphans; the kernel estimates the "
     "split. Children of a process that ignores SIGCHLD are counted where the kernel gives exit "
     "records (CAP_NET_ADMIN)."},
    {"run.cpu.system", "s", "cores", kCounter, kSum, kRun, "cpu", kSlow,
     "CPU time in the kernel, as run.cpu.user."},
    {"run.pmu.instructions", "", "1/s", kCounter, kSum, kRun, "cpu", kFast,
     "Instructions that the run's process tree completed, including exited processes: perf, from "
     "the processor's counters. User mode only if the kernel allows no more. Scaled up where "
     "run.pmu.counted_share is below 1."},
    {"run.pmu.cycles", "", "Hz", kCounter, kSum, kRun, "cpu", kFast,
     "Clock cycles of CPUs that ran the run, as run.pmu.instructions; instructions per cycle is "
     "the efficiency."},
    {"run.pmu.cache_references", "", "1/s", kCounter, kSum, kRun, "cpu", kFast,
     "Accesses to the last-level cache (the exact event depends on the processor), as "
     "run.pmu.instructions."},
    {"run.pmu.cache_misses", "", "1/s", kCounter, kSum, kRun, "cpu", kFast,
     "Those of run.pmu.cache_references that went to memory."},
    {"run.pmu.branch_misses", "", "1/s", kCounter, kSum, kRun, "cpu", kFast,
     "Mispredicted branches, as run.pmu.instructions."},
    {"run.pmu.stalled_cycles", "", "Hz", kCounter, kSum, kRun, "cpu", kFast,
     "Those of run.pmu.cycles in which nothing completed for lack of data or a unit "
     "(stalled-cycles-backend; few processors have it)."},
    {"run.pmu.counted_share", "", "", kGauge, kMean, kRun, "cpu", kFast,
     "Minimum share of the time in which one of the events run.pmu.* was counted: below 1 they "
     "take turns at the processor's few counters, and values are scaled up."},
    {"run.scheduler.context_switches", "", "1/s", kCounter, kSum, kRun, "scheduler", kFast,
     "Context switches of the run's process tree, exited processes included (perf "
     "context-switches)."},
    {"run.scheduler.migrations", "", "1/s", kCounter, kSum, kRun, "scheduler", kFast,
     "Moves of the run's threads from one CPU to another, exited processes included (perf "
     "cpu-migrations)."},
    {"run.processes", "", "", kGauge, kSum, kRun, "scheduler", kSlow,
     "Living processes of the run, including those that outlived their parent, without zombies; at "
     "most 4,096 are tracked."},
    {"run.threads", "", "", kGauge, kSum, kRun, "scheduler", kSlow,
     "Threads of the run's living processes."},
    {"run.thread.cpu", "s", "cores", kCounter, kSum, kRun, "scheduler", kSlow,
     "CPU time of one of the run's 32 busiest threads; the source is the thread's place. A place "
     "goes to a busier thread, or to the next one when its thread ends, and keeps its sum. From "
     "/proc/PID/task/TID/schedstat."},
    {"run.thread.run_delay", "s", "share", kCounter, kSum, kRun, "scheduler", kSlow,
     "Time in which the thread of run.thread.cpu was ready to run but had no CPU: other work, or "
     "the limit of its control group, held it up. From /proc/PID/task/TID/schedstat."},
    {"run.thread.waited.lock", "s", "share", kCounter, kSum, kRun, "scheduler", kSlow,
     "Estimated time in which the thread of run.thread.cpu waited for a lock (futex, semaphore). "
     "Once a second /proc/PID/task/TID/syscall tells what it waits for, and that second is "
     "counted."},
    {"run.thread.waited.file", "s", "share", kCounter, kSum, kRun, "scheduler", kSlow,
     "As run.thread.waited.lock: a call on a file, or a page of memory that was not there."},
    {"run.thread.waited.pipe", "s", "share", kCounter, kSum, kRun, "scheduler", kSlow,
     "As run.thread.waited.lock: a call on a pipe or a socket, so another process."},
    {"run.thread.waited.device", "s", "share", kCounter, kSum, kRun, "scheduler", kSlow,
     "As run.thread.waited.lock: an ioctl, so the driver of a device."},
    {"run.thread.waited.other", "s", "share", kCounter, kSum, kRun, "scheduler", kSlow,
     "As run.thread.waited.lock: everything else, such as a timer, poll or a child's end."},
    {"run.thread.process", "", "", kGauge, kMean, kRun, "scheduler", kSlow,
     "Process id of the thread that has the place."},
    {"run.thread.id", "", "", kGauge, kMean, kRun, "scheduler", kSlow,
     "Thread id of the thread that has the place; a process's first thread has the process's id."},
    {"run.memory.rss", "B", "", kGauge, kSum, kRun, "memory", kSlow,
     "Resident memory, summed over /proc/PID/statm of the run's living processes; a page that "
     "several processes share counts once for each. The kernel may be late by up to 64 pages per "
     "thread. Without pages of hugetlbfs: those are run.memory.hugetlb."},
    {"run.memory.hugetlb", "B", "", kGauge, kSum, kRun, "memory", kSlow,
     "Memory in pages of hugetlbfs (HugetlbPages of /proc/PID/status), summed over the run's "
     "living "
     "processes; a page that several processes share counts once for each."},
    {"run.memory.rss_peak", "B", "", kGauge, kMean, kRun, "memory", kSlow,
     "Highest resident memory of any single process of the run so far: the maximum of VmHWM of "
     "/proc/PID/status during walks, of wait(2) for ended processes, and of the kernel's exit "
     "records if available. Without the records the peak of a process that lived between two walks "
     "is known when the run ends."},
    {"run.memory.minor_faults", "", "1/s", kCounter, kSum, kRun, "memory", kFast,
     "Page faults of the run's process tree that needed no storage, exited processes included: "
     "perf minor-faults, or the sum over /proc/PID/stat where the kernel does not allow perf."},
    {"run.memory.major_faults", "", "1/s", kCounter, kSum, kRun, "memory", kFast,
     "Page faults of the run's process tree that had to wait for storage; source as "
     "run.memory.minor_faults."},
    {"run.io.read_syscall_bytes", "B", "B/s", kCounter, kSum, kRun, "io", kSlow,
     "Bytes that read calls of the run's processes and their reaped children returned, including "
     "page cache, pipes and terminals (rchar of /proc/PID/io); not mmap. Processes that live "
     "between two walks count through the parent that reaps them."},
    {"run.io.write_syscall_bytes", "B", "B/s", kCounter, kSum, kRun, "io", kSlow,
     "Bytes that the run passed to write calls (wchar of /proc/PID/io)."},
    {"run.io.read_syscalls", "", "1/s", kCounter, kSum, kRun, "io", kSlow,
     "Read calls of the run (syscr)."},
    {"run.io.write_syscalls", "", "1/s", kCounter, kSum, kRun, "io", kSlow,
     "Write calls of the run (syscw)."},
    {"run.io.read_block_bytes", "B", "B/s", kCounter, kSum, kRun, "io", kSlow,
     "Bytes that the block layer fetched for the run, including mmap (read_bytes of /proc/PID/io); "
     "the difference to read_syscall_bytes is the page cache."},
    {"run.io.write_block_bytes", "B", "B/s", kCounter, kSum, kRun, "io", kSlow,
     "Bytes of page cache that the run made dirty for the block layer to write (write_bytes of "
     "/proc/PID/io); what is truncated before it is written (cancelled_write_bytes) is not "
     "subtracted."},
    // The run's use of GPUs.
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
    // The control group that the run's first process is in when it starts; other processes in it
    // count too, so that runs that share one are counted once.
    {"cgroup.cpu.used", "s", "cores", kCounter, kOnce, kRun, "cpu", kFast,
     "CPU time of the run's control group (the source), including its exited processes and "
     "everything else in it. From cpu.stat (v2) or cpuacct.usage (v1)."},
    {"cgroup.cpu.user", "s", "cores", kCounter, kOnce, kRun, "cpu", kFast,
     "The part of cgroup.cpu.used in user mode."},
    {"cgroup.cpu.system", "s", "cores", kCounter, kOnce, kRun, "cpu", kFast,
     "The part of cgroup.cpu.used in the kernel."},
    {"cgroup.cpu.throttled", "s", "cores", kCounter, kOnce, kRun, "cpu", kFast,
     "Total time over CPUs that the quota throttled the group (throttled_usec, throttled_time of "
     "cpu.stat), where the tightest quota is: at the group or above it. Low CPU use then does not "
     "mean idle."},
    {"cgroup.cpu.periods", "", "1/s", kCounter, kOnce, kRun, "cpu", kFast,
     "Periods of the CPU quota in which the group wanted to run (nr_periods)."},
    {"cgroup.cpu.throttled_periods", "", "1/s", kCounter, kOnce, kRun, "cpu", kFast,
     "Periods in which the group used up its quota and was throttled (nr_throttled); divided by "
     "cgroup.cpu.periods it is the frequency."},
    {"cgroup.cpu.limit", "cores", "", kGauge, kOnce, kRun, "cpu", kSlow,
     "CPU quota of the group, the tightest of its own and those above it (cpu.max, "
     "cpu.cfs_quota_us)."},
    {"cgroup.tasks", "", "", kGauge, kOnce, kRun, "scheduler", kSlow,
     "Threads in the group (pids.current)."},
    {"cgroup.memory.used", "B", "", kGauge, kOnce, kRun, "memory", kFast,
     "Memory charged to the group, including page cache and kernel memory (memory.current, "
     "memory.usage_in_bytes): the value that the limit applies to."},
    {"cgroup.memory.peak", "B", "", kGauge, kOnce, kRun, "memory", kSlow,
     "Highest cgroup.memory.used so far, as the kernel saw it between the samples too; from before "
     "the run if the group is older (memory.peak, memory.max_usage_in_bytes)."},
    {"cgroup.memory.limit", "B", "", kGauge, kOnce, kRun, "memory", kSlow,
     "Memory limit of the group, the tightest of its own and those above it (memory.max, "
     "memory.limit_in_bytes)."},
    {"cgroup.memory.anonymous", "B", "", kGauge, kOnce, kRun, "memory", kSlow,
     "Memory of the group that is not backed by a file (anon, total_rss of memory.stat)."},
    {"cgroup.memory.file", "B", "", kGauge, kOnce, kRun, "memory", kSlow,
     "Page cache charged to the group (file, total_cache of memory.stat); most of it is "
     "reclaimable."},
    {"cgroup.memory.swap", "B", "", kGauge, kOnce, kRun, "memory", kSlow,
     "Swap that the group uses (memory.swap.current, total_swap)."},
    {"cgroup.memory.major_faults", "", "1/s", kCounter, kOnce, kRun, "memory", kSlow,
     "Page faults of the group that had to wait for storage (pgmajfault of memory.stat)."},
    {"cgroup.memory.high_hits", "", "1/s", kCounter, kOnce, kRun, "memory", kSlow,
     "Times that the group was throttled because it exceeded memory.high (v2)."},
    {"cgroup.memory.limit_hits", "", "1/s", kCounter, kOnce, kRun, "memory", kSlow,
     "Times that the group reached its memory limit (max of memory.events, memory.failcnt)."},
    {"cgroup.memory.oom_kills", "", "1/s", kCounter, kOnce, kRun, "memory", kSlow,
     "Processes of the group that the kernel killed because memory ran out (oom_kill)."},
    {"cgroup.io.read", "B", "B/s", kCounter, kOnce, kRun, "io", kSlow,
     "Bytes read from block devices for the group (io.stat, blkio.throttle; without stacked "
     "devices)."},
    {"cgroup.io.write", "B", "B/s", kCounter, kOnce, kRun, "io", kSlow,
     "Bytes written to block devices for the group; v1 charges delayed writes of the page cache to "
     "the root group, v2 to the group that wrote them."},
    {"cgroup.io.reads", "", "1/s", kCounter, kOnce, kRun, "io", kSlow,
     "Read requests for the group."},
    {"cgroup.io.writes", "", "1/s", kCounter, kOnce, kRun, "io", kSlow,
     "Write requests for the group, as cgroup.io.write."},
    {"cgroup.pressure.cpu.some", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which at least one task of the group waited for a CPU, including its quota "
     "(cpu.pressure, v2)."},
    {"cgroup.pressure.cpu.full", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which all non-idle tasks of the group waited for a CPU."},
    {"cgroup.pressure.memory.some", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which at least one task of the group waited for memory (memory.pressure, v2)."},
    {"cgroup.pressure.memory.full", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which all non-idle tasks of the group waited for memory."},
    {"cgroup.pressure.io.some", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which at least one task of the group waited for storage (io.pressure, v2)."},
    {"cgroup.pressure.io.full", "s", "share", kCounter, kOnce, kRun, "pressure", kFast,
     "Time in which all non-idle tasks of the group waited for storage."},
    // The clock of the run's host against the server's.
    {kClockOffset, "s", "", kGauge, kMean, kRun, "collector", kSlow,
     "The server's clock minus the host's, by the quickest of up to eight questions every 16 s. "
     "Positive: the host's is behind. Of runs with several processes, and where the server is on "
     "another machine."},
    {kClockError, "s", "", kGauge, kMean, kRun, "collector", kSlow,
     "Bound of the error of corral.clock.offset: half the time from the question to its answer, "
     "and "
     "by how much the host's clock was set since the run began."},
    // The overhead of measuring.
    {"corral.collector.cpu", "s", "cores", kCounter, kSum, kRun, "collector", kSlow,
     "CPU time of one sampling thread: the host's, and one for each listener (the source) that "
     "asks a vendor's library."},
    {"corral.collector.wakeups", "", "1/s", kCounter, kSum, kRun, "collector", kSlow,
     "Wake-ups of a sampling thread (its voluntary context switches)."},
    {"corral.collector.lateness", "s", "", kGauge, kMean, kRun, "collector", kSlow,
     "Maximum delay of a sampling thread's ticks since the previous value."},
    {"corral.collector.latency", "s", "", kGauge, kMean, kRun, "collector", kFast,
     "Duration of the latest read of one listener (the source); NAME.slow is its walk over single "
     "processes."},
    {"corral.collector.call.longest", "s", "", kGauge, kMean, kRun, "collector", kSlow,
     "Maximum duration of the last second's calls of one kind into a vendor's library (the "
     "source)."},
    {"corral.collector.call.mean", "s", "", kGauge, kMean, kRun, "collector", kSlow,
     "Mean duration of the last second's calls of one kind into a vendor's library."},
    {"corral.collector.call.p99", "s", "", kGauge, kMean, kRun, "collector", kSlow,
     "p99 of the run's calls of one kind into a vendor's library, rounded up to a power of two of "
     "microseconds."},
    {"corral.collector.missed_ticks", "", "1/s", kCounter, kSum, kRun, "collector", kSlow,
     "Ticks without a sample because the sampler was late; they are not made up for."},
    {"corral.collector.dropped_rows", "", "1/s", kCounter, kSum, kRun, "collector", kSlow,
     "Samples dropped because they were not consumed in time."},
    {"corral.collector.bytes", "B", "B/s", kCounter, kSum, kRun, "collector", kSlow,
     "Bytes of frames that the supervisor wrote for this run."},
    {"corral.supervisor.cpu", "s", "cores", kCounter, kSum, kRun, "collector", kSlow,
     "CPU time of the whole supervisor, including its sampling threads, without the server."},
    {"corral.supervisor.wakeups", "", "1/s", kCounter, kSum, kRun, "collector", kSlow,
     "Wake-ups of all threads of the supervisor (voluntary context switches)."},
    {"corral.supervisor.rss", "B", "", kGauge, kSum, kRun, "collector", kSlow,
     "Resident memory of the supervisor, including libraries."},
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
