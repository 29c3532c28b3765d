// PressureReader: the time for which tasks were stalled for want of a resource (PSI), of the host
// or of a control group.
//
// Opened on the supervisor's thread, then read by the sampler's, without allocation.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "collect/proc_file.h"
#include "collect/series.h"

namespace corral::collect::proc {

class PressureReader {
 public:
  struct File {
    std::filesystem::path path;  // /proc/pressure/cpu, or a group's cpu.pressure
    std::string metric;          // "host.pressure.cpu", of which there are .some and .full
    std::string source = {};
    bool has_full = true;
  };
  // Declares the series of a file; one that cannot be read is reported to the table.
  void add(const File& file, SeriesTable& table);
  void sample(Row& row);

 private:
  struct Resource {
    ProcFile file;
    Column some = kNoColumn, full = kNoColumn;
  };
  std::vector<Resource> resources_;
};

}  // namespace corral::collect::proc
