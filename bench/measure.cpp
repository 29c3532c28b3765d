#include "measure.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "sys/fd.h"

namespace corral::bench {
namespace {

namespace fs = std::filesystem;

template <class Visit>
void visit_files(const fs::path& directory, Visit&& visit) {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(directory, error)) {
    if (entry.is_regular_file(error)) visit(entry.path());
  }
}

struct ProcessCpu {
  pid_t parent = 0;
  double seconds = 0;
};

ProcessCpu read_stat(const fs::path& file) {
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  ProcessCpu out;
  fields >> skipped >> out.parent;
  for (int i = 0; i < 9; ++i) fields >> skipped;
  double ticks = 0;
  for (int i = 0; i < 4; ++i) {  // utime, stime, cutime, cstime
    double one = 0;
    fields >> one;
    ticks += one;
  }
  out.seconds = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return out;
}

}  // namespace

double process_cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double tree_cpu(pid_t pid) {
  if (pid == 0) return 0;
  double seconds = read_stat("/proc/" + std::to_string(pid) + "/stat").seconds;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos)
      continue;
    const ProcessCpu child = read_stat(entry.path() / "stat");
    if (child.parent == pid) seconds += child.seconds;
  }
  return seconds;
}

std::int64_t peak_rss() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

void reset_peak_rss() { std::ofstream("/proc/self/clear_refs") << "5"; }

std::int64_t bytes_on_disk(const fs::path& directory) {
  std::int64_t bytes = 0;
  visit_files(directory, [&](const fs::path& file) {
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0) bytes += info.st_blocks * 512;
  });
  return bytes;
}

void drop_page_cache(const fs::path& directory) {
  visit_files(directory, [](const fs::path& path) {
    const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return;
    ::fsync(file.get());  // only what is clean can be dropped
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  });
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = std::min(values.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace corral::bench
