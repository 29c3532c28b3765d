#include "sys/private_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <optional>

#include "core/ids.h"
#include "core/text.h"

namespace corral::sys {
namespace {

constexpr int kMostLinks = 40;  // the kernel's own limit
constexpr int kDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kEnterByOthers = S_IXGRP | S_IXOTH;
constexpr mode_t kPrivate = 0700;

tl::unexpected<Error> untrusted(const fs::path& path, std::string_view why) {
  return fail(Code::kPermission, fmt::format("{} is not trusted: {}", path.string(), why));
}

tl::unexpected<Error> not_ours(const fs::path& path, uid_t found) {
  return untrusted(path, fmt::format("it belongs to user {}, not to user {}", found, ::geteuid()));
}

// True when the user namespace of this process maps `id`, the number of a user in it.
bool is_mapped(std::string_view map, std::uint64_t id) {
  for (const std::string_view line : split(map, '\n')) {
    unsigned long long first = 0;
    unsigned long long outside = 0;
    unsigned long long count = 0;
    if (std::sscanf(std::string(line).c_str(), "%llu %llu %llu", &first, &outside, &count) == 3 &&
        id >= first && id < first + count)
      return true;
  }
  return false;
}

// The user id by which root's files appear in a user namespace that does not map root.
std::optional<uid_t> unmapped_root() {
  const auto overflow = read_file("/proc/sys/kernel/overflowuid", 64);
  const auto map = read_file("/proc/self/uid_map", 64u << 10);
  const auto id = overflow ? parse_int(trim(*overflow)) : std::nullopt;
  if (!id || !map || is_mapped(*map, static_cast<std::uint64_t>(*id))) return std::nullopt;
  return static_cast<uid_t>(*id);
}

bool is_roots(uid_t found) { return found == 0; }

// The owner of a directory above also decides over its content. In a namespace without root's id,
// root's directories look like those of all users that it does not map.
bool is_roots_directory(uid_t found) {
  static const std::optional<uid_t> unmapped = unmapped_root();
  return is_roots(found) || found == unmapped;
}

// A group of this user's own, which has the user's name and no other member: what systems that give
// each user one let it write to is the user's alone.
bool is_own_group(gid_t group) {
  std::array<char, 4096> buffer{};
  passwd user{};
  passwd* found_user = nullptr;
  if (::getpwuid_r(::geteuid(), &user, buffer.data(), buffer.size(), &found_user) != 0 ||
      found_user == nullptr || user.pw_gid != group)
    return false;
  std::array<char, 16384> more{};
  struct group entry {};
  struct group* found_group = nullptr;
  if (::getgrgid_r(group, &entry, more.data(), more.size(), &found_group) != 0 ||
      found_group == nullptr || std::string_view(entry.gr_name) != user.pw_name)
    return false;
  for (char** member = entry.gr_mem; *member != nullptr; ++member) {
    if (std::string_view(*member) != user.pw_name) return false;
  }
  return true;
}

bool others_can_write(const struct stat& facts) {
  return (facts.st_mode & S_IWOTH) != 0 ||
         ((facts.st_mode & S_IWGRP) != 0 && !is_own_group(facts.st_gid));
}

// A directory on the way to a private one.
Result<> check_above(const fs::path& path, const struct stat& facts) {
  if (facts.st_uid != ::geteuid() && !is_roots_directory(facts.st_uid))
    return not_ours(path, facts.st_uid);
  if ((facts.st_mode & S_IWOTH) != 0 && (facts.st_mode & S_ISVTX) == 0)
    return untrusted(path, "everybody can replace its content (no sticky bit)");
  return {};
}

// `closed`: a directory above keeps others out.
Result<> check_private(const fs::path& path, const struct stat& facts, bool closed) {
  if (facts.st_uid != ::geteuid()) return not_ours(path, facts.st_uid);
  if (!closed && others_can_write(facts))
    return untrusted(path, "others can write to it; fix with chmod go-w");
  return {};
}

Result<> check_file(const fs::path& path, const struct stat& facts, bool closed) {
  if (!S_ISREG(facts.st_mode)) return untrusted(path, "it is not a regular file");
  if (facts.st_nlink > 1) return untrusted(path, "it has a second name (a hard link)");
  return check_private(path, facts, closed);
}

Result<struct stat> read_facts(int fd, const fs::path& path) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return fail_errno(path.string(), errno);
  return facts;
}

// The error of a failed openat: ELOOP and ENOTDIR also stand for a link where none may be.
tl::unexpected<Error> open_failed(int directory, const std::string& name, const fs::path& path,
                                  int error) {
  struct stat facts {};
  if (::fstatat(directory, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(facts.st_mode))
    return untrusted(path, "it is a symbolic link");
  return fail_errno(path.string(), error);
}

// Walks from "/" to a directory or a file, link by link.
class Walk {
 public:
  Walk(const fs::path& path, bool make) : make_(make) { push(path); }

  // To a file; a pipe does not block.
  Result<Fd> run_to_file() {
    TRY(restart());
    while (!ahead_.empty() && !file_) {
      const std::string name = ahead_.front();
      ahead_.pop_front();
      TRY(step(name));
    }
    if (!file_ || !ahead_.empty()) return untrusted(path_, "it is not a regular file");
    return std::move(file_);
  }

  Result<> run() {
    TRY(restart());
    while (!ahead_.empty()) {
      const std::string name = ahead_.front();
      ahead_.pop_front();
      TRY(step(name));
      if (file_) return fail_errno(path_.string(), ENOTDIR);
    }
    return check_private(path_, facts_, closed_above_);
  }

  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] const fs::path& path() const { return path_; }
  Fd release() { return std::move(at_); }

 private:
  // These components come next, before the others.
  void push(const fs::path& path) {
    std::deque<std::string> names;
    for (const fs::path& part : path.relative_path()) {
      if (!part.empty() && part != ".") names.push_back(part.string());
    }
    ahead_.insert(ahead_.begin(), names.begin(), names.end());
  }

  Result<> restart() {
    at_ = TRY(open_file("/", kDirectory));
    path_ = "/";
    closed_ = false;
    return enter();
  }

  // `at_` is open: remembers its facts.
  Result<> enter() {
    facts_ = TRY(read_facts(at_.get(), path_));
    closed_above_ = closed_;
    closed_ = closed_ || (facts_.st_mode & kEnterByOthers) == 0;
    return {};
  }

  Result<> step(const std::string& name) {
    TRY(check_above(path_, facts_));
    if (name == "..") {
      // Starts again from "/": a parent that kept other users out below does not do so here.
      const fs::path above = path_.parent_path();
      push(above);
      return restart();
    }
    const fs::path path = path_ / name;
    Fd next(::openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next && errno == ENOENT && make_) {
      if (::mkdirat(at_.get(), name.c_str(), kPrivate) != 0 && errno != EEXIST)
        return fail_errno(path.string(), errno);
      next = Fd(::openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!next) return fail_errno(path.string(), errno);
    const struct stat facts = TRY(read_facts(next.get(), path));
    if (S_ISLNK(facts.st_mode)) return follow(next.get(), facts, path);
    if (S_ISREG(facts.st_mode) && !make_) return open_here(name, path);
    if (!S_ISDIR(facts.st_mode)) return fail_errno(path.string(), ENOTDIR);
    at_ = std::move(next);
    path_ = path;
    return enter();
  }

  Result<> open_here(const std::string& name, const fs::path& path) {
    file_ = Fd(::openat(at_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file_) return fail_errno(path.string(), errno);
    const struct stat facts = TRY(read_facts(file_.get(), path));
    path_ = path;
    if (!S_ISREG(facts.st_mode)) return untrusted(path, "it is not a regular file");
    if (facts.st_uid != ::geteuid() && !is_roots(facts.st_uid)) return not_ours(path, facts.st_uid);
    if (!closed_ && others_can_write(facts)) return untrusted(path, "others can write to it");
    return {};
  }

  Result<> follow(int link, const struct stat& facts, const fs::path& path) {
    if (facts.st_uid != ::geteuid() && !is_roots(facts.st_uid))
      return untrusted(path, fmt::format("it is a symbolic link of user {}", facts.st_uid));
    if (facts.st_nlink > 1) return untrusted(path, "it is a symbolic link with a second name");
    if (++links_ > kMostLinks) return fail_errno(path.string(), ELOOP);
    std::array<char, PATH_MAX> target{};
    const ssize_t n = ::readlinkat(link, "", target.data(), target.size());
    if (n <= 0 || static_cast<std::size_t>(n) == target.size())
      return fail_errno(path.string(), n < 0 ? errno : ENAMETOOLONG);
    const fs::path to(std::string_view(target.data(), static_cast<std::size_t>(n)));
    push(to);
    return to.is_absolute() ? restart() : Result<>();
  }

  bool make_;
  std::deque<std::string> ahead_;
  Fd at_;
  Fd file_;
  fs::path path_;
  struct stat facts_ {};
  bool closed_above_ = false;
  bool closed_ = false;
  int links_ = 0;
};

Result<fs::path> absolute_path(const fs::path& path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  if (error) return fail_errno(path.string(), error.value());
  return whole;
}

Result<std::string> last_component(const fs::path& name, const fs::path& directory) {
  const std::string last = name.filename().string();
  if (last.empty() || last == "." || last == ".." || name.is_absolute())
    return fail(Code::kInvalidArgument,
                (directory / name).string() + ": not a name in a directory");
  return last;
}

struct CloseDirectory {
  void operator()(DIR* entries) const { ::closedir(entries); }
};

// Names in a directory that is open, without "." and ".."; nothing when it cannot be read.
std::optional<std::vector<std::string>> names_in(int directory) {
  const int fd = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  const std::unique_ptr<DIR, CloseDirectory> entries(::fdopendir(fd));
  if (!entries) {
    ::close(fd);
    return std::nullopt;
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view found = entry->d_name;
    if (found != "." && found != "..") names.emplace_back(found);
  }
  return names;
}

// Removes everything in a directory that is open; true when it is empty now.
bool clear(int directory) {
  const auto names = names_in(directory);
  bool empty = names.has_value();
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    if (::unlinkat(directory, name.c_str(), 0) == 0) continue;
    const Fd below(::openat(directory, name.c_str(), kDirectory));
    const bool gone =
        below && clear(below.get()) && ::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0;
    empty = empty && gone;
  }
  return empty;
}

}  // namespace

struct PrivateDirectory::Entry {
  PrivateDirectory directory;
  std::string name;
};

Result<PrivateDirectory> PrivateDirectory::walk_to(const fs::path& path, bool make) {
  Walk walk(TRY(absolute_path(path)), make);
  TRY(walk.run());
  return PrivateDirectory({.fd = walk.release(), .path = walk.path(), .closed = walk.closed()});
}

Result<PrivateDirectory> PrivateDirectory::open(const fs::path& path) {
  return walk_to(path, false);
}

Result<PrivateDirectory> PrivateDirectory::make(const fs::path& path) {
  return walk_to(path, true);
}

Result<PrivateDirectory> PrivateDirectory::step(const std::string& name) const {
  const fs::path path = state_->path / name;
  Fd next(::openat(descriptor(), name.c_str(), kDirectory));
  if (!next) return open_failed(descriptor(), name, path, errno);
  const struct stat facts = TRY(read_facts(next.get(), path));
  TRY(check_private(path, facts, state_->closed));
  const bool closed = state_->closed || (facts.st_mode & kEnterByOthers) == 0;
  return PrivateDirectory({.fd = std::move(next), .path = path, .closed = closed});
}

Result<PrivateDirectory> PrivateDirectory::directory(const fs::path& name) const {
  PrivateDirectory at = *this;
  for (const fs::path& part : name) {
    const std::string last = TRY(last_component(part, at.path()));
    at = TRY(at.step(last));
  }
  return at;
}

Result<PrivateDirectory> PrivateDirectory::make_directory(const fs::path& name) const {
  PrivateDirectory at = *this;
  for (const fs::path& part : name) {
    const std::string last = TRY(last_component(part, at.path()));
    if (::mkdirat(at.descriptor(), last.c_str(), kPrivate) != 0 && errno != EEXIST)
      return fail_errno((at.path() / last).string(), errno);
    at = TRY(at.step(last));
  }
  return at;
}

Result<PrivateDirectory::Entry> PrivateDirectory::locate(const fs::path& name) const {
  std::string last = TRY(last_component(name, path()));
  PrivateDirectory parent = name.has_parent_path() ? TRY(directory(name.parent_path())) : *this;
  return Entry{.directory = std::move(parent), .name = std::move(last)};
}

Result<Fd> PrivateDirectory::open_file(const fs::path& name, int flags, mode_t mode) const {
  const Entry entry = TRY(locate(name));
  const fs::path path = entry.directory.path() / entry.name;
  // A pipe must not block before it is seen to be one, nor a file be cut before it is seen to be
  // ours.
  constexpr int kWait = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Fd file(
      ::openat(entry.directory.descriptor(), entry.name.c_str(), (flags & ~O_TRUNC) | kWait, mode));
  if (!file) return open_failed(entry.directory.descriptor(), entry.name, path, errno);
  const struct stat facts = TRY(read_facts(file.get(), path));
  TRY(check_file(path, facts, entry.directory.state_->closed));
  if (::fcntl(file.get(), F_SETFL, flags & (O_APPEND | O_NONBLOCK)) != 0 ||
      ((flags & O_TRUNC) != 0 && ::ftruncate(file.get(), 0) != 0))
    return fail_errno(path.string(), errno);
  return file;
}

Result<std::string> PrivateDirectory::read_file(const fs::path& name, std::size_t limit) const {
  const Fd file = TRY(open_file(name, O_RDONLY));
  return read_all(file, path() / name, limit);
}

Result<> PrivateDirectory::replace_file(const fs::path& name, std::string_view content,
                                        bool sync) const {
  const Entry entry = TRY(locate(name));
  const std::string draft = entry.name + "." + SessionId::random().hex().substr(0, 8) + ".tmp";
  const auto write = [&]() -> Result<> {
    const Fd fd = TRY(entry.directory.open_file(draft, O_WRONLY | O_CREAT | O_EXCL));
    TRY(write_all(fd.get(), content));
    if (sync && ::fsync(fd.get()) != 0) return fail_errno((path() / name).string(), errno);
    return entry.directory.rename(draft, entry.name);
  };
  Result<> done = write();
  if (!done) entry.directory.remove(draft);
  return done;
}

Result<Fd> PrivateDirectory::try_lock_file(const fs::path& name) const {
  return lock_at_once(TRY(open_file(name, O_RDWR | O_CREAT)), path() / name);
}

std::vector<std::string> PrivateDirectory::list(const fs::path& name) const {
  const auto at = name.empty() ? *this : directory(name);
  std::vector<std::string> names =
      at ? names_in(at->descriptor()).value_or(std::vector<std::string>())
         : std::vector<std::string>();
  std::ranges::sort(names);
  return names;
}

bool PrivateDirectory::exists(const fs::path& name) const { return facts(name).has_value(); }

Result<struct stat> PrivateDirectory::facts(const fs::path& name) const {
  const Entry entry = TRY(locate(name));
  struct stat facts {};
  if (::fstatat(entry.directory.descriptor(), entry.name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno((path() / name).string(), errno);
  return facts;
}

Result<> PrivateDirectory::rename(const fs::path& from, const fs::path& to) const {
  const Entry old_place = TRY(locate(from));
  const Entry new_place = TRY(locate(to));
  if (::renameat(old_place.directory.descriptor(), old_place.name.c_str(),
                 new_place.directory.descriptor(), new_place.name.c_str()) != 0)
    return fail_errno((path() / from).string(), errno);
  return {};
}

bool PrivateDirectory::remove(const fs::path& name) const {
  const auto entry = locate(name);
  if (!entry) return false;
  const int at = entry->directory.descriptor();
  if (::unlinkat(at, entry->name.c_str(), 0) == 0) return true;
  return errno == EISDIR && ::unlinkat(at, entry->name.c_str(), AT_REMOVEDIR) == 0;
}

bool PrivateDirectory::remove_all(const fs::path& name) const {
  const auto entry = locate(name);
  if (!entry) return false;
  if (remove(name)) return true;
  const auto below = entry->directory.step(entry->name);
  if (!below) return below.error().code == Code::kNotFound;
  return clear(below->descriptor()) && remove(name);
}

Result<Fd> open_own_file(const fs::path& path) {
  Walk walk(TRY(absolute_path(path)), false);
  return walk.run_to_file();
}

}  // namespace corral::sys
