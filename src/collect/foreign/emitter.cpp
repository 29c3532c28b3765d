#include "collect/foreign/emitter.h"
#include "collect/foreign/text.h"

#include <fmt/core.h>

#include <utility>

#include "core/limits.h"
#include "core/text.h"
#include "metric/foreign.h"

namespace corral::collect::foreign {
namespace {

constexpr std::size_t kUnitBytes = 32;

// Valid UTF-8 on one line.
std::string fit(std::string_view text) {
  std::string out = to_utf8(trim(text));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '_';
  }
  return out;
}

std::string_view known_unit(std::string_view name) {
  if (const metric::Metric* known = metric::find_metric(name)) return known->unit;
  const auto foreign = metric::find_foreign(name);
  return foreign ? foreign->unit : "";
}

// Returns true if a metric of the catalogue can have this value.
bool can_be(const metric::Metric& metric, double value) {
  if (metric.unit == "°C") return !(value < -273.15);
  if (metric.unit == "%") return !(value < 0) && !(value > 100);
  return !(value < 0);
}

}  // namespace

Emitter::Emitter(std::string label, std::string prefix, Limits limits, PointQueue& queue,
                 ProblemBox& problems)
    : label_(std::move(label)),
      prefix_(std::move(prefix)),
      limits_(limits),
      queue_(queue),
      problems_(problems),
      rate_(limits.points_per_s) {
  problems_.expect(label_);
}

void Emitter::trouble(Trouble trouble, std::string message) {
  problems_.report(label_, trouble, std::move(message));
}

void Emitter::recovered(Trouble trouble, std::string_view message) {
  problems_.recovered(label_, trouble, message);
}

void Emitter::skip() {
  queue_.count_dropped(1);
  trouble(Trouble::kFlood,
          fmt::format("gives more than {} points a second: the rest is dropped and counted",
                      limits_.points_per_s));
}

void Emitter::report_series(std::string_view name) {
  trouble(Trouble::kSeries,
          fmt::format("gives more than {} series: the rest, from '{}' on, is not recorded",
                      limits_.series, excerpt(name)));
}

void Emitter::refuse_series(std::string_view name) {
  queue_.count_dropped(1);
  report_series(name);
}

const Emitter::Series* Emitter::find(const Reading& reading) {
  key_.assign(reading.name);
  key_ += '\0';
  key_ += reading.source;
  const auto found = series_.find(key_);
  return found != series_.end() ? &found->second : declare(reading);
}

const Emitter::Series* Emitter::declare(const Reading& reading) {
  std::string name = fit(reading.name);
  std::string source = fit(reading.source);
  if (name.empty() || prefix_.size() + name.size() > limits::kNameBytes ||
      source.size() > limits::kNameBytes) {
    trouble(Trouble::kName,
            name.empty() ? "gives a value without a name: it is not recorded"
                         : fmt::format("gives a name of more than {} bytes, which is not recorded: "
                                       "{}",
                                       limits::kNameBytes, excerpt(name)));
    return nullptr;
  }
  if (series_.size() >= limits_.series) {
    report_series(name);
    return nullptr;
  }
  name.insert(0, prefix_);
  std::string unit = fit(reading.unit.empty() ? known_unit(name) : reading.unit);
  unit.resize(utf8_prefix(std::string_view(unit).substr(0, kUnitBytes)));
  const metric::Metric* known = metric::find_metric(name);
  const auto declared = queue_.declare({.name = name,
                                        .source = std::move(source),
                                        .unit = std::move(unit),
                                        .kind = reading.kind,
                                        .owner = limits_.owner},
                                       label_);
  if (declared.number == kNoSeries) {
    trouble(Trouble::kSeries, "is recorded in part: all sources together give too many series");
    return nullptr;
  }
  if (!declared.shared.empty()) report_shared(name, declared.shared);
  return &series_.emplace(key_, Series{.number = declared.number, .known = known}).first->second;
}

void Emitter::report_shared(std::string_view name, std::string_view other) {
  trouble(Trouble::kShared,
          fmt::format("gives '{}' as {} does: such series are recorded apart, with from={} in "
                      "their source; a prefix gives them names of their own",
                      excerpt(name), other, label_));
}

void Emitter::check_range(const Series& series, const Reading& reading) {
  if (series.known == nullptr || can_be(*series.known, reading.value)) return;
  trouble(Trouble::kRange, fmt::format("{} = {} {} is impossible; recorded as read",
                                       series.known->name, reading.value, series.known->unit));
}

bool Emitter::emit(const Reading& reading, BootTime time) {
  if (!rate_.room(time)) {
    skip();
    return false;
  }
  const Series* series = find(reading);
  if (series == nullptr) {
    queue_.count_dropped(1);
    return false;
  }
  rate_.take(time);
  check_range(*series, reading);
  if (!std::exchange(heard_, true)) problems_.heard(label_);
  return queue_.push(
      {.series = series->number, .time = time, .step = reading.step, .value = reading.value});
}

}  // namespace corral::collect::foreign
