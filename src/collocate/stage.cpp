#include "collocate/stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "collocate/cpu_sets.h"
#include "collocate/device_locks.h"
#include "collocate/nvidia/control.h"
#include "collocate/nvidia/gpu.h"
#include "collocate/page_cache.h"
#include "collocate/run_group.h"
#include "collocate/undo.h"
#include "core/cpu_list.h"
#include "core/failpoint.h"
#include "core/text.h"

namespace corral::collocate {

namespace {

CpuRequest cpu_request(const plan::Share& share, std::vector<int> near) {
  return {.exact = share.cpus,
          .count = share.cpus.empty() ? share.cpu_count : std::nullopt,
          .split = share.split_siblings,
          .node = share.numa_node,
          .near = std::move(near)};
}

GroupLimits group_limits(const plan::Share& share, const std::vector<int>& cpus) {
  return {.cpus = cpus,
          .numa_nodes = share.numa_node ? std::vector{*share.numa_node} : std::vector<int>(),
          .cpu_quota = share.cpu_quota,
          .memory_bytes = share.memory_bytes,
          .io_weight = share.io_weight};
}

std::string per_run(std::size_t run, const std::string& lines) {
  std::vector<std::string> all;
  for (const std::string_view line : split(lines, '\n'))
    all.push_back(fmt::format("run {}: {}", run, line));
  return join(all, "\n");
}

// Plans the group, or plans CPUs by affinity without a cpuset. An affinity binds only a program
// that does not set its own, but needs no permission; a cpuset binds any program.
Result<GroupPlan> plan_or_soften(const GroupTree& tree, const std::string& label,
                                 GroupLimits limits, std::vector<std::string>& notes) {
  auto whole = plan_group(tree, label, limits);
  if (whole || (limits.cpus.empty() && limits.numa_nodes.empty())) return whole;
  const std::string why = whole.error().message.substr(0, whole.error().message.find('\n'));
  limits.cpus.clear();
  limits.numa_nodes.clear();
  auto rest = plan_group(tree, label, limits);
  if (!rest && limits.any()) return whole;
  notes.push_back("CPUs by affinity, which a program may change, and memory of any node: " + why);
  return rest;
}

fs::path lock_directory(const StageOptions& options) {
  return options.locks.empty() ? DeviceLocks::machine_directory() : options.locks;
}

std::string holder_name(const StageOptions& options) {
  return options.holder.empty() ? options.label : options.holder;
}

// A device that another scheduler holds may look full or divided only because of that. kUnavailable
// names the holder; the caller waits for it.
Result<> check_held(const std::vector<plan::Share>& shares, const StageOptions& options) {
  const auto control = nvidia::Control::open(options.nvml);
  if (!control) return {};
  const auto gpus = nvidia::find_gpus(**control);
  if (!gpus) return {};
  std::vector<std::string> wanted;
  for (const plan::Share& share : shares) {
    for (const std::string& written : share.devices) {
      const nvidia::Gpu* gpu = nvidia::find_gpu(*gpus, written);
      if (gpu != nullptr) wanted.push_back(gpu->uuid);
    }
  }
  const auto locks = DeviceLocks::take(lock_directory(options), wanted, holder_name(options));
  if (!locks && locks.error().code == Code::kUnavailable) return tl::unexpected(locks.error());
  return {};
}

}  // namespace

struct Stage::Impl {
  Impl(StageOptions chosen, nvidia::DevicePlan plan)
      : options(std::move(chosen)), devices(std::move(plan)) {}

  StageOptions options;
  nvidia::DevicePlan devices;
  bool sets_cpus = false;
  bool is_cold = false, is_warm = false;
  std::vector<std::optional<GroupPlan>> groups;  // one for each share
  std::vector<Seat> seats;
  std::vector<int> housekeeping;
  std::vector<std::string> notes;
  DeviceLocks locks;
  std::optional<std::uint64_t> first;  // first entry in the journal; nullopt: nothing is set

  Result<> plan_cpus(const std::vector<plan::Share>& shares) {
    const auto wants = [](const plan::Share& share) {
      return !share.cpus.empty() || share.cpu_count || share.numa_node;
    };
    sets_cpus = std::ranges::any_of(shares, wants);
    if (!sets_cpus) return {};
    const Topology topology = TRY(Topology::read(options.root));
    std::vector<CpuRequest> requests;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      std::vector<int> near;
      for (const std::string& address : devices.addresses(i)) {
        const std::vector<int> cpus = cpus_near(options.root, address);
        near.insert(near.end(), cpus.begin(), cpus.end());
      }
      requests.push_back(cpu_request(shares[i], std::move(near)));
    }
    CpuSets sets = TRY(allocate_cpus(topology, requests));
    for (std::size_t i = 0; i < shares.size(); ++i) seats[i].cpus = std::move(sets.of_run[i]);
    housekeeping = std::move(sets.housekeeping);
    notes = std::move(sets.notes);
    return {};
  }

  Result<> plan_groups(const std::vector<plan::Share>& shares) {
    groups.resize(shares.size());
    const auto tree = GroupTree::read(options.root);
    std::vector<std::string> problems;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const GroupLimits limits = group_limits(shares[i], seats[i].cpus);
      const std::string label = fmt::format("{}-{}", options.label, i);
      std::vector<std::string>& said = seats[i].notes;
      auto group = tree ? plan_or_soften(*tree, label, limits, said)
                        : Result<GroupPlan>(tl::unexpected(tree.error()));
      if (group) {
        said.insert(said.end(), group->notes.begin(), group->notes.end());
        seats[i].cgroup = group->target();
        groups[i] = *std::move(group);
      } else if (group_limits(shares[i], {}).any()) {
        problems.push_back(per_run(i, group.error().message));
      } else {
        said.push_back("no control group: " + group.error().message);
      }
    }
    if (!problems.empty()) return fail(Code::kPermission, join(problems, "\n"));
    return {};
  }

  void plan_cache(const std::vector<plan::Share>& shares) {
    const auto wants = [&](plan::CacheState state) {
      return std::ranges::any_of(shares,
                                 [&](const plan::Share& share) { return share.cache == state; });
    };
    is_cold = wants(plan::CacheState::kCold);
    is_warm = wants(plan::CacheState::kWarm);
    if (is_cold && !may_drop_page_cache(options.root)) {
      is_cold = false;
      notes.emplace_back("the page cache stays as it is: dropping it needs root");
    }
    if (is_cold && std::ranges::any_of(shares, [](const plan::Share& share) {
          return share.cache == plan::CacheState::kAsIs;
        }))
      notes.emplace_back("the page cache is dropped for all of this workload's runs");
    if (is_warm && options.data.empty())
      notes.emplace_back("the page cache stays as it is: no run names the data to be read");
  }

  void settle_cache() {
    if (is_cold) {
      const auto dropped = drop_page_cache(options.root);
      if (!dropped) notes.push_back("the page cache was not dropped: " + dropped.error().message);
    }
    if (!is_warm || options.data.empty()) return;
    const Warmed warmed = warm_page_cache(options.data, options.root, options.cancelled);
    if (!warmed.whole)
      notes.push_back(fmt::format("of the data only {} are in the page cache",
                                  human_bytes(static_cast<double>(warmed.bytes))));
  }

  [[nodiscard]] UndoOptions undo_options() const {
    return {.state = options.state,
            .root = options.root,
            .nvml = options.nvml,
            .mps_control = options.mps_control,
            .dry_run = false,
            .end_runs = true};
  }

  Result<> make(Journal& journal) {
    std::vector<std::string> wanted = devices.gpus();
    if (sets_cpus) wanted.emplace_back("cpus");
    locks = TRY(DeviceLocks::take(lock_directory(options), wanted, holder_name(options)));
    // Waiting helps only if another scheduler holds a lock.
    if (const auto set = devices.set(journal); !set)
      return fail(set.error().code == Code::kUnavailable ? Code::kConflict : set.error().code,
                  set.error().message);
    failpoint::reach("stage.devices");
    std::vector<const GroupPlan*> planned;
    for (const auto& group : groups) {
      if (group) planned.push_back(&*group);
    }
    TRY(note_groups(planned, journal));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (!groups[i]) continue;
      const auto made = make_group(*groups[i]);
      if (!made) return tl::unexpected(made.error().with_context(fmt::format("run {}", i)));
    }
    settle_cache();
    return {};
  }
};

Stage::Stage(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Stage::Stage(Stage&&) noexcept = default;
Stage& Stage::operator=(Stage&&) noexcept = default;
Stage::~Stage() = default;

Result<Stage> Stage::plan(const std::vector<plan::Share>& shares, const StageOptions& options) {
  const nvidia::DeviceOptions for_devices{
      .nvml = options.nvml, .mps_control = options.mps_control, .state = options.state};
  auto devices = nvidia::DevicePlan::plan(shares, for_devices);
  std::vector<std::string> problems;
  Code code = Code::kUnprocessable;
  const auto keep = [&](const Error& error) {
    // Waiting helps only if another scheduler holds a lock.
    if (problems.empty()) code = error.code == Code::kUnavailable ? Code::kConflict : error.code;
    problems.push_back(error.message);
  };
  if (!devices) {
    TRY(check_held(shares, options));
    keep(devices.error());
  }
  // The host's part is checked in any case: all conflicts are reported at once.
  auto none = nvidia::DevicePlan::plan({}, for_devices);
  if (!devices && !none) return fail(code, devices.error().message);
  auto impl = std::make_unique<Impl>(options, std::move(devices ? *devices : *none));
  impl->seats.resize(shares.size());
  if (devices) {
    for (std::size_t i = 0; i < shares.size(); ++i)
      impl->seats[i].notes = impl->devices.seats()[i].notes;
  }
  if (const auto cpus = impl->plan_cpus(shares); !cpus) keep(cpus.error());
  if (const auto groups = impl->plan_groups(shares); !groups) keep(groups.error());
  impl->plan_cache(shares);
  if (!problems.empty()) return fail(code, join(problems, "\n"));
  return Stage(std::move(impl));
}

std::vector<std::string> Stage::changes() const {
  std::vector<std::string> all = impl_->devices.changes();
  for (const auto& group : impl_->groups) {
    if (group) all.push_back(group->words());
  }
  if (impl_->is_cold) all.emplace_back("page cache: dropped");
  if (impl_->is_warm && !impl_->options.data.empty())
    all.emplace_back("page cache: filled with the runs' data");
  if (!impl_->housekeeping.empty())
    all.push_back("Corral's own processes: on CPU " + format_cpu_list(impl_->housekeeping));
  return all;
}

Result<> Stage::set(Journal& journal) {
  impl_->first = journal.next();
  Result<> made = impl_->make(journal);
  if (!made) {
    const auto cleared = clear(journal);
    if (cleared) return made;
    return fail(made.error().code, made.error().message + "\n" + cleared.error().message);
  }
  const std::vector<nvidia::DeviceSeat>& of_devices = impl_->devices.seats();
  for (std::size_t i = 0; i < impl_->seats.size() && i < of_devices.size(); ++i) {
    Seat& seat = impl_->seats[i];
    seat.environment = of_devices[i].environment;
    seat.places = of_devices[i].devices;
    seat.devices.clear();
    for (const nvidia::SeatDevice& one : seat.places)
      seat.devices.push_back(one.instance.empty() ? one.device : one.instance);
  }
  return {};
}

const std::vector<Seat>& Stage::seats() const { return impl_->seats; }
const std::vector<int>& Stage::housekeeping() const { return impl_->housekeeping; }
const std::vector<std::string>& Stage::notes() const { return impl_->notes; }

Result<> Stage::clear(Journal& journal) {
  if (!impl_->first) return {};
  Result<> back = put_back(journal, *impl_->first, impl_->undo_options());
  if (back) impl_->first.reset();
  // The locks are held as long as a change of the devices remains.
  if (back) impl_->locks.release();
  return back;
}

}  // namespace corral::collocate
