// Body of POST /changes (docs/api.md). Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyze/changes.h"
#include "server/api/request_fields.h"

namespace corral::server::api {

inline constexpr std::int64_t kMostReferencePhases = 100'000;

// Another run whose series of the same names the request's are compared with: in one of its phases,
// or at the same steps on the axis of steps.
struct ChangeReference {
  std::string run;  // as people write it
  std::string phase = {};
  std::size_t index = 0;  // counts the phases of that name from 0, by start
};

struct ChangesQuestion {
  analyze::ChangesRequest request;
  std::optional<ChangeReference> reference = {};
};

Parsed<ChangesQuestion> parse_changes_request(std::string_view text);

}  // namespace corral::server::api
