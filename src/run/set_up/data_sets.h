// Data sets: the identity of data that a run was given by path: numbers of files and bytes, and, if
// the user asks for it, a hash of everything. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/result.h"
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
// readable. No file is read.
std::vector<codec::Fact> data_sets(const std::vector<std::pair<std::string, std::string>>& options,
                                   const std::filesystem::path& directory,
                                   const DataLimits& limits);

// Reads all data. The hash of a file is its SHA-256. The hash of a folder is that of the lines
// "<SHA-256>  <path below it>" of its files, by path: the output of `sha256sum` in the order of
// `LC_ALL=C sort`, hashed again. It does not depend on the folder's place nor on the order in which
// its entries are listed. Links to files are followed, links to folders are not.
// Returns 64 hex digits. `stop` is polled; kUnavailable once it returns true.
Result<std::string> data_hash(const std::filesystem::path& path, const std::function<bool()>& stop);

// Returns a fact "data.data-dir.hash", or the reason why there is none, for each option
// whose value is a file or folder, relative to `directory`. Reads on a thread of its
// own at idle priority for CPU and disk.
std::vector<codec::Fact> data_hashes(
    const std::vector<std::pair<std::string, std::string>>& options,
    const std::filesystem::path& directory, const std::function<bool()>& stop);

}  // namespace corral::run::set_up
