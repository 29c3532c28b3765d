// Data sets: the identity of data that a run was given by path: numbers of files and bytes. Names
// and sizes are looked at, no file is read. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/time.h"

namespace corral::run::set_up {

// Limits of a look, which must not delay the run's start; a larger data set is recorded as "more
// than".
struct DataLimits {
  std::size_t files = 50'000;
  Nanos time{std::chrono::seconds(2)};
};

// Returns ("data-dir", "/data/cifar10") for each option of a command whose name has "data" in it.
std::vector<std::pair<std::string, std::string>> data_options(
    const std::vector<std::string>& command);

// Returns facts "data.data-dir.files", "….bytes" of the options whose value is a file or folder,
// relative to `directory`; "unavailable" with the reason if it is larger than the limits or not
// readable.
std::vector<codec::Fact> data_sets(const std::vector<std::pair<std::string, std::string>>& options,
                                   const std::filesystem::path& directory,
                                   const DataLimits& limits);

}  // namespace corral::run::set_up
