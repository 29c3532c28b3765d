// ProcFile: a file of /proc or /sys that stays open and is read again and again from its start.
//
// The buffer is sized at open with room to grow, never later: reading allocates nothing. What does
// not fit is cut off at the end of a line. One thread at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sys/fd.h"

namespace corral::collect {

class ProcFile {
 public:
  ProcFile() = default;
  // Opens and reads it once; an error when either fails (a file of a feature that is switched off
  // fails at the read).
  static Result<ProcFile> open(const std::filesystem::path& path);

  // The whole content, valid until the next read; empty when it is gone.
  std::string_view read();

 private:
  sys::Fd fd_;
  std::vector<char> buffer_;
};

// Reads from offset 0 into `buffer` until the end; the bytes read, or -1 with errno. Allocates
// nothing.
std::ptrdiff_t read_from_start(int fd, std::span<char> buffer);

}  // namespace corral::collect
