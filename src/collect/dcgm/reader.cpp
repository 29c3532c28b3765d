#include "collect/dcgm/reader.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace corral::collect::dcgm {
namespace {

constexpr double kPercent = 0.01;
constexpr double kMega = 1e6;
constexpr double kMilli = 1e-3;
constexpr double kMib = 1024.0 * 1024.0;
// Factor for the times that clocks were held down: NVML's own ns, even if headers of DCGM 3 and
// earlier claim otherwise.
constexpr double kNano = 1e-9;

constexpr auto kProfiling = std::to_array<Field>({
    {1001, "host.gpu.graphics.active"},
    {1002, "host.gpu.sm.active"},
    {1003, "host.gpu.sm.occupancy"},
    {1004, "host.gpu.pipe.tensor"},
    {1005, "host.gpu.dram.active"},
    {1006, "host.gpu.pipe.fp64"},
    {1007, "host.gpu.pipe.fp32"},
    {1008, "host.gpu.pipe.fp16"},
    {1009, "host.gpu.pcie.tx_rate"},
    {1010, "host.gpu.pcie.rx_rate"},
    {1011, "host.gpu.nvlink.tx_rate"},
    {1012, "host.gpu.nvlink.rx_rate"},
    {1013, "host.gpu.pipe.tensor_int8"},
    {1014, "host.gpu.pipe.tensor_fp16"},
    {1015, "host.gpu.pipe.tensor_fp64"},
    {1016, "host.gpu.pipe.integer"},
});
constexpr auto kInstance = std::to_array<Field>({
    {1001, "host.gpu.mig.graphics.active"},
    {1002, "host.gpu.mig.sm.active"},
    {1003, "host.gpu.mig.sm.occupancy"},
    {1004, "host.gpu.mig.pipe.tensor"},
    {1005, "host.gpu.mig.dram.active"},
    {1006, "host.gpu.mig.pipe.fp64"},
    {1007, "host.gpu.mig.pipe.fp32"},
    {1008, "host.gpu.mig.pipe.fp16"},
    {1016, "host.gpu.mig.pipe.integer"},
});
constexpr auto kDevice = std::to_array<Field>({
    {203, "host.gpu.busy", kPercent},
    {204, "host.gpu.memory.busy", kPercent},
    {252, "host.gpu.memory.used", kMib},
    {251, "host.gpu.memory.free", kMib},
    {155, "host.gpu.power"},
    {157, "host.gpu.power.instant"},
    {156, "host.gpu.energy", kMilli},
    {100, "host.gpu.clock.sm", kMega},
    {101, "host.gpu.clock.memory", kMega},
    {112, "host.gpu.throttle.reasons"},
});
constexpr auto kSlowDevice = std::to_array<Field>({
    {250, "host.gpu.memory.total", kMib},
    {150, "host.gpu.temperature"},
    {140, "host.gpu.memory.temperature"},
    {190, "host.gpu.performance_state"},
    {206, "host.gpu.encoder.busy", kPercent},
    {207, "host.gpu.decoder.busy", kPercent},
    {202, "host.gpu.pcie.replays"},
    {240, "host.gpu.throttle.power", kNano},
    {241, "host.gpu.throttle.thermal", kNano},
    {242, "host.gpu.throttle.sync_boost", kNano},
    {243, "host.gpu.throttle.board_limit", kNano},
    {244, "host.gpu.throttle.low_utilization", kNano},
    {245, "host.gpu.throttle.reliability", kNano},
    {246, "host.gpu.throttle.application_clocks", kNano},
    {247, "host.gpu.throttle.base_clocks", kNano},
    {1422, "host.gpu.throttle.software_thermal", kNano},  // these from DCGM 4 on
    {1423, "host.gpu.throttle.hardware_thermal", kNano},
    {1424, "host.gpu.throttle.power_brake", kNano},
});

Blank to_blank(std::int64_t code) {
  return code >= 0 && code <= 3 ? static_cast<Blank>(code) : Blank::kNoValue;
}

constexpr int kPatience = 100;  // reads without data until it is reported

bool comes_later(Status status) {
  return status == Status::kNoData || status == Status::kStaleData || status == Status::kNotWatched;
}
bool ends_the_device(Status status) {
  return status == Status::kGpuIsLost || status == Status::kResetRequired;
}

template <class T>
std::size_t index_in(std::vector<T>& list, const T& item) {
  const auto at = std::ranges::find(list, item);
  const auto index = static_cast<std::size_t>(at - list.begin());
  if (at == list.end()) list.push_back(item);
  return index;
}

}  // namespace

std::span<const Field> profiling_fields() { return kProfiling; }
std::span<const Field> instance_fields() { return kInstance; }
std::span<const Field> device_fields() { return kDevice; }
std::span<const Field> slow_device_fields() { return kSlowDevice; }

double read_number(const FieldValue& value, Blank& blank) {
  blank = Blank::kNone;
  if (value.type == 'd') {
    const double number = value.real();
    if (number < kRealBlank) return number;
    // NaN comes here, too.
    blank = number < kRealBlank + 16 ? to_blank(static_cast<std::int64_t>(number - kRealBlank))
                                     : Blank::kNoValue;
  } else if (value.type == 'i') {
    const std::int64_t number = value.integer();
    const bool narrow = number >= kNarrowBlank && number <= kNarrowBlank + 3;
    if (number < kIntegerBlank && !narrow) return static_cast<double>(number);
    blank = to_blank(number - (narrow ? kNarrowBlank : kIntegerBlank));
  } else {
    blank = Blank::kNoValue;
  }
  return std::nan("");
}

std::string_view words(Blank blank) {
  switch (blank) {
    case Blank::kNotFound:
      return "DCGM does not find it on this device";
    case Blank::kNotSupported:
      return "this device does not support it";
    case Blank::kRefused:
      return "the host engine is not permitted to read it";
    case Blank::kNone:
    case Blank::kNoValue:
      break;
  }
  return "the host engine has no value of it";
}

void Reader::prepare(SeriesTable& table) {
  for (const Requested& requested : targets_) {
    index_in(entities_, requested.what.entity);
    index_in(fields_, requested.what.field.id);
  }
  for (Requested& requested : targets_) {
    requested.at = index_in(entities_, requested.what.entity) * fields_.size() +
                   index_in(fields_, requested.what.field.id);
  }
  values_.resize(entities_.size() * fields_.size());
  if (targets_.empty()) return;
  const Status status = read();
  for (Requested& requested : targets_) {
    const std::string why =
        status == Status::kOk ? reason(requested) : std::string(dcgm_->words(status));
    const std::string_view metric = requested.what.field.metric;
    if (why.empty()) {
      requested.column = table.add(metric, requested.what.source);
    } else {
      table.unavailable(metric, requested.what.source, "DCGM: " + why);
    }
  }
  std::erase_if(targets_, [](const Requested& requested) { return requested.column == kNoColumn; });
}

std::string Reader::reason(const Requested& requested) const {
  const FieldValue* value = find_value(requested);
  if (value == nullptr || comes_later(value->status)) return {};
  if (value->status != Status::kOk) return std::string(dcgm_->words(value->status));
  Blank blank = Blank::kNone;
  const double number = read_number(*value, blank);
  // Not yet: a first window may still be open.
  if (!std::isnan(number) || blank == Blank::kNoValue) return {};
  return std::string(words(blank));
}

Status Reader::read() {
  const auto fields = static_cast<unsigned>(fields_.size());
  for (std::size_t begin = 0; begin < entities_.size(); begin += kMostEntities) {
    const std::size_t count = std::min<std::size_t>(kMostEntities, entities_.size() - begin);
    FieldValue* values = &values_[begin * fields];
    for (std::size_t i = 0; i < count * fields; ++i) {
      values[i].version = kFieldValueVersion;
      values[i].status = Status::kNoData;
    }
    const Status status =
        dcgm_->call().latest(dcgm_->handle(), &entities_[begin], static_cast<unsigned>(count),
                             fields_.data(), fields, 0, values);
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

const FieldValue* Reader::find_value(const Requested& requested) const {
  const auto is_it = [&](const FieldValue& value) {
    return value.entity == requested.what.entity && value.field == requested.what.field.id;
  };
  if (is_it(values_[requested.at])) return &values_[requested.at];
  const auto at = std::ranges::find_if(values_, is_it);
  return at == values_.end() ? nullptr : &*at;
}

void Reader::sample(Row& row) {
  if (over_ || targets_.empty()) return;
  const Status status = read();
  if (status == Status::kOk) {
    for (Requested& requested : targets_) set_value(requested, row);
    return;
  }
  if (status == Status::kConnectionNotValid) over_ = true;
  if (std::exchange(reported_, status) == status) return;
  tell(news_, "dcgm", "DCGM: {}{}", dcgm_->words(status),
       over_ ? "; its values end here" : "; no values for now");
}

void Reader::set_value(Requested& requested, Row& row) {
  if (requested.column == kNoColumn) return;
  const FieldValue* value = find_value(requested);
  if (value == nullptr || comes_later(value->status)) {
    if (++requested.missed == kPatience) report_missing(requested, "there is no data");
    return;
  }
  if (ends_the_device(value->status)) return end_device(requested, value->status);
  if (value->status != Status::kOk) return report_missing(requested, dcgm_->words(value->status));
  Blank blank = Blank::kNone;
  const double number = read_number(*value, blank);
  if (std::isnan(number)) {
    if (blank != Blank::kNoValue) return report_missing(requested, words(blank));
    if (++requested.missed == kPatience) report_missing(requested, words(blank));
    return;
  }
  requested.missed = 0;
  if (std::exchange(requested.time_us, value->time_us) == value->time_us) return;
  row.set(requested.column, number * requested.what.field.scale);
}

void Reader::report_missing(Requested& requested, std::string_view reason) {
  if (std::exchange(requested.reported, true)) return;
  tell(news_, requested.what.source, "no values of {} for now: DCGM: {}",
       requested.what.field.metric, reason);
}

void Reader::end_device(const Requested& requested, Status status) {
  tell(news_, requested.what.source, "DCGM: {}; its values end here", dcgm_->words(status));
  for (Requested& other : targets_) {
    if (other.what.source == requested.what.source) other.column = kNoColumn;
  }
}

}  // namespace corral::collect::dcgm
