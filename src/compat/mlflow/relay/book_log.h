// BookLog: what a RunBook must not forget when its supervisor is killed, kept beside the runs'
// logs: the process that takes the run over goes on with the same book.
//
//   <run>/mlflow/book   JSON objects, one a line
//
// A line that a kill or a full disk cut short is left out by the reader. One thread at a time.
#pragma once

#include <vector>

#include "core/json.h"
#include "spool/run_directory.h"
#include "sys/fd.h"

namespace corral::run {

class BookLog {
 public:
  explicit BookLog(sys::PrivateDirectory run) : run_(std::move(run)) {}

  // All that was added, also by others before; the oldest first.
  [[nodiscard]] std::vector<Json> lines() const;
  // One small write(2). What the disk does not take is forgotten by a successor alone.
  void add(const Json& line);

 private:
  sys::PrivateDirectory run_;
  sys::Fd file_;
};

}  // namespace corral::run
