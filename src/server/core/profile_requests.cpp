#include "server/core/profile_requests.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/ids.h"
#include "sys/clock.h"

namespace corral::server {
namespace {

constexpr Nanos kPatience{std::chrono::minutes(1)};
constexpr std::size_t kAskedRuns = 1000;

constexpr std::array<std::string_view, 7> kStateNames = {"asked", "waiting", "running", "saving",
                                                         "done",  "refused", "failed"};

void expire(ProfileRequest& request, BootTime heard, BootTime now) {
  ProfileReport& report = request.report;
  if (is_over(report.state) || now - heard < kPatience) return;
  if (report.state == ProfileState::kAsked) {
    report.state = ProfileState::kRefused;
    report.reason =
        "no supervisor answered within 60 s: the run's `corral run` is gone, cannot reach this "
        "server, or talks to another one";
  } else {
    report.state = ProfileState::kFailed;
    report.reason = "the run's `corral run` has said nothing for 60 s";
  }
}

}  // namespace

std::string_view profile_state_name(ProfileState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

bool is_over(ProfileState state) { return state >= ProfileState::kDone; }

Result<ProfileRequest> ProfileRequests::add(RunId run, std::string tool, std::int64_t steps) {
  const BootTime now = sys::boot_now();
  const UtcTime asked = sys::utc_now();
  return entries_.with([&](Entries& entries) -> Result<ProfileRequest> {
    const auto found = entries.find(run);
    if (found != entries.end()) {
      expire(found->second.request, found->second.heard, now);
      if (!is_over(found->second.request.report.state))
        return fail(Code::kConflict, "another profile of this run is on its way");
      entries.erase(found);
    }
    if (entries.size() >= kAskedRuns)
      entries.erase(std::ranges::min_element(entries, {},
                                             [](const auto& entry) { return entry.second.heard; }));
    std::string id = make_profile_id(tool, asked);
    ProfileRequest request{
        .run = run, .id = std::move(id), .tool = std::move(tool), .steps = steps, .asked = asked};
    entries[run] = {.request = request, .heard = now};
    return request;
  });
}

std::optional<ProfileRequest> ProfileRequests::latest(RunId run) {
  const BootTime now = sys::boot_now();
  return entries_.with([&](Entries& entries) -> std::optional<ProfileRequest> {
    const auto found = entries.find(run);
    if (found == entries.end()) return std::nullopt;
    expire(found->second.request, found->second.heard, now);
    return found->second.request;
  });
}

std::vector<ProfileRequest> ProfileRequests::undelivered(std::span<const RunId> runs) {
  const BootTime now = sys::boot_now();
  return entries_.with([&](Entries& entries) {
    std::vector<ProfileRequest> all;
    for (auto& [run, entry] : entries) {
      if (std::ranges::find(runs, run) == runs.end()) continue;
      expire(entry.request, entry.heard, now);
      if (entry.request.report.state == ProfileState::kAsked) all.push_back(entry.request);
    }
    return all;
  });
}

Result<> ProfileRequests::report(RunId run, std::string_view id, ProfileReport report) {
  const BootTime now = sys::boot_now();
  return entries_.with([&](Entries& entries) -> Result<> {
    const auto found = entries.find(run);
    if (found == entries.end() || found->second.request.id != id)
      return fail(Code::kNotFound, "no such profile was asked for here");
    found->second.request.report = std::move(report);
    found->second.heard = now;
    return {};
  });
}

void ProfileRequests::age(Nanos time) {
  entries_.with([&](Entries& entries) {
    for (auto& [run, entry] : entries) entry.heard = entry.heard - time;
  });
}

}  // namespace corral::server
