#include "run/set_up/git_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "sys/process.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kListBytes = 32u << 20;
// At idle priority on a busy machine.
constexpr Nanos kPatience{std::chrono::minutes(1)};
// Git would look into a submodule by a process that follows that one's configuration.
constexpr const char* kOutside = "--ignore-submodules=dirty";

// A command of git that runs nothing because a repository's own configuration says so.
std::vector<std::string> git(std::vector<std::string> words) {
  static const std::vector<std::string> safe = {"git",
                                                "-c",
                                                "core.fsmonitor=false",
                                                "-c",
                                                "safe.bareRepository=explicit",
                                                "--no-optional-locks",
                                                "--no-pager"};
  words.insert(words.begin(), safe.begin(), safe.end());
  return words;
}

Result<> stream(std::vector<std::string> words, const fs::path& directory,
                const std::function<bool(std::string_view)>& take) {
  int code = 0;
  TRY(sys::capture_output(
      {.argv = git(std::move(words)), .directory = directory, .limit = kPatience, .take = take},
      &code));
  if (code != 0) return fail(Code::kUnavailable, "git failed");
  return {};
}

Result<std::string> said(std::vector<std::string> words, const fs::path& directory) {
  std::string text;
  TRY(stream(std::move(words), directory, [&](std::string_view piece) {
    text += piece;
    return text.size() <= kListBytes;
  }));
  return text;
}

// Of a list whose entries end with NUL.
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

std::string line_of(const Result<std::string>& said) {
  return said ? std::string(trim(*said)) : std::string();
}

}  // namespace

std::string without_credentials(std::string_view address) {
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
  GitTree tree;
  tree.root_ = top;
  tree.commit_ = line_of(said({"rev-parse", "--verify", "--quiet", "HEAD"}, top));
  tree.runs_filters_ = names_filters(top);
  return tree;
}

std::string GitTree::branch() const {
  return line_of(said({"symbolic-ref", "--quiet", "--short", "HEAD"}, root_));
}

std::string GitTree::remote() const {
  return without_credentials(line_of(said({"config", "--get", "remote.origin.url"}, root_)));
}

// "100644 <object> 0\tpath"
Result<std::vector<GitTree::Tracked>> GitTree::tracked() const {
  std::vector<Tracked> files;
  for (const std::string& entry : entries(TRY(said({"ls-files", "--stage", "-z"}, root_)))) {
    const std::size_t tab = entry.find('\t');
    if (tab == std::string::npos) continue;
    // A file in conflict is there once for each side.
    std::string path = entry.substr(tab + 1);
    if (!files.empty() && files.back().path == path) continue;
    files.push_back({.path = std::move(path), .submodule = entry.starts_with("160000")});
  }
  return files;
}

Result<std::vector<std::string>> GitTree::untracked() const {
  return entries(TRY(said({"ls-files", "--others", "--exclude-standard", "-z"}, root_)));
}

// "M", NUL, path, NUL; nothing is asked inside of a submodule.
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
  return stream(std::move(words), root_, take);
}

std::vector<std::string> GitTree::ignored(const fs::path& folder,
                                          const std::vector<std::string>& names) {
  std::vector<std::string> words = {"check-ignore", "-z", "--"};
  for (const std::string& name : names) words.push_back("./" + name);
  auto found = entries(said(std::move(words), folder).value_or(""));
  for (std::string& name : found)
    if (name.starts_with("./")) name.erase(0, 2);
  return found;
}

}  // namespace corral::run::set_up
