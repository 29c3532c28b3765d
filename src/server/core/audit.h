// The audit of a server whose store has users: requests that manage users, sign in, or delete, as
// entries of store/tables/audit.h.
//
// An entry is stored before the request is carried out, and its status after: whatever is killed
// when, nothing that it lists happens without an entry. Any thread.
#pragma once

#include <string_view>

#include "server/core/context.h"
#include "server/core/http_types.h"

namespace corral::server {

// True for a request that gets an entry: changes that need more than a writer's role, but for
// /stop; sign-ins, revoked tokens, and the trash.
bool is_audited(const Request& request);

// The answer of the request's route. An entry that cannot be stored refuses it.
Response audited(Request request, Context& context);

}  // namespace corral::server
