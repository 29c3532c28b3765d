// Names for runs that nobody named: "calm-heron-412", at most 20 characters.
#pragma once

#include <cstdint>
#include <string>

namespace corral::mlflow {

// The same for the same bits.
std::string run_name(std::uint64_t bits);

}  // namespace corral::mlflow
