// The store or server that a subcommand speaks to, and a client for it.
#pragma once

#include <chrono>
#include <string>

#include "cli/arguments.h"
#include "core/ids.h"
#include "core/json.h"
#include "core/result.h"
#include "core/time.h"
#include "spool/run_directory.h"
#include "sys/http_client.h"

namespace corral::cli {

// Time that a command waits for its server to answer first, or to start.
inline constexpr Nanos kServerPatience{std::chrono::seconds(15)};

// A store that goes with its server (`corral serve --store :memory:`).
inline constexpr std::string_view kMemoryStore = ":memory:";

struct DestinationFlags {
  std::string store;
  std::string server;
  std::string token_file;
  std::string ca_file{};
  std::string spool;
  bool token_kept_back = false;  // it was given for another server (Arguments::guard_token)
  std::string withheld{};        // why nothing may be sent there (Arguments::withholds)
};
// The store in words: its directory, or the database without its password.
std::string store_name(const spool::Destination& destination);
// The file in which `corral login` keeps the token of a server; it may not be there.
spool::fs::path kept_token_file(std::string_view server);
// --ca-file: the authorities that the server's certificate is from.
void add_authorities(Arguments& arguments, std::string& ca_file);
// --store, --server, --token-file, --ca-file, --spool. Without a token file, a server has the kept
// one.
void add_destination(Arguments& arguments, DestinationFlags& flags);

// kInvalidArgument when the flags contradict each other; kUnsupported for a store that this version
// cannot keep.
Result<spool::Destination> parse_destination(const DestinationFlags& flags);
// The same, and kInvalidArgument where no store can be, because a file stands there. `corral run`
// does not ask: a training starts whatever is wrong with the store.
Result<spool::Destination> usable_destination(const DestinationFlags& flags);
// kNotFound: no database is in the store's directory; kPermission: this user may not open it, and
// whose it is.
Result<> find_database(const spool::fs::path& store);
// Directories of the runs in these spools whose data waits for this destination.
std::vector<spool::fs::path> waiting_runs(const spool::Destination& destination,
                                          const std::vector<spool::fs::path>& roots);
// The first line of --token-file; empty without one, and where that is kept back, which is said on
// standard error.
Result<std::string> read_token(const DestinationFlags& flags);

// Path of the running binary.
spool::fs::path program_path();
// $CORRAL_PYTHON, else python3.
std::string python_program();
// The path of that program, which will find Corral's package: the variable PYTHONPATH of this
// process names it from then on. `purpose` is of errors: "writes Parquet".
Result<std::string> python_with_package(std::string_view purpose);
// The folder of the Python package: beside the binary in a build, below lib/ when installed; empty
// when there is none.
spool::fs::path python_path(const spool::fs::path& program);

// Returns a server that answers; starts one if the store has none. The error says what to do.
Result<sys::HttpTarget> connect(const DestinationFlags& flags);
// The same where the store may be missing: its server makes it.
Result<sys::HttpTarget> connect_or_make(const DestinationFlags& flags);
// The address of its page; empty: it has none for browsers.
Result<std::string> page_address(const DestinationFlags& flags, const sys::HttpTarget& server);
// The JSON of an answer; a status other than 200 becomes an Error with the server's message.
Result<Json> send_json(const sys::HttpTarget& server, const sys::HttpRequest& request);
Result<Json> get_json(const sys::HttpTarget& server, const std::string& path);
// The path of a run in the API, or of what is `below` it.
std::string run_path(std::string_view run, std::string_view below = "");
// Returns true if the store has the run.
Result<bool> has_run(const sys::HttpTarget& server, RunId run);
// The message of an error answer.
Error reply_error(int status, std::string_view body);

}  // namespace corral::cli
