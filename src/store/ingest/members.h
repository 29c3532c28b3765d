// Members: the supervisors that record one run together, each a rank or a host of a job.
//
// A run runs while a member of its newest attempt does, and ends with the last of them. Its outcome
// is that of the worst: of a failed one before a stopped one, one whose end nobody saw and a
// finished one. If several are as bad, that which ended first counts, because launchers end the
// others after it.
//
// The first attempt of a process that is alone makes no member; it becomes one with the next
// attempt. Free functions on the writer's connection, inside its transaction.
#pragma once

#include <cstdint>
#include <optional>

#include "codec/frame.h"
#include "core/result.h"
#include "core/time.h"
#include "store/engine/database.h"

namespace corral::store::sql {

// A member: the key of its run, and its number in it, from 0 in the order in which they came.
struct MemberKey {
  std::int64_t run = 0, no = 0;
};

struct NewMember {
  std::int64_t run = 0;      // key
  std::int64_t session = 0;  // key
  std::optional<std::int64_t> machine;
  UtcTime started;
};
// True if the run has any.
Result<bool> has_members(Connection& db, std::int64_t run);
// Makes the row, of the first attempt if the session names none; the run runs again if it had ended
// and this is no member of an earlier attempt.
Result<std::int64_t> add_member(Connection& db, const NewMember& member,
                                const codec::SessionBody& body);
// The number of a session's member; nullopt: it has none.
Result<std::optional<std::int64_t>> find_member(Connection& db, std::int64_t session);
// Its command executes since then. The run began with the first member.
Result<> begin_member(Connection& db, const MemberKey& member, UtcTime at);
// True: the fact tells the outcome of its supervisor, which is kept in the member's row and becomes
// the run's at the end.
Result<bool> keep_outcome(Connection& db, const MemberKey& member, const codec::Fact& fact);
// An unknown outcome does not replace a known one. The last of the newest attempt ends the run.
Result<> end_member(Connection& db, const MemberKey& member, const codec::RunEndBody& end,
                    UtcTime at);

}  // namespace corral::store::sql
