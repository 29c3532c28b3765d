// Replacing a file that people edit, too.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace corral::plan {

// Reads the file, lets `change` make the new content of it, and puts that in its place at once:
// temporary beside it, fsync, rename, fsync of the folder. A symbolic link stays one; mode and,
// where permitted, owner and group are kept. When the file changed between the reading and the end,
// it is read and changed again. Writes nothing when the content stays. kConflict: somebody else
// keeps changing it.
Result<> change_file(const std::filesystem::path& path,
                     const std::function<Result<std::string>(std::string_view text)>& change);

}  // namespace corral::plan
