// OTLP requests, protobuf and JSON, and files of traces: what is taken can be stored, read again
// and shown.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "compat/mlflow/wire/otlp.h"
#include "compat/mlflow/wire/phases_of_spans.h"
#include "compat/mlflow/wire/trace_of_spans.h"
#include "core/json.h"

namespace {

using namespace corral;  // NOLINT(google-build-using-namespace)

void check(bool good) {
  if (!good) std::abort();
}

std::string answer_of(const mlflow::Span& span) {
  std::string out;
  JsonWriter json(out);
  mlflow::write_span(json, span);
  return out;
}

// PostgreSQL takes none in a text.
bool has_no_nul(std::string_view text) { return text.find('\0') == std::string_view::npos; }

void show(const std::vector<mlflow::Span>& spans) {
  const auto phases = mlflow::phases_of_spans(spans);
  for (const codec::PhaseRecord& phase : phases) {
    check(has_no_nul(phase.name) && has_no_nul(phase.type) && has_no_nul(phase.lane));
    for (const auto& [key, value] : phase.attributes) check(has_no_nul(key) && has_no_nul(value));
  }
  for (const auto& batch : mlflow::phase_batches(phases)) {
    const codec::FrameHeader header{
        .kind = codec::FrameKind::kPhases, .session = {}, .first = 1, .last = 1};
    const codec::Bytes bytes =
        codec::encode(header, codec::PhasesBody{{batch.begin(), batch.end()}});
    const auto frame = codec::decode_frame(bytes);
    check(frame && codec::decode_phases(*frame));
  }
}

void use(const Result<mlflow::SpanExport>& spans) {
  if (!spans) return;
  for (const mlflow::TraceOfSpans& trace : mlflow::traces_from_spans(*spans)) {
    check(!trace.spans.empty() && has_no_nul(trace.request) && has_no_nul(trace.response));
    for (const auto* pairs : {&trace.tags, &trace.metadata}) {
      for (const auto& [key, value] : *pairs) check(has_no_nul(key) && has_no_nul(value));
    }
  }
  for (const mlflow::ResourceSpans& group : *spans) {
    for (const mlflow::Span& span : group.spans) {
      const auto again = mlflow::decode_span(mlflow::encode_span(span));
      check(again && answer_of(*again) == answer_of(span));
    }
    show(group.spans);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  use(corral::mlflow::parse_otlp_protobuf(text));
  use(corral::mlflow::parse_otlp_json(text));
  if (const auto spans = corral::mlflow::parse_trace_file(text)) show(*spans);
  return 0;
}
