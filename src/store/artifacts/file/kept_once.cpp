#include "store/artifacts/file/kept_once.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/sha256.h"
#include "store/artifacts/file/tree.h"

namespace corral::store::artifacts {
namespace {

constexpr int kTries = 3;  // contents come and go by other processes only

std::string content_folder(const std::string& hash) {
  return fmt::format("{}/{}", kContents, hash.substr(0, 2));
}

// Empty: it cannot be read whole.
std::string hash_file(int file) {
  Sha256Stream hash;
  std::array<char, 64u << 10> piece{};
  for (;;) {
    const ssize_t n = ::read(file, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {};
    if (n == 0) return hex(hash.finish());
    hash.add({piece.data(), static_cast<std::size_t>(n)});
  }
}

// True if a content is the one that its name says.
bool is_whole(int directory, const std::string& hash) {
  const sys::Fd file(
      ::openat(directory, hash.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return file && hash_file(file.get()) == hash;
}

// Links nobody but the content itself.
bool is_unused(int directory, const std::string& name) {
  struct stat info {};
  return ::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(info.st_mode) && info.st_nlink == 1;
}

}  // namespace

bool KeptOnce::covers(std::string_view path) {
  return path.find("/artifacts/corral/code/") != std::string_view::npos ||
         path.find("/artifacts/media/") != std::string_view::npos ||
         path.ends_with("/artifacts/corral/together");
}

Result<sys::Fd> KeptOnce::open_folder(const std::string& hash) const {
  return open_directory(root_, content_folder(hash));
}

void KeptOnce::share(int directory, const std::string& name, const std::string& hash) {
  const Lock lock(mutex_);
  const auto folder = make_directories_below(root_, content_folder(hash));
  if (!folder) return;
  const std::string same = name + ".same";
  for (int i = 0; i < kTries; ++i) {
    if (::linkat(directory, name.c_str(), folder->get(), hash.c_str(), 0) == 0) return;
    if (errno != EEXIST) return;  // the filesystem has no hard links
    // This file takes the place of a damaged content.
    if (is_whole(folder->get(), hash)) {
      if (::linkat(folder->get(), hash.c_str(), directory, same.c_str(), 0) == 0) {
        if (::renameat(directory, same.c_str(), directory, name.c_str()) != 0)
          ::unlinkat(directory, same.c_str(), 0);
        return;
      }
      if (errno == ENOENT) continue;
      if (errno != EMLINK) return;
    }
    ::unlinkat(folder->get(), hash.c_str(), 0);
  }
}

int KeptOnce::rename(int from, const std::string& name, int to, const std::string& target) {
  const Lock lock(mutex_);
  const std::string old = hash_of_last_user(to, target);
  if (::renameat(from, name.c_str(), to, target.c_str()) != 0) return -1;
  // Renaming one name of a file to another one of the same file does nothing.
  ::unlinkat(from, name.c_str(), 0);
  release(old);
  return 0;
}

int KeptOnce::unlink(int directory, const std::string& name) {
  const Lock lock(mutex_);
  const std::string hash = hash_of_last_user(directory, name);
  if (::unlinkat(directory, name.c_str(), 0) != 0) return -1;
  release(hash);
  return 0;
}

std::string KeptOnce::hash_of_last_user(int directory, const std::string& name) {
  struct stat info {};
  const sys::Fd file(
      ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 2)
    return {};
  return hash_file(file.get());
}

void KeptOnce::release(const std::string& hash) {
  if (hash.empty()) return;
  const auto folder = open_folder(hash);
  if (folder && is_unused(folder->get(), hash)) ::unlinkat(folder->get(), hash.c_str(), 0);
}

void KeptOnce::sweep() {
  const Lock lock(mutex_);
  const auto contents = open_directory(root_, kContents);
  const auto folders = contents ? read_entries(contents->get()) : Result<std::vector<Entry>>();
  if (!contents || !folders) return;
  for (const Entry& entry : *folders) {
    const auto folder = open_directory(contents->get(), entry.name);
    const auto files = folder ? read_entries(folder->get()) : Result<std::vector<Entry>>();
    if (!folder || !files) continue;
    for (const Entry& file : *files) {
      if (is_unused(folder->get(), file.name)) ::unlinkat(folder->get(), file.name.c_str(), 0);
    }
  }
}

}  // namespace corral::store::artifacts
