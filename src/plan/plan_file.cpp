#include "plan/plan_file.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/sha256.h"
#include "core/text.h"
#include "plan/replace.h"
#include "sys/file.h"

namespace corral::plan {
namespace {

constexpr std::size_t kMostBytes = 32u << 20;

// ".yaml", ".yml": a sweep. Everything else is CSV.
bool is_sweep(const fs::path& file) {
  const std::string extension = lower_ascii(file.extension().string());
  return extension == ".yaml" || extension == ".yml";
}

}  // namespace

Result<Plan> read_plan(const fs::path& file, const Known& known) {
  std::error_code error;
  if (fs::is_directory(file, error))
    return fail(Code::kInvalidArgument, file.string() + ": a directory, not a plan");
  const std::string text = TRY(sys::read_file(file, kMostBytes));
  const fs::path directory = fs::absolute(file, error).parent_path();
  return is_sweep(file) ? parse_sweep(text, directory, known)
                        : parse_csv_plan(text, directory, known);
}

Result<Marked> mark_rows(const fs::path& file, const std::vector<Mark>& marks) {
  Marked marked;
  TRY(change_file(file, [&](std::string_view text) -> Result<std::string> {
    marked = {};
    return is_sweep(file) ? mark_sweep(text, marks, marked) : mark_csv(text, marks, marked);
  }));
  return marked;
}

std::string plan_id(std::string_view host, const fs::path& file) {
  constexpr std::size_t kBytes = 16;
  std::error_code error;
  fs::path real = fs::weakly_canonical(file, error);
  if (error) real = fs::absolute(file, error);
  return hex(sha256(fmt::format("{}{}{}", host, '\0', real.string())), kBytes);
}

RowState state_of(std::string_view status) {
  const auto says = [&](std::string_view word) {
    return status.find(word) != std::string_view::npos;
  };
  if (says("FINISHED")) return RowState::kFinished;
  if (says("FAILED")) return RowState::kFailed;
  return says("RUNNING") || says("INTERRUPTED") ? RowState::kRunning : RowState::kNew;
}

}  // namespace corral::plan
