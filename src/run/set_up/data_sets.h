// Identity of the data that a run was given by path: how many files of how many bytes. Names and
// sizes are looked at, nothing is read. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/time.h"

namespace corral::run::set_up {

// Beyond this a data set is "more than": looking would take from the run's own start.
struct DataLimits {
  std::size_t files = 50'000;
  Nanos time{std::chrono::seconds(2)};
};

// ("data-dir", "/data/cifar10") for each option of a command whose name has "data" in it.
std::vector<std::pair<std::string, std::string>> data_options(
    const std::vector<std::string>& command);

// Facts "data.data-dir.files", "….bytes" of those whose value is a file or folder, seen from
// `directory`; not available with the reason where it is larger than the limits or not readable.
std::vector<codec::Fact> data_sets(const std::vector<std::pair<std::string, std::string>>& options,
                                   const std::filesystem::path& directory,
                                   const DataLimits& limits);

}  // namespace corral::run::set_up
