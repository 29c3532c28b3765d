#include "run/set_up/set_up.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/limits.h"
#include "core/sha256.h"
#include "core/text.h"
#include "run/set_up/data_sets.h"
#include "run/set_up/fact.h"
#include "run/set_up/noise.h"
#include "run/set_up/packages.h"
#include "run/set_up/variables.h"
#include "sys/process.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;
using codec::Fact;
using codec::FactKind;

// JSON escapes take some more.
constexpr std::size_t kTextBytes = limits::kFactBytes * 3 / 4;

// Of a program that ended well; the error says what it was otherwise.
Result<std::string> output_of(std::vector<std::string> argv, const fs::path& directory) {
  const std::string name = argv[0];
  int code = 0;
  std::string text =
      TRY(sys::capture_output({.argv = std::move(argv), .directory = directory}, &code));
  if (code != 0) return fail(Code::kUnavailable, fmt::format("{} failed", name));
  return text;
}

// As a fact may hold it.
std::string cut_text(const std::string& text) {
  const std::string whole = to_utf8(text);
  std::string cut = whole.substr(0, utf8_prefix(std::string_view(whole).substr(0, kTextBytes)));
  while (Json(cut).dump().size() > limits::kFactBytes - 100)
    cut.resize(utf8_prefix(std::string_view(cut).substr(0, cut.size() / 2)));
  return cut.size() < whole.size() ? cut + "\n…\n" : cut;
}

std::string digits_of(std::string_view text) {
  std::string digits;
  const Sha256 hash = sha256(text);
  for (std::size_t i = 0; i < 8; ++i) digits += fmt::format("{:02x}", hash.at(i));
  return digits;
}

// A command of git that runs nothing because a repository's own configuration says so. The
// repository may be somebody else's.
std::vector<std::string> git(std::vector<std::string> words) {
  static const std::vector<std::string> safe = {"git", "-c", "core.fsmonitor=false", "-c",
                                                "safe.bareRepository=explicit"};
  words.insert(words.begin(), safe.begin(), safe.end());
  return words;
}

// True when the repository, not the user, names programs that git pipes file contents through.
bool runs_filters(const fs::path& directory) {
  const auto keys = output_of(git({"config", "--show-scope", "--name-only", "--list"}), directory);
  if (!keys) return true;
  return std::ranges::any_of(split(*keys, '\n'), [](std::string_view line) {
    const std::size_t tab = line.find('\t');
    const std::string_view scope = line.substr(0, tab);
    return tab != std::string_view::npos && (scope == "local" || scope == "worktree") &&
           line.substr(tab + 1).starts_with("filter.");
  });
}

void add_git(const fs::path& directory, Mask& mask, std::vector<Fact>& facts) {
  const auto commit = output_of(git({"rev-parse", "HEAD"}), directory);
  if (!commit) {
    const bool there = commit.error().message == "git failed";
    facts.push_back(absent("git", there ? "not in a git repository" : commit.error().message));
    return;
  }
  facts.push_back(info("git_commit", std::string(trim(*commit))));
  if (runs_filters(directory)) {
    facts.push_back(absent("git_dirty",
                           "the repository's own configuration names filters, which are programs: "
                           "git status is not asked"));
    return;
  }
  const auto status =
      output_of(git({"--no-optional-locks", "status", "--porcelain", "-uno"}), directory);
  if (!status) {
    facts.push_back(absent("git_dirty", "git status failed"));
    return;
  }
  const bool dirty = !trim(*status).empty();
  facts.push_back(info("git_dirty", dirty));
  if (!dirty) return;
  const auto diff = output_of(git({"--no-optional-locks", "--no-pager", "diff", "--no-color",
                                   "--no-ext-diff", "--no-textconv", "HEAD"}),
                              directory);
  if (!diff) {
    facts.push_back(absent("git_diff", "git diff failed"));
    return;
  }
  facts.push_back(info("git_diff", cut_text(mask.text(*diff))));
  facts.push_back(info("git_diff_hash", digits_of(*diff)));
}

bool packages_known(const Subject& subject) {
  const auto is_list = [](const auto& entry) { return entry.first == "environment.packages"; };
  return std::ranges::any_of(subject.prepared, is_list);
}

// Version and sys.path, one a line, of an interpreter that is asked without the run's own hooks.
constexpr const char* kAsk =
    "import sys; print('Python %d.%d.%d' % sys.version_info[:3]); print('\\n'.join(sys.path))";

void add_interpreter(const Subject& subject, Mask& mask, std::vector<Fact>& facts) {
  if (subject.interpreter.empty()) return;
  const auto said = output_of({subject.interpreter, "-c", kAsk}, subject.directory);
  if (!said) {
    const auto version = output_of({subject.interpreter, "--version"}, subject.directory);
    if (version) facts.push_back(info("interpreter_version", std::string(trim(*version))));
    if (!packages_known(subject))
      facts.push_back(absent("environment.packages", "the interpreter did not say its path"));
    return;
  }
  const auto lines = split(*said, '\n');
  facts.push_back(info("interpreter_version", std::string(trim(lines[0]))));
  if (packages_known(subject)) return;
  std::vector<fs::path> path;
  path.reserve(lines.size());
  for (const std::string_view line : lines) path.emplace_back(line);
  const std::string packages = cut_lines(mask.text(python_packages(path)), kTextBytes);
  facts.push_back(packages.empty() ? absent("environment.packages", "none are installed")
                                   : info("environment.packages", cut_text(packages)));
}

void add_conda(std::vector<Fact>& facts) {
  const char* prefix = std::getenv("CONDA_PREFIX");
  if (prefix == nullptr || *prefix == '\0') return;
  const std::string packages = cut_lines(conda_packages(prefix), kTextBytes);
  facts.push_back(packages.empty()
                      ? absent("environment.conda", "no packages in $CONDA_PREFIX/conda-meta")
                      : info("environment.conda", cut_text(packages)));
}

bool describes(const Fact& fact) {
  constexpr std::array kPrefixes =
      std::to_array<std::string_view>({"set_up.", "environment.", "interpreter", "git_", "data."});
  const auto starts = [&](std::string_view prefix) { return fact.key.starts_with(prefix); };
  return (fact.kind == FactKind::kInfo || fact.kind == FactKind::kUnavailable) &&
         std::ranges::any_of(kPrefixes, starts);
}

}  // namespace

std::vector<Fact> facts(const Subject& subject) {
  std::vector<Fact> all;
  Mask code(subject.mask), packages(subject.mask), variables_mask(subject.mask);
  add_git(subject.directory, code, all);
  add_interpreter(subject, packages, all);
  if (!packages_known(subject)) add_conda(all);
  const std::string variables =
      cut_lines(recorded_variables(sys::own_environment(), variables_mask), kTextBytes);
  all.push_back(variables.empty() ? absent("environment.variables", "none that are recorded")
                                  : info("environment.variables", cut_text(variables)));
  std::error_code error;
  const fs::path here = subject.directory.empty() ? fs::current_path(error) : subject.directory;
  for (Fact& fact : noise(subject.root, look_outside(here))) all.push_back(std::move(fact));
  for (Fact& fact : data_sets(data_options(subject.command), here, {}))
    all.push_back(std::move(fact));
  std::vector<Fact> hashed = all;
  for (const auto& [key, value] : subject.prepared) hashed.push_back(info(key, to_utf8(value)));
  all.push_back(info("set_up.hash", hash_of(hashed)));
  add_masked("git_diff", code, all);
  add_masked("environment.packages", packages, all);
  add_masked("environment.variables", variables_mask, all);
  return all;
}

std::string hash_of(const std::vector<Fact>& facts) {
  utsname kernel{};
  ::uname(&kernel);
  std::vector<std::string> lines;
  for (const Fact& fact : facts)
    if (describes(fact)) lines.push_back(fact.key + '\x1f' + fact.value);
  std::ranges::sort(lines);
  return digits_of(join(lines, "\x1e") + '\x1e' + kernel.release);
}

}  // namespace corral::run::set_up
