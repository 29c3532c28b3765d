#include "compat/mlflow/wire/phases_of_spans.h"

#include <algorithm>

#include "compat/mlflow/wire/times.h"
#include "core/limits.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

constexpr std::size_t kMostLinks = 64;  // codec's own bound
// Limit of all attributes of one phase: a thousand such phases fit in a few frames.
constexpr std::size_t kAttributeBytes = 16u << 10;
constexpr std::int64_t kNanosPerMs = 1'000'000;

// JSON text within the limit: a text is cut, anything else that is too long is shown as a text.
std::string value_text(const Json& value) {
  std::string text = value.dump();
  if (text.size() <= limits::kValueBytes) return text;
  const auto* given = value.as_string();
  const std::string& whole = given != nullptr ? *given : text;
  // Escaped, a byte may become six.
  std::string out = Json(phase_text(whole, limits::kValueBytes - 2)).dump();
  if (out.size() > limits::kValueBytes)
    out = Json(phase_text(whole, limits::kValueBytes / 6 - 2)).dump();
  return out;
}

codec::PhaseKind phase_kind(SpanKind kind) {
  switch (kind) {
    case SpanKind::kClient:
    case SpanKind::kProducer:
      return codec::PhaseKind::kIo;
    case SpanKind::kConsumer:
      return codec::PhaseKind::kWait;
    case SpanKind::kUnspecified:
    case SpanKind::kInternal:
    case SpanKind::kServer:
      break;
  }
  return codec::PhaseKind::kCompute;
}

// "trace/chat_model" of mlflow.spanType CHAT_MODEL; "trace" when nobody said.
std::string phase_type(const Span& span) {
  const std::string type = lower_ascii(span.text(kSpanTypeAttribute));
  if (type.empty() || type == "unknown") return "trace";
  return phase_text("trace/" + type, limits::kNameBytes);
}

codec::PhaseRecord phase_from_span(const Span& span) {
  codec::PhaseRecord phase;
  phase.id = span.id;
  phase.parent = span.parent;
  phase.begin = phase_time(span.start_ns);
  if (span.end_ns != 0) phase.end = phase_time(std::max(span.end_ns, span.start_ns));
  phase.kind = phase_kind(span.kind);
  phase.name = span.name.empty() ? "span" : phase_text(span.name, limits::kNameBytes);
  phase.type = phase_type(span);
  phase.lane =
      span.lane.empty() ? std::string(kTraceLane) : phase_text(span.lane, limits::kNameBytes);
  for (const SpanLink& link : span.links) {
    if (phase.links.size() < kMostLinks && link.span != 0) phase.links.push_back(link.span);
  }
  SpanAttributes attributes;
  if (span.status == SpanStatus::kError) attributes.emplace_back("error", span.status_message);
  for (const auto& [key, value] : span.attributes) {
    if (key != kRequestIdAttribute && key != kSpanTypeAttribute)
      attributes.emplace_back(key, value);
  }
  // A trace of MLflow 2 has another id than its spans say.
  const std::string_view named = span.text(kRequestIdAttribute);
  attributes.emplace_back("trace_id",
                          named.empty() ? trace_id_text(span.trace) : std::string(named));
  phase.attributes = phase_attributes(attributes);
  return phase;
}

std::size_t encoded_bytes(const codec::PhaseRecord& phase) {
  constexpr std::size_t kFixed = 64;
  std::size_t bytes = kFixed + phase.name.size() + phase.type.size() + phase.lane.size() +
                      phase.links.size() * sizeof(std::uint64_t);
  for (const auto& [key, value] : phase.attributes) bytes += key.size() + value.size() + 4;
  return bytes;
}

}  // namespace

BootTime phase_time(std::int64_t unix_ns) {
  const std::int64_t within =
      std::clamp(unix_ns, kFirstClientMs * kNanosPerMs, kLastClientMs * kNanosPerMs);
  return boot_time(within - kClientAnchor.utc_minus_boot.count());
}

std::string phase_text(std::string_view text, std::size_t bytes) {
  std::string valid = to_utf8(text.substr(0, bytes));
  std::ranges::replace(valid, '\0', ' ');
  const std::string_view fitting = std::string_view(valid).substr(0, bytes);
  return std::string(fitting.substr(0, utf8_prefix(fitting)));
}

codec::Attributes phase_attributes(const SpanAttributes& attributes) {
  codec::Attributes out;
  std::size_t bytes = 0;
  for (const auto& [key, value] : attributes) {
    if (out.size() == limits::kAttributes) break;
    std::string name = phase_text(key, limits::kNameBytes);
    std::string text = value_text(value);
    if (bytes + name.size() + text.size() > kAttributeBytes) continue;
    bytes += name.size() + text.size();
    out.emplace_back(std::move(name), std::move(text));
  }
  return out;
}

std::vector<codec::PhaseRecord> phases_of_spans(std::span<const Span> spans) {
  std::vector<codec::PhaseRecord> phases;
  phases.reserve(spans.size());
  for (const Span& span : spans) phases.push_back(phase_from_span(span));
  return phases;
}

std::vector<std::span<const codec::PhaseRecord>> phase_batches(
    std::span<const codec::PhaseRecord> phases, std::size_t bytes) {
  std::vector<std::span<const codec::PhaseRecord>> batches;
  std::size_t first = 0;
  std::size_t size = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const std::size_t next = encoded_bytes(phases[i]);
    if (i > first && size + next > bytes) {
      batches.push_back(phases.subspan(first, i - first));
      first = i;
      size = 0;
    }
    size += next;
  }
  if (first < phases.size()) batches.push_back(phases.subspan(first));
  return batches;
}

}  // namespace corral::mlflow
