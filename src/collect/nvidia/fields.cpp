#include "collect/nvidia/fields.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace corral::collect::nvidia {
namespace {

constexpr double kMilli = 1e-3;
constexpr double kNano = 1e-9;
constexpr double kKib = 1024;
constexpr std::uint32_t kModule = 1;  // scope of power: the whole module, where the GPU has no own

constexpr auto kFast = std::to_array<Field>({
    {"host.gpu.energy", {{{83, 0, kMilli}}}},
    {"host.gpu.power", {{{185, 0, kMilli}, {185, kModule, kMilli}}}},
    {"host.gpu.power.instant", {{{186, 0, kMilli}, {186, kModule, kMilli}}}},
    {"host.gpu.pcie.tx", {{{197}}}},
    {"host.gpu.pcie.rx", {{{198}}}},
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
  value.status = Status::kUnknown;  // of a driver that leaves it untouched
  return value;
}

}  // namespace

double number_of(ValueType type, std::span<const std::byte, 8> value) {
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
  for (const Field& field : fields) {
    Status first = Status::kSuccess;
    const auto taken = std::ranges::find_if(field.numbers, [&](const Field::Number& number) {
      if (number.field == 0) return false;
      const Status status = probe(meter, number);
      if (first == Status::kSuccess) first = status;
      return status == Status::kSuccess;
    });
    if (taken == field.numbers.end()) {
      refused.push_back({.metric = field.metric, .status = first});
      continue;
    }
    outputs_.push_back({.metric = field.metric,
                        .number = *taken,
                        .column = table.add(field.metric, source),
                        .latest = std::nan("")});
  }
  values_.resize(outputs_.size());
  return refused;
}

Status FieldBatch::probe(CallMeter& meter, const Field::Number& number) {
  FieldValue value = question(number);
  const Status status =
      meter.measure(call_, [&] { return nvml_->call().fields(device_, 1, &value); });
  if (status != Status::kSuccess) return status;
  if (value.status == Status::kSuccess && std::isnan(number_of(value.type, value.value)))
    return Status::kNoData;
  return value.status;
}

Status FieldBatch::ask(CallMeter& meter) {
  std::ranges::transform(outputs_, values_.begin(),
                         [](const Output& output) { return question(output.number); });
  return meter.measure(call_, [&] {
    return nvml_->call().fields(device_, static_cast<int>(values_.size()), values_.data());
  });
}

void FieldBatch::sample(CallMeter& meter, DeviceHealth& health, Row& row) {
  if (outputs_.empty() || health.lost() || !meter.due(call_)) return;
  for (Output& output : outputs_) output.latest = std::nan("");
  if (!health.accept(call_, ask(meter))) return;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!health.accept(call_, values_[i].status)) continue;
    const double number = number_of(values_[i].type, values_[i].value);
    if (std::isnan(number)) continue;
    outputs_[i].latest = number * outputs_[i].number.scale;
    row.set(outputs_[i].column, outputs_[i].latest);
  }
}

double FieldBatch::latest(std::string_view metric) const {
  const auto at = std::ranges::find(outputs_, metric, &Output::metric);
  return at == outputs_.end() ? std::nan("") : at->latest;
}

}  // namespace corral::collect::nvidia
