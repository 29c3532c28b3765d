#include "collect/foreign/output_scanner.h"

#include <fmt/core.h>

#include "collect/foreign/text.h"
#include "core/text.h"

namespace corral::collect::foreign {
namespace {

// Limit for a line; bytes behind it are not searched.
constexpr std::size_t kLineBytes = 16u << 10;
constexpr char kEscape = '\x1b';

// Length of the terminal sequence that begins at text[0], an escape.
std::size_t sequence_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == '[') {  // CSI: parameters, then one byte from @ to ~
    std::size_t i = 2;
    while (i < text.size() && !(text[i] >= '@' && text[i] <= '~')) ++i;
    return std::min(i + 1, text.size());
  }
  if (text[1] == ']') {  // OSC: up to BEL or ESC backslash
    for (std::size_t i = 2; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == kEscape) return std::min(i + 2, text.size());
    }
    return text.size();
  }
  return 2;
}

}  // namespace

void strip_terminal(std::string_view line, std::string& out) {
  out.clear();
  while (!line.empty()) {
    const std::size_t escape = std::min(line.find(kEscape), line.size());
    out += line.substr(0, escape);
    line.remove_prefix(escape);
    if (!line.empty()) line.remove_prefix(sequence_length(line));
  }
}

Result<std::unique_ptr<OutputPattern>> OutputPattern::create(const RegexSource& source,
                                                             PointQueue& queue,
                                                             ProblemBox& problems) {
  auto compiled = TRY(compile_pattern(source.pattern));
  return std::unique_ptr<OutputPattern>(
      new OutputPattern(source, std::move(compiled), queue, problems));
}

OutputPattern::OutputPattern(const RegexSource& source, std::unique_ptr<const re2::RE2> pattern,
                             PointQueue& queue, ProblemBox& problems)
    : stream_(source.stream),
      unit_(source.unit),
      pattern_(std::move(pattern)),
      found_(static_cast<std::size_t>(pattern_->NumberOfCapturingGroups()) + 1),
      emitter_("regex." + source.name, source.prefix,
               {.series = source.max_series, .points_per_s = source.max_points_per_s}, queue,
               problems) {
  const auto& groups = pattern_->NamedCapturingGroups();
  const bool named = groups.contains("metric");
  for (const auto& [name, number] : groups) {
    const auto index = static_cast<std::size_t>(number);
    if (name == "step") {
      step_ = index;
    } else if (named && name == "metric") {
      metric_ = index;
    } else if (named && name == "value") {
      value_ = index;
    } else if (named && name == "unit") {
      unit_group_ = index;
    } else {
      metrics_.push_back({.name = name, .index = index});
    }
  }
}

std::string_view OutputPattern::matched(std::size_t group) const {
  return {found_[group].data(), found_[group].size()};
}

void OutputPattern::emit(std::string_view name, std::string_view text, Reading reading,
                         BootTime time) {
  if (text.empty()) return;  // a group that took no part
  const auto number = read_number_with_unit(text);
  if (!number) {
    emitter_.trouble(Trouble::kUnread,
                     fmt::format("group '{}' matches a text that is not a number: {}",
                                 excerpt(name), excerpt(text)));
    return;
  }
  reading.name = name;
  reading.value = number->value;
  if (reading.unit.empty()) reading.unit = number->unit;
  emitter_.emit(reading, time);
}

void OutputPattern::search(std::string_view line, BootTime time) {
  if (!pattern_->Match(piece(line), 0, line.size(), re2::RE2::UNANCHORED, found_.data(),
                       static_cast<int>(found_.size())))
    return;
  Reading shared{.name = {}, .unit = unit_};
  if (step_ != 0) {
    if (const auto step = read_number(matched(step_))) shared.step = to_step(*step);
  }
  if (metric_ != 0) {
    Reading reading = shared;
    if (unit_group_ != 0 && unit_.empty()) reading.unit = matched(unit_group_);
    emit(matched(metric_), matched(value_), reading, time);
  }
  for (const Group& group : metrics_) emit(group.name, matched(group.index), shared, time);
}

OutputScanner::OutputScanner(std::vector<std::unique_ptr<OutputPattern>> patterns)
    : patterns_(std::move(patterns)), out_(kLineBytes), err_(kLineBytes) {}

void OutputScanner::search(Stream stream, std::string_view line, BootTime time) {
  if (line.find(kEscape) != std::string_view::npos) {
    strip_terminal(line, plain_);
    line = plain_;
  }
  for (const auto& pattern : patterns_) {
    if (pattern->reads(stream)) pattern->search(line, time);
  }
}

void OutputScanner::feed(Stream stream, std::string_view bytes, BootTime time) {
  if (patterns_.empty()) return;
  if (stream != Stream::kErr) out_is_ = stream;
  LineSplitter& lines = stream == Stream::kErr ? err_ : out_;
  lines.feed(bytes, [&](std::string_view line, bool) { search(stream, line, time); });
}

void OutputScanner::finish(BootTime time) {
  out_.finish([&](std::string_view line, bool) { search(out_is_, line, time); });
  err_.finish([&](std::string_view line, bool) { search(Stream::kErr, line, time); });
}

}  // namespace corral::collect::foreign
