// Brings the artifacts of a run's spool to the server, and the calls that wait for it.
//
// A file may be large and the way slow, so this is a step of its own: a supervisor takes it on
// another thread than the one that uploads points. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "spool/outbox.h"
#include "sys/http_client.h"

namespace corral::upload {

struct ArtifactReport {
  std::size_t stored = 0;
  std::vector<std::string> refused;  // path and reason of rejected ones
  // The server does not find what an item belongs to: it may have replaced the one that knows the
  // runs. That item and all after it are kept.
  bool unknown = false;
};
// kTold: since a report with `unknown`, the server has been asked for its part of the runs and got
// the rest. An item for something that it still does not find is rejected for good.
enum class Knowledge : std::uint8_t { kAssumed, kTold };

// Sends all pending calls and files, calls first. After an Error, the rest stays for a retry.
// `cancel` ends the current transfer.
Result<ArtifactReport> send_artifacts(const sys::PrivateDirectory& directory,
                                      sys::HttpClient& server, const std::atomic<bool>& cancel,
                                      Knowledge knowledge);

}  // namespace corral::upload
