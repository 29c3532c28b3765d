#include "store/artifacts/artifact_store.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

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

}  // namespace corral::store::artifacts
