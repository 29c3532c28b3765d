// The PostgreSQL driver: engine/database.h over libpq; database.cpp alone includes libpq-fe.h.
//
// Parameters and results travel in binary; statements are prepared once per connection and types of
// their parameters. A result is held whole until its statement is reset. A connection that is lost
// fails what runs on it with kUnavailable, and revive() makes a new one, at most one attempt per
// back-off. No message holds a password.
#pragma once

#include <memory>
#include <string>

#include "store/engine/database.h"

namespace corral::store::postgres {

// kRelaxed writes with synchronous_commit = off: commits of the last instants before a crash of the
// database server may be lost; no other data is harmed. kForeign reads another program's database,
// on a server of any version.
enum class Mode { kReadWrite, kReadOnly, kRelaxed, kForeign };

// `url`: postgresql://[user[:password]@][host][:port][/database][?parameters]; what it leaves open
// comes from PGHOST..., PGPASSWORD and ~/.pgpass, as with psql. A role of its own needs no more
// than to own a database or schema. kInvalidArgument: not such a URL; kUnauthenticated, kNotFound
// (no such database), kPermission, kUnavailable, kUnsupported (older than 15, not UTF-8).
Result<std::unique_ptr<sql::Connection>> open_database(const std::string& url, Mode mode);

// "postgresql://user@host:port/database", without password and parameters.
Result<std::string> name_of(const std::string& url);

}  // namespace corral::store::postgres
