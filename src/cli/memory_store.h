// MemoryStore: the directory of `corral serve --store :memory:`, which goes with its server.
//
// An embedded store wants files (several connections, each with its own snapshot, and a log that
// they share: SQLite's own databases in memory have neither). So its files lie in /dev/shm, which
// is memory, or where there is none or little room in it (containers give it 64 MiB) among the
// temporary files. Whoever was killed leaves them behind; the next one takes them away.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.h"

namespace corral::cli {

inline constexpr std::string_view kMemoryStore = ":memory:";

class MemoryStore {
 public:
  // A new directory of mode 0700.
  static Result<MemoryStore> make();
  MemoryStore(MemoryStore&& other) noexcept;
  MemoryStore& operator=(MemoryStore&&) = delete;
  ~MemoryStore();  // removes it with everything in it

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit MemoryStore(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace corral::cli
