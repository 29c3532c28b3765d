// Words of query/sharing.h that several answers write.
#pragma once

#include <string_view>

#include "analyze/sharing.h"

namespace corral::server::api {

constexpr std::string_view place_kind_name(query::PlaceKind kind) {
  switch (kind) {
    case query::PlaceKind::kDevice:
      return "device";
    case query::PlaceKind::kInstance:
      return "instance";
    case query::PlaceKind::kCpus:
      return "cpus";
    case query::PlaceKind::kHost:
      return "host";
  }
  return "host";
}

}  // namespace corral::server::api
