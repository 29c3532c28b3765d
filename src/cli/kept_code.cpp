#include "cli/kept_code.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "cli/answers.h"
#include "core/sha256.h"
#include "core/text.h"
#include "environment/tool.h"
#include "sys/file.h"

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

Result<KeptFile> parse_file(const Json& one) {
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
    KeptFile file = TRY(parse_file(one));
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
  for (const Json& one : items(git, "deleted")) {
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
  for (const Json& one : items(list, "left_out"))
    code.left_out.push_back({.path = one.get_string("path"),
                             .reason = one.get_string("reason"),
                             .needed = was_executed(one)});
  return code;
}

namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string last_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

tl::unexpected<Error> fail_behind_link(std::string_view path, int error) {
  if (error == ELOOP || error == ENOTDIR)
    return fail(Code::kPermission,
                fmt::format("'{}' lies behind a link or a file: nothing is restored there",
                            printable(path)));
  return fail_errno(printable(path), error);
}

Result<> make_room(int parent, std::string_view path) {
  if (::unlinkat(parent, last_name(path).c_str(), 0) == 0 || errno == ENOENT) return {};
  return fail_errno(printable(path), errno);
}

}  // namespace

Result<CodeTree> CodeTree::open(const std::filesystem::path& root) {
  return CodeTree(TRY(sys::open_file(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)));
}

Result<sys::Fd> CodeTree::parent_of(std::string_view path, bool make) const {
  TRY(check_restored_path(path));
  sys::Fd here(::openat(root_.get(), ".", kDirectory));
  if (!here) return fail_errno(".", errno);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return here;
  for (const std::string_view part : split(path.substr(0, slash), '/')) {
    const std::string name(part);
    if (make && ::mkdirat(here.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
      return fail_behind_link(path, errno);
    sys::Fd next(::openat(here.get(), name.c_str(), kDirectory));
    if (!next) return fail_behind_link(path, errno);
    here = std::move(next);
  }
  return here;
}

Result<> CodeTree::write(const KeptFile& file, const Send& send) {
  const sys::Fd parent = TRY(parent_of(file.path, true));
  TRY(make_room(parent.get(), file.path));
  const sys::Fd out(::openat(parent.get(), last_name(file.path).c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             file.executable ? 0755 : 0644));
  if (!out) return fail_errno(printable(file.path), errno);
  Sha256Stream hash;
  std::int64_t left = file.bytes;
  Result<> written;
  Result<> sent = send([&](std::string_view piece) {
    left -= static_cast<std::int64_t>(piece.size());
    if (left < 0) return false;
    hash.add(piece);
    written = sys::write_all(out.get(), piece);
    return written.has_value();
  });
  if (!written) return tl::unexpected(written.error().with_context(printable(file.path)));
  if (!sent && left >= 0) return sent;
  if (left != 0 || hex(hash.finish()) != file.sha256)
    return fail(Code::kCorruption,
                fmt::format("'{}' is not what was kept: its SHA-256 differs from the one in the "
                            "list of the run's code",
                            printable(file.path)));
  return {};
}

Result<> CodeTree::link(const KeptFile& file) {
  const sys::Fd parent = TRY(parent_of(file.path, true));
  TRY(make_room(parent.get(), file.path));
  if (::symlinkat(file.link.c_str(), parent.get(), last_name(file.path).c_str()) != 0)
    return fail_errno(printable(file.path), errno);
  return {};
}

Result<> CodeTree::make_directory(std::string_view path) {
  if (path.empty()) return {};
  TRY(parent_of(fmt::format("{}/x", path), true));
  return {};
}

Result<> CodeTree::remove(std::string_view path) {
  const auto parent = parent_of(path, false);
  if (!parent) return {};  // nor is anything below it
  const bool gone = ::unlinkat(parent->get(), last_name(path).c_str(), 0) == 0 || errno == ENOENT ||
                    errno == EISDIR;
  if (!gone) return fail_errno(printable(path), errno);
  // Directories go with their last file, as git has it: a file may take their place.
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos;
       slash = path.rfind('/')) {
    path = path.substr(0, slash);
    const auto above = parent_of(path, false);
    if (!above || ::unlinkat(above->get(), last_name(path).c_str(), AT_REMOVEDIR) != 0) break;
  }
  return {};
}

namespace {

class Git {
 public:
  Git(const GitCheckout& request, const environment::PrepareOptions& options)
      : request_(request), options_(options) {}

  Result<> run(const std::vector<std::string>& words) const {
    const std::string tree = request_.directory.string();
    environment::Tool tool{
        .argv = {"git", "--git-dir=" + tree + "/.git", "--work-tree=" + tree, "-c",
                 "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c",
                 "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false", "-c",
                 "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false"},
        .environment = {"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh",
                        "GIT_INDEX_FILE=" + tree + "/.git/index"},
        .directory = request_.directory};
    tool.argv.insert(tool.argv.end(), words.begin(), words.end());
    TRY(environment::run_checked(tool, options_));
    return {};
  }

  // The commit alone where the server gives it, else all branches and tags.
  Result<> fetch(const std::string& source) const {
    TRY(check_repository(source));
    const std::vector<std::string> common{"fetch", "--quiet", "--no-recurse-submodules"};
    std::vector<std::string> one = common, all = common;
    for (const std::string& word : {std::string("--depth=1"), std::string("--no-tags"),
                                    std::string("--"), source, request_.commit})
      one.push_back(word);
    if (run(one)) return {};
    for (const std::string& word :
         {std::string("--"), source, std::string("+refs/heads/*:refs/remotes/origin/*"),
          std::string("+refs/tags/*:refs/tags/*")})
      all.push_back(word);
    TRY(run(all));
    if (run({"cat-file", "-e", request_.commit + "^{commit}"})) return {};
    return fail(Code::kNotFound, "does not have commit " + request_.commit);
  }

 private:
  const GitCheckout& request_;
  const environment::PrepareOptions& options_;
};

}  // namespace

Result<std::string> check_out(const GitCheckout& request,
                              const environment::PrepareOptions& options) {
  const Git git(request, options);
  TRY(git.run({"init", "--quiet", "--template="}));
  std::string reasons;
  for (const std::string& source : request.sources) {
    const auto fetched = git.fetch(source);
    if (environment::is_cancelled(options)) return fail(Code::kUnavailable, "interrupted");
    if (!fetched) {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ",
                             printable(environment::without_credentials(source)),
                             printable(fetched.error().message));
      continue;
    }
    TRY(git.run({"checkout", "--quiet", "--detach", request.commit}));
    if (check_repository(request.origin)) TRY(git.run({"remote", "add", "origin", request.origin}));
    return source;
  }
  return fail(Code::kNotFound,
              fmt::format("commit {} is in no repository that is known here ({}); name one with "
                          "--repository",
                          request.commit, reasons.empty() ? "none was recorded" : reasons));
}

}  // namespace corral::cli
