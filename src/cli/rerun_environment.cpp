#include "cli/rerun_environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cli/answers.h"
#include "core/text.h"
#include "environment/tool.h"
#include "run/set_up/packages.h"
#include "run/set_up/secrets.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

namespace fs = environment::fs;
using environment::PrepareOptions;

constexpr std::size_t kShown = 5;  // differences

struct Python {
  std::string version, packages;
  bool operator==(const Python&) const = default;
};

std::string spelled(std::string_view name) {
  std::string out;
  for (const char c : lower_ascii(name)) {
    const bool sign = c == '_' || c == '.' || c == '-';
    if (!sign || !out.ends_with('-')) out += sign ? '-' : c;
  }
  return out;
}

using Versions = std::map<std::string, std::string>;
Versions versions_of(std::string_view lines) {
  Versions versions;
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t at = line.find("==");
    if (at != std::string_view::npos) versions[spelled(line.substr(0, at))] = line.substr(at + 2);
  }
  return versions;
}

// The interpreter that `corral run` would take for a .py file.
Result<std::string> python_here() {
  return TRY(sys::find_in_path(environment::own_variable("CORRAL_PYTHON", "python3"),
                               environment::own_variable("PATH", "/usr/bin:/bin")))
      .string();
}

// As set_up::facts() records them.
Result<Python> ask(const std::string& python) {
  const auto known = TRY(run::set_up::ask_interpreter(
      python, {.argv = {}, .directory = "/", .limit = std::chrono::minutes(1), .idle = false}));
  run::set_up::Mask mask(true);
  return Python{.version = known.version,
                .packages = mask.text(run::set_up::python_packages(known.path))};
}

std::string listed(const std::vector<std::string>& texts) {
  std::vector<std::string> shown(
      texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, texts.size())));
  if (texts.size() > kShown) shown.push_back(fmt::format("{} more", texts.size() - kShown));
  return printable(join(shown, "; "));
}

// "3.11.2" of "Python 3.11.2".
std::string_view number_of(std::string_view version) {
  return version.substr(version.rfind(' ') + 1);
}

// "3.11" of "3.11.2".
std::string_view without_patch(std::string_view number) {
  const std::size_t dot = number.find('.');
  return number.substr(0, dot == number.npos ? dot : number.find('.', dot + 1));
}

// Lines of requirements.txt. Packages that a name and a version alone cannot install are skipped.
std::string requirements_of(std::string_view packages) {
  std::string lines;
  for (const auto& [name, version] : versions_of(packages)) {
    const auto plain = [](std::string_view text) {
      return text.find_first_not_of(
                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                 "0123456789.+!-_") == text.npos;
    };
    if (!plain(name) || !plain(version) || version.empty()) continue;
    if (name != "pip" && name != "setuptools" && name != "wheel")
      lines += fmt::format("{}=={}\n", name, version);
  }
  return lines;
}

// A run without an environment of its own, or whose environment is not here.
Result<RerunEnvironment> by_packages(const Json& info, const EnvironmentWish& wish,
                                     const std::string& why) {
  RerunEnvironment chosen{.text = "as in this shell"};
  const std::string version = info.get_string("interpreter_version").empty()
                                  ? info.get_string("environment.python_version")
                                  : info.get_string("interpreter_version");
  const std::string packages = info.get_string("environment.packages");
  if (version.empty() && packages.empty() && why.empty()) return chosen;
  const auto python = python_here();
  const auto here = python ? ask(*python) : tl::unexpected(python.error());
  std::vector<std::string> differences;
  if (!why.empty()) differences.push_back(why);
  if (here && number_of(here->version) != number_of(version))
    differences.push_back(fmt::format("{}, here {}", version, here->version));
  if (here) {
    for (std::string& text : package_differences(packages, here->packages))
      differences.push_back(std::move(text));
  } else {
    differences.push_back(here.error().message);
  }
  const bool same = here && differences.size() == (why.empty() ? 0U : 1U);
  if (same) {
    chosen.text = fmt::format("{}, {} with the same packages", *python, here->version);
    if (!why.empty()) chosen.notes.push_back(why);
    return chosen;
  }
  chosen.notes = differences;
  if (wish.any) {
    chosen.text = "as in this shell, which differs";
    return chosen;
  }
  const bool cut = packages.find("… (") != std::string::npos;
  const auto uv = environment::find_tool("uv", "install it");
  if (uv && !packages.empty() && !cut) {
    chosen.requirements = requirements_of(packages);
    chosen.spec =
        fmt::format("uv={};python={}", kRecordedRequirements, without_patch(number_of(version)));
    chosen.text = fmt::format("{}, built by uv from the recorded packages", chosen.spec);
    return chosen;
  }
  return fail(Code::kUnprocessable,
              fmt::format("the environment differs: {}; --environment SPEC names another one, "
                          "--any-environment takes this one{}",
                          listed(differences),
                          uv ? "" : ", and with uv installed the recorded one is built"));
}

}  // namespace

std::vector<std::string> package_differences(std::string_view recorded, std::string_view here) {
  const Versions old = versions_of(recorded), now = versions_of(here);
  std::vector<std::string> differences;
  for (const auto& [name, version] : old) {
    const auto found = now.find(name);
    if (found == now.end()) differences.push_back(fmt::format("{} {}, not here", name, version));
    if (found != now.end() && found->second != version)
      differences.push_back(fmt::format("{} {}, here {}", name, version, found->second));
  }
  for (const auto& [name, version] : now)
    if (!old.contains(name)) differences.push_back(fmt::format("{} {} only here", name, version));
  return differences;
}

Result<RerunEnvironment> choose_environment(const Json& info, const EnvironmentWish& wish,
                                            const PrepareOptions& options) {
  if (!wish.spec.empty()) {
    TRY(environment::parse(wish.spec));
    return RerunEnvironment{.spec = wish.spec, .text = wish.spec + " (chosen)"};
  }
  const std::string recorded = info.get_string("environment.spec");
  if (recorded.empty() || recorded == "local") return by_packages(info, wish, "");
  const auto spec = environment::parse(recorded);
  if (!spec) return by_packages(info, wish, "recorded environment " + recorded + " is not known");
  const RerunEnvironment as_recorded{.spec = recorded, .text = recorded};
  // Its files may come with the code; and a tool is not started with a server's words before the
  // user agreed.
  const bool starts_tool = spec->kind == environment::Kind::kContainer;
  if (!wish.restored && (starts_tool || !fs::path(spec->target).is_absolute())) return as_recorded;
  PrepareOptions there = options;
  there.directory = wish.directory;
  const auto possible = environment::check(*spec, there);
  if (possible || possible.error().code == Code::kUnavailable) return as_recorded;
  return by_packages(
      info, wish, fmt::format("recorded environment {}: {}", recorded, possible.error().message));
}

}  // namespace corral::cli
