#include "analyze/sharing.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/cpu_list.h"
#include "core/json.h"
#include "core/text.h"

namespace corral::analyze {
namespace {

using store::page::SharingRun;
using store::page::tag_of;

// Places sort by host, kind of lane, then as people count: gpu2 before gpu10.
struct PlaceKey {
  std::string host;
  int order = 0;  // 0 devices with their instances, 1 CPUs, 2 the host
  std::size_t device_length = 0;
  std::string device{};
  bool instance = false;
  std::size_t length = 0;
  std::string name{};
  auto operator<=>(const PlaceKey&) const = default;
};

struct PlaceEntry {
  SharedPlace shared;
  std::set<std::size_t> runs;
};
using Places = std::map<PlaceKey, PlaceEntry>;

// The name under which the run's listeners know the device, else the device as it was written.
std::string device_name(const SharingRun& run, const std::string& written) {
  for (const auto& [source, uuid] : run.uuids) {
    if (uuid == written) return source;
  }
  const bool index = !written.empty() && std::ranges::all_of(written, [](unsigned char c) {
    return c >= '0' && c <= '9';
  });
  return index ? "gpu" + written : written;
}

void add_device(Places& places, const SharingRun& run, std::size_t at, const Json& device) {
  const std::string name = device_name(run, device.get_string("device"));
  if (name.empty()) return;
  PlaceKey key{.host = run.host, .order = 0, .device_length = name.size(), .device = name};
  PlaceEntry& whole = places[key];
  whole.shared.kind = PlaceKind::kDevice;
  whole.shared.name = name;
  whole.runs.insert(at);
  const std::string written = device.get_string("instance");
  if (written.empty()) return;
  key.instance = true;
  key.name = device_name(run, written);
  key.length = key.name.size();
  PlaceEntry& part = places[key];
  part.shared.kind = PlaceKind::kInstance;
  part.shared.name = key.name;
  part.shared.device = name;
  part.shared.profile = device.get_string("profile");
  part.runs.insert(at);
}

bool add_devices(Places& places, const SharingRun& run, std::size_t at) {
  const auto devices = Json::parse(tag_of(run, "corral.devices"));
  if (!devices || devices->as_array() == nullptr) return false;
  for (const Json& device : *devices->as_array()) add_device(places, run, at, device);
  return !devices->as_array()->empty();
}

using CpuUsers = std::map<std::string, std::map<int, std::set<std::size_t>>>;  // host, CPU, runs

bool add_cpus(CpuUsers& users, const SharingRun& run, std::size_t at) {
  const std::vector<int> cpus =
      parse_cpu_list(tag_of(run, "corral.cpus")).value_or(std::vector<int>());
  for (const int cpu : cpus) users[run.host][cpu].insert(at);
  return !cpus.empty();
}

// CPUs that the same runs use are one lane.
void add_cpu_lanes(Places& places, const CpuUsers& users) {
  for (const auto& [host, cpus] : users) {
    std::map<std::set<std::size_t>, std::vector<int>> lanes;
    for (const auto& [cpu, runs] : cpus) lanes[runs].push_back(cpu);
    for (const auto& [runs, lane] : lanes) {
      const std::string name = format_cpu_list(lane);
      const auto first = static_cast<std::size_t>(lane.front());
      PlaceEntry& place =
          places[{.host = host, .order = 1, .device_length = first, .length = 0, .name = name}];
      place.shared.kind = PlaceKind::kCpus;
      place.shared.name = name;
      place.runs = runs;
    }
  }
}

void add_host(Places& places, const SharingRun& run, std::size_t at) {
  if (tag_of(run, "corral.plan").empty()) return;
  PlaceEntry& place = places[{.host = run.host, .order = 2, .name = run.host}];
  place.shared.kind = PlaceKind::kHost;
  place.shared.name = run.host;
  place.runs.insert(at);
}

Places find_places(std::span<const SharingRun> runs) {
  Places places;
  CpuUsers users;
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const bool devices = add_devices(places, runs[at], at);
    const bool cpus = add_cpus(users, runs[at], at);
    if (!devices && !cpus) add_host(places, runs[at], at);
  }
  add_cpu_lanes(places, users);
  return places;
}

// Walks a place from border to border, with the runs that are there in between.
void sweep(SharedPlace& place, const TimeSpan& whole) {
  struct Border {
    UtcTime time;
    bool begin;
    std::size_t run;
  };
  std::vector<Border> borders;
  for (const Stay& stay : place.stays) {
    if (stay.time.start >= stay.time.end) continue;
    borders.push_back({stay.time.start, true, stay.run});
    borders.push_back({stay.time.end, false, stay.run});
  }
  std::ranges::sort(borders, {},
                    [](const Border& b) { return std::tuple(b.time, b.begin, b.run); });
  std::set<std::size_t> here;
  UtcTime since = whole.start;
  const auto until = [&](UtcTime time) {
    const TimeSpan span{since, time};
    since = std::max(since, time);
    if (span.start >= span.end) return;
    if (here.empty()) {
      place.idle += span.length();
    } else if (here.size() == 1) {
      place.alone.push_back(span);
    } else {
      place.shared += span.length();
      place.overlaps.push_back({span, {here.begin(), here.end()}});
    }
  };
  for (const Border& border : borders) {
    until(border.time);
    if (border.begin) {
      here.insert(border.run);
    } else {
      here.erase(border.run);
    }
  }
  until(whole.end);
}

// By begin; those that touch or overlap become one.
std::vector<TimeSpan> joined(std::vector<TimeSpan> spans) {
  std::ranges::sort(spans);
  std::vector<TimeSpan> all;
  for (const TimeSpan& span : spans) {
    if (!all.empty() && span.start <= all.back().end) {
      all.back().end = std::max(all.back().end, span.end);
    } else {
      all.push_back(span);
    }
  }
  return all;
}

std::vector<TimeSpan> without(const TimeSpan& whole, const std::vector<TimeSpan>& parts) {
  std::vector<TimeSpan> rest;
  UtcTime since = whole.start;
  for (const TimeSpan& part : parts) {
    if (part.start > since) rest.push_back({since, part.start});
    since = std::max(since, part.end);
  }
  if (since < whole.end) rest.push_back({since, whole.end});
  return rest;
}

TimeSpan clipped(const SharingRun& run, const TimeSpan& whole) {
  const UtcTime start = std::clamp(run.start, whole.start, whole.end);
  return {start, std::clamp(run.end, start, whole.end)};
}

void add_shares(Sharing& sharing, std::span<const SharingRun> runs) {
  std::vector<std::vector<TimeSpan>> shared(runs.size());
  std::vector<std::set<std::size_t>> with(runs.size());
  for (const SharedPlace& place : sharing.places) {
    for (const Overlap& overlap : place.overlaps) {
      for (const std::size_t run : overlap.runs) {
        shared[run].push_back(overlap.time);
        with[run].insert(overlap.runs.begin(), overlap.runs.end());
      }
    }
  }
  for (std::size_t run = 0; run < runs.size(); ++run) {
    with[run].erase(run);
    RunShare& share = sharing.runs.emplace_back();
    share.shared = joined(std::move(shared[run]));
    share.alone = without(clipped(runs[run], sharing.time), share.shared);
    share.with.assign(with[run].begin(), with[run].end());
  }
}

}  // namespace

std::string_view place_kind_name(PlaceKind kind) {
  switch (kind) {
    case PlaceKind::kDevice:
      return "device";
    case PlaceKind::kInstance:
      return "instance";
    case PlaceKind::kCpus:
      return "cpus";
    case PlaceKind::kHost:
      return "host";
  }
  return "host";
}

Sharing find_sharing(std::span<const SharingRun> runs, std::size_t own) {
  Sharing sharing;
  if (own == 0 || runs.empty()) return sharing;
  sharing.time = {runs[0].start, runs[0].end};
  for (const SharingRun& run : runs.first(own)) {
    sharing.time.start = std::min(sharing.time.start, run.start);
    sharing.time.end = std::max(sharing.time.end, run.end);
  }
  for (auto& [key, place] : find_places(runs)) {
    if (*place.runs.begin() >= own) continue;
    SharedPlace& shared = sharing.places.emplace_back(std::move(place.shared));
    shared.host = key.host;
    for (const std::size_t run : place.runs) {
      const TimeSpan time = clipped(runs[run], sharing.time);
      if (time.start < time.end || run < own) shared.stays.push_back({run, time});
    }
    std::ranges::stable_sort(shared.stays, {}, [](const Stay& s) { return s.time.start; });
    sweep(shared, sharing.time);
  }
  add_shares(sharing, runs);
  return sharing;
}

}  // namespace corral::analyze
