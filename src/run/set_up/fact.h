// Facts of a set-up: one value, or the reason why there is none.
#pragma once

#include <string>
#include <utility>

#include "codec/frame.h"
#include "core/json.h"

namespace corral::run::set_up {

inline codec::Fact info(std::string key, const Json& value) {
  return {.kind = codec::FactKind::kInfo, .key = std::move(key), .value = value.dump()};
}

inline codec::Fact absent(std::string key, std::string reason) {
  return {.kind = codec::FactKind::kUnavailable, .key = std::move(key), .value = std::move(reason)};
}

}  // namespace corral::run::set_up
