#include "compat/mlflow/api/artifact_spans.h"

#include <optional>
#include <string>
#include <vector>

#include "compat/mlflow/tables/phase_writer.h"
#include "compat/mlflow/tables/phase_writer.h"
#include "compat/mlflow/wire/otlp.h"
#include "compat/radt/radt.h"

namespace corral::server::mlflow {
namespace {

// Its client closes a batch after a minute or 200,000 records: some megabytes.
constexpr std::uint64_t kBatchBytes = 256u << 20;
// JSON takes many times its length while it is read.
constexpr std::uint64_t kTraceFileBytes = 8u << 20;

// The run whose batch this is.
std::optional<RunId> run_of_batch(std::string_view path) {
  constexpr std::string_view kRoot = "/artifacts/";
  const std::size_t root = path.rfind(kRoot);
  if (root == std::string_view::npos ||
      !corral::mlflow::is_radt_batch(path.substr(root + kRoot.size())))
    return std::nullopt;
  const std::string_view above = path.substr(0, root);
  const auto run = RunId::parse(above.substr(above.rfind('/') + 1));
  return run ? std::optional(*run) : std::nullopt;
}

// The trace whose spans this is: "traces/<id>/artifacts/traces.json" at the end.
std::optional<std::string> trace_of_file(std::string_view path) {
  constexpr std::string_view kFile = "/artifacts/traces.json";
  constexpr std::string_view kFolder = "traces/";
  if (!path.ends_with(kFile)) return std::nullopt;
  path.remove_suffix(kFile.size());
  const std::size_t id = path.rfind('/') + 1;  // 0 without a folder
  const std::string_view folder = path.substr(0, id);
  const bool of_traces = folder == kFolder || folder.ends_with("/traces/");
  return of_traces ? std::optional(std::string(path.substr(id))) : std::nullopt;
}

Result<std::string> content_of(store::artifacts::ArtifactStore& store, std::string_view path,
                               std::uint64_t most) {
  const auto reader = TRY(store.open(path));
  if (reader->size() > most)
    return fail(Code::kTooLarge, "the file holds more spans than are looked at");
  std::string content;
  content.reserve(static_cast<std::size_t>(reader->size()));
  TRY(reader->read({}, [&](std::string_view piece) {
    content += piece;
    return true;
  }));
  return content;
}

Result<> take_batch(Context& context, RunId run, const std::string& gzip) {
  const auto take = [&](std::span<const codec::PhaseRecord> phases) -> Result<> {
    const auto stored = TRY(store::tracking::write_phases(
        context.store, run, store::tracking::PhaseOrigin::kRadt, phases));
    context.events.note(stored.changed_runs, stored.data_runs);
    return {};
  };
  return corral::mlflow::read_radt_spans(gzip, take).map([](const auto&) {});
}

Result<> take_trace(Context& context, const std::string& trace, const std::string& json) {
  const auto spans = TRY(corral::mlflow::parse_trace_file(json));
  std::vector<const corral::mlflow::Span*> each;
  each.reserve(spans.size());
  for (const auto& span : spans) each.push_back(&span);
  const store::tracking::SpansOfTrace given{.trace = trace, .spans = each};
  return store::tracking::show_spans(context.store, context.reader, std::span(&given, 1),
                                     [&](const store::AppendResult& stored) {
                                       context.events.note(stored.changed_runs, stored.data_runs);
                                     });
}

}  // namespace

Result<> on_artifact(Context& context, store::artifacts::ArtifactStore& store,
                     std::string_view path) {
  const auto run = run_of_batch(path);
  const auto trace = trace_of_file(path);
  if (!run && !trace) return {};
  Result<> read = [&]() -> Result<> {
    const std::string content = TRY(content_of(store, path, run ? kBatchBytes : kTraceFileBytes));
    return run ? take_batch(context, *run, content) : take_trace(context, *trace, content);
  }();
  if (read) return {};
  const Code code = read.error().code;
  if (code == Code::kInvalidArgument || code == Code::kTooLarge || code == Code::kNotFound)
    return {};
  return read;
}

}  // namespace corral::server::mlflow
