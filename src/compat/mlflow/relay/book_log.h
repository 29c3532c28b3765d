// BookLog: the part of a RunBook that must survive its supervisor, kept beside the runs' logs. The
// process that takes the run over continues with the same book.
//
//   <run>/mlflow/book   JSON objects, one a line
//
// The reader skips a line that was cut short by a kill or a full disk. One thread at a time.
#pragma once

#include <vector>

#include "core/json.h"
#include "spool/run_directory.h"
#include "sys/fd.h"

namespace corral::run {

class BookLog {
 public:
  explicit BookLog(sys::PrivateDirectory run) : run_(std::move(run)) {}

  // Returns all lines, including those of earlier processes, oldest first.
  [[nodiscard]] std::vector<Json> lines() const;
  // One small write(2). If it fails, only a successor misses the line.
  void add(const Json& line);

 private:
  sys::PrivateDirectory run_;
  sys::Fd file_;
};

}  // namespace corral::run
