// Words of query/sharing.h that several answers write.
#pragma once

#include <string_view>

#include "analyze/sharing.h"

namespace corral::server::api {

constexpr std::string_view place_kind_name(analyze::PlaceKind kind) {
  switch (kind) {
    case analyze::PlaceKind::kDevice:
      return "device";
    case analyze::PlaceKind::kInstance:
      return "instance";
    case analyze::PlaceKind::kCpus:
      return "cpus";
    case analyze::PlaceKind::kHost:
      return "host";
  }
  return "host";
}

}  // namespace corral::server::api
