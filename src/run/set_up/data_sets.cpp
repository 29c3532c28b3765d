#include "run/set_up/data_sets.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "core/sha256.h"
#include "core/text.h"
#include "run/set_up/fact.h"
#include "run/set_up/idle.h"
#include "sys/clock.h"
#include "sys/file.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;

struct Size {
  std::int64_t files = 0, bytes = 0;
};

void add(const fs::directory_entry& entry, Size& size) {
  std::error_code error;
  if (!entry.is_regular_file(error) || error) return;
  const auto bytes = entry.file_size(error);
  if (error) return;
  ++size.files;
  size.bytes += static_cast<std::int64_t>(bytes);
}

// The error gives the reason why the size is unknown.
Result<Size> measure(const fs::path& path, const DataLimits& limits) {
  Size size;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    add(fs::directory_entry(path, error), size);
    return size;
  }
  const BootTime deadline = sys::boot_now() + limits.time;
  std::size_t seen = 0;
  auto at =
      fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    add(*at, size);
    if (++seen > limits.files)
      return fail(Code::kTooLarge, fmt::format("more than {} files", limits.files));
    if (seen % 256 == 0 && sys::boot_now() > deadline)
      return fail(Code::kTooLarge,
                  fmt::format("not counted within {}", human_duration(limits.time)));
  }
  if (error) return fail(Code::kIo, path.string() + ": " + error.message());
  return size;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> data_options(
    const std::vector<std::string>& command) {
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string_view word = command[i];
    if (!word.starts_with("--")) continue;
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(2, equals == std::string_view::npos ? equals : equals - 2));
    if (lower_ascii(name).find("data") == std::string::npos || name.size() > 64) continue;
    if (equals != std::string_view::npos)
      found[name] = word.substr(equals + 1);
    else if (i + 1 < command.size() && !command[i + 1].starts_with("--"))
      found[name] = command[i + 1];
  }
  return {found.begin(), found.end()};
}

std::vector<codec::Fact> data_sets(const std::vector<std::pair<std::string, std::string>>& options,
                                   const fs::path& directory, const DataLimits& limits) {
  std::vector<codec::Fact> facts;
  for (const auto& [name, value] : options) {
    std::error_code error;
    const fs::path path = directory / value;
    if (value.empty() || !fs::exists(path, error)) continue;
    const std::string key = "data." + to_utf8(name);
    const auto size = measure(path, limits);
    if (!size) {
      facts.push_back(absent(key, size.error().message));
      continue;
    }
    facts.push_back(info(key + ".files", size->files));
    facts.push_back(info(key + ".bytes", size->bytes));
  }
  return facts;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = 1u << 20;  // bytes between two polls of `stop`
constexpr std::size_t kMostFiles = 1'000'000;
constexpr const char* kNotFinished = "not finished";

class Hasher {
 public:
  explicit Hasher(const std::function<bool()>& stop) : stop_(stop), piece_(kPiece, '\0') {}

  Result<std::string> file(const fs::path& path) {
    const sys::Fd file = TRY(sys::open_file(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    Sha256Stream hash;
    for (;;) {
      if (stop_()) return fail(Code::kUnavailable, kNotFinished);
      const ssize_t n = ::read(file.get(), piece_.data(), piece_.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail_errno(path.string(), errno);
      if (n == 0) return hex(hash.finish());
      hash.add(std::string_view(piece_.data(), static_cast<std::size_t>(n)));
    }
  }

  Result<std::string> folder(const fs::path& path) {
    Sha256Stream hash;
    for (const std::string& name : TRY(files_below(path)))
      hash.add(fmt::format("{}  {}\n", TRY(file(path / name)), name));
    return hex(hash.finish());
  }

 private:
  // Returns relative paths, sorted by byte.
  Result<std::vector<std::string>> files_below(const fs::path& path) {
    std::vector<std::string> names;
    std::error_code error;
    auto at = fs::recursive_directory_iterator(path, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      if (stop_()) return fail(Code::kUnavailable, kNotFinished);
      std::error_code unreadable;
      if (!at->is_regular_file(unreadable)) continue;
      names.push_back(at->path().lexically_relative(path).string());
      if (names.size() > kMostFiles)
        return fail(Code::kTooLarge, fmt::format("more than {} files", kMostFiles));
    }
    if (error) return fail(Code::kIo, path.string() + ": " + error.message());
    std::ranges::sort(names);
    return names;
  }

  const std::function<bool()>& stop_;
  std::string piece_;
};

}  // namespace

Result<std::string> data_hash(const fs::path& path, const std::function<bool()>& stop) {
  std::error_code error;
  Hasher hasher(stop);
  return fs::is_directory(path, error) ? hasher.folder(path) : hasher.file(path);
}

std::vector<codec::Fact> data_hashes(
    const std::vector<std::pair<std::string, std::string>>& options, const fs::path& directory,
    const std::function<bool()>& stop) {
  std::vector<codec::Fact> facts;
  const auto hash_all = [&] {
    for (const auto& [name, value] : options) {
      std::error_code error;
      const fs::path path = directory / value;
      // A pipe is not read: its bytes are for the training.
      const fs::file_status status = fs::status(path, error);
      if (value.empty() || !(fs::is_regular_file(status) || fs::is_directory(status))) continue;
      const std::string key = "data." + to_utf8(name) + ".hash";
      const auto hash = data_hash(path, stop);
      facts.push_back(hash ? info(key, *hash) : absent(key, to_utf8(hash.error().message)));
    }
  };
  const auto hashed = do_idly("corral-hash", "hashing data", hash_all);
  if (!hashed) return {absent("data.hash", hashed.error().message)};
  return facts;
}

}  // namespace corral::run::set_up
