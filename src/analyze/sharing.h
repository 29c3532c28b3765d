// Sharing of hardware: the times of each run on devices, MIG instances, CPUs or hosts, their
// overlaps, and the time that each run was alone.
//
// The hardware that a run used is in its tags corral.devices and corral.cpus (docs/api.md,
// "Sharing"). A run in an instance is on its device, too: instances have memory and cores of their
// own, but share power and the bus. CPU sets that overlap are cut into lanes that no set cuts any
// further. A run of a plan (corral.plan) that names neither is on its host. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "store/tables/sharing.h"

namespace corral::analyze {

enum class PlaceKind { kDevice, kInstance, kCpus, kHost };
std::string_view place_kind_name(PlaceKind kind);

struct TimeSpan {
  UtcTime start, end;  // half open
  [[nodiscard]] Nanos length() const { return end - start; }
  auto operator<=>(const TimeSpan&) const = default;
};
struct Stay {
  std::size_t run = 0;  // its place among the runs
  TimeSpan time;
};
struct Overlap {
  TimeSpan time;
  std::vector<std::size_t> runs;  // at least two, ascending
};

struct SharedPlace {
  PlaceKind kind = PlaceKind::kHost;
  std::string host;
  std::string name;     // "gpu0", "GPU-…", "MIG-…", "0-3"; a host's own name
  std::string device;   // kInstance: the name of the device that it is a part of
  std::string profile;  // kInstance: "3g.20gb"; may be empty
  // Within the time of the whole, by begin.
  std::vector<Stay> stays;
  std::vector<Overlap> overlaps;
  std::vector<TimeSpan> alone;  // with exactly one run
  Nanos shared{0}, idle{0};     // with several; with none
};

// One run's sharing, over all its places; both by begin, without overlaps.
struct RunShare {
  std::vector<TimeSpan> alone, shared;
  std::vector<std::size_t> with;  // the runs that overlapped with it, ascending
};

struct Sharing {
  TimeSpan time;                    // from the first begin to the last end of the first `own` runs
  std::vector<SharedPlace> places;  // by host, then devices with their instances, CPUs, the host
  std::vector<RunShare> runs;       // beside the runs given
};

// The answer is about the first `own` runs. Places that none of them used are left out, as are the
// times before and after them.
Sharing find_sharing(std::span<const store::page::SharingRun> runs, std::size_t own);

}  // namespace corral::analyze
