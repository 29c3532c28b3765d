#include "analyze/explain/timeline.h"

#include <algorithm>
#include <tuple>

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

bool Timeline::is_unit(const TimelinePhase& phase) const {
  const std::string& name = text(phase.name);
  return unit_ == Unit::kStep ? is_step(name) : epoch_name(name).is_epoch;
}

TextNumber Timeline::number(std::string_view text) {
  const auto [found, fresh] =
      numbers_.try_emplace(std::string(text), static_cast<TextNumber>(texts_.size()));
  if (fresh) texts_.push_back(&found->first);
  return found->second;
}

TextNumber Timeline::type_number(std::string_view type) {
  const TextNumber recorded = number(type);
  const auto known = types_.find(recorded);
  if (known != types_.end()) return known->second;
  return types_[recorded] = number(without_numbers(type));
}

void Timeline::add(const Fields& fields) {
  const TextNumber lane_text = number(fields.lane);
  const auto [lane, fresh] =
      lane_numbers_.try_emplace(lane_text, static_cast<std::uint32_t>(lane_names_.size()));
  if (fresh) lane_names_.push_back(texts_[lane_text]);
  phases_.push_back({.begin = fields.begin,
                     .end = fields.end.value_or(UtcTime::max()),
                     .name = number(fields.name),
                     .type = type_number(fields.type),
                     .lane = lane->second,
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
  for (TimelinePhase& phase : phases_) {
    if (phase.open) phase.end = std::max(phase.begin, until);
    phase.end = std::max(phase.begin, phase.end);
  }
  // An epoch and its only step may have the same times: the epoch is the outer one.
  const auto depth = [this](const TimelinePhase& phase) { return texts_[phase.type]->size(); };
  std::ranges::sort(phases_, [&](const TimelinePhase& a, const TimelinePhase& b) {
    return std::tuple(a.lane, a.begin, b.end, depth(a)) <
           std::tuple(b.lane, b.begin, a.end, depth(b));
  });
  const auto step = [this](const TimelinePhase& phase) { return is_step(text(phase.name)); };
  unit_ = std::ranges::any_of(phases_, step) ? Unit::kStep : Unit::kEpoch;
  firsts_.assign(lane_names_.size() + 1, phases_.size());
  for (std::size_t i = phases_.size(); i-- > 0;) firsts_[phases_[i].lane] = i;
}

std::span<const TimelinePhase> Timeline::phases(std::size_t lane) const {
  return std::span(phases_).subspan(firsts_[lane], firsts_[lane + 1] - firsts_[lane]);
}

}  // namespace corral::analyze
