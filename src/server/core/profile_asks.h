// ProfileAsks: profiles of running runs that people ask this server for.
//
// No server connects to a training's host: the run's supervisor hears of a wish in the answer to
// its next frames, or asks, and says what becomes of it until it is over. Only the latest of each
// run is known, and in memory alone: a wish is of the moment, the profile itself is an artifact.
// Any thread.
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

// From asked on they go one way, to one of the last three.
enum class ProfileState { kAsked, kWaiting, kRunning, kSaving, kDone, kRefused, kFailed };
std::string_view profile_state_name(ProfileState state);
bool is_over(ProfileState state);

// A supervisor's report about one.
struct ProfileNews {
  ProfileState state = ProfileState::kAsked;
  std::optional<std::int64_t> first{}, last{};  // steps
  std::string artifact{};                       // its folder
  std::string reason{};                         // why there is none
};
struct ProfileAsk {
  RunId run;
  std::string id;
  std::string tool;
  std::int64_t steps = 0;
  UtcTime asked;
  ProfileNews news{};
};

class ProfileAsks {
 public:
  // kConflict: another one of this run is not over.
  Result<ProfileAsk> ask(RunId run, std::string tool, std::int64_t steps);
  // The latest of the run. One of which nobody has said anything for a minute is over.
  [[nodiscard]] std::optional<ProfileAsk> latest(RunId run);
  // Those of these runs that no supervisor has heard of.
  [[nodiscard]] std::vector<ProfileAsk> unheard(std::span<const RunId> runs);
  // kNotFound: it is not the run's latest.
  Result<> tell(RunId run, std::string_view id, ProfileNews news);

  // For tests: as if so much time had gone by.
  void age(Nanos time);

 private:
  struct Entry {
    ProfileAsk ask;
    BootTime heard;
  };
  using Entries = std::map<RunId, Entry>;
  Guarded<Entries> entries_;
};

}  // namespace corral::server
