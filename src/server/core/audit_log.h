// AuditLog: a copy of the audit in a file, for who must not depend on the store: a collector of
// logs, or an owner of the database who is not to be trusted with it.
//
// One JSON object per line, with the members that GET /audit gives, in the order of the ids. An
// entry is copied once its request is answered, or kLongest after it began; in between, those after
// it wait. Each is copied at least once: the id of the last one is kept in `position` after its
// line is on the disk, so a crash in between repeats lines, which their ids tell. So does a store
// that was put back from a backup, whose ids count anew. One thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "core/result.h"
#include "core/time.h"
#include "store/reader.h"
#include "sys/fd.h"

namespace corral::server {

class AuditLog {
 public:
  static constexpr Nanos kLongest = std::chrono::minutes(1);

  // Appends to the file, made with mode 0600; errors as of AccessLog::open().
  static Result<std::unique_ptr<AuditLog>> open(const std::filesystem::path& file,
                                                std::filesystem::path position);
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Copies what is new. After an error, the next call goes on where it was.
  Result<> copy(const store::Reader& reader, UtcTime now);

 private:
  AuditLog(sys::Fd fd, std::filesystem::path position)
      : fd_(std::move(fd)), position_(std::move(position)) {}
  Result<> append(const std::string& lines);

  // Constant after construction.
  const sys::Fd fd_;
  const std::filesystem::path position_;

  std::int64_t last_ = 0;  // id
  bool torn_ = false;      // the file may end within a line
};

}  // namespace corral::server
