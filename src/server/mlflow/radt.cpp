#include "server/mlflow/radt.h"

#include <optional>
#include <string>

#include "mlflow/radt_spans.h"
#include "store/tracking/phase_writer.h"

namespace corral::server::mlflow {
namespace {

// Its client closes a batch after a minute or 200,000 records: some megabytes.
constexpr std::uint64_t kBatchBytes = 256u << 20;

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

Result<std::string> content_of(store::artifacts::ArtifactStore& store, std::string_view path) {
  const auto reader = TRY(store.open(path));
  if (reader->size() > kBatchBytes)
    return fail(Code::kTooLarge, "a batch of spans has more than 256 MiB");
  std::string content;
  content.reserve(static_cast<std::size_t>(reader->size()));
  TRY(reader->read({}, [&](std::string_view piece) {
    content += piece;
    return true;
  }));
  return content;
}

}  // namespace

Result<> on_artifact(Context& context, store::artifacts::ArtifactStore& store,
                     std::string_view path) {
  const auto run = run_of_batch(path);
  if (!run) return {};
  const auto take = [&](std::span<const codec::PhaseRecord> phases) -> Result<> {
    const auto stored = TRY(store::tracking::write_phases(
        context.store, *run, store::tracking::PhaseOrigin::kRadt, phases));
    context.events.note(stored.changed_runs, stored.data_runs);
    return {};
  };
  Result<> read = [&]() -> Result<> {
    const std::string content = TRY(content_of(store, path));
    return corral::mlflow::read_radt_spans(content, take).map([](const auto&) {});
  }();
  if (read) return {};
  const Code code = read.error().code;
  if (code == Code::kInvalidArgument || code == Code::kTooLarge || code == Code::kNotFound)
    return {};
  return read;
}

}  // namespace corral::server::mlflow
