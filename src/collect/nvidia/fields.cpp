#include "collect/nvidia/fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace corral::collect::nvidia {
namespace {

constexpr double kModulus = 4294967296.0;

constexpr double kMilli = 1e-3;
constexpr double kNano = 1e-9;
constexpr double kKib = 1024;
constexpr std::string_view kPower = "host.gpu.power";
// Scope of power: the whole module, CPU and GPU, where the GPU has none of its own.
constexpr std::uint32_t kModule = 1;

constexpr auto kFast = std::to_array<Field>({
    {kPower, {{{185, 0, kMilli}, {185, kModule, kMilli}}}},
    {"host.gpu.power.instant", {{{186, 0, kMilli}, {186, kModule, kMilli}}}},
    {"host.gpu.pcie.tx", {{{197}}}, true},
    {"host.gpu.pcie.rx", {{{198}}}, true},
    {"host.gpu.nvlink.tx", {{{202, kAllLinks}, {138, kAllLinks, kKib}}}},
    {"host.gpu.nvlink.rx", {{{204, kAllLinks}, {139, kAllLinks, kKib}}}},
});
constexpr auto kSlow = std::to_array<Field>({
    {"host.gpu.power.limit", {{{190, 0, kMilli}}}},
    {"host.gpu.memory.temperature", {{{82}}}},
    {"host.gpu.throttle.power", {{{74, 0, kNano}}}},
    {"host.gpu.throttle.thermal", {{{75, 0, kNano}}}},
    {"host.gpu.throttle.sync_boost", {{{76, 0, kNano}}}},
    {"host.gpu.throttle.board_limit", {{{77, 0, kNano}}}},
    {"host.gpu.throttle.low_utilization", {{{78, 0, kNano}}}},
    {"host.gpu.throttle.reliability", {{{79, 0, kNano}}}},
    {"host.gpu.throttle.application_clocks", {{{80, 0, kNano}}}},
    {"host.gpu.throttle.base_clocks", {{{81, 0, kNano}}}},
    {"host.gpu.throttle.software_thermal", {{{269, 0, kNano}}}},
    {"host.gpu.throttle.hardware_thermal", {{{270, 0, kNano}}}},
    {"host.gpu.throttle.power_brake", {{{271, 0, kNano}}}},
    {"host.gpu.ecc.corrected", {{{3}}}},
    {"host.gpu.ecc.uncorrected", {{{4}}}},
    {"host.gpu.pcie.replays", {{{94}}}},
});

template <class T>
double as(std::span<const std::byte, 8> value) {
  T number;
  std::memcpy(&number, value.data(), sizeof number);
  return static_cast<double>(number);
}

FieldValue question(const Field::Number& number) {
  FieldValue value{};
  value.field = number.field;
  value.scope = number.scope;
  value.status = Status::kUnknown;  // for a driver that leaves it untouched
  return value;
}

// Bytes per second of a PCIe lane and direction, by generation.
constexpr std::array<double, 6> kLane{250e6, 500e6, 985e6, 1969e6, 3938e6, 7563e6};

std::string too_fast(std::string_view metric, Nanos wrap, Nanos tick) {
  return fmt::format(
      "the driver's counter has 32 bits and wraps every {:.0f} ms at the link's full rate, and it "
      "is "
      "read every {:.0f} ms; {}_rate (GPM, DCGM) has the traffic where the device gives it",
      seconds(wrap) * 1e3, seconds(tick) * 1e3, metric);
}

}  // namespace

std::optional<double> pcie_bytes_per_second(const Nvml& nvml, Device device) {
  unsigned generation = 0, width = 0;
  if (nvml.call().link_generation(device, &generation) != Status::kSuccess ||
      nvml.call().link_width(device, &width) != Status::kSuccess)
    return std::nullopt;
  if (generation == 0 || generation > kLane.size() || width == 0) return std::nullopt;
  return kLane[generation - 1] * width;
}

Nanos PcieCounter::shortest_wrap(const Nvml& nvml, Device device) {
  unsigned generation = 0;
  unsigned width = 0;
  if (nvml.call().link_generation(device, &generation) != Status::kSuccess || generation == 0)
    generation = kLane.size();
  if (nvml.call().link_width(device, &width) != Status::kSuccess || width == 0) width = 16;
  const double rate = kLane[std::min<std::size_t>(generation, kLane.size()) - 1] * width;
  return Nanos(static_cast<std::int64_t>(kModulus / rate * 1e9));
}

bool PcieCounter::is_narrow(ValueType type) {
  return type == ValueType::kUint32 || type == ValueType::kInt32 || type == ValueType::kUint16;
}

PcieCounter::Outcome PcieCounter::add(BootTime now, double raw) {
  if (wraps_) return Outcome::kWraps;
  const bool first = !std::exchange(begun_, true);
  const Nanos passed = now - std::exchange(last_time_, now);
  const double grown = raw - std::exchange(last_, raw);
  if (!narrow_) {
    // A fall from beyond 32 bits is a reset.
    wraps_ = !first && grown < 0 && raw - grown < kModulus;
    total_ = raw;
    return wraps_ ? Outcome::kWraps : Outcome::kCounted;
  }
  if (first) {
    total_ = raw;
  } else if (passed >= shortest_wrap_) {
    total_ = 0;
    return Outcome::kTooLate;
  } else {
    total_ += grown < 0 ? grown + kModulus : grown;
  }
  return Outcome::kCounted;
}

double read_number(ValueType type, std::span<const std::byte, 8> value) {
  switch (type) {
    case ValueType::kDouble:
      return as<double>(value);
    case ValueType::kUint32:
      return as<std::uint32_t>(value);
    case ValueType::kUnsignedLong:
      return as<unsigned long>(value);
    case ValueType::kUint64:
      return as<std::uint64_t>(value);
    case ValueType::kInt64:
      return as<std::int64_t>(value);
    case ValueType::kInt32:
      return as<std::int32_t>(value);
    case ValueType::kUint16:
      return as<std::uint16_t>(value);
  }
  return std::nan("");
}

std::span<const Field> fast_fields() { return kFast; }
std::span<const Field> slow_fields() { return kSlow; }

std::vector<FieldBatch::Refused> FieldBatch::open(std::span<const Field> fields, CallMeter& meter,
                                                  const std::string& source, SeriesTable& table) {
  std::vector<Refused> refused;
  const Nanos wrap = PcieCounter::shortest_wrap(*nvml_, device_);
  for (const Field& field : fields) {
    FieldValue value{};
    const Status status = probe(field, meter, value);
    const bool narrow = field.pcie_bytes && PcieCounter::is_narrow(value.type);
    if (status != Status::kSuccess) {
      refused.push_back({.metric = field.metric, .why = std::string(nvml_->words(status))});
      continue;
    }
    if (narrow && tick_ >= wrap) {
      refused.push_back({.metric = field.metric, .why = too_fast(field.metric, wrap, tick_)});
      continue;
    }
    Output output{.metric = field.metric,
                  .number = *std::ranges::find_if(field.numbers,
                                                  [&](const Field::Number& number) {
                                                    return number.field == value.field &&
                                                           number.scope == value.scope;
                                                  }),
                  .column = table.add(field.metric, source),
                  .latest = std::nan(""),
                  .counter = {}};
    if (field.pcie_bytes) output.counter.emplace(narrow, wrap);
    if (field.metric == kPower && value.scope == kModule)
      table.describe(source + ".power_scope", "module: CPU and GPU together");
    outputs_.push_back(output);
  }
  values_.resize(outputs_.size());
  return refused;
}

Status FieldBatch::probe(const Field& field, CallMeter& meter, FieldValue& value) {
  Status first = Status::kSuccess;
  for (const Field::Number& number : field.numbers) {
    if (number.field == 0) continue;
    value = question(number);
    Status status = meter.measure(call_, [&] { return nvml_->call().fields(device_, 1, &value); });
    if (status == Status::kSuccess) status = value.status;
    if (status == Status::kSuccess && std::isnan(read_number(value.type, value.value)))
      status = Status::kNoData;
    if (status == Status::kSuccess) return status;
    if (first == Status::kSuccess) first = status;
  }
  return first;
}

Status FieldBatch::read(CallMeter& meter) {
  std::ranges::transform(outputs_, values_.begin(),
                         [](const Output& output) { return question(output.number); });
  return meter.measure(call_, [&] {
    return nvml_->call().fields(device_, static_cast<int>(values_.size()), values_.data());
  });
}

void FieldBatch::sample(CallMeter& meter, DeviceHealth& health, Row& row) {
  if (outputs_.empty() || health.lost() || !meter.due(call_)) return;
  for (Output& output : outputs_) output.latest = std::nan("");
  if (!health.accept(call_, read(meter))) return;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!health.accept(call_, values_[i].status)) continue;
    const double number = take(outputs_[i], values_[i], meter.now(), health);
    if (std::isnan(number)) continue;
    outputs_[i].latest = number * outputs_[i].number.scale;
    row.set(outputs_[i].column, outputs_[i].latest);
  }
}

double FieldBatch::take(Output& output, const FieldValue& value, BootTime now,
                        DeviceHealth& health) {
  const double number = read_number(value.type, value.value);
  if (!output.counter || std::isnan(number)) return number;
  switch (output.counter->add(now, number)) {
    case PcieCounter::Outcome::kCounted:
      return output.counter->total();
    case PcieCounter::Outcome::kTooLate:
      if (!std::exchange(reported_late_, true))
        health.tell("host.gpu.pcie.tx and rx: read too late, the counter may have wrapped twice");
      break;
    case PcieCounter::Outcome::kWraps:
      if (std::exchange(output.column, kNoColumn) == kNoColumn) break;
      health.tell("{}: the driver's counter wraps at 32 bits; its values end here", output.metric);
  }
  return std::nan("");
}

double FieldBatch::latest(std::string_view metric) const {
  const auto at = std::ranges::find(outputs_, metric, &Output::metric);
  return at == outputs_.end() ? std::nan("") : at->latest;
}

}  // namespace corral::collect::nvidia
