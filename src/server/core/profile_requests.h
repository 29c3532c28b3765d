// ProfileRequests: requests to this server for profiles of running runs.
//
// No server connects to a training's host: the run's supervisor gets the request in the answer to
// its next frames, or asks for it, and reports its progress until it is over. Only the latest
// request of each run is kept, and only in memory: it is short-lived, and the profile itself is an
// artifact. Any thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/guarded.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::server {

// States only advance, from kAsked to one of the last three.
enum class ProfileState { kAsked, kWaiting, kRunning, kSaving, kDone, kRefused, kFailed };
std::string_view profile_state_name(ProfileState state);
bool is_over(ProfileState state);

// A supervisor's report about a request.
struct ProfileReport {
  ProfileState state = ProfileState::kAsked;
  std::optional<std::int64_t> first{}, last{};  // steps
  std::string artifact{};                       // its folder
  std::string reason{};                         // why there is none
};
struct ProfileRequest {
  RunId run;
  std::string id;
  std::string tool;
  std::int64_t steps = 0;
  UtcTime asked;
  ProfileReport report{};
};

class ProfileRequests {
 public:
  // kConflict: another request for this run is not over.
  Result<ProfileRequest> add(RunId run, std::string tool, std::int64_t steps);
  // The latest request for the run. A request without a report for a minute is over.
  [[nodiscard]] std::optional<ProfileRequest> latest(RunId run);
  // Requests for these runs that no supervisor has received.
  [[nodiscard]] std::vector<ProfileRequest> undelivered(std::span<const RunId> runs);
  // kNotFound: it is not the run's latest request.
  Result<> report(RunId run, std::string_view id, ProfileReport report);

  // For tests: acts as if this much time had passed.
  void age(Nanos time);

 private:
  struct Entry {
    ProfileRequest request;
    BootTime heard;
  };
  using Entries = std::map<RunId, Entry>;
  Guarded<Entries> entries_;
};

}  // namespace corral::server
