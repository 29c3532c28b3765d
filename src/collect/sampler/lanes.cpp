#include "collect/sampler/lanes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "collect/sampler/listeners.h"

namespace corral::collect {
namespace {

constexpr std::size_t kDeviceRingRows = 128;

SamplerOptions device_options(const SamplerOptions& shared, const ListenerEntry* entry) {
  SamplerOptions options;
  options.entries = {entry};
  options.interval = shared.interval;
  options.slow_interval = shared.slow_interval;
  options.root = shared.root;
  options.run_pid = shared.run_pid;
  options.supervisor_pid = shared.supervisor_pid;
  options.device_uuids = shared.device_uuids;
  options.library_path = shared.library_path;
  options.ring_rows = kDeviceRingRows;
  options.lane = entry->name;
  options.open_late = true;
  return options;
}

}  // namespace

Result<std::unique_ptr<Lanes>> Lanes::open(SamplerOptions options) {
  for (const std::string& name : std::exchange(options.listeners, {}))
    options.entries.push_back(TRY(require_listener(name)));
  std::vector<const ListenerEntry*> devices;
  const auto is_device = [&](const ListenerEntry* entry) {
    if (entry->lane != Lane::kDevice) return false;
    if (std::ranges::find(devices, entry) == devices.end()) devices.push_back(entry);
    return true;
  };
  std::erase_if(options.entries, is_device);
  auto lanes = std::make_unique<Lanes>();
  std::vector<SamplerOptions> later;
  later.reserve(devices.size());
  for (const ListenerEntry* entry : devices) later.push_back(device_options(options, entry));
  lanes->all_.push_back(TRY(Sampler::open(std::move(options))));
  for (SamplerOptions& device : later) lanes->all_.push_back(TRY(Sampler::open(std::move(device))));
  return lanes;
}

Result<> Lanes::start() {
  TRY(host().start());
  for (const auto& sampler : std::span(all_).subspan(1)) {
    if (const auto started = sampler->start(); !started)
      problems_.push_back({.source = sampler->lane(),
                           .text = started.error().message,
                           .missing = true,
                           .state = metric::HealthState::kNotCaptured});
  }
  return {};
}

void Lanes::stop_host() {
  for (const auto& sampler : all_) sampler->ask_to_stop();
  host().stop();
}

std::vector<std::string> Lanes::stop(BootTime deadline) {
  stop_host();
  std::vector<std::string> behind;
  for (const auto& sampler : std::span(all_).subspan(1)) {
    if (!sampler->wait_stopped(deadline)) behind.push_back(sampler->lane());
  }
  left_behind_ = left_behind_ || !behind.empty();
  return behind;
}

void Lanes::set_host_sampling(bool on) {
  for (const auto& sampler : all_) sampler->set_host_sampling(on);
}

void Lanes::set_bytes_written(std::uint64_t bytes) { host().set_bytes_written(bytes); }

std::vector<Problem> Lanes::take_problems() {
  std::vector<Problem> problems = std::exchange(problems_, {});
  for (const auto& sampler : all_)
    std::ranges::move(sampler->take_problems(), std::back_inserter(problems));
  return problems;
}

Lanes::Ticks Lanes::ticks() const {
  Ticks sum;
  for (const auto& sampler : all_) {
    sum.due += sampler->ticks() + sampler->missed_ticks();
    sum.late += sampler->lateness().late() + sampler->missed_ticks();
    sum.dropped_rows += sampler->dropped_rows();
  }
  return sum;
}

void Lanes::merge_lateness(Lateness& into) const {
  for (const auto& sampler : all_) into.merge(sampler->lateness());
}

}  // namespace corral::collect
