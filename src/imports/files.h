// Files of others, read in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
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

}  // namespace corral::imports
