// Resources of the server's own process, as the kernel counts them. Any thread; nothing where /proc
// does not say.
#pragma once

#include <cstdint>
#include <optional>

namespace corral::server {

std::optional<std::int64_t> resident_bytes();
std::optional<std::int64_t> open_files();

}  // namespace corral::server
