#include "analyze/explain/timeline.h"

#include <algorithm>

#include "analyze/epochs.h"

namespace corral::analyze {

namespace {

bool is_step(std::string_view name) {
  const auto& names = store::page::kStepNames;
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::string without_numbers(std::string_view path) {
  std::string kept;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    std::size_t end = name.find_last_not_of("0123456789");
    if (end != std::string_view::npos && end + 1 < name.size()) {
      end = name.find_last_not_of(" _-", end);
      kept += end == std::string_view::npos ? name : name.substr(0, end + 1);
    } else {
      kept += name;  // no number, or nothing else
    }
    if (slash == std::string_view::npos) return kept;
    kept += '/';
    path.remove_prefix(slash + 1);
  }
}

std::string_view unit_name(Unit unit) { return unit == Unit::kStep ? "step" : "epoch"; }

TextNumber Timeline::number(std::string_view text) {
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  const auto number = static_cast<TextNumber>(texts_.size());
  const auto added = numbers_.emplace(text, number).first;
  texts_.push_back(
      {.text = &added->first, .is_step = is_step(text), .is_epoch = epoch_name(text).is_epoch});
  return number;
}

TextNumber Timeline::type_number(std::string_view type) {
  const TextNumber recorded = number(type);
  if (texts_[recorded].type != kNone) return texts_[recorded].type;
  const TextNumber without = number(without_numbers(type));
  return texts_[recorded].type = without;
}

Timeline::Lane& Timeline::lane_of(std::string_view name) {
  const TextNumber text = number(name);
  std::uint32_t& lane = texts_[text].lane;
  if (lane == kNone) {
    lane = static_cast<std::uint32_t>(lanes_.size());
    lanes_.push_back({.name = text, .phases = {}});
  }
  return lanes_[lane];
}

void Timeline::add(const Fields& fields) {
  const TextNumber name = number(fields.name);
  if (texts_[name].is_step) unit_ = Unit::kStep;
  lane_of(fields.lane)
      .phases.push_back({.begin = fields.begin,
                         .end = fields.end.value_or(UtcTime::max()),
                         .name = name,
                         .type = type_number(fields.type),
                         .kind = fields.kind,
                         .open = !fields.end});
}

void Timeline::add(const store::page::PhaseFields& phase) {
  add({.begin = phase.start,
       .end = phase.end,
       .name = phase.name,
       .type = phase.type,
       .lane = phase.lane,
       .kind = phase.kind});
}

void Timeline::arrange(UtcTime until) {
  // An epoch and its only step may have the same times: the epoch is the outer one.
  const auto before = [this](const TimelinePhase& a, const TimelinePhase& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end != b.end) return a.end > b.end;
    return text(a.type).size() < text(b.type).size();
  };
  for (Lane& lane : lanes_) {
    for (TimelinePhase& phase : lane.phases) {
      if (phase.open) phase.end = until;
      phase.end = std::max(phase.begin, phase.end);
    }
    // Most lanes are read in this order.
    if (!std::ranges::is_sorted(lane.phases, before)) std::ranges::sort(lane.phases, before);
  }
}

}  // namespace corral::analyze
