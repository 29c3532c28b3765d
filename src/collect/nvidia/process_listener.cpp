#include "collect/nvidia/process_listener.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "collect/nvidia/gpu_reader.h"
#include "collect/nvidia/nvml.h"
#include "collect/nvidia/run_processes.h"

namespace corral::collect {
namespace nvidia {
namespace {

// More processes or samples than that on one device are not followed.
constexpr unsigned kMostProcesses = 1024;
constexpr unsigned kMostSamples = 4096;

struct Use {
  std::uint64_t processes = 0;
  std::uint64_t bytes = 0;
  bool bytes_known = true;
};

// One device's lists, in buffers that all devices share.
class ProcessLists {
 public:
  ProcessLists(const Nvml& nvml, RunProcesses own)
      : nvml_(&nvml),
        own_(std::move(own)),
        list_(kMostProcesses),
        old_list_(kMostProcesses),
        samples_(kMostSamples) {}

  Status use_of(Device device, Use& use);
  // The share of the SMs' time: per process the mean of its samples since `last_seen_us`, summed.
  Status busy_of(Device device, unsigned long long& last_seen_us, double& share);

 private:
  Status add_list(Device device, Use& use);
  Status add_old_list(Device device, Use& use);
  void add(std::uint32_t pid, std::uint64_t bytes, Use& use) const;

  const Nvml* nvml_;
  RunProcesses own_;
  std::vector<ProcessV2> list_;
  std::vector<ProcessV1> old_list_;
  std::vector<ProcessUtilization> samples_;
};

void ProcessLists::add(std::uint32_t pid, std::uint64_t bytes, Use& use) const {
  if (!own_.holds(static_cast<pid_t>(pid))) return;
  ++use.processes;
  if (bytes == kMemoryNotAvailable) {
    use.bytes_known = false;
  } else {
    use.bytes += bytes;
  }
}

Status ProcessLists::use_of(Device device, Use& use) {
  const Status status = add_list(device, use);
  return status == Status::kFunctionNotFound ? add_old_list(device, use) : status;
}

Status ProcessLists::add_list(Device device, Use& use) {
  unsigned count = kMostProcesses;
  Status status = nvml_->call().processes(device, &count, list_.data());
  if (status != Status::kSuccess) return status;
  const auto compute = std::span(list_).first(std::min(count, kMostProcesses));
  for (const ProcessV2& process : compute) add(process.pid, process.memory, use);
  // Clients of an MPS server are in a list of their own.
  count = kMostProcesses;
  status = nvml_->call().mps_processes(device, &count, list_.data());
  if (status != Status::kSuccess) return Status::kSuccess;
  const auto clients = std::span(list_).first(std::min(count, kMostProcesses));
  for (const ProcessV2& process : clients) add(process.pid, process.memory, use);
  return Status::kSuccess;
}

Status ProcessLists::add_old_list(Device device, Use& use) {
  unsigned count = kMostProcesses;
  const Status status = nvml_->call().processes_v1(device, &count, old_list_.data());
  if (status != Status::kSuccess) return status;
  const auto compute = std::span(old_list_).first(std::min(count, kMostProcesses));
  for (const ProcessV1& process : compute) add(process.pid, process.memory, use);
  return status;
}

Status ProcessLists::busy_of(Device device, unsigned long long& last_seen_us, double& share) {
  unsigned count = kMostSamples;
  const Status status =
      nvml_->call().process_utilization(device, samples_.data(), &count, last_seen_us);
  share = 0;
  if (status == Status::kNotFound) return Status::kSuccess;  // nobody used it since
  if (status != Status::kSuccess) return status;
  const auto samples = std::span(samples_).first(std::min(count, kMostSamples));
  std::ranges::sort(samples, {}, &ProcessUtilization::pid);
  for (std::size_t at = 0; at < samples.size();) {
    const std::uint32_t pid = samples[at].pid;
    double percent = 0;
    std::size_t of_pid = 0;
    for (; at < samples.size() && samples[at].pid == pid; ++at, ++of_pid) {
      percent += samples[at].sm;
      last_seen_us = std::max<unsigned long long>(last_seen_us, samples[at].timestamp_us);
    }
    if (own_.holds(static_cast<pid_t>(pid))) share += percent / static_cast<double>(of_pid) * 0.01;
  }
  return Status::kSuccess;
}

class ProcessListener final : public Listener {
 public:
  ProcessListener(std::shared_ptr<const Nvml> nvml, RunProcesses own, std::shared_ptr<News> news)
      : nvml_(std::move(nvml)), news_(std::move(news)), lists_(*nvml_, std::move(own)) {}

  void open(const FoundGpu& gpu, SeriesTable& table);
  void sample_fast(Row&) override {}
  void sample_slow(Row& row) override {
    for (Gpu& gpu : gpus_) sample(gpu, row);
  }

 private:
  struct Gpu {
    std::string source;
    Device device;
    Column processes, memory, busy = kNoColumn;
    unsigned long long last_seen_us = 0;
    bool used = false;  // by the run, now or before
    bool over = false;  // the device answers no more
  };
  void sample(Gpu& gpu, Row& row);
  bool accept(Gpu& gpu, Status status) const;

  std::shared_ptr<const Nvml> nvml_;
  std::shared_ptr<News> news_;
  ProcessLists lists_;
  std::vector<Gpu> gpus_;
};

void ProcessListener::open(const FoundGpu& gpu, SeriesTable& table) {
  const std::string source = gpu_source(gpu.index);
  Use use;
  if (const Status status = lists_.use_of(gpu.device, use); status != Status::kSuccess) {
    table.unavailable("run.gpu.* of " + source, std::string(nvml_->words(status)));
    return;
  }
  Gpu& added = gpus_.emplace_back(Gpu{.source = source,
                                      .device = gpu.device,
                                      .processes = table.add("run.gpu.processes", source),
                                      .memory = table.add("run.gpu.memory.used", source)});
  double share = 0;
  const Status status = lists_.busy_of(gpu.device, added.last_seen_us, share);
  if (status == Status::kSuccess) {
    added.busy = table.add("run.gpu.busy", source);
  } else {
    table.unavailable(
        "run.gpu.busy of " + source,
        std::string(nvml_->words(status)) + (gpu.mig ? "; the device is in MIG mode" : ""));
  }
}

bool ProcessListener::accept(Gpu& gpu, Status status) const {
  if (status == Status::kSuccess) return true;
  if (!std::exchange(gpu.over, true) && news_ != nullptr) {
    news_->tell("run.gpu.*", nvml_->words(status));
  }
  return false;
}

void ProcessListener::sample(Gpu& gpu, Row& row) {
  if (gpu.over) return;
  Use use;
  if (!accept(gpu, lists_.use_of(gpu.device, use))) return;
  gpu.used = gpu.used || use.processes > 0;
  // A device that the run never touched has no values of the run.
  if (!gpu.used) return;
  row.set(gpu.processes, use.processes);
  if (use.bytes_known) row.set(gpu.memory, use.bytes);
  if (gpu.busy == kNoColumn) return;
  double share = 0;
  if (lists_.busy_of(gpu.device, gpu.last_seen_us, share) == Status::kSuccess) {
    row.set(gpu.busy, share);
  }
}

}  // namespace
}  // namespace nvidia

std::unique_ptr<Listener> open_nvidia_process_listener(const ListenerContext& context,
                                                       SeriesTable& table) {
  if (context.run_pid == 0) {
    table.unavailable("run.gpu.*", "there is no run");
    return nullptr;
  }
  auto nvml = nvidia::Nvml::open(context.library_path);
  if (!nvml) {
    table.unavailable("run.gpu.*", nvml.error().message);
    return nullptr;
  }
  nvidia::RunProcesses own(
      {.root = context.root, .run_pid = context.run_pid, .supervisor_pid = context.supervisor_pid});
  if (const std::string obstacle = own.obstacle(); !obstacle.empty()) {
    table.unavailable("run.gpu.*", obstacle);
    return nullptr;
  }
  SeriesTable unreachable;  // listener "nvidia" tells it
  const auto gpus = nvidia::find_gpus(**nvml, context.device_uuids, unreachable);
  auto listener =
      std::make_unique<nvidia::ProcessListener>(std::move(*nvml), std::move(own), context.news);
  for (const nvidia::FoundGpu& gpu : gpus) listener->open(gpu, table);
  if (gpus.empty()) return nullptr;
  return listener;
}

}  // namespace corral::collect
