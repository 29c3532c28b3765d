// OpenFiles: the GPU files that the processes of a run have open, and the kernel's text about each.
//
// Found by the links of /proc/PID/fd, of which a search follows a limited number and the next goes
// on with the next process; known ones are only read, until they are closed. Allocates nothing
// after construction. One thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace corral::collect::drm {

class OpenFiles {
 public:
  struct Limits {
    std::size_t links = 4096;  // that one search follows
    std::size_t files = 512;   // most files of GPUs; more are ignored
  };
  OpenFiles(const std::filesystem::path& root, Limits limits);

  // Looks for files that are not known yet.
  void search(std::span<const pid_t> processes);
  // Calls take(process, text of fdinfo) for each known one, those of a process in succession; the
  // text's views end with the call. False: it is no GPU's, and is forgotten.
  void read(const std::function<bool(pid_t, std::string_view)>& take);
  // Returns true if there were more than the limit.
  [[nodiscard]] bool left_out() const { return left_out_; }

 private:
  struct File {
    pid_t process = 0;
    int number = 0;
    auto operator<=>(const File&) const = default;
  };
  // Returns the number of links it followed, at most `most`.
  std::size_t search_process(pid_t process, std::size_t most);
  void add_if_gpu(int directory, const char* name, pid_t process);

  Limits limits_;
  sys::Fd proc_;
  std::vector<char> buffer_;
  std::vector<File> files_;  // sorted
  std::size_t next_ = 0;     // process of the next search
  bool left_out_ = false;
};

}  // namespace corral::collect::drm
