#include "store/artifacts/open/open_artifacts.h"

#include <fmt/core.h>

#include <filesystem>

#include "core/text.h"
#include "store/artifacts/file/file_store.h"
#include "store/artifacts/s3/s3_store.h"
#include "store/artifacts/s3/settings.h"

namespace corral::store::artifacts {
namespace {

Result<std::filesystem::path> local_directory(std::string_view location) {
  if (location.starts_with("file://")) location.remove_prefix(7);
  if (location.find("://") == std::string_view::npos) return std::filesystem::path(location);
  return fail(Code::kInvalidArgument,
              fmt::format("'{}': artifacts lie in a directory or in s3://bucket/prefix",
                          to_utf8(location)));
}

}  // namespace

Result<std::unique_ptr<ArtifactStore>> open_artifact_store(std::string_view location,
                                                           const std::string& scratch) {
  if (!location.starts_with("s3://")) return open_file_store(TRY(local_directory(location)));
  S3Settings settings = TRY(s3_settings(location));
  settings.scratch = scratch;
  return open_s3_store(std::move(settings));
}

Result<std::unique_ptr<ArtifactStore>> open_artifact_source(std::string_view location) {
  if (location.starts_with("s3://")) return open_artifact_store(location);
  return open_file_source(TRY(local_directory(location)));
}

}  // namespace corral::store::artifacts
