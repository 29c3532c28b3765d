// Identifies this machine, to distinguish two hosts of one name.
#pragma once

#include <string>

#include "sys/private_directory.h"

namespace corral::sys {

// 32 hex digits that stay the same across reboots: /etc/machine-id, hashed, because the id itself
// should not leave the machine (machine-id(5)). If there is none, as in many containers, a random
// one is kept as `machine-id` in `kept`. Empty when that cannot be written either.
std::string machine_id(const PrivateDirectory& kept);
std::string machine_id(const fs::path& etc_machine_id, const PrivateDirectory& kept);

}  // namespace corral::sys
