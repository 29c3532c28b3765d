#include "server/core/profile_asks.h"

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

void expire(ProfileAsk& ask, BootTime heard, BootTime now) {
  ProfileNews& news = ask.news;
  if (is_over(news.state) || now - heard < kPatience) return;
  if (news.state == ProfileState::kAsked) {
    news.state = ProfileState::kRefused;
    news.reason =
        "nobody took it up within 60 s: the run's `corral run` is gone, cannot reach this server, "
        "or talks to another one";
  } else {
    news.state = ProfileState::kFailed;
    news.reason = "the run's `corral run` has said nothing for 60 s";
  }
}

}  // namespace

std::string_view profile_state_name(ProfileState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

bool is_over(ProfileState state) { return state >= ProfileState::kDone; }

Result<ProfileAsk> ProfileAsks::ask(RunId run, std::string tool, std::int64_t steps) {
  const BootTime now = sys::boot_now();
  const UtcTime asked = sys::utc_now();
  return entries_.with([&](Entries& entries) -> Result<ProfileAsk> {
    const auto found = entries.find(run);
    if (found != entries.end()) {
      expire(found->second.ask, found->second.heard, now);
      if (!is_over(found->second.ask.news.state))
        return fail(Code::kConflict, "another profile of this run is on its way");
      entries.erase(found);
    }
    if (entries.size() >= kAskedRuns)
      entries.erase(std::ranges::min_element(entries, {},
                                             [](const auto& entry) { return entry.second.heard; }));
    std::string id = make_profile_id(tool, asked);
    ProfileAsk ask{
        .run = run, .id = std::move(id), .tool = std::move(tool), .steps = steps, .asked = asked};
    entries[run] = {.ask = ask, .heard = now};
    return ask;
  });
}

std::optional<ProfileAsk> ProfileAsks::latest(RunId run) {
  const BootTime now = sys::boot_now();
  return entries_.with([&](Entries& entries) -> std::optional<ProfileAsk> {
    const auto found = entries.find(run);
    if (found == entries.end()) return std::nullopt;
    expire(found->second.ask, found->second.heard, now);
    return found->second.ask;
  });
}

std::vector<ProfileAsk> ProfileAsks::unheard(std::span<const RunId> runs) {
  const BootTime now = sys::boot_now();
  return entries_.with([&](Entries& entries) {
    std::vector<ProfileAsk> all;
    for (auto& [run, entry] : entries) {
      if (std::ranges::find(runs, run) == runs.end()) continue;
      expire(entry.ask, entry.heard, now);
      if (entry.ask.news.state == ProfileState::kAsked) all.push_back(entry.ask);
    }
    return all;
  });
}

Result<> ProfileAsks::tell(RunId run, std::string_view id, ProfileNews news) {
  const BootTime now = sys::boot_now();
  return entries_.with([&](Entries& entries) -> Result<> {
    const auto found = entries.find(run);
    if (found == entries.end() || found->second.ask.id != id)
      return fail(Code::kNotFound, "no such profile was asked for here");
    found->second.ask.news = std::move(news);
    found->second.heard = now;
    return {};
  });
}

void ProfileAsks::age(Nanos time) {
  entries_.with([&](Entries& entries) {
    for (auto& [run, entry] : entries) entry.heard = entry.heard - time;
  });
}

}  // namespace corral::server
