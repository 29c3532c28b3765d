// Files of equal content below a run's `corral/code/` and `media/`, kept once.
//
// Such a file is a hard link of `.corral-content/ab/abcd…` (its SHA-256) in the root, so that runs
// of the same code, and equal images of any step, cost their size once. A content is removed with
// the last file that links to it; remains of a killed process are removed when the store is opened.
// A filesystem without hard links keeps a copy for each run. Files are only ever replaced, never
// written to.
//
// Safe from any thread. Another process that works on the same directory at the same moment may
// cost a second copy of a content, never a byte of it.
#pragma once

#include <string>
#include <string_view>

#include "core/mutex.h"
#include "core/result.h"
#include "sys/fd.h"

namespace corral::store::artifacts {

// No artifact of the root may have this name.
inline constexpr std::string_view kContents = ".corral-content";

class KeptOnce {
 public:
  // `root` must stay open as long as this.
  explicit KeptOnce(int root) : root_(root) {}

  // True for ".../artifacts/corral/code/...", ".../artifacts/media/..." and
  // ".../artifacts/corral/together".
  static bool covers(std::string_view path);

  // Makes `name` in `directory` (whole, and of this SHA-256 in hex) a link of its content. When
  // that is not possible, the file stays as it is.
  void share(int directory, const std::string& name, const std::string& hash);

  // renameat() onto a path that covers() is true for; content that is unused then goes.
  [[nodiscard]] int rename(int from, const std::string& name, int to, const std::string& target);
  // unlinkat() likewise.
  [[nodiscard]] int unlink(int directory, const std::string& name);

  // Removes contents that no file has.
  void sweep();

 private:
  // The hash of a file when only its content has another name; else empty.
  static std::string hash_of_last_user(int directory, const std::string& name);
  [[nodiscard]] Result<sys::Fd> open_folder(const std::string& hash) const;
  void release(const std::string& hash) REQUIRES(mutex_);

  // Constant after construction.
  const int root_;

  // Held from reading a link count until the action that depends on it; guards no member.
  Mutex mutex_;
};

}  // namespace corral::store::artifacts
