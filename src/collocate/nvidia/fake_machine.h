// Fake machine, for tests: it has the fake's GPUs, and its state in a directory of its own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "collocate/journal/journal.h"
#include "collocate/journal/undo_handler.h"
#include "collocate/nvidia/control.h"
#include "collocate/nvidia/device_plan.h"
#include "core/test_paths.h"
#include "plan/share.h"

namespace corral::collocate::nvidia {

inline plan::Share on(std::vector<std::string> devices) {
  plan::Share share;
  share.devices = std::move(devices);
  return share;
}
inline plan::Share mig(const std::string& profile, const std::string& device = "0") {
  plan::Share share = on({device});
  share.sharing = plan::Sharing::kMig;
  share.profile = profile;
  return share;
}
inline plan::Share mps(std::vector<std::string> devices = {"0"}) {
  plan::Share share = on(std::move(devices));
  share.sharing = plan::Sharing::kMps;
  return share;
}

// A directory in memory, if possible: the tests sync a journal some thousand times.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    const bool in_memory = ::access("/dev/shm", W_OK) == 0;
    const fs::path parent = in_memory ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string pattern = (parent / "corral-gpu-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchDirectory() { fs::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class FakeMachine : public ::testing::Test {
 protected:
  FakeMachine() {
    ::setenv("FAKE_NVML_STATE", (directory_.path() / "gpu").c_str(), 1);
    ::unsetenv("FAKE_MPS");
    ::unsetenv("FAKE_MPS_CLIENTS");
    state("");
  }

  // Writes lines of the state file; see fake/state.h.
  void state(const std::string& lines) { std::ofstream(directory_.path() / "gpu") << lines; }
  void add_state(const std::string& lines) {
    std::ofstream(directory_.path() / "gpu", std::ios::app) << lines;
  }
  // Returns the state, sorted, as the fake writes it.
  [[nodiscard]] std::string state_now() const {
    std::ifstream in(directory_.path() / "gpu");
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::ranges::sort(lines);
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all;
  }
  [[nodiscard]] DeviceOptions options() const {
    return {.nvml = library_,
            .mps_control = fake_mps_control(),
            .state = directory_.path(),
            .operator_pipe = directory_.path() / "operator"};
  }
  [[nodiscard]] UndoOptions undo_options() const {
    UndoOptions options;
    options.state = directory_.path();
    options.nvml = library_;
    options.mps_control = fake_mps_control();
    return options;
  }
  [[nodiscard]] Result<DevicePlan> plan(const std::vector<plan::Share>& shares) const {
    return DevicePlan::plan(shares, options());
  }
  [[nodiscard]] std::string refusal(const std::vector<plan::Share>& shares) const {
    const auto planned = plan(shares);
    return planned ? "" : planned.error().message;
  }
  [[nodiscard]] Journal journal() const { return Journal::open(directory_.path()).value(); }
  [[nodiscard]] fs::path path() const { return directory_.path(); }

  ScratchDirectory directory_;
  std::string library_ = fake_gpu();
};

inline constexpr const char* kGpu0 = "GPU-c0de0000-fa4e-4000-8000-000000000000";
inline constexpr const char* kGpu1 = "GPU-c0de0001-fa4e-4000-8000-000000000000";

}  // namespace corral::collocate::nvidia
