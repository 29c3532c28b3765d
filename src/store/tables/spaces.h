// Spaces: names that only their members see. Rows of `spaces`, `space_members` and `space_teams`.
//
// An experiment lies in the space "vision" if its name begins with "vision/"; so do boards, lists
// and reports, and registered models whose names begin with "vision.". Everything that belongs to
// one of them lies there with it. Everybody sees the rest. Free functions over the caller's
// snapshot or transaction. Every change gives the accounts another version (accounts.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/transaction.h"

namespace corral::store::accounts {

struct Space {
  std::string name;                  // unique; see valid_space_name()
  std::vector<std::string> members;  // names of users; "@" and that of a team (teams.h); sorted
  UtcTime created{};

  bool operator==(const Space&) const = default;
};

// 1 to 64 of a-z, 0-9, '-' and '_', a letter or digit first: no sign that ends a space in a name.
bool valid_space_name(std::string_view name);

// By name.
Result<std::vector<Space>> spaces(Reading& reading);
// kAlreadyExists. kNotFound: a member is no user or team. Experiments of such names already lie in
// it at once.
Result<> add_space(Writing& writing, const Space& space);

struct MemberChange {
  std::string space;
  std::vector<std::string> add, remove;  // as Space::members
};
// kNotFound: there is no such space, or one of them is no user or team.
Result<> change_members(Writing& writing, const MemberChange& change);

enum class IfUsed : std::uint8_t { kRefuse, kOpen };
// Everybody then sees what lay in it, and with kRefuse nothing may: kUnprocessable. kNotFound.
Result<> delete_space(Writing& writing, std::string_view name, IfUsed used);

// An experiment that is renamed so goes from one space to another, or to none.
Result<bool> are_in_different_spaces(Writing& writing, std::string_view name,
                                     std::string_view other);

// ---- what a reader does not see; nothing, of one who sees all
// An id of a run, workload, session, logged model or trace.
Result<bool> is_hidden_id(Reading& reading, std::string_view id);
// An id of a run, logged model or trace that is there.
Result<bool> is_seen_id(Reading& reading, std::string_view id);
Result<bool> is_hidden(Reading& reading, ExperimentId id);
// `artifact_location` of hidden experiments, but for default places.
Result<std::vector<std::string>> hidden_locations(Reading& reading);

}  // namespace corral::store::accounts
