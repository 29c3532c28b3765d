#include "core/profile_id.h"

#include <algorithm>

namespace corral {
namespace {

constexpr std::size_t kIdBytes = 64;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::string make_profile_id(std::string_view tool, UtcTime asked) {
  std::string id = std::string(tool) + "-" + iso_utc(asked);
  std::ranges::replace(id, ':', '.');
  return id;
}

bool is_profile_id(std::string_view id) {
  return !id.empty() && id.size() <= kIdBytes && is_letter(id.front()) &&
         std::ranges::all_of(id, [](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

}  // namespace corral
