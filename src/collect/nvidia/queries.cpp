#include "collect/nvidia/queries.h"

#include <cmath>
#include <limits>

namespace corral::collect::nvidia {
namespace {

constexpr double kPercent = 0.01;
constexpr double kMega = 1e6;
constexpr double kMilli = 1e-3;

Status ask_utilization(const Nvml& nvml, Device device, Answers& answers) {
  Utilization u{};
  const Status status = nvml.call().utilization(device, &u);
  if (status == Status::kSuccess) answers = {u.gpu * kPercent, u.memory * kPercent};
  return status;
}

// Without v2, used includes the memory that the driver reserves. A unified memory is reported as 0
// bytes, or as not available.
Status ask_memory(const Nvml& nvml, Device device, MemoryV2& memory, bool& has_reserved) {
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

Status ask_memory_use(const Nvml& nvml, Device device, Answers& answers) {
  MemoryV2 memory{};
  bool has_reserved = false;
  const Status status = ask_memory(nvml, device, memory, has_reserved);
  if (status == Status::kSuccess) {
    answers = {static_cast<double>(memory.used), static_cast<double>(memory.free), std::nan("")};
  }
  return status;
}

Status ask_memory_sizes(const Nvml& nvml, Device device, Answers& answers) {
  MemoryV2 memory{};
  bool has_reserved = false;
  const Status status = ask_memory(nvml, device, memory, has_reserved);
  if (status != Status::kSuccess) return status;
  answers[0] = static_cast<double>(memory.total);
  if (has_reserved) answers[1] = static_cast<double>(memory.reserved);
  return status;
}

Status ask_instance_memory(const Nvml& nvml, Device device, Answers& answers) {
  MemoryV2 memory{};
  bool has_reserved = false;
  const Status status = ask_memory(nvml, device, memory, has_reserved);
  if (status == Status::kSuccess) {
    answers = {static_cast<double>(memory.used), static_cast<double>(memory.free),
               static_cast<double>(memory.total)};
  }
  return status;
}

// `ask` writes a number to the given address.
template <class Number = unsigned, class Ask>
Status ask_number(double scale, Answers& answers, Ask ask) {
  Number number{};
  const Status status = ask(&number);
  if (status == Status::kSuccess) answers[0] = static_cast<double>(number) * scale;
  return status;
}

template <Clock kClock>
Status ask_clock(const Nvml& nvml, Device device, Answers& answers) {
  return ask_number(kMega, answers,
                    [&](unsigned* mhz) { return nvml.call().clock(device, kClock, mhz); });
}

Status ask_throttle_reasons(const Nvml& nvml, Device device, Answers& answers) {
  return ask_number<unsigned long long>(1, answers, [&](unsigned long long* bits) {
    return nvml.call().throttle_reasons(device, bits);
  });
}

Status ask_temperature(const Nvml& nvml, Device device, Answers& answers) {
  return ask_number(1, answers, [&](unsigned* degrees) {
    return nvml.call().temperature(device, Sensor::kGpu, degrees);
  });
}

Status ask_performance_state(const Nvml& nvml, Device device, Answers& answers) {
  constexpr unsigned kUnknownState = 32;
  return ask_number(1, answers, [&](unsigned* state) {
    const Status status = nvml.call().performance_state(device, state);
    return status == Status::kSuccess && *state == kUnknownState ? Status::kNoData : status;
  });
}

Status ask_encoder(const Nvml& nvml, Device device, Answers& answers) {
  unsigned period_us = 0;
  return ask_number(kPercent, answers, [&](unsigned* percent) {
    return nvml.call().encoder(device, percent, &period_us);
  });
}

Status ask_decoder(const Nvml& nvml, Device device, Answers& answers) {
  unsigned period_us = 0;
  return ask_number(kPercent, answers, [&](unsigned* percent) {
    return nvml.call().decoder(device, percent, &period_us);
  });
}

Status ask_power(const Nvml& nvml, Device device, Answers& answers) {
  return ask_number(kMilli, answers,
                    [&](unsigned* milliwatt) { return nvml.call().power(device, milliwatt); });
}

Status ask_energy(const Nvml& nvml, Device device, Answers& answers) {
  return ask_number<unsigned long long>(kMilli, answers, [&](unsigned long long* millijoule) {
    return nvml.call().energy(device, millijoule);
  });
}

// The SM clock first: the activity of the SMs is per cycle, so it means little without it.
constexpr auto kFast = std::to_array<Query>({
    {Call::kSmClock, {"host.gpu.clock.sm"}, ask_clock<Clock::kSm>},
    {Call::kMemoryClock, {"host.gpu.clock.memory"}, ask_clock<Clock::kMemory>},
    {Call::kUtilization, {"host.gpu.busy", "host.gpu.memory.busy"}, ask_utilization},
    {Call::kMemory, {"host.gpu.memory.used", "host.gpu.memory.free"}, ask_memory_use},
    {Call::kThrottleReasons, {"host.gpu.throttle.reasons"}, ask_throttle_reasons},
});
constexpr auto kSlow = std::to_array<Query>({
    {Call::kMemorySizes, {"host.gpu.memory.total", "host.gpu.memory.reserved"}, ask_memory_sizes},
    {Call::kTemperature, {"host.gpu.temperature"}, ask_temperature},
    {Call::kPerformanceState, {"host.gpu.performance_state"}, ask_performance_state},
    {Call::kEncoder, {"host.gpu.encoder.busy"}, ask_encoder},
    {Call::kDecoder, {"host.gpu.decoder.busy"}, ask_decoder},
});
constexpr auto kPower = std::to_array<Query>({
    {Call::kPower, {"host.gpu.power"}, ask_power},
    {Call::kEnergy, {"host.gpu.energy"}, ask_energy},
});
constexpr auto kInstance = std::to_array<Query>({
    {Call::kInstanceMemory,
     {"host.gpu.mig.memory.used", "host.gpu.mig.memory.free", "host.gpu.mig.memory.total"},
     ask_instance_memory},
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

Status QueryList::ask(const Query& query, CallMeter& meter, Answers& answers) {
  answers = nothing();
  return meter.measure(query.call, [&] { return query.ask(*nvml_, device_, answers); });
}

void QueryList::open(std::span<const Query> queries, CallMeter& meter, const Subject& subject,
                     SeriesTable& table) {
  for (const Query& query : queries) {
    Answers answers{};
    const Status status = ask(query, meter, answers);
    Asked asked{
        .query = &query, .columns = {kNoColumn, kNoColumn, kNoColumn}, .latest = std::nan("")};
    for (std::size_t i = 0; i < kAnswers && !query.metrics[i].empty(); ++i) {
      const std::string_view metric = query.metrics[i];
      if (status == Status::kSuccess && !std::isnan(answers[i])) {
        asked.columns[i] = table.add(metric, subject.source);
        continue;
      }
      const Status why = status == Status::kSuccess ? Status::kFunctionNotFound : status;
      table.unavailable(metric, subject.source,
                        std::string(nvml_->words(why)).append(subject.remark));
    }
    if (status == Status::kSuccess) asked_.push_back(asked);
  }
}

void QueryList::sample(CallMeter& meter, DeviceHealth& health, Row& row) {
  for (Asked& asked : asked_) {
    if (health.lost()) return;
    if (!meter.due(asked.query->call)) continue;
    Answers answers{};
    asked.latest = std::nan("");
    if (!health.accept(asked.query->call, ask(*asked.query, meter, answers))) continue;
    asked.latest = answers.front();
    for (std::size_t i = 0; i < kAnswers; ++i) {
      if (!std::isnan(answers[i])) row.set(asked.columns[i], answers[i]);
    }
  }
}

double QueryList::latest(std::string_view metric) const {
  for (const Asked& asked : asked_) {
    if (asked.query->metrics.front() == metric) return asked.latest;
  }
  return std::nan("");
}

}  // namespace corral::collect::nvidia
