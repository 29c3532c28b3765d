// Fuzzes the parsers of files of /proc, /sys and control groups: the first byte chooses the parser,
// the rest is the file.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "collect/amd/gpu_metrics.h"
#include "collect/cgroup/parse.h"
#include "collect/drm/usage.h"
#include "collect/node/parse.h"
#include "collect/proc/parse.h"
#include "collect/scan.h"
#include "collect/sysfs/number_file.h"
#include "collect/tree/parse.h"
#include "core/cpu_list.h"

namespace {

namespace proc = corral::collect::proc;
namespace tree = corral::collect::tree;

// Names that a parser hands out must lie within the text.
void require_within(std::string_view text, std::string_view part) {
  if (!part.empty() &&
      (part.data() < text.data() || part.data() + part.size() > text.data() + text.size()))
    std::abort();
}

void host(std::uint8_t which, std::string_view text) {
  std::array<proc::CoreTicks, 8> cores;
  std::array<proc::DiskLine, 8> disks;
  std::array<proc::NetLine, 8> nets;
  proc::LoadAverage load;
  switch (which) {
    case 0:
      proc::parse_stat(text, cores);
      break;
    case 1:
      proc::parse_loadavg(text, load);
      break;
    case 2:
      for (std::size_t i = 0, n = proc::parse_diskstats(text, disks); i < n; ++i)
        require_within(text, disks[i].name);
      break;
    case 3:
      for (std::size_t i = 0, n = proc::parse_net_dev(text, nets); i < n; ++i)
        require_within(text, nets[i].name);
      break;
    case 4:
      proc::parse_pressure(text);
      break;
    default:
      break;
  }
}

void process(std::uint8_t which, std::string_view text) {
  tree::ProcessStat stat;
  tree::Counters io{};
  std::uint64_t number = 0;
  std::array<pid_t, 8> children{};
  switch (which) {
    case 0:
      if (tree::parse_process_stat(text, stat)) require_within(text, stat.comm);
      break;
    case 1:
      tree::parse_statm(text, number);
      break;
    case 2:
      tree::parse_process_io(text, io);
      break;
    case 3:
      tree::parse_status_memory(text);
      break;
    case 4:
      tree::parse_children(text, children);
      break;
    default:
      break;
  }
}

void group(std::uint8_t which, std::string_view text) {
  namespace cgroup = corral::collect::cgroup;
  constexpr std::array<std::uint64_t, 2> kSkipped{7, 253};
  switch (which) {
    case 0: {
      // The two files at once, cut at the first 0.
      const std::size_t cut = std::min(text.find('\0'), text.size());
      const auto memberships = cgroup::parse_memberships(text.substr(0, cut));
      const auto mounts = cgroup::parse_mounts(text.substr(cut));
      for (const char* controller : {"memory", "cpu", ""}) {
        const auto place = cgroup::find_group_path(controller, memberships, mounts);
        if (place && place->relative.starts_with('/')) std::abort();
      }
      break;
    }
    case 1:
      cgroup::parse_io_stat(text, kSkipped);
      cgroup::parse_blkio(text, kSkipped);
      break;
    case 2:
      cgroup::parse_cpu_max(text);
      cgroup::stacked_majors(text);
      break;
    default:
      break;
  }
}

void cpu_list(std::string_view text) {
  const auto cpus = corral::parse_cpu_list(text);
  if (!cpus) return;
  if (std::ranges::adjacent_find(*cpus, std::ranges::greater_equal()) != cpus->end()) std::abort();
  if (!cpus->empty() && (cpus->front() < 0 || cpus->back() >= corral::kMostCpus)) std::abort();
}

void system_files(std::uint8_t which, std::string_view text) {
  namespace node = corral::collect::node;
  std::array<node::NfsMount, 4> mounts;
  std::uint64_t value = 0;
  switch (which) {
    case 0:
      for (std::size_t i = 0, n = node::parse_mountstats(text, mounts); i < n; ++i)
        require_within(text, mounts[i].point);
      break;
    case 1:
      node::parse_node_value(text, "MemUsed", value);
      break;
    case 2:
      corral::collect::sysfs::parse_number(text);
      cpu_list(text);
      break;
    case 3:
      corral::collect::amd::parse_gpu_metrics(text);
      break;
    case 4: {
      corral::collect::drm::Usage usage;
      corral::collect::drm::parse_usage(text, usage);
      require_within(text, usage.device);
      for (const auto& engine : usage.engines()) {
        require_within(text, engine.name);
        if (engine.capacity == 0) std::abort();
      }
      break;
    }
    default:
      break;
  }
}

void key_values(std::string_view text) {
  constexpr std::array<std::string_view, 3> kKeys{"MemTotal", "pgfault", "a"};
  std::array<std::uint64_t, 3> values{};
  corral::collect::find_values(text, kKeys, values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto which = static_cast<std::uint8_t>(data[0] % 19);
  if (which < 5) {
    host(which, text);
  } else if (which < 10) {
    process(static_cast<std::uint8_t>(which - 5), text);
  } else if (which == 10) {
    key_values(text);
  } else if (which < 14) {
    group(static_cast<std::uint8_t>(which - 11), text);
  } else {
    system_files(static_cast<std::uint8_t>(which - 14), text);
  }
  return 0;
}
