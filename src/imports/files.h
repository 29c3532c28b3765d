// Files of others, read in pieces.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "imports/imported_run.h"
#include "sys/file.h"

namespace corral::imports {

inline constexpr std::size_t kPieceBytes = 256U << 10U;

// Calls `take` for the next bytes of an open file, about `most` of them, and returns how many there
// were; 0 at its present end. Errors name `path`.
Result<std::size_t> read_piece(const sys::Fd& file, const sys::fs::path& path, std::string& buffer,
                               const std::function<Result<>(std::string_view)>& take);

// A regular file; kInvalidArgument for anything else, such as a pipe, which could block.
Result<sys::Fd> open_regular(const sys::fs::path& path);

// Files below `directory` for which `wanted(file's name)` holds, sorted by path. Links to
// directories are not followed. kTooLarge beyond a million entries.
Result<std::vector<sys::fs::path>> find_below(const sys::fs::path& directory,
                                              const std::function<bool(std::string_view)>& wanted);

// Bytes of these files together; one that is gone has none.
std::int64_t total_size(const std::vector<sys::fs::path>& files);

// Tells what a reader of records skipped in a file and, where it has read to its present end, what
// is incomplete there.
template <class Records>
void tell_rest(const Records& records, const sys::fs::path& path, bool at_end, Importer& importer) {
  if (records.too_long() > 0) importer.leave_out("records of more than 32 MiB", records.too_long());
  if (at_end && records.incomplete())
    importer.note(fmt::format(
        "{}: the record at byte {} is incomplete: it is still being written, or was cut",
        path.string(), records.offset()));
}

}  // namespace corral::imports
