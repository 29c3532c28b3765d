#include "imports/source.h"

#include <fmt/core.h>

#include "core/text.h"
#include "imports/event_file.h"
#include "imports/files.h"

namespace corral::imports {
namespace {

namespace fs = sys::fs;

bool is_wandb_name(std::string_view name) { return name.ends_with(".wandb"); }

Result<std::optional<SourceKind>> kind_of_directory(const fs::path& path) {
  std::error_code error;
  if (path.filename() == ".aim" || fs::is_directory(path / ".aim", error)) return SourceKind::kAim;
  const auto found = TRY(find_below(
      path, [](std::string_view name) { return is_wandb_name(name) || is_event_file_name(name); }));
  bool wandb = false;
  bool tensorboard = false;
  for (const fs::path& file : found)
    (is_wandb_name(file.filename().string()) ? wandb : tensorboard) = true;
  if (wandb && tensorboard)
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} holds runs of W&B and event files of TensorBoard; import a directory "
                    "of one of them",
                    path.string()));
  if (wandb) return SourceKind::kWandb;
  return tensorboard ? std::optional(SourceKind::kTensorboard) : std::nullopt;
}

}  // namespace

Result<std::optional<SourceKind>> find_source(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return kind_of_directory(path);
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const sys::Fd file = TRY(open_regular(path));
  std::string begin;
  TRY(read_piece(file, path, begin, [](std::string_view) { return Result<>(); }));
  if (begin.starts_with(":W&B") || is_wandb_name(path.filename().string()))
    return SourceKind::kWandb;
  if (begin.starts_with("PAR1")) return SourceKind::kParquet;
  if (begins_as_records(begin) || is_event_file_name(path.filename().string()))
    return SourceKind::kTensorboard;
  const std::string extension = lower_ascii(path.extension().string());
  if (extension == ".csv" || extension == ".tsv") return SourceKind::kCsv;
  return std::nullopt;
}

}  // namespace corral::imports
