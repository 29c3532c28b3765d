#include "analyze/explain/bottleneck.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"

namespace corral::analyze {
namespace {

constexpr double kPartShare = 0.2;  // share of the time from which a part other than work bounds
constexpr double kThrottledPeriods = 0.2;  // share of the quota's periods
constexpr double kThrottledCores = 0.05;
constexpr double kLimitHits = 0.5;   // 1/s
constexpr double kFull = 0.9;        // share of the memory limit
constexpr double kAnonymous = 0.3;   // share of the memory limit
constexpr double kMajorFaults = 10;  // 1/s
constexpr double kPressure = 0.1;    // share of the time
constexpr double kSwapIn = 1e6;      // B/s
constexpr double kFileWait = 0.3;    // share of a thread's time
constexpr double kBlockBytes = 1e5;  // B/s
constexpr double kDiskBusy = 0.5;    // worth naming as evidence
constexpr double kStolen = 0.1;      // share of the CPU time that was wanted
constexpr double kRunDelay = 0.15;   // share of a thread's time
constexpr double kOtherCores = 0.3;
constexpr double kClocksDown = 0.5;        // share of the time
constexpr double kGpuBusy = 0.8;           // share of the SMs' cycles
constexpr double kGpuBandwidth = 0.7;      // share of the bandwidth
constexpr double kLockWait = 0.25;         // share of a thread's time without a CPU
constexpr double kLockSeen = 0.1;          // share of its time that was seen to wait for a lock
constexpr double kLockPart = 0.5;          // part of all its waits that were seen
constexpr double kTakesPart = 0.1;         // cores of a thread that takes its turn
constexpr double kOneCore = 1.2;           // cores of all threads that take turns
constexpr double kBusyThread = 0.8;        // cores
constexpr double kBusyCpus = 0.75;         // share of those allowed
constexpr std::size_t kMostCpusShown = 4;  // as evidence
constexpr double kFree = 0.8;              // cores: another worker would have room

constexpr auto kMetrics = std::to_array<std::string_view>({
    "cgroup.cpu.limit",
    "cgroup.cpu.periods",
    "cgroup.cpu.throttled",
    "cgroup.cpu.throttled_periods",
    "cgroup.cpu.used",
    "cgroup.memory.anonymous",
    "cgroup.memory.limit",
    "cgroup.memory.limit_hits",
    "cgroup.memory.major_faults",
    "cgroup.memory.used",
    "cgroup.pressure.memory.some",
    "host.cpu.busy",
    "host.cpu.core.busy",
    "host.cpu.steal",
    "host.disk.busy",
    "host.gpu.dram.active",
    "host.gpu.sm.active",
    "host.gpu.throttle.board_limit",
    "host.gpu.throttle.hardware_thermal",
    "host.gpu.throttle.power",
    "host.gpu.throttle.power_brake",
    "host.gpu.throttle.software_thermal",
    "host.gpu.throttle.thermal",
    "host.paging.swap_in",
    "run.cpu.used",
    "run.gpu.processes",
    "run.io.read_block_bytes",
    "run.io.write_block_bytes",
    "run.memory.major_faults",
    "run.thread.cpu",
    "run.thread.id",
    "run.thread.process",
    "run.thread.run_delay",
    "run.thread.waited.device",
    "run.thread.waited.file",
    "run.thread.waited.lock",
    "run.thread.waited.other",
    "run.thread.waited.pipe",
});

// ---- where
struct Place {
  BoundPart part = BoundPart::kWork;
  std::string phase;
  double share = 0;
  std::string lane;  // the training lane with most of it
};

// A mean over the training lanes. Time in no phase is work.
Place measure_part(std::span<const LaneLeaves> lanes, BoundPart part) {
  Place place{.part = part, .phase = {}, .share = 0, .lane = {}};
  Nanos of_part{0}, all{0}, most{-1}, greatest{0};
  for (const LaneLeaves& lane : lanes) {
    if (!lane.trains) continue;
    const Nanos gaps = lane.start_up + lane.untracked + lane.shutdown;
    Nanos time = part == BoundPart::kWork ? gaps : Nanos(0);
    all += gaps;
    for (const Leaf& leaf : lane.leaves) {
      all += leaf.total;
      if (part_of(leaf.type, leaf.kind) != part) continue;
      time += leaf.total;
      if (leaf.total > greatest) place.phase = leaf.name;
      greatest = std::max(greatest, leaf.total);
    }
    of_part += time;
    if (time > most) place.lane = lane.lane;
    most = std::max(most, time);
  }
  if (all > Nanos(0)) place.share = seconds(of_part) / seconds(all);
  if (part == BoundPart::kEvaluation) place.phase = "evaluation";
  if (part == BoundPart::kWork) place.phase.clear();
  return place;
}

Place find_place(std::span<const LaneLeaves> lanes) {
  Place best;
  for (const BoundPart part :
       {BoundPart::kWait, BoundPart::kRanks, BoundPart::kIo, BoundPart::kEvaluation}) {
    Place place = measure_part(lanes, part);
    if (place.share > best.share) best = std::move(place);
  }
  return best.share >= kPartShare ? best : measure_part(lanes, BoundPart::kWork);
}

// ---- who
double mean_or_0(const MetricMean* mean) { return mean == nullptr ? 0 : mean->mean; }

std::optional<double> value_of(const MetricMean* mean) {
  return mean == nullptr ? std::nullopt : std::optional(mean->mean);
}

// One place of run.thread.*, with its means over the window.
struct Thread {
  std::string_view place;
  double cpu = 0;
  std::optional<double> run_delay, lock, file;
  double waits = 0;                     // all classes together
  const MetricMean* process = nullptr;  // from least to most where several had the place
  const MetricMean* id = nullptr;

  static bool is_always(const MetricMean* mean, double value) {
    return mean != nullptr && mean->least == value && mean->most == value;
  }
  // Its time without a CPU is measured, the classes of its waits are sampled once a second: so the
  // first says how much, the others for what.
  [[nodiscard]] bool waits_for_lock() const {
    const double idle = 1 - cpu - run_delay.value_or(0);
    return idle >= kLockWait && lock.value_or(0) >= std::max(kLockSeen, kLockPart * waits);
  }
  // At any time, as far as is known.
  [[nodiscard]] bool may_be_of(double other) const {
    return process == nullptr || (process->least <= other && other <= process->most);
  }
};

std::vector<Thread> read_threads(const RunData& data) {
  std::vector<Thread> threads;
  for (const MetricMean& cpu : data.all_of("run.thread.cpu")) {
    const auto of = [&](std::string_view metric) { return data.of_source(metric, cpu.source); };
    double waits = 0;
    for (const char* kind : {"device", "file", "lock", "other", "pipe"})
      waits += mean_or_0(of(fmt::format("run.thread.waited.{}", kind)));
    threads.push_back({.place = cpu.source,
                       .cpu = cpu.mean,
                       .run_delay = value_of(of("run.thread.run_delay")),
                       .lock = value_of(of("run.thread.waited.lock")),
                       .file = value_of(of("run.thread.waited.file")),
                       .waits = waits,
                       .process = of("run.thread.process"),
                       .id = of("run.thread.id")});
  }
  return threads;
}

// The greatest mean of the devices that have processes of the run.
const MetricMean* on_gpu(const RunData& data, std::string_view metric) {
  const MetricMean* most = nullptr;
  for (const MetricMean& one : data.all_of(metric)) {
    if (mean_or_0(data.of_source("run.gpu.processes", one.source)) <= 0) continue;
    if (most == nullptr || one.mean > most->mean) most = &one;
  }
  return most;
}

std::string cpus_text(double cpus) { return fmt::format("{:.3g}", cpus); }

class Judge {
 public:
  Judge(const Place& place, std::span<const LaneLeaves> lanes, const RunData& data,
        const GivenToRun& given)
      : place_(place), data_(data), given_(given), threads_(read_threads(data)) {
    for (const LaneLeaves& lane : lanes) {
      const auto process = lane.trains ? process_of_lane(lane.lane) : std::nullopt;
      if (process) processes_.push_back(*process);
    }
    trainer_ = find_trainer();
    loader_ = find_loader();
    if (!given.cpus.empty()) cpus_ = static_cast<double>(given.cpus.size());
    if (const MetricMean* quota = data.greatest("cgroup.cpu.limit"); quota != nullptr)
      cpus_ = std::min(cpus_.value_or(quota->mean), quota->mean);
    found_.part = place.part;
    found_.phase = place.phase;
    found_.share = place.share;
  }

  // `hidden`: the share of waits while the GPU was busy.
  Bottleneck judge(double hidden) && {
    constexpr std::array kRules = {&Judge::cpu_quota, &Judge::memory_limit, &Judge::swap,
                                   &Judge::disk,      &Judge::steal,        &Judge::other_programs,
                                   &Judge::gpu,       &Judge::turns,        &Judge::loaders,
                                   &Judge::cpus,      &Judge::one_thread};
    // Ranks wait for each other: which one is late is another question.
    if (place_.part != BoundPart::kRanks) {
      for (const auto rule : kRules)
        if ((this->*rule)()) break;
    }
    write_text(hidden);
    return std::move(found_);
  }

 private:
  // The busiest thread of the lane's process; the lane of its first thread is that thread.
  [[nodiscard]] const Thread* find_trainer() const {
    const std::optional<double> process = process_of_lane(place_.lane);
    if (!process) return nullptr;
    const bool first = place_.lane.ends_with("/MainThread");
    const Thread* best = nullptr;
    for (const Thread& thread : threads_) {
      if (!Thread::is_always(thread.process, *process)) continue;
      if (first && !Thread::is_always(thread.id, *process)) continue;
      if (best == nullptr || thread.cpu > best->cpu) best = &thread;
    }
    return best;
  }

  // True if `own`, a share of the training thread's time, reaches all time outside of the part and
  // half of the part: then half of the part or more was such time.
  [[nodiscard]] bool fills_part(double own) const { return own >= 1 - place_.share / 2; }

  // The busiest thread outside of the training processes, while they wait for data that they do
  // not load themselves.
  [[nodiscard]] const Thread* find_loader() const {
    if (place_.part != BoundPart::kWait || trainer_ == nullptr) return nullptr;
    if (fills_part(trainer_->cpu + trainer_->run_delay.value_or(0) + trainer_->file.value_or(0)))
      return nullptr;
    const Thread* best = nullptr;
    for (const Thread& thread : threads_) {
      const bool trains = std::ranges::any_of(
          processes_, [&](double process) { return thread.may_be_of(process); });
      if (trains || thread.cpu + thread.file.value_or(0) < kTakesPart) continue;
      if (best == nullptr || thread.cpu > best->cpu) best = &thread;
    }
    return best;
  }

  // The thread that the part waits for; null: not known.
  [[nodiscard]] const Thread* actor() const { return loader_ != nullptr ? loader_ : trainer_; }
  [[nodiscard]] std::string_view actor_name() const {
    return loader_ != nullptr ? "a loader" : "the training thread";
  }

  // False for a wait that more CPU time would not shorten. `stopped`: the share of the time in
  // which the training thread was not let run.
  [[nodiscard]] bool needs_cpu(double stopped) const {
    if (place_.part == BoundPart::kWork || place_.part == BoundPart::kEvaluation) return true;
    if (loader_ != nullptr) return true;
    return trainer_ != nullptr && fills_part(trainer_->cpu + stopped);
  }
  [[nodiscard]] bool needs_cpu() const {
    return needs_cpu(trainer_ != nullptr ? trainer_->run_delay.value_or(0) : 0);
  }

  // CPU time of all programs on each of the CPUs that the run may use, the busiest first; empty: of
  // one or of all it is not known.
  [[nodiscard]] std::vector<const MetricMean*> busy_cpus() const {
    std::vector<const MetricMean*> all;
    for (const int cpu : given_.cpus)
      all.push_back(data_.of_source("host.cpu.core.busy", fmt::format("cpu{}", cpu)));
    if (std::ranges::find(all, nullptr) != all.end()) return {};
    std::ranges::stable_sort(all, std::ranges::greater(), &MetricMean::mean);
    return all;
  }
  static double sum_of(const std::vector<const MetricMean*>& means) {
    double sum = 0;
    for (const MetricMean* one : means) sum += one->mean;
    return sum;
  }
  [[nodiscard]] std::optional<double> free_cpus() const {
    const std::vector<const MetricMean*> busy = busy_cpus();
    if (busy.empty() || !has("run.cpu.used")) return std::nullopt;
    return std::min(static_cast<double>(busy.size()) - sum_of(busy), *cpus_ - mean("run.cpu.used"));
  }

  // ---- evidence
  const MetricMean* use(std::string_view metric) { return use(data_.greatest(metric)); }
  const MetricMean* use(std::string_view metric, std::string_view source) {
    return use(data_.of_source(metric, source));
  }
  const MetricMean* use(const MetricMean* mean) {
    if (mean != nullptr) found_.evidence.push_back(*mean);
    return mean;
  }
  bool hold(Resource resource, std::string why, std::string hint) {
    found_.resource = resource;
    why_ = std::move(why);
    found_.hint = std::move(hint);
    return true;
  }
  bool cannot_tell(Resource resource, std::string_view metric) {
    return cannot_tell(resource, metric, data_.why_not(metric));
  }
  bool cannot_tell(Resource resource, std::string_view what, std::string reason) {
    found_.unproven.push_back(
        {.resource = resource, .metric = std::string(what), .reason = std::move(reason)});
    return false;
  }
  [[nodiscard]] double mean(std::string_view metric) const {
    return mean_or_0(data_.greatest(metric));
  }
  [[nodiscard]] bool has(std::string_view metric) const {
    return data_.greatest(metric) != nullptr;
  }

  // ---- the rules, in order; each returns true if it holds
  bool cpu_quota() {
    if (!has("cgroup.cpu.used")) return cannot_tell(Resource::kCpuQuota, "cgroup.cpu.used");
    if (!has("cgroup.cpu.periods")) return false;  // no quota
    for (const char* metric : {"cgroup.cpu.throttled", "cgroup.cpu.throttled_periods"})
      if (!has(metric)) return cannot_tell(Resource::kCpuQuota, metric);
    const double periods = mean("cgroup.cpu.periods");
    const double share = periods > 0 ? mean("cgroup.cpu.throttled_periods") / periods : 0;
    if (share < kThrottledPeriods || mean("cgroup.cpu.throttled") < kThrottledCores) return false;
    if (!needs_cpu(share)) return false;
    for (const char* metric :
         {"cgroup.cpu.throttled_periods", "cgroup.cpu.periods", "cgroup.cpu.throttled"})
      use(metric);
    const MetricMean* limit = use("cgroup.cpu.limit");
    const std::string cores =
        limit != nullptr ? fmt::format(" of {} CPUs", cpus_text(limit->mean)) : "";
    return hold(Resource::kCpuQuota,
                fmt::format("the CPU quota{} stopped its threads in {:.0f} % of the periods", cores,
                            share * 100),
                "Raise the quota of its control group or container, or start fewer threads.");
  }

  bool memory_limit() {
    const MetricMean* used = data_.greatest("cgroup.memory.used");
    if (used == nullptr) return cannot_tell(Resource::kMemoryLimit, "cgroup.memory.used");
    const MetricMean* limit = data_.greatest("cgroup.memory.limit");
    const bool full = limit != nullptr && used->mean >= kFull * limit->mean;
    if (!full && mean("cgroup.memory.limit_hits") < kLimitHits) return false;
    const bool waits = mean("cgroup.pressure.memory.some") >= kPressure;
    if (!has("cgroup.pressure.memory.some")) {
      for (const char* metric : {"cgroup.memory.anonymous", "cgroup.memory.major_faults"})
        if (!has(metric)) return cannot_tell(Resource::kMemoryLimit, metric);
    }
    // Without pressure, a page cache that is read again looks the same.
    const bool own = !has("cgroup.pressure.memory.some") && limit != nullptr &&
                     mean("cgroup.memory.anonymous") >= kAnonymous * limit->mean &&
                     mean("cgroup.memory.major_faults") >= kMajorFaults;
    if (!waits && !own) return false;
    use(full ? "cgroup.memory.used" : "cgroup.memory.limit_hits");
    use("cgroup.memory.limit");
    const MetricMean* felt =
        use(waits ? "cgroup.pressure.memory.some" : "cgroup.memory.major_faults");
    return hold(Resource::kMemoryLimit,
                fmt::format("its control group was at its memory limit{}, and waited for {}",
                            limit != nullptr ? " of " + human_bytes(limit->mean) : "",
                            waits ? fmt::format("memory {:.0f} % of the time", felt->mean * 100)
                                  : fmt::format("{:.0f} pages a second", felt->mean)),
                "Raise the memory limit, or use less memory: fewer workers, smaller batches.");
  }

  bool swap() {
    if (!has("host.paging.swap_in")) return cannot_tell(Resource::kSwap, "host.paging.swap_in");
    if (mean("host.paging.swap_in") < kSwapIn) return false;
    if (!has("run.memory.major_faults"))
      return cannot_tell(Resource::kSwap, "run.memory.major_faults");
    if (mean("run.memory.major_faults") < kMajorFaults) return false;
    const MetricMean* in = use("host.paging.swap_in");
    const MetricMean* faults = use("run.memory.major_faults");
    return hold(Resource::kSwap,
                fmt::format("the machine read {}/s back from swap, and it waited for {:.0f} pages "
                            "a second",
                            human_bytes(in->mean), faults->mean),
                "Give it more memory, or use less: its working set does not fit.");
  }

  bool disk() {
    const Thread* thread = actor();
    if (thread == nullptr || !thread->file)
      return cannot_tell(Resource::kDisk, "run.thread.waited.file");
    const bool whole = place_.part == BoundPart::kWork || loader_ != nullptr;
    if (*thread->file < (whole ? kFileWait : place_.share / 2)) return false;
    for (const char* metric : {"run.io.read_block_bytes", "run.io.write_block_bytes"})
      if (!has(metric)) return cannot_tell(Resource::kDisk, metric);
    const double bytes = mean("run.io.read_block_bytes") + mean("run.io.write_block_bytes");
    if (bytes < kBlockBytes) return false;
    use("run.thread.waited.file", thread->place);
    use("run.io.read_block_bytes");
    use("run.io.write_block_bytes");
    std::string busy;
    if (const MetricMean* device = data_.greatest("host.disk.busy");
        device != nullptr && device->mean >= kDiskBusy) {
      use(device);
      busy = fmt::format(", with {} busy {:.0f} % of the time", device->source, device->mean * 100);
    }
    return hold(Resource::kDisk,
                fmt::format("{} waited for storage {:.0f} % of the time, at {}/s{}", actor_name(),
                            *thread->file * 100, human_bytes(bytes), busy),
                "Use faster or local storage, keep the data in memory, or read it ahead.");
  }

  bool steal() {
    if (!needs_cpu()) return false;
    for (const char* metric : {"host.cpu.steal", "host.cpu.busy"})
      if (!has(metric)) return cannot_tell(Resource::kSteal, metric);
    const double busy = mean("host.cpu.busy"), stolen = mean("host.cpu.steal");
    if (busy <= 0 || stolen < kStolen * (busy + stolen)) return false;
    use("host.cpu.steal");
    use("host.cpu.busy");
    return hold(Resource::kSteal,
                fmt::format("the hypervisor ran something outside this virtual machine for {:.0f} "
                            "% of the CPU time that was wanted here",
                            stolen / (busy + stolen) * 100),
                "Repeat it on a host of its own: nothing inside this machine can help.");
  }

  bool other_programs() {
    const Thread* thread = actor();
    if (thread == nullptr || !thread->run_delay)
      return cannot_tell(Resource::kOtherPrograms, "run.thread.run_delay");
    if (*thread->run_delay < kRunDelay || !needs_cpu()) return false;
    if (!has("run.cpu.used")) return cannot_tell(Resource::kOtherPrograms, "run.cpu.used");
    const std::vector<const MetricMean*> busy = busy_cpus();
    if (busy.empty()) return cannot_tell(Resource::kOtherPrograms, "host.cpu.core.busy");
    const double others = sum_of(busy) - mean("run.cpu.used");
    if (others < kOtherCores) return false;
    use("run.thread.run_delay", thread->place);
    for (std::size_t i = 0; i < std::min(busy.size(), kMostCpusShown); ++i) use(busy[i]);
    use("run.cpu.used");
    return hold(Resource::kOtherPrograms,
                fmt::format("{} was ready but had no CPU {:.0f} % of the time, while other "
                            "programs used {:.1f} of its {} CPUs",
                            actor_name(), *thread->run_delay * 100, others, given_.cpus.size()),
                "Give each program CPUs of its own (--cpus), or run them one after the other.");
  }

  bool gpu() {
    if (place_.part != BoundPart::kWork && place_.part != BoundPart::kEvaluation) return false;
    if (on_gpu(data_, "run.gpu.processes") == nullptr) {
      if (!has("host.gpu.sm.active") || !data_.is_unavailable("run.gpu.processes")) return false;
      return cannot_tell(Resource::kGpuCores, "run.gpu.processes");
    }
    const MetricMean* cores = on_gpu(data_, "host.gpu.sm.active");
    if (cores == nullptr) return cannot_tell(Resource::kGpuCores, "host.gpu.sm.active");
    return gpu_clocks() || gpu_memory() || gpu_cores(*cores);
  }

  bool gpu_clocks() {
    for (const std::string_view metric : kMetrics) {
      if (!metric.starts_with("host.gpu.throttle.")) continue;
      const MetricMean* down = on_gpu(data_, metric);
      if (down == nullptr || down->mean < kClocksDown) continue;
      const MetricMean* cores = data_.of_source("host.gpu.sm.active", down->source);
      if (mean_or_0(cores) < kGpuBusy) continue;
      use(down);
      use(cores);
      return hold(Resource::kGpuClocks,
                  fmt::format("the clocks of {} were held down {:.0f} % of the time ({})",
                              down->source, down->mean * 100, metric.substr(metric.rfind('.') + 1)),
                  "Look at its power limit and its cooling.");
    }
    return false;
  }

  bool gpu_memory() {
    const MetricMean* bandwidth = on_gpu(data_, "host.gpu.dram.active");
    if (bandwidth == nullptr) return cannot_tell(Resource::kGpuMemory, "host.gpu.dram.active");
    if (bandwidth->mean < kGpuBandwidth) return false;
    use(bandwidth);
    return hold(Resource::kGpuMemory,
                fmt::format("{} used {:.0f} % of its memory's bandwidth", bandwidth->source,
                            bandwidth->mean * 100),
                "Fuse operations, or use smaller data types.");
  }

  bool gpu_cores(const MetricMean& cores) {
    if (cores.mean < kGpuBusy) return false;
    use(&cores);
    return hold(Resource::kGpuCores,
                fmt::format("the SMs of {} were active {:.0f} % of the time", cores.source,
                            cores.mean * 100),
                "It computes: use lower precision, or a faster GPU.");
  }

  // A lock that threads need all the time, or work that they hand to each other: both are waits on
  // a futex. With a GPU, threads also wait so for the one that starts its work.
  bool turns() {
    if (place_.part != BoundPart::kWork || on_gpu(data_, "run.gpu.processes") != nullptr)
      return false;
    if (trainer_ == nullptr || !trainer_->lock)
      return cannot_tell(Resource::kTurns, "run.thread.waited.lock");
    std::vector<const Thread*> turns;
    double cores = 0;
    for (const Thread& thread : threads_) {
      if (!Thread::is_always(thread.process, trainer_->process->least)) continue;
      if (!thread.waits_for_lock() || thread.cpu < kTakesPart) continue;
      turns.push_back(&thread);
      cores += thread.cpu;
    }
    const bool trainer_too = std::ranges::find(turns, trainer_) != turns.end();
    if (turns.size() < 2 || !trainer_too || cores > kOneCore) return false;
    for (const Thread* thread : turns) {
      use("run.thread.waited.lock", thread->place);
      use("run.thread.cpu", thread->place);
    }
    return hold(Resource::kTurns,
                fmt::format("{} threads used {:.1f} CPUs together, and waited for a lock or for "
                            "each other's work the rest of the time",
                            turns.size(), cores),
                "Let them work at the same time: hold the lock for less long, or hand work over "
                "before it is needed.");
  }

  bool loaders() {
    if (loader_ == nullptr || loader_->cpu < kBusyThread) return false;
    use("run.thread.cpu", loader_->place);
    use("run.cpu.used");
    return hold(Resource::kLoaders,
                fmt::format("the processes that load it computed all the time, the busiest with "
                            "{:.2f} CPUs",
                            loader_->cpu),
                hint_for_loaders());
  }

  [[nodiscard]] std::string hint_for_loaders() const {
    const std::optional<double> room = free_cpus();
    if (!room) return "Start more workers if CPUs are free, or make the transforms cheaper.";
    if (*room >= kFree)
      return fmt::format("Start more workers: {:.1f} of {} CPUs were free.", *room,
                         cpus_text(*cpus_));
    return "Make the transforms cheaper, or prepare the data once: no CPU was free for more "
           "workers.";
  }

  bool cpus() {
    if (!needs_cpu()) return false;
    if (!has("run.cpu.used")) return cannot_tell(Resource::kCpus, "run.cpu.used");
    if (!cpus_) return cannot_tell(Resource::kCpus, "set_up.cpus_allowed", "it was not recorded");
    if (mean("run.cpu.used") < kBusyCpus * *cpus_) return false;
    const MetricMean* used = use("run.cpu.used");
    return hold(Resource::kCpus,
                fmt::format("it computed on {:.1f} of the {} CPUs that it may use", used->mean,
                            cpus_text(*cpus_)),
                "It computes: use more CPUs, a GPU, or fewer operations.");
  }

  bool one_thread() {
    if (trainer_ == nullptr) return cannot_tell(Resource::kOneThread, "run.thread.cpu");
    if (trainer_->cpu < kBusyThread || !needs_cpu() || loader_ != nullptr) return false;
    use("run.thread.cpu", trainer_->place);
    use("run.cpu.used");
    const bool loads = place_.part == BoundPart::kWait;
    const double others = mean("run.cpu.used") - trainer_->cpu;
    const std::string beside =
        others >= kTakesPart ? fmt::format(", all others together with {:.2f}", others) : "";
    return hold(Resource::kOneThread,
                fmt::format("the training thread {} all the time, with {:.2f} CPUs{}",
                            loads ? "loads data or computes" : "computes", trainer_->cpu, beside),
                loads ? "Load the data in other processes: DataLoader(num_workers=...)."
                      : "Do more in one step (a greater batch), or use more threads.");
  }

  // ---- the sentence
  void write_text(double hidden) {
    std::string& text = found_.text;
    if (place_.part == BoundPart::kWork) {
      const std::string_view unit = unit_name(given_.unit);
      text = why_.empty() ? fmt::format("Nothing that was measured bounds the {}s", unit)
                          : fmt::format("The {}s are bound by {}: {}", unit,
                                        resource_name(found_.resource), why_);
    } else {
      text = fmt::format(
          "{:.0f} % of the {} is {}", place_.share * 100,
          given_.steady ? "steady part" : fmt::format("{}s' time", unit_name(given_.unit)),
          place_.phase);
      if (!why_.empty()) {
        text += ": " + why_;
      } else if (place_.part != BoundPart::kRanks) {
        text += "; nothing that was measured says why";
      }
    }
    if (hidden > 0)
      text += fmt::format("; waits, {:.0f} % of the time, are perhaps hidden behind the GPU",
                          hidden * 100);
    text += given_.steady ? "." : " (the run was not steady).";
  }

  const Place& place_;
  const RunData& data_;
  const GivenToRun& given_;
  std::optional<double> cpus_;  // that affinity and quota allow
  std::vector<Thread> threads_;
  std::vector<double> processes_;  // those with training lanes
  const Thread* trainer_ = nullptr;
  const Thread* loader_ = nullptr;
  Bottleneck found_;
  std::string why_;
};

}  // namespace

std::span<const std::string_view> bottleneck_metrics() { return kMetrics; }

// "host/4711/MainThread", "host/rank3/4711/MainThread"
std::optional<double> process_of_lane(std::string_view lane) {
  const std::vector<std::string_view> parts = split(lane, '/');
  for (std::size_t i = 1; i + 1 < parts.size(); ++i)
    if (const auto number = parse_int(parts[i]); number && *number > 0)
      return static_cast<double>(*number);
  return std::nullopt;
}

std::optional<Bottleneck> find_bottleneck(std::span<const LaneLeaves> lanes, const RunData& data,
                                          const GivenToRun& given) {
  if (std::ranges::none_of(lanes, &LaneLeaves::trains)) return std::nullopt;
  Place place = find_place(lanes);
  double hidden = 0;
  // A wait of the host bounds only while the GPU idles.
  if (place.part == BoundPart::kWait && mean_or_0(on_gpu(data, "host.gpu.sm.active")) >= kGpuBusy) {
    hidden = place.share;
    place = measure_part(lanes, BoundPart::kWork);
  }
  return Judge(place, lanes, data, given).judge(hidden);
}

std::string_view bound_part_name(BoundPart part) {
  constexpr std::array<std::string_view, 5> kNames = {"work", "wait", "ranks", "io", "evaluation"};
  return kNames.at(static_cast<std::size_t>(part));
}

std::string_view resource_name(Resource resource) {
  constexpr std::array<std::string_view, 14> kNames = {
      "unknown",         "CPU quota",      "memory limit", "swap",          "storage",
      "steal",           "other programs", "GPU clocks",   "GPU bandwidth", "GPU cores",
      "threads in turn", "loaders",        "CPUs",         "one thread"};
  return kNames.at(static_cast<std::size_t>(resource));
}

}  // namespace corral::analyze
