#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/text.h"
#include "plan/finish.h"
#include "plan/spelling.h"

namespace corral::plan {
namespace {

class DeviceCheck {
 public:
  DeviceCheck(const std::vector<Row>& rows, const std::vector<RawRow>& raws, const Known& known,
              ProblemList& problems)
      : rows_(rows), raws_(raws), known_(known), problems_(problems) {}

  void run() {
    for (std::size_t i = 0; i < rows_.size(); ++i) check_row(i);
    for (const auto& [word, missing] : missing_) say_missing(word, missing);
    for (const auto& group : groups_of(rows_)) {
      check_sharing(group);
      check_cpus(group);
    }
  }

 private:
  struct Missing {
    std::size_t row = 0;
    std::size_t count = 0;
  };
  using Group = std::vector<std::size_t>;

  [[nodiscard]] const KnownDevice* find(std::string_view word) const {
    if (!known_.devices) return nullptr;
    for (const KnownDevice& device : *known_.devices) {
      // Addresses are written with four, eight or no digits of the domain.
      const bool pci = word.find(':') != std::string_view::npos && !device.pci.empty() &&
                       lower_ascii(device.pci).ends_with(lower_ascii(word));
      if (device.index == word || equal_ignoring_case(device.uuid, word) || pci) return &device;
    }
    return nullptr;
  }
  // One name for all spellings of a device.
  [[nodiscard]] std::string canonical(const std::string& word) const {
    const KnownDevice* device = find(word);
    return device == nullptr ? word : device->index;
  }

  void check_row(std::size_t i) {
    const Share& share = rows_[i].share;
    for (const std::string& word : share.devices) {
      // An instance that exists is not looked for: it may be made by then.
      const bool instance = lower_ascii(word).starts_with("mig-");
      if (known_.devices && !instance && find(word) == nullptr) {
        const auto [entry, first] = missing_.try_emplace(word, Missing{i, 0});
        ++entry->second.count;
      }
    }
    if (share.sharing == Sharing::kMig) check_profile(i);
    // Such a run cannot do without; others may run on CPUs.
    const bool gpu_alone = share.sharing == Sharing::kMig || share.sharing == Sharing::kMps;
    if (known_.runs_here && gpu_alone && !share.devices.empty() && known_.devices->empty())
      problems_.add_once(raws_[i], Field::kCollocation,
                         {"needs a GPU, and this machine has none",
                          "--no-devices checks a plan for another machine"});
  }

  void say_missing(const std::string& word, const Missing& missing) {
    const bool none = known_.devices->empty();
    std::string there;
    for (const KnownDevice& device : *known_.devices)
      there += (there.empty() ? "" : ", ") + device.index + " (" + device.model + ")";
    std::string reason = none ? fmt::format("this machine has no GPU, so no device {}", word)
                              : fmt::format("this machine has no device {}", word);
    if (missing.count > 1) reason += fmt::format(" ({} rows)", missing.count);
    problems_.add(raws_[missing.row], Field::kDevices,
                  {reason, none ? "" : fmt::format("there are {}", there)},
                  none ? Severity::kWarning : Severity::kError);
  }

  // The tables that the device may be read by: its own, or all that are published.
  const std::vector<MigTable>& tables_of(const std::string& word) {
    const KnownDevice* device = find(word);
    if (device == nullptr || device->profiles.empty()) return published_tables();
    std::vector<MigTable>& own = own_tables_[device->index];
    if (!own.empty()) return own;
    MigTable table{device->model, 0, 0, device->profiles};
    for (const MigProfile& profile : device->profiles) {
      table.slices = std::max(table.slices, profile.slices);
      table.memory_slices = std::max(table.memory_slices, profile.memory_slices);
    }
    own.push_back(std::move(table));
    return own;
  }

  void check_profile(std::size_t i) {
    const std::string& profile = rows_[i].share.profile;
    for (const std::string& device : rows_[i].share.devices) {
      if (good_profiles_.contains({device, profile})) continue;
      const auto& tables = tables_of(device);
      const bool there = std::ranges::any_of(
          tables, [&](const MigTable& t) { return find_profile(t, profile) != nullptr; });
      if (there) {
        good_profiles_.emplace(device, profile);
        continue;
      }
      unknown_profiles_.insert(profile);
      std::vector<std::string_view> names;
      for (const MigTable& table : tables) {
        for (const MigProfile& known : table.profiles) names.push_back(known.name);
      }
      const bool part = profile.find("c.") != std::string::npos;
      problems_.add(
          raws_[i], Field::kCollocation,
          {part                 ? "parts of an instance (1c.…) are not supported"
           : tables.size() == 1 ? fmt::format("{} has no such MIG profile", tables[0].device)
                                : "no such MIG profile",
           suggest(profile, names, "")});
      return;
    }
  }

  // Rows of one workload on one device: the requested state, and the requesting row.
  struct Asked {
    std::vector<std::string> profiles;
    std::optional<std::size_t> mig, mps, plain, sm_clock, memory_clock, power;
  };

  void check_sharing(const Group& group) {
    std::map<std::string, Asked> devices;
    for (const std::size_t i : group) {
      for (const std::string& word : rows_[i].share.devices) {
        Asked& asked = devices[canonical(word)];
        note(asked, i);
        check_factors(asked, i);
      }
    }
    for (const auto& [device, asked] : devices) say_sharing(device, asked);
  }
  void note(Asked& asked, std::size_t i) {
    const Share& share = rows_[i].share;
    if (share.sharing == Sharing::kMig) {
      asked.profiles.push_back(share.profile);
      if (!asked.mig) asked.mig = i;
    } else if (share.sharing == Sharing::kMps) {
      if (!asked.mps) asked.mps = i;
    } else if (!asked.plain) {
      asked.plain = i;
    }
  }
  void say_sharing(const std::string& device, const Asked& asked) {
    const auto other = asked.mps ? asked.mps : asked.plain;
    if (asked.mig && other) {
      problems_.add(raws_[*other], Field::kCollocation,
                    {fmt::format("line {} of the same workload requests device {} in MIG instances",
                                 raws_[*asked.mig].line, device),
                     "in MIG mode only instances can be used"});
    } else if (asked.mps && asked.plain) {
      problems_.warn(raws_[*asked.plain], Field::kCollocation,
                     {fmt::format("line {} of the same workload uses MPS on device {}: this run "
                                  "shares it by time slicing with all of those",
                                  raws_[*asked.mps].line, device)});
    }
    if (!asked.profiles.empty()) check_fit(device, asked);
  }

  void check_fit(const std::string& device, const Asked& asked) {
    for (const std::string& profile : asked.profiles) {
      if (unknown_profiles_.contains(profile)) return;  // said already
    }
    std::optional<std::string> reason;
    for (const MigTable& table : tables_of(device)) {
      const bool has_all = std::ranges::all_of(asked.profiles, [&](const std::string& profile) {
        return find_profile(table, profile) != nullptr;
      });
      if (!has_all) continue;
      const auto why = cannot_fit(table, asked.profiles);
      if (!why) return;
      if (!reason) reason = why;
    }
    const std::size_t shown = std::min<std::size_t>(asked.profiles.size(), 8);
    std::string all =
        join({asked.profiles.begin(), asked.profiles.begin() + static_cast<std::ptrdiff_t>(shown)},
             " + ");
    if (shown < asked.profiles.size()) all += " + …";
    problems_.add(
        raws_[*asked.mig], Field::kCollocation,
        {fmt::format("workload {} requests {} on device {}, which do not fit together: {}",
                     rows_[*asked.mig].workload, all, device,
                     reason.value_or("no device has all of these profiles"))});
  }

  // Clocks and power are the device's, not the run's.
  void check_factors(Asked& asked, std::size_t i) {
    const Share& share = rows_[i].share;
    const auto compare = [&](auto Share::*factor, std::optional<std::size_t>& first, Field field) {
      if (!(share.*factor)) return;
      if (!first) first = i;
      if (rows_[*first].share.*factor == share.*factor) return;
      problems_.add(raws_[i], field,
                    {fmt::format("line {} of the same workload requests another of the device",
                                 raws_[*first].line)});
    };
    compare(&Share::sm_clock_mhz, asked.sm_clock, Field::kClocks);
    compare(&Share::memory_clock_mhz, asked.memory_clock, Field::kClocks);
    compare(&Share::power_watts, asked.power, Field::kPower);
  }

  void check_cpus(const Group& group) {
    if (!known_.cpus) return;
    std::set<int> used;
    int counted = 0;
    std::optional<std::size_t> last;
    for (const std::size_t i : group) {
      const Share& share = rows_[i].share;
      if (!share.cpus.empty() && share.cpus.back() >= *known_.cpus) {
        problems_.add(raws_[i], Field::kCpus,
                      {fmt::format("this machine has no CPU {}", share.cpus.back()),
                       fmt::format("there are 0 to {}", *known_.cpus - 1)});
        return;
      }
      used.insert(share.cpus.begin(), share.cpus.end());
      counted += share.cpu_count.value_or(0);
      if (share.cpu_count || !share.cpus.empty()) last = i;
    }
    const int all = counted + static_cast<int>(used.size());
    if (last && all > *known_.cpus)
      problems_.add(raws_[*last], Field::kCpus,
                    {fmt::format("workload {} requests {} CPUs together, this machine has {}",
                                 rows_[*last].workload, all, *known_.cpus)});
  }

  const std::vector<Row>& rows_;
  const std::vector<RawRow>& raws_;
  const Known& known_;
  ProblemList& problems_;
  std::map<std::string, Missing> missing_;
  std::set<std::string> unknown_profiles_;
  std::set<std::pair<std::string, std::string>> good_profiles_;  // profiles of a device
  std::map<std::string, std::vector<MigTable>> own_tables_;      // by its index
};

}  // namespace

void check_devices(const std::vector<Row>& rows, const std::vector<RawRow>& raws,
                   const Known& known, ProblemList& problems) {
  DeviceCheck(rows, raws, known, problems).run();
}

}  // namespace corral::plan
