#include "store/artifacts/artifact_store.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "store/artifacts/file/file_store.h"
#include "store/artifacts/s3/s3_store.h"
#include "store/artifacts/s3/settings.h"

namespace corral::store::artifacts {
namespace {

tl::unexpected<Error> bad_path(std::string_view path, std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("artifact path '{}': {}", to_utf8(path), why));
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

Result<MultipartUpload> ArtifactStore::create_multipart(std::string_view, int) {
  return fail(Code::kUnsupported, std::string(kNoMultipart));
}

Result<> ArtifactStore::complete_multipart(std::string_view, std::string_view,
                                           std::span<const UploadedPart>) {
  return fail(Code::kUnsupported, std::string(kNoMultipart));
}

Result<> ArtifactStore::abort_multipart(std::string_view, std::string_view) {
  return fail(Code::kUnsupported, std::string(kNoMultipart));
}

Result<> check_path(std::string_view path) {
  if (path.empty()) return {};
  if (path.size() > kPathBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("an artifact path is at most {} bytes", kPathBytes));
  if (!is_utf8(path)) return bad_path(path, "is not UTF-8");
  if (std::ranges::any_of(path, is_control)) return bad_path(path, "holds a control character");
  if (path.find('\\') != std::string_view::npos) return bad_path(path, "holds a backslash");
  for (const std::string_view segment : split(path, '/')) {
    if (segment.empty()) return bad_path(path, "holds an empty name");
    if (segment == "." || segment == "..") return bad_path(path, "holds '.' or '..'");
    if (segment.size() > kNameBytes)
      return bad_path(path, fmt::format("a name is at most {} bytes", kNameBytes));
  }
  return {};
}

Result<> check_file_path(std::string_view path) {
  if (path.empty()) return bad_path(path, "names no file");
  return check_path(path);
}

namespace {

Result<std::filesystem::path> directory_of(std::string_view location) {
  if (location.starts_with("file://")) location.remove_prefix(7);
  if (location.find("://") == std::string_view::npos) return std::filesystem::path(location);
  return fail(Code::kInvalidArgument,
              fmt::format("'{}': artifacts lie in a directory or in s3://bucket/prefix",
                          to_utf8(location)));
}

}  // namespace

Result<std::unique_ptr<ArtifactStore>> open_artifact_store(std::string_view location,
                                                           const std::string& scratch) {
  if (!location.starts_with("s3://")) return open_file_store(TRY(directory_of(location)));
  S3Settings settings = TRY(s3_settings(location));
  settings.scratch = scratch;
  return open_s3_store(std::move(settings));
}

Result<std::unique_ptr<ArtifactStore>> open_artifact_source(std::string_view location) {
  if (location.starts_with("s3://")) return open_artifact_store(location);
  return open_file_source(TRY(directory_of(location)));
}

}  // namespace corral::store::artifacts
