// ProcFile: a file of /proc or /sys that stays open and is read again and again from its start.
//
// The buffer is sized at open with room to grow, never later: reading allocates nothing. A longer
// text is cut off at the end of a line. Each read(2) of such a file makes the kernel compute its
// text again, so there are as few as possible: the one that would only find the end is left out if
// the end is known. One thread at a time.
#pragma once

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/series.h"
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
  // Its first whole lines, by one read(2) of at most so many bytes: the kernel writes no more of a
  // list than is asked for.
  std::string_view read_beginning(std::size_t bytes);

 private:
  [[nodiscard]] bool is_whole(std::size_t size) const;

  sys::Fd fd_;
  std::vector<char> buffer_;
  std::size_t end_ = 0;  // length at which a read last found nothing more
};

// The file, or nothing if it cannot be opened and read.
std::optional<ProcFile> open_if_there(const std::filesystem::path& path);
// As open_if_there(), with the error reported to the table under `metrics`.
std::optional<ProcFile> open_or_report(const std::filesystem::path& path, std::string_view metrics,
                                       SeriesTable& table);

// A short path in a buffer of its own; allocates nothing. A longer one is cut off.
class ShortPath {
 public:
  template <class... Args>
  explicit ShortPath(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to_n(text_.data(), text_.size() - 1, format, std::forward<Args>(args)...);
  }
  [[nodiscard]] const char* c_str() const { return text_.data(); }

 private:
  std::array<char, 64> text_{};
};

// Reads from offset 0 into `buffer` until the end; the bytes read, or -1 with errno. Allocates
// nothing.
std::ptrdiff_t read_from_start(int fd, std::span<char> buffer);
// The same by one read(2), for files of one record that is smaller than `buffer`: the kernel hands
// it over whole.
std::ptrdiff_t read_record(int fd, std::span<char> buffer);

}  // namespace corral::collect
