// PrivateDirectory: the one place that decides whether a path may be trusted.
//
// A directory below /tmp, /var/tmp or a shared file system may have been made by another user, who
// can fill it with symbolic and hard links to this user's files, with pipes that block, and with
// files that change while they are read. So nothing that this user did not make is read, written or
// deleted, and no check is separated from its use:
//
//   /  ->  home  ->  user  ->  state  ->  spool     ->  run   ->  out.log
//   `- above: belongs to root or to this user ----'  `- below: this user's, no links ---'
//
// - Each directory above belongs to root or to this user; if everybody may write to it, it is
//   sticky. A symbolic link there is followed when root or this user made it.
// - The directory itself and every directory below belong to this user and are not reached through
//   a link. A file below is a regular one of this user's with one name.
// - Nobody else can write to any of them: neither others nor a group that has other members, unless
//   a directory above keeps them out.
//
// Every step goes from the descriptor of the directory that was checked before (openat,
// O_NOFOLLOW), so that a name that changes hands in between leads to an error. Errors are
// kPermission and name the path and the reason. Copies share the descriptor. Thread-safe.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::sys {

class PrivateDirectory {
 public:
  // kNotFound when it is missing.
  static Result<PrivateDirectory> open(const fs::path& path);
  // Makes it first when it is missing, with its parents, all with mode 0700.
  static Result<PrivateDirectory> make(const fs::path& path);

  [[nodiscard]] const fs::path& path() const { return state_->path; }
  [[nodiscard]] int descriptor() const { return state_->fd.get(); }

  // `name` is relative, has one or more components, and none of them is "..". Flags are open(2)'s.
  [[nodiscard]] Result<PrivateDirectory> directory(const fs::path& name) const;
  [[nodiscard]] Result<PrivateDirectory> make_directory(const fs::path& name) const;
  [[nodiscard]] Result<Fd> open_file(const fs::path& name, int flags, mode_t mode = 0600) const;
  // At most `limit` bytes, else kTooLarge.
  [[nodiscard]] Result<std::string> read_file(const fs::path& name,
                                              std::size_t limit = 64u << 20) const;
  // Replaces the file at once, with mode 0600; as sys::replace_file.
  [[nodiscard]] Result<> replace_file(const fs::path& name, std::string_view content,
                                      bool sync = true) const;
  // As sys::try_lock_file: makes the file when it is missing.
  [[nodiscard]] Result<Fd> try_lock_file(const fs::path& name) const;
  // Names, sorted; empty when it cannot be read. Without `name`, of the directory itself.
  [[nodiscard]] std::vector<std::string> list(const fs::path& name = {}) const;
  // Returns true if any kind of file has this name.
  [[nodiscard]] bool exists(const fs::path& name) const;
  // Returns the facts of the file with this name; a link is not followed.
  [[nodiscard]] Result<struct stat> facts(const fs::path& name) const;
  // Replaces a file that has the new name.
  [[nodiscard]] Result<> rename(const fs::path& from, const fs::path& to) const;
  // A file, a link itself, or an empty directory. True when it is gone by this call.
  bool remove(const fs::path& name) const;  // NOLINT(modernize-use-nodiscard): often best effort
  // With all that is in it; links are removed, never followed. True when nothing is left.
  bool remove_all(const fs::path& name) const;  // NOLINT(modernize-use-nodiscard): likewise

 private:
  struct State {
    Fd fd;
    fs::path path;
    bool closed = false;  // no other user can enter it
  };
  struct Entry;  // a name in a directory
  explicit PrivateDirectory(State state)
      : state_(std::make_shared<const State>(std::move(state))) {}
  static Result<PrivateDirectory> walk_to(const fs::path& path, bool make);
  [[nodiscard]] Result<PrivateDirectory> step(const std::string& name) const;
  [[nodiscard]] Result<Entry> locate(const fs::path& name) const;

  std::shared_ptr<const State> state_;
};

// Opens a regular file for reading that belongs to this user or to root and that no other user can
// write to or replace: directories and links on the way are trusted as those above a
// PrivateDirectory, the last link too. For configuration, which people keep in places of their own.
Result<Fd> open_own_file(const fs::path& path);

}  // namespace corral::sys
