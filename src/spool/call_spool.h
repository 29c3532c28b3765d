// Requests that wait for the server: calls of programs whose answer says nothing, which is why the
// relay gives it itself when there is no server.
//
//   <run>/calls/<20 digits>-<32 hex digits>   the path, a line feed, the body of a POST
//
// The digits are the time: sent in this order, after the points that were logged before them. The
// uploader deletes each once the server has taken it. Any thread keeps; one sends. `directory` is
// the run's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sys/private_directory.h"

namespace corral::spool {

struct Call {
  std::string path, body;
};
Result<> keep_call(const sys::PrivateDirectory& directory, const Call& call);
// Their names, the oldest first.
std::vector<std::string> waiting_calls(const sys::PrivateDirectory& directory);
Result<Call> read_call(const sys::PrivateDirectory& directory, const std::string& name);
void forget_call(const sys::PrivateDirectory& directory, const std::string& name);
// The server will never take it: kept in the run's `refused` for a person.
Result<> put_call_aside(const sys::PrivateDirectory& directory, const std::string& name);

// Calls or artifacts.
bool anything_waits(const sys::PrivateDirectory& directory);

}  // namespace corral::spool
