// AccessLog: one line per answer, to a file or to standard output.
//
//   2026-11-21T19:00:00.123Z 4f1c8a0be2d35577 10.0.0.7 POST /api/corral/v1/frames 200 312 1.8
//   time (UTC)               request id       peer     method path            status bytes ms
//
// The path is written as it was sent, without its query (which may hold a token). Blanks, control
// characters, backslashes and bytes beyond ASCII are written as \xHH. note() never waits for the
// disk: lines wait in memory for a thread that writes them, and beyond kMostWaiting bytes they are
// counted instead ("... lines lost"). The file is opened for appending; rotate it by copying and
// truncating.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "core/mutex.h"
#include "core/result.h"
#include "core/time.h"
#include "server/core/http_types.h"
#include "sys/fd.h"

namespace corral::server {

// Returns the line, including the newline.
std::string access_line(const http::Exchange& exchange, UtcTime time);

// Opens a log for appending, made with mode 0600. kPermission: it is a file of somebody else, or
// has several names.
Result<sys::Fd> open_log(const std::filesystem::path& file);

class AccessLog {
 public:
  static constexpr std::size_t kMostWaiting = 4u << 20;  // bytes

  // "-" means standard output. Creates the file with mode 0600.
  static Result<std::unique_ptr<AccessLog>> open(const std::filesystem::path& file);
  explicit AccessLog(sys::Fd fd);
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;
  ~AccessLog();  // writes the waiting lines

  void note(const http::Exchange& exchange);  // any thread

 private:
  void run(const std::stop_token& stop);

  // Constant after construction.
  const sys::Fd fd_;

  Mutex mutex_;
  std::condition_variable_any wake_;
  // Guarded by mutex_.
  std::string waiting_ GUARDED_BY(mutex_);
  std::size_t lost_ GUARDED_BY(mutex_) = 0;

  std::jthread thread_;  // declared last because it uses the members above
};

}  // namespace corral::server
