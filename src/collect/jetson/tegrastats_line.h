// A line of NVIDIA's `tegrastats`, as JetPack 4 to 6 print it: text in, values out; no I/O, any
// bytes accepted. Its values of memory, CPUs and their temperatures belong to other listeners;
// unknown words are skipped.
#pragma once

#include <functional>
#include <string_view>

namespace corral::collect {

struct TegraValue {
  std::string_view metric;  // name in the catalogue
  std::string_view source;  // "jetson", or the rail; a view of the line
  double value;             // in the metric's unit
};

// `GR3D_FREQ 45%@[905,905]` and `GR3D_FREQ 45%` are the GPU's load and clock (the fastest
// cluster's), EMC_FREQ the memory controller's, `GPU@45.5C` its temperature (-256: it is switched
// off), `VDD_IN 5120mW/5080mW` and `POM_5V_IN 1532/1532` a rail's power now. Allocates nothing.
void read_tegrastats(std::string_view line, const std::function<void(const TegraValue&)>& take);

}  // namespace corral::collect
