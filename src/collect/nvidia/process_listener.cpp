#include "collect/nvidia/process_listener.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collect/nvidia/calls.h"
#include "collect/nvidia/gpu_reader.h"
#include "collect/nvidia/nvml.h"
#include "collect/nvidia/process_room.h"
#include "collect/tree/parse.h"

namespace corral::collect {
namespace nvidia {

RunProcesses::RunProcesses(const Options& options)
    : files_(options.root),
      own_namespace_(options.root / "proc/self/ns/pid"),
      run_(options.run_pid),
      supervisor_(options.supervisor_pid) {}

bool RunProcesses::holds(pid_t pid) {
  for (int depth = 0; pid > 1 && depth < kDeepest; ++depth) {
    if (pid == run_ || pid == supervisor_) return true;
    const auto text = files_.read(pid, tree::ProcessFile::kStat, nullptr);
    tree::ProcessStat stat;
    pid = text && tree::parse_process_stat(*text, stat) ? stat.parent : 0;
  }
  return false;
}

std::string RunProcesses::obstacle() const {
  constexpr std::string_view kHostNamespace = "pid:[4026531836]";  // the kernel's constant
  std::error_code ignored;
  const auto own = std::filesystem::read_symlink(own_namespace_, ignored);
  if (own.empty() || own.string() == kHostNamespace) return "";
  return "the driver reports the host's process ids, but this container has its own (use the "
         "host's "
         "PID namespace)";
}

namespace {

// More processes or samples than that on one device are not followed.
constexpr unsigned kMostProcesses = 1024;
constexpr unsigned kMostSamples = 4096;

struct Use {
  std::uint64_t processes = 0;
  std::uint64_t bytes = 0;
  bool bytes_known = true;
  bool by_mps = false;  // some of them are clients of an MPS server
};

struct Busy {
  double share = 0;   // share of the SMs' time
  bool seen = false;  // the driver had samples of the run
};

// One device's lists, in buffers that all devices share.
class ProcessLists {
 public:
  ProcessLists(const Nvml& nvml, RunProcesses own, const Clocks& clocks)
      : nvml_(&nvml),
        own_(std::move(own)),
        clocks_(clocks),
        room_(kMostProcesses),
        samples_(std::make_unique_for_overwrite<ProcessUtilization[]>(kMostSamples)),
        shares_(std::make_unique_for_overwrite<ProcessShare[]>(kMostSamples)) {
    listed_.reserve(kMostProcesses);
  }

  // Reads the use of a device, or of all the instances into which it is divided.
  Status read_use(std::span<const Device> devices, Use& use);
  // Per process of the latest read_use() the mean of its samples since `last_seen_us`, summed.
  Status read_busy(Device device, unsigned long long& last_seen_us, Busy& busy);

 private:
  template <class Entry>
  Status add(const Function<Device, unsigned*, Entry*>& list, Device device, Use& use);
  void add(const ProcessV1& process, Use& use);
  Status read_use(Device device, Use& use);
  Status read_samples(Device device, unsigned long long since_us, unsigned& count);
  unsigned read_shares(Device device, unsigned long long since_us);
  // Returns true if a sample is plausible: drivers have reported shares above 100 % and times in
  // the future.
  [[nodiscard]] static bool makes_sense(const ProcessUtilization& sample, std::uint64_t since_us,
                                        std::uint64_t now_us);

  const Nvml* nvml_;
  RunProcesses own_;
  Clocks clocks_;
  ProcessRoom room_;
  std::vector<std::uint32_t> listed_;  // processes of the run
  std::unique_ptr<ProcessUtilization[]> samples_;
  std::unique_ptr<ProcessShare[]> shares_;
};

void ProcessLists::add(const ProcessV1& process, Use& use) {
  if (!own_.holds(static_cast<pid_t>(process.pid))) return;
  if (listed_.size() < listed_.capacity()) listed_.push_back(process.pid);
  ++use.processes;
  if (process.memory == kMemoryNotAvailable) {
    use.bytes_known = false;
  } else {
    use.bytes += process.memory;
  }
}

template <class Entry>
Status ProcessLists::add(const Function<Device, unsigned*, Entry*>& list, Device device, Use& use) {
  const Status status = room_.ask(list, device);
  for (unsigned i = 0; i < room_.count(); ++i) add(room_.at(i), use);
  return status;
}

Status ProcessLists::read_use(std::span<const Device> devices, Use& use) {
  listed_.clear();
  for (const Device device : devices) {
    if (const Status status = read_use(device, use); status != Status::kSuccess) return status;
  }
  return Status::kSuccess;
}

Status ProcessLists::read_use(Device device, Use& use) {
  const Status status = add(nvml_->call().processes, device, use);
  if (status == Status::kFunctionNotFound) return add(nvml_->call().processes_v1, device, use);
  if (status != Status::kSuccess) return status;
  // Clients of an MPS server are in a list of their own.
  const std::uint64_t others = use.processes;
  add(nvml_->call().mps_processes, device, use);
  use.by_mps = use.processes > others;
  return status;
}

Status ProcessLists::read_samples(Device device, unsigned long long since_us, unsigned& count) {
  count = kMostSamples;
  const Status status = nvml_->call().process_utilization(device, samples_.get(), &count, since_us);
  count = status == Status::kSuccess ? std::min(count, kMostSamples) : 0;
  return status;
}

// Returns the number of samples.
unsigned ProcessLists::read_shares(Device device, unsigned long long since_us) {
  ProcessShares request{.version = kProcessSharesVersion,
                        .count = kMostSamples,
                        .since_us = since_us,
                        .list = shares_.get()};
  const Status status = nvml_->call().process_shares(device, &request);
  const unsigned count = status == Status::kSuccess ? std::min(request.count, kMostSamples) : 0;
  for (unsigned i = 0; i < count; ++i) {
    const ProcessShare& share = shares_[i];
    samples_[i] = {.pid = share.pid,
                   .timestamp_us = share.timestamp_us,
                   .sm = share.sm,
                   .memory = share.memory,
                   .encoder = share.encoder,
                   .decoder = share.decoder};
  }
  return count;
}

bool ProcessLists::makes_sense(const ProcessUtilization& sample, std::uint64_t since_us,
                               std::uint64_t now_us) {
  constexpr std::uint32_t kAll = 100;
  return sample.sm <= kAll && sample.memory <= kAll && sample.encoder <= kAll &&
         sample.decoder <= kAll && sample.timestamp_us > since_us && sample.timestamp_us <= now_us;
}

Status ProcessLists::read_busy(Device device, unsigned long long& last_seen_us, Busy& busy) {
  unsigned count = 0;
  const std::uint64_t since_us = last_seen_us;
  const Status status = read_samples(device, since_us, count);
  if (status != Status::kSuccess && status != Status::kNotFound) return status;
  // Unused since then, or the device is one for which the older call never has any (Blackwell).
  if (count == 0) count = read_shares(device, since_us);
  const auto now = clocks_.boot->now().time_since_epoch() + clocks_.utc_minus_boot();
  const auto now_us = static_cast<std::uint64_t>(now.count() / 1000);
  const auto samples = std::span(samples_.get(), count);
  std::ranges::sort(samples, {}, &ProcessUtilization::pid);
  for (std::size_t at = 0; at < samples.size();) {
    const std::uint32_t pid = samples[at].pid;
    const bool listed = std::ranges::find(listed_, pid) != listed_.end();
    double percent = 0;
    std::size_t taken = 0;
    for (; at < samples.size() && samples[at].pid == pid; ++at) {
      if (!listed || !makes_sense(samples[at], since_us, now_us)) continue;
      percent += samples[at].sm;
      ++taken;
      last_seen_us = std::max<unsigned long long>(last_seen_us, samples[at].timestamp_us);
    }
    if (taken == 0) continue;
    busy.seen = true;
    busy.share += percent / static_cast<double>(taken) * 0.01;
  }
  return Status::kSuccess;
}

class ProcessListener final : public Listener {
 public:
  ProcessListener(std::shared_ptr<const Nvml> nvml, RunProcesses own, const Clocks& clocks,
                  std::shared_ptr<News> news)
      : nvml_(std::move(nvml)), news_(std::move(news)), lists_(*nvml_, std::move(own), clocks) {}

  void open(const FoundGpu& gpu, SeriesTable& table) {
    const std::string source = gpu_source(gpu.index);
    // The processes of a divided device are listed to administrators only, an instance's to all.
    std::vector<Device> listed;
    for (const FoundGpu::Instance& instance : gpu.instances) listed.push_back(instance.device);
    if (listed.empty()) listed.push_back(gpu.device);
    Use use;
    if (const Status status = lists_.read_use(listed, use); status != Status::kSuccess) {
      table.unavailable("run.gpu.*", source, nvml_->words(status));
      return;
    }
    Gpu& added = gpus_.emplace_back(Gpu{.source = source,
                                        .device = gpu.device,
                                        .listed = std::move(listed),
                                        .processes = table.add("run.gpu.processes", source),
                                        .memory = table.add("run.gpu.memory.used", source)});
    Busy busy;
    const Status status = lists_.read_busy(gpu.device, added.last_seen_us, busy);
    if (status == Status::kSuccess) {
      added.busy = table.add("run.gpu.busy", source);
    } else {
      table.unavailable(
          "run.gpu.busy", source,
          std::string(nvml_->words(status)) + (gpu.mig ? "; the device is in MIG mode" : ""));
    }
  }

  void sample_fast(Row&) override {}
  void sample_slow(Row& row) override {
    for (Gpu& gpu : gpus_) sample(gpu, row);
  }

 private:
  struct Gpu {
    std::string source;
    Device device;
    std::vector<Device> listed;  // devices whose processes are requested
    Column processes, memory, busy = kNoColumn;
    unsigned long long last_seen_us = 0;
    bool used = false;      // by the run, now or before
    bool seen = false;      // samples of its use were seen
    bool reported = false;  // that there are none
    bool reported_pause = false;
    bool over = false;  // the device answers no more
  };

  void sample(Gpu& gpu, Row& row) {
    if (gpu.over) return;
    Use use;
    if (!accept(gpu, lists_.read_use(gpu.listed, use))) return;
    gpu.used = gpu.used || use.processes > 0;
    // A device that the run never touched has no values of the run.
    if (!gpu.used) return;
    row.set(gpu.processes, use.processes);
    if (use.bytes_known) row.set(gpu.memory, use.bytes);
    if (gpu.busy == kNoColumn) return;
    Busy busy;
    if (lists_.read_busy(gpu.device, gpu.last_seen_us, busy) != Status::kSuccess) return;
    gpu.seen = gpu.seen || busy.seen;
    if (gpu.seen || !use.by_mps) return row.set(gpu.busy, busy.share);
    // A GPU without any sample is unknown, not idle.
    if (!std::exchange(gpu.reported, true))
      tell(news_, gpu.source, "no run.gpu.busy: the driver has no samples of MPS clients");
  }

  bool accept(Gpu& gpu, Status status) const {
    if (status == Status::kSuccess) return true;
    gpu.over = ends_the_device(status);
    if (std::exchange(gpu.reported_pause, true) && !gpu.over) return false;
    tell(news_, gpu.source, "{}: {}",
         gpu.over ? "run.gpu.* end here" : "no values of run.gpu.* for now", nvml_->words(status));
    return false;
  }

  std::shared_ptr<const Nvml> nvml_;
  std::shared_ptr<News> news_;
  ProcessLists lists_;
  std::vector<Gpu> gpus_;
};

}  // namespace

std::unique_ptr<Listener> open_process_listener(const ListenerContext& context, SeriesTable& table,
                                                const Clocks& clocks) {
  if (context.run_pid == 0) {
    table.unavailable("run.gpu.*", "there is no run");
    return nullptr;
  }
  auto nvml = Nvml::open(context.library_path);
  if (!nvml) {
    table.unavailable("run.gpu.*", nvml.error().message);
    return nullptr;
  }
  RunProcesses own(
      {.root = context.root, .run_pid = context.run_pid, .supervisor_pid = context.supervisor_pid});
  if (const std::string obstacle = own.obstacle(); !obstacle.empty()) {
    table.unavailable("run.gpu.*", obstacle);
    return nullptr;
  }
  SeriesTable unreachable;  // reported by listener "nvidia"
  const auto gpus = find_gpus(**nvml, context.device_uuids, unreachable);
  auto listener =
      std::make_unique<ProcessListener>(std::move(*nvml), std::move(own), clocks, context.news);
  for (const FoundGpu& gpu : gpus) listener->open(gpu, table);
  if (gpus.empty()) return nullptr;
  return listener;
}

}  // namespace nvidia

std::unique_ptr<Listener> open_nvidia_process_listener(const ListenerContext& context,
                                                       SeriesTable& table) {
  return nvidia::open_process_listener(context, table, nvidia::clocks_on(sys::system_clock()));
}

}  // namespace corral::collect
