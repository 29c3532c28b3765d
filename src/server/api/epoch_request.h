// The body of POST /epochs. Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/request_fields.h"

namespace corral::server::api {

struct EpochsQuestion {
  std::vector<std::string> runs;  // as people write them
  std::size_t skip = 0;           // epochs of each
};
Parsed<EpochsQuestion> parse_epochs_request(std::string_view text);

}  // namespace corral::server::api
