#include "server/core/audit_log.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <string>

#include "core/json.h"
#include "core/text.h"
#include "server/core/access_log.h"
#include "server/core/context.h"
#include "store/tables/audit.h"
#include "sys/file.h"

namespace corral::server {
namespace {

constexpr std::size_t kAtOnce = 100;  // entries

void append_line(std::string& out, const store::audit::Entry& entry) {
  JsonWriter json(out);
  json.begin_object().key("id").value_string(entry.id);
  json.key("time_ns").value_string(entry.time.time_since_epoch().count());
  json.member("time", iso_utc(entry.time)).member("user", entry.user);
  json.member("address", entry.address).member("request", entry.request);
  json.member("detail", entry.detail).key("status");
  if (entry.status) {
    json.value(*entry.status);
  } else {
    json.null();
  }
  json.end_object();
  out += '\n';
}

bool ends_within_a_line(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!std::filesystem::is_regular_file(file) || in.tellg() <= 0) return false;
  in.seekg(-1, std::ios::end);
  return in.get() != '\n';
}

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::filesystem::path& file,
                                                 std::filesystem::path position) {
  sys::Fd fd = TRY(open_log(file));
  const auto kept = sys::read_file(position, 64);
  if (!kept && kept.error().code != Code::kNotFound) return tl::unexpected(kept.error());
  const std::optional<std::int64_t> last = kept ? parse_int(trim(*kept)) : 0;
  if (!last) return fail(Code::kCorruption, position.string() + " holds no number: delete it");
  std::unique_ptr<AuditLog> log(new AuditLog(std::move(fd), std::move(position)));
  log->last_ = *last;
  log->torn_ = ends_within_a_line(file);
  return log;
}

Result<> AuditLog::append(const std::string& lines) {
  if (torn_) TRY(sys::write_all(fd_.get(), std::string_view("\n")));
  torn_ = true;
  TRY(sys::write_all(fd_.get(), lines));
  torn_ = false;
  // A pipe has no disk.
  if (::fdatasync(fd_.get()) != 0 && errno != EINVAL) return fail_errno("its disk", errno);
  return {};
}

Result<> AuditLog::copy(const store::Reader& reader, UtcTime now) {
  if (TRY(in_snapshot(reader, store::audit::newest)) < last_) last_ = 0;
  for (bool more = true; more;) {
    const auto found = TRY(in_snapshot(reader, [&](store::Reading& reading) {
      return store::audit::entries_after(reading, last_, kAtOnce);
    }));
    more = found.size() == kAtOnce;
    std::string lines;
    std::int64_t last = last_;
    for (const store::audit::Entry& entry : found) {
      const bool open = !entry.status && now - entry.time < kLongest;
      more = more && !open;
      if (open) break;
      append_line(lines, entry);
      last = entry.id;
    }
    if (lines.empty()) return {};
    TRY(append(lines));
    TRY(sys::replace_file(position_, fmt::format("{}\n", last)));
    last_ = last;
  }
  return {};
}

}  // namespace corral::server
