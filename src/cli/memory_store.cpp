#include "cli/memory_store.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>
#include <vector>

#include "sys/private_directory.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

// Enough for a test suite or an afternoon; less would be full too soon to be useful.
constexpr std::uintmax_t kRoomBytes = 1u << 30;
constexpr std::string_view kPrefix = "corral-memory-";

fs::path place() {
  std::error_code error;
  fs::path shared = "/dev/shm";
  const fs::space_info room = fs::space(shared, error);
  if (!error && room.available >= kRoomBytes && ::access(shared.c_str(), W_OK) == 0) return shared;
  return fs::temp_directory_path(error);
}

// Removes directories of this user's dead servers: nobody holds their lock.
void remove_left_over(const fs::path& where) {
  const std::string mine = fmt::format("{}{}-", kPrefix, ::getuid());
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(where, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(mine)) found.push_back(entry->path());
  }
  for (const fs::path& directory : found) {
    // Others can make directories of that name, too.
    const auto own = sys::PrivateDirectory::open(directory);
    const std::string lock = sys::server_lock_path(directory).filename();
    // One without a lock is about to be a server's.
    if (own && own->exists(lock) && own->try_lock_file(lock)) fs::remove_all(directory, error);
  }
}

}  // namespace

Result<MemoryStore> MemoryStore::make() {
  const fs::path where = place();
  remove_left_over(where);
  std::string name = (where / fmt::format("{}{}-XXXXXX", kPrefix, ::getuid())).string();
  if (::mkdtemp(name.data()) == nullptr) {
    return fail(Code::kIo, fmt::format("--store :memory: wants room for files in {}: {}",
                                       where.string(), std::generic_category().message(errno)));
  }
  return MemoryStore(name);
}

MemoryStore::MemoryStore(MemoryStore&& other) noexcept : path_(std::exchange(other.path_, {})) {}

MemoryStore::~MemoryStore() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace corral::cli
