#include "store/model/content.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"

namespace corral::store {
namespace {

// Sums and differences of two numbers nearer to 0 than this, and differences of two such sums, stay
// inside int64.
constexpr std::int64_t kGreatestTime = std::int64_t{1} << 61;

void widen(std::optional<Content::Range>& range, BootTime time) {
  const std::int64_t t = ns_of(time);
  if (!range) range = {.low = t, .high = t};
  range->low = std::min(range->low, t);
  range->high = std::max(range->high, t);
}

template <class T>
void move_to(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

Result<> add_part(Content& content, const codec::Frame& part) {
  switch (part.header.kind) {
    case codec::FrameKind::kSession:
      content.session = TRY(codec::decode_session(part));
      break;
    case codec::FrameKind::kSchema:
      move_to(content.series, TRY(codec::decode_schema(part)).series);
      break;
    case codec::FrameKind::kSamples:
      content.samples.push_back(TRY(codec::decode_samples(part)));
      break;
    case codec::FrameKind::kPhases:
      move_to(content.phases, TRY(codec::decode_phases(part)).phases);
      break;
    case codec::FrameKind::kFacts:
      move_to(content.facts, TRY(codec::decode_facts(part)).facts);
      break;
    case codec::FrameKind::kEvents:
      move_to(content.events, TRY(codec::decode_events(part)).events);
      break;
    case codec::FrameKind::kLog:
      content.log = TRY(codec::decode_log(part));
      break;
    case codec::FrameKind::kRunEnd:
      content.end = TRY(codec::decode_run_end(part));
      break;
    case codec::FrameKind::kGap:
      content.gap = TRY(codec::decode_gap(part));
      break;
    case codec::FrameKind::kBundle:
      return fail(Code::kInvalidArgument, "a bundle inside a bundle");
  }
  return {};
}

void find_times(Content& content) {
  for (const auto& samples : content.samples) {
    for (const auto& group : samples.groups) {
      for (const BootTime t : group.times) widen(content.sample_times, t);
    }
  }
  content.times = content.sample_times;
  for (const auto& phase : content.phases) {
    if (phase.begin) widen(content.times, *phase.begin);
    if (phase.end) widen(content.times, *phase.end);
  }
  for (const auto& event : content.events) widen(content.times, event.time);
  if (content.log) widen(content.times, content.log->time);
  if (content.end) widen(content.times, content.end->time);
}

Result<> check(const Content& content) {
  const auto far = [](std::int64_t ns) { return ns <= -kGreatestTime || ns >= kGreatestTime; };
  if (content.times && (far(content.times->low) || far(content.times->high))) {
    return fail(Code::kUnprocessable, "a time lies more than 73 years from the machine's boot");
  }
  if (content.session && (far(content.session->anchor.utc_minus_boot.count()) ||
                          far(ns_of(content.session->started)))) {
    return fail(Code::kUnprocessable,
                "the session's clock offset or start lies more than 73 years away");
  }
  std::unordered_map<std::uint32_t, const codec::SeriesDef*> by_id;
  for (const auto& def : content.series) {
    const auto* first = by_id.emplace(def.id, &def).first->second;
    if (first->name != def.name || first->source != def.source || first->owner != def.owner) {
      return fail(Code::kUnprocessable, fmt::format("series {} is declared as {} and as {}", def.id,
                                                    first->name, def.name));
    }
  }
  if (content.log && (content.log->offset < 0 || content.log->offset > kGreatestTime)) {
    return fail(Code::kUnprocessable,
                fmt::format("log offset {} is out of range", content.log->offset));
  }
  return {};
}

// Text is UTF-8 without NUL, which not every database holds: invalid bytes and NUL become U+FFFD.
void replace_invalid(std::string& text) {
  if (!is_utf8(text)) text = to_utf8(text);
  for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;)
    text.replace(at, 1, "\xEF\xBF\xBD");
}

void replace_invalid_texts(Content& content) {
  const auto all = [](auto&... texts) { (replace_invalid(texts), ...); };
  if (auto& s = content.session)
    all(s->experiment, s->workload_name, s->run_name, s->host, s->role, s->boot_id);
  for (auto& s : content.series) all(s.name, s.source, s.unit);
  for (auto& p : content.phases) all(p.name, p.type, p.lane);
  for (auto& f : content.facts) all(f.key, f.value);
  for (auto& e : content.events) all(e.name, e.origin);
}

}  // namespace

Result<Content> decode_content(const codec::Frame& frame) {
  Content content;
  if (frame.header.kind == codec::FrameKind::kBundle) {
    const std::vector<codec::Frame> parts = TRY(codec::sections(frame));
    for (const codec::Frame& part : parts) TRY(add_part(content, part));
  } else {
    TRY(add_part(content, frame));
  }
  replace_invalid_texts(content);
  find_times(content);
  TRY(check(content));
  return content;
}

RunStatus final_status(const codec::RunEndBody& end) {
  switch (end.reason) {
    case codec::EndReason::kExit:
      return end.exit_code.value_or(1) == 0 && !end.exit_signal ? RunStatus::kFinished
                                                                : RunStatus::kFailed;
    case codec::EndReason::kSignal:
    case codec::EndReason::kNotStarted:
      return RunStatus::kFailed;
    case codec::EndReason::kMaxTime:
    case codec::EndReason::kInterrupt:
      return RunStatus::kStopped;
    case codec::EndReason::kUnknown:
      break;
  }
  return RunStatus::kUnknown;
}

std::string attributes_json(const codec::Attributes& attributes) {
  if (attributes.empty()) return {};
  Json::Object object;
  for (const auto& [key, value] : attributes) {
    auto parsed = Json::parse(value);
    object.emplace_back(key, parsed ? *std::move(parsed) : Json(value));
  }
  return Json(std::move(object)).dump();
}

codec::Attributes parse_attributes(std::string_view json) {
  codec::Attributes attributes;
  if (json.empty()) return attributes;
  const auto parsed = Json::parse(json);
  if (!parsed || parsed->as_object() == nullptr) return attributes;
  for (const auto& [key, value] : *parsed->as_object()) attributes.emplace_back(key, value.dump());
  return attributes;
}

}  // namespace corral::store
