#include "collect/nvidia/queries.h"

#include <cmath>
#include <limits>

namespace corral::collect::nvidia {
namespace {

constexpr double kPercent = 0.01;
constexpr double kMega = 1e6;
constexpr double kMilli = 1e-3;

Status read_utilization(const Nvml& nvml, Device device, Answers& answers) {
  Utilization u{};
  const Status status = nvml.call().utilization(device, &u);
  if (status == Status::kSuccess)
    answers = {static_cast<double>(u.gpu), static_cast<double>(u.memory)};
  return status;
}

// Without v2, used includes the memory that the driver reserves. A unified memory is reported as 0
// bytes, or as not available.
Status read_memory(const Nvml& nvml, Device device, MemoryV2& memory, bool& has_reserved) {
  memory = {.version = kMemoryV2Version, .total = 0, .reserved = 0, .free = 0, .used = 0};
  Status status = nvml.call().memory_v2(device, &memory);
  has_reserved = status == Status::kSuccess;
  if (status == Status::kFunctionNotFound || status == Status::kVersionMismatch) {
    MemoryV1 old{};
    status = nvml.call().memory_v1(device, &old);
    memory = {.version = 0, .total = old.total, .reserved = 0, .free = old.free, .used = old.used};
  }
  const bool known = memory.total != 0 && memory.total != kMemoryNotAvailable &&
                     memory.used != kMemoryNotAvailable && memory.free != kMemoryNotAvailable;
  return status == Status::kSuccess && !known ? Status::kNotSupported : status;
}

Status read_memory_use(const Nvml& nvml, Device device, Answers& answers) {
  MemoryV2 memory{};
  bool has_reserved = false;
  const Status status = read_memory(nvml, device, memory, has_reserved);
  if (status == Status::kSuccess) {
    answers = {static_cast<double>(memory.used), static_cast<double>(memory.free), std::nan("")};
  }
  return status;
}

Status read_memory_sizes(const Nvml& nvml, Device device, Answers& answers) {
  MemoryV2 memory{};
  bool has_reserved = false;
  const Status status = read_memory(nvml, device, memory, has_reserved);
  if (status != Status::kSuccess) return status;
  answers[0] = static_cast<double>(memory.total);
  if (has_reserved) answers[1] = static_cast<double>(memory.reserved);
  return status;
}

Status read_instance_memory(const Nvml& nvml, Device device, Answers& answers) {
  MemoryV2 memory{};
  bool has_reserved = false;
  const Status status = read_memory(nvml, device, memory, has_reserved);
  if (status == Status::kSuccess) {
    answers = {static_cast<double>(memory.used), static_cast<double>(memory.free),
               static_cast<double>(memory.total)};
  }
  return status;
}

// The number that a function writes behind these arguments.
template <auto kFunction, class Number = unsigned, auto... kArguments>
Status read_number(const Nvml& nvml, Device device, Answers& answers) {
  Number number{};
  const Status status = (nvml.call().*kFunction)(device, kArguments..., &number);
  if (status == Status::kSuccess) answers[0] = static_cast<double>(number);
  return status;
}

Status read_performance_state(const Nvml& nvml, Device device, Answers& answers) {
  constexpr double kUnknownState = 32;
  const Status status = read_number<&NvmlFunctions::performance_state>(nvml, device, answers);
  return status == Status::kSuccess && answers[0] == kUnknownState ? Status::kNoData : status;
}

template <auto kFunction>
Status read_codec(const Nvml& nvml, Device device, Answers& answers) {
  unsigned percent = 0;
  unsigned period_us = 0;
  const Status status = (nvml.call().*kFunction)(device, &percent, &period_us);
  if (status == Status::kSuccess) answers[0] = percent;
  return status;
}

// The SM clock first: the activity of the SMs is per cycle, so it means little without it.
constexpr auto kFast = std::to_array<Query>({
    {Call::kSmClock,
     {"host.gpu.clock.sm"},
     read_number<&NvmlFunctions::clock, unsigned, Clock::kSm>,
     kMega},
    {Call::kMemoryClock,
     {"host.gpu.clock.memory"},
     read_number<&NvmlFunctions::clock, unsigned, Clock::kMemory>,
     kMega},
    {Call::kUtilization, {"host.gpu.busy", "host.gpu.memory.busy"}, read_utilization, kPercent},
    {Call::kMemory, {"host.gpu.memory.used", "host.gpu.memory.free"}, read_memory_use},
    {Call::kThrottleReasons,
     {"host.gpu.throttle.reasons"},
     read_number<&NvmlFunctions::throttle_reasons, unsigned long long>},
    // Not among the fields: it is many times as dear as they are.
    {Call::kEnergy,
     {"host.gpu.energy"},
     read_number<&NvmlFunctions::energy, unsigned long long>,
     kMilli},
});
constexpr auto kSlow = std::to_array<Query>({
    {Call::kMemorySizes, {"host.gpu.memory.total", "host.gpu.memory.reserved"}, read_memory_sizes},
    {Call::kTemperature,
     {"host.gpu.temperature"},
     read_number<&NvmlFunctions::temperature, unsigned, Sensor::kGpu>},
    {Call::kPerformanceState, {"host.gpu.performance_state"}, read_performance_state},
    {Call::kEncoder, {"host.gpu.encoder.busy"}, read_codec<&NvmlFunctions::encoder>, kPercent},
    {Call::kDecoder, {"host.gpu.decoder.busy"}, read_codec<&NvmlFunctions::decoder>, kPercent},
});
constexpr auto kPower = std::to_array<Query>({
    {Call::kPower, {"host.gpu.power"}, read_number<&NvmlFunctions::power>, kMilli},
});
constexpr auto kInstance = std::to_array<Query>({
    {Call::kInstanceMemory,
     {"host.gpu.mig.memory.used", "host.gpu.mig.memory.free", "host.gpu.mig.memory.total"},
     read_instance_memory},
});

constexpr Answers nothing() {
  Answers answers{};
  answers.fill(std::numeric_limits<double>::quiet_NaN());
  return answers;
}

}  // namespace

std::span<const Query> fast_queries() { return kFast; }
std::span<const Query> slow_queries() { return kSlow; }
std::span<const Query> power_queries() { return kPower; }
std::span<const Query> instance_queries() { return kInstance; }

Status QueryList::read(const Query& query, CallMeter& meter, Answers& answers) {
  answers = nothing();
  const Status status =
      meter.measure(query.call, [&] { return query.read(*nvml_, device_, answers); });
  for (double& answer : answers) answer *= query.scale;
  return status;
}

void QueryList::open(std::span<const Query> queries, CallMeter& meter, const Subject& subject,
                     SeriesTable& table) {
  for (const Query& query : queries) {
    Answers answers{};
    const Status status = read(query, meter, answers);
    Active active{
        .query = &query, .columns = {kNoColumn, kNoColumn, kNoColumn}, .latest = std::nan("")};
    for (std::size_t i = 0; i < kAnswers && !query.metrics[i].empty(); ++i) {
      const std::string_view metric = query.metrics[i];
      if (status == Status::kSuccess && !std::isnan(answers[i])) {
        active.columns[i] = table.add(metric, subject.source);
        continue;
      }
      const Status why = status == Status::kSuccess ? Status::kFunctionNotFound : status;
      table.unavailable(metric, subject.source,
                        std::string(nvml_->words(why)).append(subject.remark));
    }
    if (status == Status::kSuccess) active_.push_back(active);
  }
}

void QueryList::sample(CallMeter& meter, DeviceHealth& health, Row& row) {
  for (Active& active : active_) {
    if (health.lost()) return;
    if (!meter.due(active.query->call)) continue;
    Answers answers{};
    active.latest = std::nan("");
    if (!health.accept(active.query->call, read(*active.query, meter, answers))) continue;
    active.latest = answers.front();
    for (std::size_t i = 0; i < kAnswers; ++i) {
      if (!std::isnan(answers[i])) row.set(active.columns[i], answers[i]);
    }
  }
}

double QueryList::latest(std::string_view metric) const {
  for (const Active& active : active_) {
    if (active.query->metrics.front() == metric) return active.latest;
  }
  return std::nan("");
}

}  // namespace corral::collect::nvidia
