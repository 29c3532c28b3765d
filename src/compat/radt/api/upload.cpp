#include "compat/radt/api/upload.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/json.h"
#include "server/core/artifacts.h"
#include "store/search/runs.h"

namespace corral::server::radt {
namespace {

constexpr std::size_t kManifestBytes = 16u << 20;

Result<std::string> read_whole(store::artifacts::ArtifactStore& store, std::string_view path) {
  const auto reader = TRY(store.open(path));
  if (reader->size() > kManifestBytes)
    return fail(Code::kTooLarge, "the manifest has more than 16 MiB");
  std::string text;
  TRY(reader->read({}, [&](std::string_view piece) {
    text += piece;
    return true;
  }));
  return text;
}

// The number of batches that the manifest names and the store lacks.
std::int64_t missing_batches(const Json& manifest,
                             const std::vector<store::artifacts::Entry>& entries) {
  const Json* batches = manifest.find("batches");
  if (batches == nullptr || batches->as_array() == nullptr) return 0;
  return std::ranges::count_if(*batches->as_array(), [&](const Json& name) {
    const auto* text = name.as_string();
    return text != nullptr &&
           std::ranges::none_of(entries, [&](const auto& entry) { return entry.name == *text; });
  });
}

}  // namespace

// radT writes its manifest last: without one its upload was cut off.
Result<> check_upload(Context& context, RunId run, std::vector<std::string>& problems) {
  if (context.artifacts == nullptr) return {};
  std::string uri;
  const auto find = [&](store::sql::Reading& reading) -> Result<> {
    const auto row = TRY(store::tracking::run(reading.db, run));
    if (row) uri = row->artifact_uri;
    return {};
  };
  TRY(context.reader.inspect(find));
  const auto folder = path_in_store(*context.artifacts, uri, "radt-trace");
  if (!folder) return {};  // in a store of its own
  const auto entries = TRY(context.artifacts->list(*folder));
  if (entries.empty()) return {};
  const auto text = read_whole(*context.artifacts, *folder + "/manifest.json");
  const auto manifest = text ? Json::parse(*text) : tl::unexpected(text.error());
  if (!manifest) {
    problems.emplace_back("radt-trace/manifest.json is not there: the upload did not finish");
    return {};
  }
  if (const auto missing = missing_batches(*manifest, entries); missing > 0)
    problems.push_back(fmt::format("{} of radT's batches are not there", missing));
  return {};
}

}  // namespace corral::server::radt
