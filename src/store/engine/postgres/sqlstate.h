// Translates PostgreSQL's five-letter codes into Code, and SQL into its spelling. Pure.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace corral::store::postgres {

// kUnavailable: the same may succeed later (a lost connection, a server that starts or stops, a
// serialization failure, a deadlock, a lock not granted in time).
Code code_of_sqlstate(std::string_view state);

// The server has ended the session, or is about to.
bool ends_connection(std::string_view state);

// ?1, ?2... become $1, $2...; what stands in quotes or comments stays.
std::string with_dollars(std::string_view sql);

}  // namespace corral::store::postgres
