#include <array>
#include <limits>
#include <string>
#include <vector>

#include "collect/listener.h"
#include "collect/proc/proc_listener.h"
#include "collect/tree/tree_listener.h"
#include "core/text.h"

namespace corral::collect {
namespace {

constexpr auto kListeners = std::to_array<ListenerEntry>({
    {"proc", "The host's CPUs, memory, paging, disks, network, load and pressure, from /proc.",
     metric::Owner::kWorkload, open_proc_listener},
    {"tree",
     "The run's own processes: cores, memory, faults, context switches and I/O, from /proc and "
     "perf.",
     metric::Owner::kRun, open_tree_listener},
});

tl::unexpected<Error> unknown_listener(std::string_view name) {
  std::vector<std::string> names;
  std::string_view nearest;
  std::size_t distance = std::numeric_limits<std::size_t>::max();
  for (const ListenerEntry& entry : listeners()) {
    names.emplace_back(entry.name);
    const std::size_t d = edit_distance(name, entry.name);
    if (d < distance) {
      distance = d;
      nearest = entry.name;
    }
  }
  return fail(Code::kInvalidArgument, "unknown listener '" + std::string(name) +
                                          "', did you mean '" + std::string(nearest) +
                                          "'? There are: " + join(names, ", "));
}
}  // namespace

std::span<const ListenerEntry> listeners() { return kListeners; }

const ListenerEntry* find_listener(std::string_view name) {
  for (const ListenerEntry& entry : kListeners) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Result<const ListenerEntry*> require_listener(std::string_view name) {
  const ListenerEntry* entry = find_listener(name);
  if (entry == nullptr) return unknown_listener(name);
  return entry;
}

}  // namespace corral::collect
