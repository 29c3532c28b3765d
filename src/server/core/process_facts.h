// Resources of the server's own process, as the kernel counts them. Any thread; nullopt if /proc
// does not provide the value.
#pragma once

#include <cstdint>
#include <optional>

namespace corral::server {

std::optional<std::int64_t> resident_bytes();
std::optional<std::int64_t> open_files();

}  // namespace corral::server
