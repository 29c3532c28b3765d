// MemoryStore: the directory of `corral serve --store :memory:`, which goes with its server.
//
// An embedded store needs files, because SQLite's databases in memory have neither snapshots per
// connection nor a shared log. Its files lie in /dev/shm, which is memory, or among the temporary
// files if /dev/shm is missing or has little room (containers give it 64 MiB). A server that is
// killed leaves its files behind; the next such server removes them.
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
