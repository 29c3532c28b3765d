#include "run/set_up/git_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/text.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kListBytes = 32u << 20;
// Long enough at idle priority on a busy machine.
constexpr Nanos kPatience{std::chrono::minutes(1)};
// Without this option, git would start a process in a submodule that follows the submodule's
// configuration.
constexpr const char* kOutside = "--ignore-submodules=dirty";

// Returns a command of git that runs no program of a repository's own configuration: no file
// monitor, no hooks, no fetch of objects that a partial clone lacks.
std::vector<std::string> git(std::vector<std::string> words) {
  static const std::vector<std::string> safe = {"env",
                                                "GIT_NO_LAZY_FETCH=1",
                                                "git",
                                                "-c",
                                                "core.fsmonitor=false",
                                                "-c",
                                                "core.hooksPath=/dev/null",
                                                "-c",
                                                "core.quotePath=false",
                                                "-c",
                                                "safe.bareRepository=explicit",
                                                "--no-optional-locks",
                                                "--no-pager"};
  words.insert(words.begin(), safe.begin(), safe.end());
  return words;
}

// Returns git's exit status, 0 or 1.
Result<int> stream(std::vector<std::string> words, const fs::path& directory,
                   const std::function<bool(std::string_view)>& take) {
  const char* path = std::getenv("PATH");
  TRY(sys::find_in_path("git", path != nullptr ? path : "/usr/bin:/bin"));
  int code = 0;
  TRY(sys::capture_output(
      {.argv = git(std::move(words)), .directory = directory, .limit = kPatience, .take = take},
      &code));
  if (code != 0 && code != 1) return fail(Code::kUnavailable, "git failed");
  return code;
}

// `most`: the greatest exit status that is no failure.
Result<std::string> said(std::vector<std::string> words, const fs::path& directory, int most = 0) {
  std::string text;
  const int code = TRY(stream(std::move(words), directory, [&](std::string_view piece) {
    text += piece;
    return text.size() <= kListBytes;
  }));
  if (code > most) return fail(Code::kUnavailable, "git failed");
  return text;
}

// A `.git` that is a file may name any repository; one that knows this tree is its worktree or its
// submodule.
bool is_known_to_its_repository(const fs::path& top) {
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(top / ".git", error))) return true;
  const auto repository = said({"rev-parse", "--absolute-git-dir"}, top);
  if (!repository) return false;
  const fs::path folder(std::string(trim(*repository)));
  const auto worktree = sys::read_file(folder / "gitdir", 8192);
  if (worktree && fs::path(std::string(trim(*worktree))) == top / ".git") return true;
  const auto named = said({"config", "--local", "--get", "core.worktree"}, top);
  return named && fs::equivalent(folder / std::string(trim(*named)), top, error);
}

// Splits a list whose entries end with NUL.
std::vector<std::string> entries(std::string_view list) {
  std::vector<std::string> found;
  for (const std::string_view entry : split(list, '\0'))
    if (!entry.empty()) found.emplace_back(entry);
  return found;
}

// True when the repository, not the user, names programs that git pipes file contents through.
bool names_filters(const fs::path& directory) {
  const auto keys = said({"config", "--show-scope", "--name-only", "--list"}, directory);
  if (!keys) return true;
  return std::ranges::any_of(split(*keys, '\n'), [](std::string_view line) {
    const std::size_t tab = line.find('\t');
    const std::string_view scope = line.substr(0, tab);
    return tab != std::string_view::npos && (scope == "local" || scope == "worktree") &&
           line.substr(tab + 1).starts_with("filter.");
  });
}

std::string first_line(const Result<std::string>& said) {
  return said ? std::string(trim(*said)) : std::string();
}

}  // namespace

std::string without_login(std::string_view address) {
  const std::size_t scheme = address.find("://");
  if (scheme == std::string_view::npos) return std::string(address);
  const std::size_t user = scheme + 3;
  const std::size_t end = std::min(address.find('/', user), address.size());
  const std::size_t at = address.substr(user, end - user).rfind('@');
  if (at == std::string_view::npos) return std::string(address);
  const std::string_view login = address.substr(user, at);
  const bool ssh = address.starts_with("ssh");
  const std::string kept =
      ssh ? std::string(login.substr(0, login.find(':'))) + "@" : std::string();
  return std::string(address.substr(0, user)) + kept + std::string(address.substr(user + at + 1));
}

Result<GitTree> GitTree::open(const fs::path& directory) {
  std::string top = TRY(said({"rev-parse", "--show-toplevel"}, directory));
  if (top.ends_with('\n')) top.pop_back();
  if (top.empty()) return fail(Code::kUnavailable, "git failed");
  if (!is_known_to_its_repository(top))
    return fail(Code::kPermission,
                "the file .git names a repository that does not know this working tree");
  GitTree tree;
  tree.root_ = top;
  tree.commit_ = first_line(said({"rev-parse", "--verify", "--quiet", "HEAD"}, top));
  tree.runs_filters_ = names_filters(top);
  return tree;
}

std::string GitTree::branch() const {
  return first_line(said({"symbolic-ref", "--quiet", "--short", "HEAD"}, root_));
}

std::string GitTree::remote() const {
  return without_login(first_line(said({"config", "--get", "remote.origin.url"}, root_)));
}

// Parses "H 100644 <object> 0\tpath"; the first letter is small or an S for files whose changes git
// is told to ignore.
Result<std::vector<GitTree::Tracked>> GitTree::tracked() const {
  std::vector<Tracked> files;
  for (const std::string& entry : entries(TRY(said({"ls-files", "-v", "--stage", "-z"}, root_)))) {
    const std::size_t tab = entry.find('\t');
    if (tab == std::string::npos || tab < 2) continue;
    // A file in conflict is listed once for each side.
    std::string path = entry.substr(tab + 1);
    if (!files.empty() && files.back().path == path) continue;
    files.push_back({.path = std::move(path),
                     .submodule = entry.substr(2).starts_with("160000"),
                     .unseen = entry[0] == 'S' || (entry[0] >= 'a' && entry[0] <= 'z')});
  }
  return files;
}

Result<std::vector<std::string>> GitTree::untracked() const {
  return entries(TRY(said({"ls-files", "--others", "--exclude-standard", "-z"}, root_)));
}

// Parses "M", NUL, path, NUL; git does not look inside of a submodule.
Result<GitTree::Changes> GitTree::changes() const {
  const auto list = entries(TRY(said({"diff", "--name-status", "-z", "--no-renames",
                                      "--no-ext-diff", "--no-textconv", kOutside, "HEAD"},
                                     root_)));
  Changes found;
  for (std::size_t i = 0; i + 1 < list.size(); i += 2)
    (list[i] == "D" ? found.deleted : found.changed).push_back(list[i + 1]);
  return found;
}

Result<bool> GitTree::is_dirty() const {
  return !trim(TRY(said({"status", "--porcelain", "-uno", kOutside}, root_))).empty();
}

Result<> GitTree::diff(const std::vector<std::string>& excluded,
                       const std::function<bool(std::string_view)>& take) const {
  std::vector<std::string> words = {"diff",          "--no-color", "--no-ext-diff",
                                    "--no-textconv", kOutside,     "--submodule=short",
                                    "HEAD",          "--",         ":/"};
  for (const std::string& path : excluded) words.push_back(":(exclude,top,literal)" + path);
  return TRY(stream(std::move(words), root_, take)) == 0 ? Result<>()
                                                         : fail(Code::kUnavailable, "git failed");
}

Result<std::set<std::string>> GitTree::ignored(const fs::path& folder,
                                               const std::vector<std::string>& names) {
  constexpr std::size_t kAtOnce = 500;
  const auto is_plain = [](const std::string& name) {
    return std::ranges::none_of(
        name, [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; });
  };
  std::set<std::string> found;
  for (std::size_t i = 0; i < names.size(); i += kAtOnce) {
    std::vector<std::string> words = {"check-ignore", "--"};
    for (std::size_t j = i; j < std::min(names.size(), i + kAtOnce); ++j) {
      if (is_plain(names[j]))
        words.push_back("./" + names[j]);
      else
        found.insert(names[j]);  // git would quote the name
    }
    if (words.size() == 2) continue;
    const std::string list = TRY(said(std::move(words), folder, 1));
    for (const std::string_view line : split(list, '\n'))
      if (line.starts_with("./")) found.emplace(line.substr(2));
  }
  return found;
}

}  // namespace corral::run::set_up
