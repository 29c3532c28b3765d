// Brings the artifacts of a run's spool to the server, and the calls that wait for it.
//
// A file may be large and the way slow, so this is a step of its own: a supervisor takes it on
// another thread than the one that uploads points. One thread.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "spool/outbox.h"
#include "sys/http_client.h"

namespace corral::upload {

struct ArtifactReport {
  std::size_t stored = 0;
  std::vector<std::string> refused;  // path and reason of rejected ones
};
// Sends all pending calls and files, calls first. The server must know the runs already: the items
// of an unknown run are rejected for good. After an Error, the rest stays for a retry. `cancel`
// ends the current transfer.
Result<ArtifactReport> send_artifacts(const sys::PrivateDirectory& directory,
                                      sys::HttpClient& server, const std::atomic<bool>& cancel);

}  // namespace corral::upload
