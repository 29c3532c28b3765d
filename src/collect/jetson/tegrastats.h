// TegraStats: the values of `tegrastats`, streamed from a process that runs as long as the
// listener.
//
// Opened and read on the device lane's thread. open() waits for its first line, which lists the
// board's parts; after that a sample takes the available lines, without waiting and without
// allocating. The end of the stream is reported once; it is not restarted. The process has a group
// of its own and ends with the object, or with the thread that opened it.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collect/news.h"
#include "collect/series.h"
#include "core/result.h"
#include "sys/fd.h"

namespace corral::collect {

// A line of NVIDIA's `tegrastats`, as JetPack 4 to 6 print it: text in, values out; no I/O, any
// bytes accepted. Its values of memory, CPUs and their temperatures belong to other listeners;
// unknown words are skipped.
struct TegraValue {
  std::string_view metric;  // name in the catalogue
  std::string_view source;  // "jetson", or the rail; a view of the line
  double value;             // in the metric's unit
};

// `GR3D_FREQ 45%@[905,905]` and `GR3D_FREQ 45%` are the GPU's load and clock (the fastest
// cluster's), EMC_FREQ the memory controller's, `GPU@45.5C` its temperature (-256: it is switched
// off), `VDD_IN 5120mW/5080mW` and `POM_5V_IN 1532/1532` a rail's power now. Allocates nothing.
void read_tegrastats(std::string_view line, const std::function<void(const TegraValue&)>& take);

class TegraStats {
 public:
  // Returns true for values that the board's files provide already; they are not taken from here.
  using IsKnown = std::function<bool(std::string_view metric, std::string_view source)>;
  // The program below `root`; empty: there is none.
  static std::filesystem::path program(const std::filesystem::path& root);
  static Result<std::unique_ptr<TegraStats>> open(const std::filesystem::path& program,
                                                  const IsKnown& known, SeriesTable& table);
  ~TegraStats();
  TegraStats(const TegraStats&) = delete;
  TegraStats& operator=(const TegraStats&) = delete;

  [[nodiscard]] bool empty() const { return columns_.empty(); }
  // The latest line's values, when a line has come since the last call.
  void sample(Row& row, const std::shared_ptr<News>& news);

 private:
  struct Slot {
    std::string_view metric;
    std::string source;
    Column column;
  };
  TegraStats(pid_t process, sys::Fd out) : process_(process), out_(std::move(out)) {}
  // The latest whole line that is there; empty: none.
  std::string_view latest_line();
  Result<std::string_view> first_line();

  pid_t process_;
  sys::Fd out_;  // closed once it has ended
  bool told_ = false;
  std::vector<Slot> columns_;
  std::array<char, 8192> buffer_{};  // a line that is longer is thrown away
  std::size_t filled_ = 0;
  std::size_t consumed_ = 0;  // bytes of the line that was handed out last, and all before it
};

}  // namespace corral::collect
