#include "cli/kept_code.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "cli/answers.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr std::size_t kPathBytes = 4000;

tl::unexpected<Error> refused(std::string_view what, std::string_view why) {
  return fail(Code::kUnprocessable, fmt::format("'{}' {}", printable(what), why));
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Also as filesystems that ignore case or know short names spell it.
bool is_git(std::string_view name) {
  while (name.ends_with('.') || name.ends_with(' ')) name.remove_suffix(1);
  const std::string lower = lower_ascii(name);
  return lower == ".git" || lower == "git~1";
}

Result<KeptFile> file_of(const Json& one) {
  KeptFile file{.path = one.get_string("path"),
                .sha256 = one.get_string("sha256"),
                .bytes = one.get_int("bytes", -1),
                .executable = one.get_string("mode") == "755",
                .link = one.get_string("link"),
                .at = one.get_int("at", -1)};
  if (const bool* changed = member(one, "changed_meanwhile").as_bool())
    file.changed_meanwhile = *changed;
  if (!file.link.empty()) {
    if (std::ranges::any_of(file.link, is_control) || file.link.size() > kPathBytes)
      return refused(file.path, "links to no path");
    return file;
  }
  if (file.sha256.size() != 64 || !is_hex(file.sha256))
    return refused(file.path, "has no SHA-256 in the list of kept code");
  if (file.bytes < 0) return refused(file.path, "has no size in the list of kept code");
  return file;
}

// Untracked and unchanged files are not known to have been executed.
bool was_executed(const Json& left_out) {
  const std::string why = left_out.get_string("why");
  return !left_out.get_string("sha256").empty() && why != "untracked" && why != "tracked";
}

Result<> read_files(const Json& list, KeptCode& code) {
  std::set<std::string> seen;
  const auto* files = member(list, "files").as_array();
  if (files == nullptr) return fail(Code::kUnprocessable, "the list of kept code has no files");
  for (const Json& one : *files) {
    KeptFile file = TRY(file_of(one));
    if (file.path.starts_with('/')) {
      code.outside.push_back(std::move(file.path));
      continue;
    }
    TRY(check_restored_path(file.path));
    if (!seen.insert(file.path).second) return refused(file.path, "is in the list twice");
    code.files.push_back(std::move(file));
  }
  return {};
}

Result<> read_git(const Json& git, KeptCode& code) {
  if (git.as_object() == nullptr) return {};
  code.commit = git.get_string("commit");
  if (code.commit.empty()) return {};  // nothing was committed yet
  if ((code.commit.size() != 40 && code.commit.size() != 64) || !is_hex(code.commit))
    return refused(code.commit, "is not a commit");
  code.remote = git.get_string("remote");
  const auto* deleted = member(git, "deleted").as_array();
  if (deleted == nullptr) return {};
  for (const Json& one : *deleted) {
    if (one.as_string() == nullptr) return refused(one.dump(), "is not a path");
    TRY(check_restored_path(*one.as_string()));
    code.deleted.push_back(*one.as_string());
  }
  return {};
}

}  // namespace

Result<> check_restored_path(std::string_view path) {
  if (path.empty() || path.size() > kPathBytes) return refused(path, "is not the path of a file");
  if (!is_utf8(path) || std::ranges::any_of(path, is_control))
    return refused(path, "holds characters that no path is restored with");
  if (path.starts_with('/')) return refused(path, "is absolute: nothing is restored there");
  for (const std::string_view name : split(path, '/')) {
    if (name.empty() || name == "." || name == "..")
      return refused(path, "holds an empty name, '.' or '..': nothing is restored there");
    if (is_git(name)) return refused(path, "lies in .git: nothing is restored there");
  }
  return {};
}

bool stays_inside(std::string_view path, std::string_view target) {
  if (target.empty() || target.starts_with('/')) return false;
  auto depth = std::ranges::count(path, '/');
  bool down = false;  // behind a name ".." may leave a link's directory, wherever that is
  for (const std::string_view name : split(target, '/')) {
    if (name.empty() || name == ".") continue;
    if (is_git(name)) return false;
    if (name != "..") {
      down = true;
    } else if (down || --depth < 0) {
      return false;
    }
  }
  return true;
}

Result<> check_repository(std::string_view address) {
  const auto bad = [&](std::string_view why) { return refused(address, why); };
  if (address.empty() || address.starts_with('-') || std::ranges::any_of(address, is_control))
    return bad("is not an address of a repository");
  if (address.starts_with('/')) return {};
  if (address.find("::") != std::string_view::npos)
    return bad("would run a program: git is not asked");
  std::string_view host = address;
  const std::size_t scheme = address.find("://");
  if (scheme != std::string_view::npos) {
    constexpr std::array<std::string_view, 4> kSchemes{"https", "http", "ssh", "git"};
    if (std::ranges::find(kSchemes, address.substr(0, scheme)) == kSchemes.end())
      return bad("has a scheme that git is not asked for");
    host.remove_prefix(scheme + 3);
  } else if (address.find(':') == std::string_view::npos) {
    return bad("is not an address of a repository");
  }
  host = host.substr(0, host.find_first_of("/:"));
  host.remove_prefix(host.find('@') == std::string_view::npos ? 0 : host.find('@') + 1);
  if (host.empty() || host.starts_with('-')) return bad("names no host");
  return {};
}

Result<KeptCode> read_kept_code(const Json& list) {
  if (const std::int64_t format = list.get_int("format"); format != kFormat)
    return fail(Code::kUnsupported,
                fmt::format("the run's code was kept in format {}; this version reads {}", format,
                            kFormat));
  KeptCode code{.root = list.get_string("root"), .directory = list.get_string("directory")};
  if (!code.root.starts_with('/') || std::ranges::any_of(code.root, is_control))
    return refused(code.root, "is not a root of code");
  while (code.root.size() > 1 && code.root.ends_with('/')) code.root.pop_back();
  if (!code.directory.empty() && !code.directory.starts_with('/'))
    TRY(check_restored_path(code.directory));
  if (const bool* whole = member(list, "whole").as_bool()) code.whole = *whole;
  TRY(read_git(member(list, "git"), code));
  TRY(read_files(list, code));
  if (const auto* left_out = member(list, "left_out").as_array()) {
    for (const Json& one : *left_out)
      code.left_out.push_back({.path = one.get_string("path"),
                               .reason = one.get_string("reason"),
                               .needed = was_executed(one)});
  }
  return code;
}

}  // namespace corral::cli
