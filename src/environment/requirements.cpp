#include "environment/requirements.h"

#include <fmt/core.h>

#include <array>

#include "core/text.h"
#include "environment/tool.h"

namespace corral::environment {
namespace {

constexpr std::size_t kFileBytes = 4u << 20;
constexpr int kIncludeDepth = 16;

// The text before a package's name in a tool's complaint, and the end of the name.
struct Complaint {
  std::string_view before;
  std::string_view ends;
};
constexpr std::array kComplaints{
    // pip
    Complaint{"No matching distribution found for ", " \n"},
    Complaint{"satisfies the requirement ", " \n"},
    Complaint{"Invalid requirement: '", "'"},
    Complaint{"Invalid requirement: \"", "\""},
    Complaint{"Failed building wheel for ", " \n"},
    Complaint{"ERROR: Cannot install ", "\n"},
    Complaint{"No such file or directory: '", "'"},
    // uv
    Complaint{"you require ", ",\n"},
    Complaint{"Failed to build `", "`"},
    Complaint{"Failed to download `", "`"},
    Complaint{"Failed to fetch `", "`"},
    Complaint{"Failed to download and build `", "`"},
    Complaint{"Distribution not found at: ", "\n"},
    // conda, mamba, micromamba
    Complaint{"ResolvePackageNotFound: \n  - ", "\n"},
    Complaint{"not available from current channels:\n\n  - ", "\n"},
    Complaint{"nothing provides requested ", "\n"},
    Complaint{"nothing provides ", "\n"},
};

// The lines of a tool's output that explain the failure, on one: those from the first error on,
// else the last.
std::string reason_in(std::string_view output) {
  constexpr std::size_t kBytes = 600;
  std::vector<std::string> kept;
  for (const std::string_view raw : split(output, '\n')) {
    const std::string_view line = trim(raw);
    if (line.empty() || (kept.empty() && !lower_ascii(line).starts_with("error"))) continue;
    kept.push_back(without_credentials(to_utf8(line)));
    if (kept.size() == 2) break;
  }
  std::string text = kept.empty() ? last_lines(output, 3) : join(kept, " | ");
  if (text.size() > kBytes)
    text = text.substr(0, utf8_prefix(std::string_view(text).substr(0, kBytes))) + "…";
  return text;
}

class Content {
 public:
  Result<std::string> of(const fs::path& file) {
    TRY(add(file, 0));
    return std::move(text_);
  }

 private:
  Result<> add(const fs::path& file, int depth);
  Result<> add_line(std::string_view line, const fs::path& file, int depth);
  void add_local(const fs::path& path);
  std::string text_;
};

// "-r FILE", "-rFILE", "--requirement FILE", "--requirement=FILE": what stands behind.
std::optional<std::string_view> included(std::string_view line) {
  for (const std::string_view option : {"--requirement", "--constraint", "-r", "-c"}) {
    if (!line.starts_with(option)) continue;
    std::string_view rest = line.substr(option.size());
    if (option.starts_with("--") && !rest.starts_with('=') && !rest.starts_with(' ')) continue;
    if (rest.starts_with('=')) rest.remove_prefix(1);
    return trim(rest);
  }
  return std::nullopt;
}

Result<> Content::add(const fs::path& file, int depth) {
  if (depth > kIncludeDepth)
    return fail(Code::kInvalidArgument, file.string() + ": requirement files include each other");
  const std::string content = TRY(sys::read_file(file, kFileBytes));
  text_ += fmt::format("file {}\n{}\n", content.size(), content);
  for (const std::string_view line : split(content, '\n')) TRY(add_line(trim(line), file, depth));
  return {};
}

Result<> Content::add_line(std::string_view line, const fs::path& file, int depth) {
  if (line.starts_with("- ")) line = trim(line.substr(2));  // in the pip part of an environment.yml
  if (line.empty() || line.starts_with('#')) return {};
  if (line.find("://") != std::string_view::npos && !line.starts_with("file:")) return {};
  if (const auto more = included(line))
    return add(file.parent_path() / fs::path(more->substr(0, more->find(" #"))), depth + 1);
  for (const std::string_view option : {"-e ", "--editable ", "--editable=", "file://"})
    if (line.starts_with(option)) line = trim(line.substr(option.size()));
  line = line.substr(0, line.find_first_of(" ;["));
  if (line.find('/') != std::string_view::npos || line == "." || line.ends_with(".whl"))
    add_local(file.parent_path() / fs::path(line));
  return {};
}

void Content::add_local(const fs::path& path) {
  std::error_code error;
  const fs::path seen = fs::is_directory(path, error) ? path / "pyproject.toml" : path;
  const auto time = fs::last_write_time(seen, error);
  text_ += fmt::format("local {} {} {}\n", fs::absolute(path, error).string(),
                       error ? 0 : time.time_since_epoch().count(),
                       fs::is_regular_file(seen, error) ? fs::file_size(seen, error) : 0);
}

}  // namespace

Result<std::string> requirements_content(const fs::path& file) { return Content().of(file); }

std::string blamed_package(std::string_view output) {
  for (const Complaint& complaint : kComplaints) {
    const std::size_t at = output.find(complaint.before);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = output.substr(at + complaint.before.size());
    const std::string_view name = trim(rest.substr(0, rest.find_first_of(complaint.ends)));
    if (!name.empty() && name.size() < 300) return std::string(name);
  }
  return "";
}

std::string blame(std::string_view output) {
  const std::string package = blamed_package(output);
  const std::string said = reason_in(output);
  if (package.empty()) return said.empty() ? "the tool gave no reason" : said;
  return fmt::format("package {} cannot be installed: {}", package, said);
}

}  // namespace corral::environment
