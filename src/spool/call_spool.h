// Requests that wait for the server: calls of programs whose answer says nothing, which is why the
// relay gives it itself when there is no server.
//
//   <run>/calls/<20 digits>-<32 hex digits>   the path, a line feed, the body of a POST
//
// The digits are the time: sent in this order, after what was logged before them. Whoever uploads
// the run's directory deletes each once the server has taken it. Any thread keeps; one sends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sys/file.h"

namespace corral::spool {

namespace fs = std::filesystem;

struct Call {
  std::string path, body;
};
Result<> keep_call(const fs::path& run_directory, const Call& call);
// The oldest first.
std::vector<fs::path> waiting_calls(const fs::path& run_directory);
Result<Call> read_call(const fs::path& place);
void forget_call(const fs::path& place);
// The server will never take it: kept in the run's `refused` for a person.
Result<> put_call_aside(const fs::path& run_directory, const fs::path& place);

// Calls or artifacts.
bool anything_waits(const fs::path& run_directory);

}  // namespace corral::spool
