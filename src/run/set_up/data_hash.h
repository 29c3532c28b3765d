// Hash of the data that a run was given by path, where one is asked for: all of it is read.
//
// A file's is its SHA-256. A folder's is that of the lines "<SHA-256>  <path below it>" of its
// files, by path: what `sha256sum` says of them in the order of `LC_ALL=C sort`, hashed again. It
// does not depend on where the folder is nor on the order in which its entries are listed. Links to
// files are followed, links to folders are not. Any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/result.h"

namespace corral::run::set_up {

// 64 hex digits. `stop` is polled; kUnavailable once it says so.
Result<std::string> data_hash(const std::filesystem::path& path, const std::function<bool()>& stop);

// Facts "data.data-dir.hash" of the options (data_sets.h) whose value is a file or folder, seen
// from `directory`, or why there is none. Reads on a thread of its own at idle priority, of CPU and
// of disk.
std::vector<codec::Fact> data_hashes(
    const std::vector<std::pair<std::string, std::string>>& options,
    const std::filesystem::path& directory, const std::function<bool()>& stop);

}  // namespace corral::run::set_up
