// OutputTarget: where a command writes its result: standard output, a file that gets its name only
// when it is whole, or something that is no file (a pipe, a terminal), written as it is.
//
// An end without finish() (error, signal, kill -9) leaves a file of that name as it was; only kill
// -9 leaves the unfinished NAME.XXXXXXXX.part behind. One thread, one file of a process at a time.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"
#include "sys/fd.h"

namespace corral::cli {

class OutputTarget {
 public:
  // Empty: standard output.
  static Result<OutputTarget> open(const std::string& path);
  OutputTarget(OutputTarget&& other) noexcept;
  OutputTarget& operator=(OutputTarget&&) = delete;
  ~OutputTarget();

  Result<> write(std::string_view bytes);
  // Writes the rest, syncs, and gives the file its name.
  Result<> finish();

 private:
  OutputTarget() = default;
  [[nodiscard]] std::string name() const;
  Result<> flush();

  std::filesystem::path path_;       // empty: standard output
  std::filesystem::path temporary_;  // empty: written in place
  sys::Fd file_;
  std::string waiting_;
};

}  // namespace corral::cli
