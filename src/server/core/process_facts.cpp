#include "server/core/process_facts.h"

#include <unistd.h>

#include <filesystem>

#include "core/text.h"
#include "sys/file.h"

namespace corral::server {

// Second field of /proc/self/statm is resident pages.
std::optional<std::int64_t> resident_bytes() {
  const Result<std::string> statm = sys::read_file("/proc/self/statm");
  if (!statm) return std::nullopt;
  const std::vector<std::string_view> fields = split(trim(*statm), ' ');
  const std::optional<std::int64_t> pages = fields.size() > 1 ? parse_int(fields[1]) : std::nullopt;
  if (!pages) return std::nullopt;
  return *pages * ::sysconf(_SC_PAGESIZE);
}

std::optional<std::int64_t> open_files() {
  std::error_code error;
  std::int64_t count = -1;  // the one that the listing itself has open
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
       !error && entry != end; entry.increment(error)) {
    count += 1;
  }
  if (error) return std::nullopt;
  return count;
}

}  // namespace corral::server
