#include "upload/profile_wish.h"

#include "core/ids.h"

namespace corral::upload {

std::optional<ProfileWish> parse_profile_wish(const Json& json) {
  const auto run = RunId::parse(json.get_string("run"));
  ProfileWish wish{.run = run.value_or(RunId()),
                   .id = json.get_string("id"),
                   .tool = json.get_string("tool"),
                   .steps = json.get_int("steps")};
  const bool good =
      run && is_profile_id(wish.id) && wish.steps >= 1 && wish.steps <= kMostProfileSteps;
  return good ? std::optional(std::move(wish)) : std::nullopt;
}

}  // namespace corral::upload
