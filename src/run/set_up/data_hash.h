// Data hash: the hash of data that a run was given by path, if the user asks for it. All data is
// read.
//
// The hash of a file is its SHA-256. The hash of a folder is that of the lines
// "<SHA-256>  <path below it>" of its files, by path: the output of `sha256sum` in the order of
// `LC_ALL=C sort`, hashed again. It does not depend on the folder's place nor on the order in which
// its entries are listed. Links to files are followed, links to folders are not. Any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/result.h"

namespace corral::run::set_up {

// Returns 64 hex digits. `stop` is polled; kUnavailable once it returns true.
Result<std::string> data_hash(const std::filesystem::path& path, const std::function<bool()>& stop);

// Returns a fact "data.data-dir.hash", or the reason why there is none, for each option
// (data_sets.h) whose value is a file or folder, relative to `directory`. Reads on a thread of its
// own at idle priority for CPU and disk.
std::vector<codec::Fact> data_hashes(
    const std::vector<std::pair<std::string, std::string>>& options,
    const std::filesystem::path& directory, const std::function<bool()>& stop);

}  // namespace corral::run::set_up
