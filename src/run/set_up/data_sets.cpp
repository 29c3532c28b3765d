#include "run/set_up/data_sets.h"

#include <fmt/core.h>

#include <map>
#include <optional>

#include "core/text.h"
#include "run/set_up/fact.h"
#include "sys/clock.h"

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
Result<Size> size_of(const fs::path& path, const DataLimits& limits) {
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
    const auto size = size_of(path, limits);
    if (!size) {
      facts.push_back(absent(key, size.error().message));
      continue;
    }
    facts.push_back(info(key + ".files", size->files));
    facts.push_back(info(key + ".bytes", size->bytes));
  }
  return facts;
}

}  // namespace corral::run::set_up
