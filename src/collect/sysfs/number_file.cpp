#include "collect/sysfs/number_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "collect/proc_file.h"
#include "collect/scan.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::collect::sysfs {
namespace {

// A number of 20 digits with sign, fraction and newline fits; so does the start of anything else.
using Buffer = std::array<char, 64>;

std::optional<std::uint64_t> number_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() > prefix.size() + 9) return std::nullopt;
  const auto number = parse_int(name.substr(prefix.size()));
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  Scanner scan(text);
  const bool negative = scan.skip('-');
  double value = 0;
  if (!scan.decimal(value)) return std::nullopt;
  return negative ? -value : value;
}

Result<NumberFile> NumberFile::open(const std::filesystem::path& path) {
  NumberFile file = TRY(open_limit(path));
  if (file.read()) return file;
  return fail(Code::kUnavailable,
              path.string() + " holds, instead of a number, '" + to_utf8(read_text(path)) + "'");
}

Result<NumberFile> NumberFile::open_limit(const std::filesystem::path& path) {
  NumberFile file;
  file.fd_ = TRY(sys::open_file(path, O_RDONLY));
  Buffer buffer;
  if (read_record(file.fd_.get(), buffer) < 0)
    return fail_errno("cannot read " + path.string(), errno);
  return file;
}

std::optional<double> NumberFile::read() const {
  Buffer buffer;
  const std::ptrdiff_t n = read_record(fd_.get(), buffer);
  if (n <= 0) return std::nullopt;
  return parse_number({buffer.data(), static_cast<std::size_t>(n)});
}

Result<> NumberFiles::add(const Spec& spec, SeriesTable& table) {
  NumberFile file = TRY(NumberFile::open(spec.path));
  const bool slow = metric::find_metric(spec.metric)->slow;
  files_[slow ? kSlowGroup : kFastGroup].push_back({.file = std::move(file),
                                                    .column = table.add(spec.metric, spec.source),
                                                    .scale = spec.scale});
  return {};
}

bool NumberFiles::add_if_there(const Spec& spec, SeriesTable& table) {
  std::error_code ignored;
  if (!std::filesystem::exists(spec.path, ignored)) return false;
  const auto added = add(spec, table);
  if (added) return true;
  if (spec.source.empty()) {
    table.unavailable(spec.metric, added.error().message);
  } else {
    table.unavailable(spec.metric, spec.source, added.error().message);
  }
  return false;
}

void NumberFiles::sample(Group group, Row& row) const {
  for (const Entry& entry : files_[static_cast<std::size_t>(group)]) {
    if (const auto value = entry.file.read()) row.set(entry.column, *value * entry.scale);
  }
}

std::string read_text(const std::filesystem::path& path) {
  constexpr std::size_t kLimit = 64u << 10;
  const auto text = sys::read_file(path, kLimit);
  return text ? std::string(trim(*text)) : std::string();
}

std::vector<std::string> numbered_entries(const std::filesystem::path& directory,
                                          std::string_view prefix) {
  std::vector<std::pair<std::uint64_t, std::string>> found;
  for (std::string& name : sys::list_directory(directory)) {
    if (const auto number = number_after(name, prefix))
      found.emplace_back(*number, std::move(name));
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  names.reserve(found.size());
  for (auto& [number, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace corral::collect::sysfs
