#include "analyze/explain/bottleneck.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
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
constexpr double kLinkBusy = 0.7;          // share of a link's speed, in one direction
constexpr double kPcieBusy = 0.5;          // likewise, in turn with kernels
constexpr double kTurnsFill = 0.85;        // share of a device's time of copies and kernels in turn
constexpr double kTurnsOverlap = 1.1;      // more: they are at the same time
constexpr double kMuchTraffic = 1e7;       // B/s: may fill a slow link
constexpr double kCollectorPart = 0.1;     // share of the CPUs that the run may use
constexpr double kOthersOfGpu = 0.2;       // share of the time
constexpr double kLaunchCores = 0.5;       // share of the SMs' cycles: above, the GPU has work
constexpr double kHostWaitPart = 0.5;      // part of a device's idle time

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
    "corral.supervisor.cpu",
    "host.cpu.busy",
    "host.cpu.core.busy",
    "host.cpu.steal",
    "host.disk.busy",
    "host.gpu.busy",
    "host.gpu.dram.active",
    "host.gpu.graphics.active",
    "host.gpu.mig.graphics.active",
    "host.gpu.mig.sm.active",
    "host.gpu.nvlink.rx",
    "host.gpu.nvlink.rx_rate",
    "host.gpu.nvlink.tx",
    "host.gpu.nvlink.tx_rate",
    "host.gpu.pcie.rx",
    "host.gpu.pcie.rx_rate",
    "host.gpu.pcie.tx",
    "host.gpu.pcie.tx_rate",
    "host.gpu.sm.active",
    "host.gpu.throttle.board_limit",
    "host.gpu.throttle.hardware_thermal",
    "host.gpu.throttle.power",
    "host.gpu.throttle.power_brake",
    "host.gpu.throttle.software_thermal",
    "host.gpu.throttle.thermal",
    "host.net.rx",
    "host.net.tx",
    "host.paging.swap_in",
    "run.cpu.used",
    "run.gpu.busy",
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

constexpr auto kTraffic = std::to_array<std::string_view>({"host.net.rx", "host.net.tx"});
constexpr auto kPcieTraffic = std::to_array<std::string_view>(
    {"host.gpu.pcie.rx", "host.gpu.pcie.rx_rate", "host.gpu.pcie.tx", "host.gpu.pcie.tx_rate"});
constexpr auto kNvlinkTraffic =
    std::to_array<std::string_view>({"host.gpu.nvlink.rx", "host.gpu.nvlink.rx_rate",
                                     "host.gpu.nvlink.tx", "host.gpu.nvlink.tx_rate"});

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

// `waits`: false if they do not bound.
Place find_place(std::span<const LaneLeaves> lanes, bool waits) {
  Place best;
  for (const BoundPart part :
       {BoundPart::kWait, BoundPart::kRanks, BoundPart::kIo, BoundPart::kEvaluation}) {
    if (part == BoundPart::kWait && !waits) continue;
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
  std::optional<double> run_delay, lock, file, pipe;
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
                       .pipe = value_of(of("run.thread.waited.pipe")),
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

bool uses_gpu(const RunData& data) { return on_gpu(data, "run.gpu.processes") != nullptr; }

// The GPU beside a wait of the host, which bounds only while the GPU idles.
struct GpuBeside {
  bool hides = false;            // the wait does not bound
  const PartUse* use = nullptr;  // the GPU's, in the wait
  std::string unknown;           // why that is not known; empty: it is, or there is no GPU
};

// The least idle one of the devices; nullptr: of none is it known.
const PartUse* least_idle(const RunData& data, const SeenUse& seen, std::string_view metric) {
  const PartUse* least = nullptr;
  for (const PartUse& use : seen.in_part) {
    if (use.metric != metric || !use.is_known()) continue;
    const bool own = mean_or_0(data.of_source("run.gpu.processes", use.source)) > 0;
    if (!metric.empty() && !own) continue;
    if (least == nullptr || use.idle < least->idle) least = &use;
  }
  return least;
}

GpuBeside find_gpu_beside(const Place& place, const RunData& data, const SeenUse& seen) {
  GpuBeside beside;
  if (place.part != BoundPart::kWait) return beside;
  const PartUse* use = least_idle(data, seen, "");
  if (use == nullptr) use = least_idle(data, seen, "host.gpu.sm.active");
  if (use != nullptr) {
    beside.use = use;
    beside.hides = place.share * use->idle < kPartShare;
    return beside;
  }
  if (!uses_gpu(data)) return beside;
  const MetricMean* cores = on_gpu(data, "host.gpu.sm.active");
  beside.hides = mean_or_0(cores) >= kGpuBusy;
  if (beside.hides || (cores != nullptr && cores->mean < kIdleUse)) return beside;
  beside.unknown = data.why_not("host.gpu.sm.active");
  for (const PartUse& one : seen.in_part)
    if (one.metric == "host.gpu.sm.active" && !one.is_known()) beside.unknown = one.reason;
  return beside;
}

std::string cpus_text(double cpus) { return fmt::format("{:.3g}", cpus); }

class Judge {
 public:
  struct Known {
    const RunData& data;
    const GivenToRun& given;
    const SeenUse& seen;
  };
  Judge(const Place& place, std::span<const LaneLeaves> lanes, const Known& known)
      : place_(place),
        data_(known.data),
        given_(known.given),
        seen_(known.seen),
        threads_(read_threads(known.data)) {
    for (const LaneLeaves& lane : lanes) {
      const auto process = lane.trains ? process_of_lane(lane.lane) : std::nullopt;
      if (process) processes_.push_back(*process);
    }
    for (const LaneLeaves& lane : lanes)
      if (lane.trains) hosts_.insert(lane.lane.substr(0, lane.lane.find('/')));
    trainer_ = find_trainer();
    loader_ = find_loader();
    if (!given_.cpus.empty()) cpus_ = static_cast<double>(given_.cpus.size());
    if (const MetricMean* quota = data_.greatest("cgroup.cpu.limit"); quota != nullptr)
      cpus_ = std::min(cpus_.value_or(quota->mean), quota->mean);
    found_.part = place.part;
    found_.phase = place.phase;
    found_.share = place.share;
  }

  // `waits`: their share of the time.
  Bottleneck judge(const GpuBeside& beside, double waits) && {
    using Rule = bool (Judge::*)();
    constexpr auto kRules = std::to_array<Rule>(
        {&Judge::cpu_quota, &Judge::memory_limit, &Judge::swap, &Judge::disk, &Judge::network,
         &Judge::steal, &Judge::collector, &Judge::other_programs, &Judge::gpu, &Judge::launches,
         &Judge::turns, &Judge::loaders, &Judge::cpus, &Judge::one_thread});
    // Ranks wait for each other: which one is late is another question.
    constexpr auto kRulesOfRanks = std::to_array<Rule>({&Judge::network, &Judge::nvlink});
    if (!beside.unknown.empty())
      cannot_tell(Resource::kGpuCores, "host.gpu.sm.active", beside.unknown);
    if (beside.use != nullptr) use_in_part(*beside.use, "");
    if (place_.part == BoundPart::kWait && beside.use == nullptr && beside.unknown.empty())
      use(on_gpu(data_, "host.gpu.sm.active"));
    const auto rules = place_.part == BoundPart::kRanks ? std::span<const Rule>(kRulesOfRanks)
                                                        : std::span<const Rule>(kRules);
    for (const Rule rule : rules)
      if ((this->*rule)()) break;
    write_text(beside, waits);
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
  // A mean within the part; a trace has no metric.
  void use_in_part(const PartUse& seen, const std::string& unit) {
    if (seen.metric.empty()) return;
    found_.evidence.push_back({.metric = seen.metric,
                               .source = seen.source,
                               .unit = unit,
                               .mean = seen.mean,
                               .least = seen.mean,
                               .most = seen.mean,
                               .points = seen.samples});
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
    if (!waits) use("cgroup.memory.anonymous");
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

  // A link in one direction; in the part, if its use was seen there.
  struct LinkUse {
    const MetricMean* traffic = nullptr;
    const PartUse* in_part = nullptr;  // null: it was not seen there
    double bytes = 0;
    double share = 0;  // part of its speed; 0: that is not known
  };
  [[nodiscard]] const PartUse* use_of(const MetricMean& traffic) const {
    const auto use = std::ranges::find_if(seen_.in_part, [&](const PartUse& one) {
      return one.metric == traffic.metric && one.source == traffic.source && one.is_known();
    });
    return use != seen_.in_part.end() ? &*use : nullptr;
  }
  [[nodiscard]] std::vector<LinkUse> links(std::span<const std::string_view> metrics) const {
    std::vector<LinkUse> all;
    for (const std::string_view metric : metrics) {
      for (const MetricMean& one : data_.all_of(metric)) {
        if (one.source == "lo") continue;
        const auto speed = given_.links.find(one.source);
        const PartUse* in_part = use_of(one);
        const double bytes = in_part != nullptr ? in_part->mean : one.mean;
        all.push_back({.traffic = &one,
                       .in_part = in_part,
                       .bytes = bytes,
                       .share = speed == given_.links.end() ? 0 : bytes / speed->second});
      }
    }
    return all;
  }
  // The busiest one that is saturated; without one, a link with much traffic whose speed is not
  // known makes the rule unproven.
  std::optional<LinkUse> saturated(Resource resource, std::span<const LinkUse> all,
                                   std::string_view fact, double full = kLinkBusy) {
    if (all.empty()) return std::nullopt;
    const LinkUse busiest = *std::ranges::max_element(all, {}, &LinkUse::share);
    if (busiest.share >= full) {
      if (busiest.in_part != nullptr)
        use_in_part(*busiest.in_part, busiest.traffic->unit);
      else
        use(busiest.traffic);
      return busiest;
    }
    const auto bytes_if_unknown = [](const LinkUse& link) {
      return link.share > 0 ? 0 : link.bytes;
    };
    const LinkUse& unknown = *std::ranges::max_element(all, {}, bytes_if_unknown);
    if (bytes_if_unknown(unknown) >= kMuchTraffic)
      cannot_tell(resource, fmt::format("device.{}.{}", unknown.traffic->source, fact),
                  "the speed of the link was not recorded");
    return std::nullopt;
  }
  static std::string link_text(const LinkUse& link, std::string_view name) {
    const bool sends = link.traffic->metric.find(".tx") != std::string::npos;
    return fmt::format("{} {} {}/s, {:.0f} % of {} speed", link.traffic->source,
                       sends ? "sent" : "received", human_bytes(link.bytes), link.share * 100,
                       name);
  }

  bool network() {
    const Thread* thread = actor();
    const bool ranks = place_.part == BoundPart::kRanks;
    const double waited = thread != nullptr ? thread->pipe.value_or(0) : 0;
    const bool whole = place_.part == BoundPart::kWork || loader_ != nullptr;
    // Ranks of one host do not need it.
    if (ranks && hosts_.size() < 2) return false;
    if (!ranks && waited < (whole ? kFileWait : place_.share / 2)) return false;
    const std::vector<LinkUse> all = links(kTraffic);
    if (ranks && !has("host.net.rx")) return cannot_tell(Resource::kNetwork, "host.net.rx");
    const auto link = saturated(Resource::kNetwork, all, kLinkFact);
    if (!link) return false;
    std::string why = link_text(*link, "its link's");
    if (!ranks) {
      use("run.thread.waited.pipe", thread->place);
      why = fmt::format("{} waited for pipes or sockets {:.0f} % of the time, while {}",
                        actor_name(), waited * 100, why);
    }
    return hold(Resource::kNetwork, std::move(why),
                ranks ? "Send less: fewer synchronizations or compressed gradients; or use a "
                        "faster link."
                      : "Keep the data on local storage, send less of it, or use a faster link.");
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

  // Corral's own share of the CPUs that the run's affinity allows, of which none is free. Other
  // programs there must not weigh more.
  bool collector() {
    const std::vector<const MetricMean*> busy = busy_cpus();
    if (!needs_cpu() || busy.empty() || !has("run.cpu.used")) return false;
    const double all = static_cast<double>(busy.size()), least = kCollectorPart * all;
    if (all - sum_of(busy) >= least) return false;
    if (!has("corral.supervisor.cpu"))
      return cannot_tell(Resource::kCollector, "corral.supervisor.cpu");
    const double others = sum_of(busy) - mean("run.cpu.used");
    if (std::min(mean("corral.supervisor.cpu"), others) < least) return false;
    if (mean("corral.supervisor.cpu") < others / 2) return false;
    const MetricMean* own = use("corral.supervisor.cpu");
    use("run.cpu.used");
    return hold(Resource::kCollector,
                fmt::format("Corral itself used {:.2f} CPUs, while none of the {} CPUs that it may "
                            "use was free",
                            own->mean, cpus_text(all)),
                "Collect less: a longer --interval, or fewer --listeners.");
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
    if (!uses_gpu(data_)) {
      if (!has("host.gpu.sm.active") || !data_.is_unavailable("run.gpu.processes")) return false;
      return cannot_tell(Resource::kGpuCores, "run.gpu.processes");
    }
    const MetricMean* cores = on_gpu(data_, "host.gpu.sm.active");
    if (cores == nullptr) return cannot_tell(Resource::kGpuCores, "host.gpu.sm.active");
    return others_on_gpu(*cores) || gpu_clocks() || gpu_memory() || gpu_cores(*cores) || pcie() ||
           nvlink();
  }

  // The driver samples how often a device works, and for which processes.
  bool others_on_gpu(const MetricMean& cores) {
    const std::string& gpu = cores.source;
    const bool full = cores.mean >= kGpuBusy ||
                      mean_or_0(data_.of_source("host.gpu.dram.active", gpu)) >= kGpuBandwidth;
    if (!full) return false;
    const MetricMean* all = data_.of_source("host.gpu.busy", gpu);
    const MetricMean* own = data_.of_source("run.gpu.busy", gpu);
    if (all == nullptr) return cannot_tell(Resource::kOthersOnGpu, "host.gpu.busy");
    if (own == nullptr) return cannot_tell(Resource::kOthersOnGpu, "run.gpu.busy");
    if (all->mean - own->mean < kOthersOfGpu) return false;
    use(&cores);
    use(all);
    use(own);
    return hold(Resource::kOthersOnGpu,
                fmt::format("{} worked {:.0f} % of the time, {:.0f} % of it for other programs",
                            gpu, all->mean * 100, (1 - own->mean / all->mean) * 100),
                "Give each program a GPU or an instance of its own, or run them one after the "
                "other.");
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

  // The PCIe links of the run's devices.
  [[nodiscard]] std::vector<LinkUse> pcie_links() const {
    std::vector<LinkUse> all = links(kPcieTraffic);
    std::erase_if(all, [&](const LinkUse& link) {
      return mean_or_0(data_.of_source("run.gpu.processes", link.traffic->source)) <= 0;
    });
    return all;
  }
  // Copies and kernels that take turns fill the time of their device together: then the greater
  // part bounds.
  [[nodiscard]] bool take_turns(const LinkUse& link) const {
    const std::string& gpu = link.traffic->source;
    const MetricMean* busy = data_.of_source("host.gpu.graphics.active", gpu);
    const double cores = mean_or_0(data_.of_source("host.gpu.sm.active", gpu));
    const double others = mean_or_0(data_.of_source("host.gpu.busy", gpu)) -
                          mean_or_0(data_.of_source("run.gpu.busy", gpu));
    return busy != nullptr && link.share > cores && busy->mean + link.share >= kTurnsFill &&
           busy->mean + link.share <= kTurnsOverlap && others < kOthersOfGpu;
  }
  bool pcie() {
    const std::vector<LinkUse> all = pcie_links();
    if (all.empty()) return cannot_tell(Resource::kPcie, "host.gpu.pcie.rx_rate");
    const LinkUse busiest = *std::ranges::max_element(all, {}, &LinkUse::share);
    const auto link =
        saturated(Resource::kPcie, all, kPcieFact, take_turns(busiest) ? kPcieBusy : kLinkBusy);
    return link && hold(Resource::kPcie, link_text(*link, "its PCIe link's"),
                        "Copy less: keep data on the GPU, use smaller data types, or copy while "
                        "it computes.");
  }

  // The speed of these links is not recorded.
  bool nvlink() {
    const MetricMean* traffic = nullptr;
    for (const std::string_view metric : kNvlinkTraffic) {
      const MetricMean* one = on_gpu(data_, metric);
      if (one != nullptr && one->mean > mean_or_0(traffic)) traffic = one;
    }
    if (mean_or_0(traffic) < kMuchTraffic) return false;
    return cannot_tell(Resource::kNvlink, traffic->metric,
                       "the speed of the links is not recorded");
  }

  // Only a trace says for what the GPU waited. One of some slowed steps counts less than samples of
  // a GPU that works.
  bool launches() {
    if (place_.part != BoundPart::kWork && place_.part != BoundPart::kEvaluation) return false;
    if (seen_.devices.empty()) return false;
    if (trainer_ == nullptr) return cannot_tell(Resource::kLaunches, "run.thread.cpu");
    const Launching host = launching();
    if (host.cpu < kBusyThread) return false;
    if (mean_or_0(on_gpu(data_, "host.gpu.sm.active")) >= kLaunchCores) return false;
    std::string why = idle_by_trace();
    if (why.empty()) return false;
    use_threads(host);
    return hold(Resource::kLaunches,
                fmt::format("{}, while {} computed with {:.2f} CPUs", std::move(why), host.name(),
                            host.cpu),
                "Launch less often: CUDA graphs, torch.compile, or a greater batch.");
  }
  // Empty: nothing proves that it waited for the host.
  [[nodiscard]] std::string idle_by_trace() const {
    const auto share = [](const DeviceTime& device, Nanos part) {
      const double all = seconds(device.busy) + seconds(device.idle());
      return all > 0 ? seconds(part) / all : 0;
    };
    const DeviceTime& most = *std::ranges::max_element(
        seen_.devices, {}, [&](const DeviceTime& one) { return share(one, one.host_wait); });
    const double waited = share(most, most.host_wait);
    if (waited < kPartShare || waited < kHostWaitPart * share(most, most.idle())) return "";
    return fmt::format("{} waited for the host's next launch {:.0f} % of its traced time",
                       most.device, waited * 100);
  }
  // The host's threads that start a GPU's work: PyTorch runs the backward pass in a thread of its
  // own, for which the training thread waits. Another training waits for its GPU in a loop, which
  // looks like computing: only a GPU that has no work proves that it does not.
  struct Launching {
    const Thread* trainer = nullptr;
    const Thread* other = nullptr;  // takes turns with it
    double cpu = 0;
    [[nodiscard]] std::string_view name() const {
      return other == nullptr ? "the training thread"
                              : "the training thread, in turn with another of its process,";
    }
  };
  [[nodiscard]] Launching launching() const {
    Launching host{.trainer = trainer_, .other = nullptr, .cpu = trainer_->cpu};
    if (!uses_gpu(data_) || host.cpu >= kBusyThread || trainer_->process == nullptr) return host;
    if (!trainer_->waits_for_lock()) return host;
    for (const Thread& thread : threads_) {
      if (&thread == trainer_ || thread.cpu < kTakesPart || !thread.waits_for_lock()) continue;
      if (!Thread::is_always(thread.process, trainer_->process->least)) continue;
      if (host.other == nullptr || thread.cpu > host.other->cpu) host.other = &thread;
    }
    const double both = host.cpu + (host.other != nullptr ? host.other->cpu : 0);
    if (both < kBusyThread || both > kOneCore)
      host.other = nullptr;
    else
      host.cpu = both;
    return host;
  }
  void use_threads(const Launching& host) {
    use("run.thread.cpu", host.trainer->place);
    if (host.other != nullptr) use("run.thread.cpu", host.other->place);
  }

  // A GPU of the run that had often no work.
  struct IdleGpu {
    const MetricMean* busy = nullptr;   // null: not known
    const MetricMean* cores = nullptr;  // null: not known
    double share = 0;                   // the part of the time without work
    [[nodiscard]] bool is_often() const { return busy != nullptr && share > 1 - kGpuBusy; }
    [[nodiscard]] std::string text() const {
      std::string said =
          fmt::format("{} had no work {:.0f} % of the time", busy->source, share * 100);
      if (cores != nullptr)
        said += fmt::format(", and its SMs were active {:.0f} %", cores->mean * 100);
      return said;
    }
  };
  [[nodiscard]] IdleGpu idle_by_samples() const {
    IdleGpu gpu;
    for (const char* metric :
         {"host.gpu.graphics.active", "host.gpu.mig.graphics.active", "host.gpu.busy"})
      if (gpu.busy == nullptr) gpu.busy = on_gpu(data_, metric);
    if (gpu.busy == nullptr) return gpu;
    gpu.cores = data_.of_source("host.gpu.sm.active", gpu.busy->source);
    if (gpu.cores == nullptr)
      gpu.cores = data_.of_source("host.gpu.mig.sm.active", gpu.busy->source);
    // Copies are no work of its cores; together they may take less time than this.
    double copies = 0;
    for (const LinkUse& link : pcie_links())
      if (link.traffic->source == gpu.busy->source) copies = std::max(copies, link.share);
    gpu.share = std::max(1 - gpu.busy->mean - copies, 0.0);
    if (mean_or_0(gpu.cores) >= kLaunchCores) gpu.share = 0;
    return gpu;
  }

  // A lock that threads need all the time, or work that they hand to each other: both are waits on
  // a futex. With a GPU, threads also wait so for the one that starts its work.
  bool turns() {
    if (place_.part != BoundPart::kWork || uses_gpu(data_)) return false;
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
    const Launching host = launching();
    if (host.cpu < kBusyThread || !needs_cpu() || loader_ != nullptr) return false;
    const bool loads = place_.part == BoundPart::kWait;
    const bool gpu = !loads && uses_gpu(data_);
    const IdleGpu idle = gpu ? idle_by_samples() : IdleGpu();
    if (gpu && idle.busy == nullptr)
      return cannot_tell(Resource::kOneThread, "host.gpu.graphics.active");
    if (gpu && !idle.is_often()) return false;
    use_threads(host);
    use("run.cpu.used");
    const double others = mean("run.cpu.used") - host.cpu;
    const std::string beside =
        others >= kTakesPart ? fmt::format(", all others together with {:.2f}", others) : "";
    std::string why = fmt::format("{} {} all the time, with {:.2f} CPUs{}", host.name(),
                                  loads ? "loads data or computes" : "computes", host.cpu, beside);
    if (gpu) {
      use(idle.cores);
      use(idle.busy);
      why += ", while " + idle.text();
    }
    return hold(Resource::kOneThread, std::move(why),
                loads ? "Load the data in other processes: DataLoader(num_workers=...). If they "
                        "do, fetch larger batches."
                : gpu ? "Give the GPU more to do for each launch (a greater batch, CUDA graphs, "
                        "torch.compile), or move the thread's own work to it."
                      : "Do more in one step (a greater batch), or use more threads.");
  }

  // ---- the sentence
  void write_text(const GpuBeside& beside, double waits) {
    std::string& text = found_.text;
    if (place_.part == BoundPart::kWork) {
      const std::string_view unit = unit_name(given_.unit);
      text = why_.empty() ? fmt::format("Nothing that was measured bounds the {}s{}", unit,
                                        beside.use != nullptr ? "" : gpu_without_verdict())
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
    text += text_of_gpu(beside, waits);
    text += given_.steady ? "." : " (the run was not steady).";
  }
  // The GPU that does not bound it: the least that is worth knowing.
  std::string gpu_without_verdict() {
    const MetricMean* cores = on_gpu(data_, "host.gpu.sm.active");
    if (cores == nullptr) return "";
    use(cores);
    return fmt::format("; the SMs of {} were active {:.0f} % of the time", cores->source,
                       cores->mean * 100);
  }
  static std::string text_of_gpu(const GpuBeside& beside, double waits) {
    if (beside.hides && beside.use != nullptr)
      return fmt::format(
          "; waits take {:.0f} % of the time, but the GPU idled in {:.0f} % of what was seen of "
          "them",
          waits * 100, beside.use->idle * 100);
    if (beside.hides)
      return fmt::format("; waits, {:.0f} % of the time, are perhaps hidden behind the GPU",
                         waits * 100);
    if (beside.use != nullptr)
      return fmt::format("; the GPU idled in {:.0f} % of what was seen of it",
                         beside.use->idle * 100);
    return beside.unknown.empty() ? "" : "; it is perhaps hidden behind the GPU";
  }

  const Place& place_;
  const RunData& data_;
  const GivenToRun& given_;
  const SeenUse& seen_;
  std::optional<double> cpus_;  // that affinity and quota allow
  std::vector<Thread> threads_;
  std::vector<double> processes_;  // those with training lanes
  std::set<std::string> hosts_;    // likewise
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

BoundPart bound_part(std::span<const LaneLeaves> lanes) { return find_place(lanes, true).part; }

std::vector<std::string_view> part_metrics(BoundPart part, const RunData& data,
                                           const GivenToRun& given) {
  std::vector<std::string_view> metrics;
  if (part == BoundPart::kWork || part == BoundPart::kEvaluation) return metrics;
  if (part == BoundPart::kWait && uses_gpu(data)) metrics.emplace_back("host.gpu.sm.active");
  const auto is_wanted = [&](const MetricMean& one) {
    return one.mean >= kMuchTraffic && given.links.contains(one.source);
  };
  for (const std::string_view metric : kTraffic)
    if (std::ranges::any_of(data.all_of(metric), is_wanted)) metrics.push_back(metric);
  return metrics;
}

std::optional<Bottleneck> find_bottleneck(std::span<const LaneLeaves> lanes, const RunData& data,
                                          const GivenToRun& given, const SeenUse& seen) {
  if (std::ranges::none_of(lanes, &LaneLeaves::trains)) return std::nullopt;
  Place place = find_place(lanes, true);
  const double waits = place.share;
  const GpuBeside beside = find_gpu_beside(place, data, seen);
  if (!beside.hides)
    return Judge(place, lanes, {.data = data, .given = given, .seen = seen}).judge(beside, waits);
  // Use that was seen in the waits says nothing of another part.
  place = find_place(lanes, false);
  const SeenUse elsewhere{.devices = seen.devices};
  return Judge(place, lanes, {.data = data, .given = given, .seen = elsewhere})
      .judge(beside, waits);
}

std::string_view bound_part_name(BoundPart part) {
  constexpr std::array<std::string_view, 5> kNames = {"work", "wait", "ranks", "io", "evaluation"};
  return kNames.at(static_cast<std::size_t>(part));
}

std::string_view resource_name(Resource resource) {
  constexpr std::array<std::string_view, 20> kNames = {"unknown",
                                                       "CPU quota",
                                                       "memory limit",
                                                       "swap",
                                                       "storage",
                                                       "network",
                                                       "steal",
                                                       "collector",
                                                       "other programs",
                                                       "other programs on the GPU",
                                                       "GPU clocks",
                                                       "GPU bandwidth",
                                                       "GPU cores",
                                                       "PCIe",
                                                       "NVLink",
                                                       "launches",
                                                       "threads in turn",
                                                       "loaders",
                                                       "CPUs",
                                                       "one thread"};
  return kNames.at(static_cast<std::size_t>(resource));
}

}  // namespace corral::analyze
