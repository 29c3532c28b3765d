// Finds the source tree and the build's output for tests from the running test's own path: a path
// that is compiled in would make every tree compile its tests again.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace corral {

// A file of the build, as "fakes/libdcgm.so.4".
inline std::string built(std::string_view name) {
  namespace fs = std::filesystem;
  for (fs::path folder = fs::read_symlink("/proc/self/exe"); folder.has_relative_path();) {
    folder = folder.parent_path();
    if (fs::exists(folder / "CMakeCache.txt")) return folder / name;
  }
  throw std::runtime_error("this test is not in the folder of its build");
}

// The root of the source tree that was built.
inline std::string source_dir() {
  constexpr std::string_view kKey = "CMAKE_HOME_DIRECTORY:INTERNAL=";
  std::ifstream cache(built("CMakeCache.txt"));
  for (std::string line; std::getline(cache, line);)
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  throw std::runtime_error("the build does not say where its sources are");
}

inline std::string golden_dir() { return source_dir() + "/tests/golden"; }
inline std::string fake_nvml() { return built("fakes/libnvidia-ml.so.1"); }
// The driver whose settings can be changed.
inline std::string fake_gpu() { return built("fakes/gpu/libnvidia-ml.so.1"); }
inline std::string fake_mps_control() { return built("fakes/gpu/nvidia-cuda-mps-control"); }

}  // namespace corral
