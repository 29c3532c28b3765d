// The files by which the processes of one embedded store find each other: both columns of the
// layers need them, so they live here.
//
//   <store>/server.lock   flock of the server that owns the store
//   <store>/server.json   who that is; written when it listens, removed when it leaves
//   <store>/port          the TCP port that it had last
//   <store>/corral.sock   its Unix socket, mode 0600 (elsewhere when that path is too long:
//   socket_path)
//
// A store that is a database has such a directory too, one per user and database:
// database_directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "sys/file.h"

namespace corral::sys {

struct ServerRecord {
  std::int64_t pid = 0;
  std::string url;  // "http://127.0.0.1:5000"
  std::string socket;
  UtcTime started;
  std::string version;
};

// The same for every process of a user: <store>/corral.sock, else <$XDG_RUNTIME_DIR or
// /tmp/corral-UID>/<16 hex digits of the store path's SHA-256>.sock. `store_dir` is made absolute
// and canonical where it exists. No file is made.
fs::path socket_path(const fs::path& store_dir);
// Checks the fallback directory when socket_path lies there, and makes that of /tmp; kPermission
// when it is not this user's alone.
Result<> prepare_socket_directory(const fs::path& socket);

// "postgresql://..." or "postgres://..."
bool is_database_url(std::string_view store);
// Returns the passwords in such a URL: offset and length.
std::vector<std::pair<std::size_t, std::size_t>> passwords_in(std::string_view url);
std::string without_passwords(std::string_view url);
// $`variable` where that is an absolute path, else `below_home` in the home directory; empty
// without both (the XDG Base Directory Specification).
fs::path base_directory(const char* variable, const char* below_home);

// $XDG_STATE_HOME (else ~/.local/state, else /var/tmp/corral-UID) /corral/databases/<16 hex digits
// of the URL's SHA-256, passwords left out>. Not made.
fs::path database_directory(std::string_view url);

fs::path server_lock_path(const fs::path& store_dir);
fs::path server_record_path(const fs::path& store_dir);
fs::path server_port_path(const fs::path& store_dir);

// nullopt: no record, or one that cannot be read.
std::optional<ServerRecord> read_server_record(const fs::path& store_dir);
Result<> write_server_record(const fs::path& store_dir, const ServerRecord& record);

// The server that answers on the store's socket right now; a record left behind by a killed one is
// not believed.
std::optional<ServerRecord> find_server(const fs::path& store_dir);

}  // namespace corral::sys
