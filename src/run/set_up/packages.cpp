#include "run/set_up/packages.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "sys/file.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;

using Versions = std::map<std::string, std::string>;

// Returns a name as package indexes compare it: lower case, one hyphen.
std::string plain_name(std::string_view name) {
  std::string plain = lower_ascii(name);
  std::ranges::replace_if(
      plain, [](char c) { return c == '_' || c == '.'; }, '-');
  return plain;
}

// "numpy-1.26.4.dist-info", "PyYAML-6.0.egg-info", "six-1.16.0-py3.11.egg-info", "here.egg-info"
void add(std::string_view entry, Versions& versions) {
  std::string_view stem;
  for (const std::string_view ending : {".dist-info", ".egg-info"}) {
    if (entry.ends_with(ending)) stem = entry.substr(0, entry.size() - ending.size());
  }
  if (stem.empty()) return;
  const std::size_t hyphen = stem.find('-');
  std::string_view version =
      hyphen == std::string_view::npos ? std::string_view() : stem.substr(hyphen + 1);
  version = version.substr(0, version.find("-py"));
  versions.try_emplace(plain_name(stem.substr(0, hyphen)), version);
}

std::string to_lines(const Versions& versions) {
  std::string lines;
  for (const auto& [name, version] : versions)
    lines += to_utf8(version.empty() ? name : fmt::format("{}=={}", name, version)) + "\n";
  return lines;
}

}  // namespace

Result<Interpreter> ask_interpreter(const std::string& program, sys::CaptureOptions options) {
  constexpr const char* kQuestion =
      "import sys; print('Python %d.%d.%d' % sys.version_info[:3]); print('\\n'.join(sys.path))";
  int code = 0;
  options.argv = {program, "-c", kQuestion};
  const std::string said = TRY(sys::capture_output(options, &code));
  const auto lines = split(said, '\n');
  if (code != 0 || !lines[0].starts_with("Python "))
    return fail(Code::kUnavailable, program + " does not say its version");
  return Interpreter{.version = std::string(trim(lines[0])),
                     .path = {lines.begin() + 1, lines.end()}};
}

std::string python_packages(const std::vector<fs::path>& path) {
  Versions versions;
  for (const fs::path& directory : path) {
    if (!directory.is_absolute()) continue;
    for (const std::string& entry : sys::list_directory(directory)) add(entry, versions);
  }
  return to_lines(versions);
}

// "conda-meta/python-3.11.5-h955ad1f_0.json"
std::string conda_packages(const fs::path& prefix) {
  Versions versions;
  for (const std::string& entry : sys::list_directory(prefix / "conda-meta")) {
    if (!entry.ends_with(".json")) continue;
    const std::string_view stem = std::string_view(entry).substr(0, entry.size() - 5);
    const std::size_t build = stem.rfind('-');
    const std::size_t version = build == std::string_view::npos || build == 0
                                    ? std::string_view::npos
                                    : stem.rfind('-', build - 1);
    if (version == std::string_view::npos) continue;
    versions[std::string(stem.substr(0, version))] =
        fmt::format("{}={}", stem.substr(version + 1, build - version - 1), stem.substr(build + 1));
  }
  return to_lines(versions);
}

std::string cut_lines(const std::string& lines, std::size_t bytes) {
  if (lines.size() <= bytes) return lines;
  constexpr std::size_t kRemark = 40;
  const std::size_t end = lines.rfind('\n', bytes > kRemark ? bytes - kRemark : 0);
  const std::string kept = end == std::string::npos ? "" : lines.substr(0, end + 1);
  const auto left =
      std::count(lines.begin() + static_cast<std::ptrdiff_t>(kept.size()), lines.end(), '\n');
  return kept + fmt::format("… ({} more)\n", left);
}

}  // namespace corral::run::set_up
