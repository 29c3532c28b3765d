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
  if (status == Status::kSuccess) answers = {u.gpu * kPercent, u.memory * kPercent};
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

// `read` writes a number to the given address.
template <class Number = unsigned, class Read>
Status read_number(double scale, Answers& answers, Read read) {
  Number number{};
  const Status status = read(&number);
  if (status == Status::kSuccess) answers[0] = static_cast<double>(number) * scale;
  return status;
}

template <Clock kClock>
Status read_clock(const Nvml& nvml, Device device, Answers& answers) {
  return read_number(kMega, answers,
                     [&](unsigned* mhz) { return nvml.call().clock(device, kClock, mhz); });
}

Status read_throttle_reasons(const Nvml& nvml, Device device, Answers& answers) {
  return read_number<unsigned long long>(1, answers, [&](unsigned long long* bits) {
    return nvml.call().throttle_reasons(device, bits);
  });
}

Status read_temperature(const Nvml& nvml, Device device, Answers& answers) {
  return read_number(1, answers, [&](unsigned* degrees) {
    return nvml.call().temperature(device, Sensor::kGpu, degrees);
  });
}

Status read_performance_state(const Nvml& nvml, Device device, Answers& answers) {
  constexpr unsigned kUnknownState = 32;
  return read_number(1, answers, [&](unsigned* state) {
    const Status status = nvml.call().performance_state(device, state);
    return status == Status::kSuccess && *state == kUnknownState ? Status::kNoData : status;
  });
}

Status read_encoder(const Nvml& nvml, Device device, Answers& answers) {
  unsigned period_us = 0;
  return read_number(kPercent, answers, [&](unsigned* percent) {
    return nvml.call().encoder(device, percent, &period_us);
  });
}

Status read_decoder(const Nvml& nvml, Device device, Answers& answers) {
  unsigned period_us = 0;
  return read_number(kPercent, answers, [&](unsigned* percent) {
    return nvml.call().decoder(device, percent, &period_us);
  });
}

Status read_power(const Nvml& nvml, Device device, Answers& answers) {
  return read_number(kMilli, answers,
                     [&](unsigned* milliwatt) { return nvml.call().power(device, milliwatt); });
}

Status read_energy(const Nvml& nvml, Device device, Answers& answers) {
  return read_number<unsigned long long>(kMilli, answers, [&](unsigned long long* millijoule) {
    return nvml.call().energy(device, millijoule);
  });
}

// The SM clock first: the activity of the SMs is per cycle, so it means little without it.
constexpr auto kFast = std::to_array<Query>({
    {Call::kSmClock, {"host.gpu.clock.sm"}, read_clock<Clock::kSm>},
    {Call::kMemoryClock, {"host.gpu.clock.memory"}, read_clock<Clock::kMemory>},
    {Call::kUtilization, {"host.gpu.busy", "host.gpu.memory.busy"}, read_utilization},
    {Call::kMemory, {"host.gpu.memory.used", "host.gpu.memory.free"}, read_memory_use},
    {Call::kThrottleReasons, {"host.gpu.throttle.reasons"}, read_throttle_reasons},
});
constexpr auto kSlow = std::to_array<Query>({
    {Call::kMemorySizes, {"host.gpu.memory.total", "host.gpu.memory.reserved"}, read_memory_sizes},
    {Call::kTemperature, {"host.gpu.temperature"}, read_temperature},
    {Call::kPerformanceState, {"host.gpu.performance_state"}, read_performance_state},
    {Call::kEncoder, {"host.gpu.encoder.busy"}, read_encoder},
    {Call::kDecoder, {"host.gpu.decoder.busy"}, read_decoder},
});
constexpr auto kPower = std::to_array<Query>({
    {Call::kPower, {"host.gpu.power"}, read_power},
    {Call::kEnergy, {"host.gpu.energy"}, read_energy},
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
  return meter.measure(query.call, [&] { return query.read(*nvml_, device_, answers); });
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
