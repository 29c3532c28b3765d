#include "collocate/nvidia/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/failpoint.h"
#include "core/text.h"

namespace corral::collocate::nvidia {
namespace {

std::string on_or_off(unsigned value) { return value != 0 ? "on" : "off"; }

constexpr char kPersistence[] = "persistence mode";
constexpr char kComputeMode[] = "compute mode";
constexpr char kPowerLimit[] = "power limit";

template <auto kRead, const char* kLabel>
Result<unsigned> read_value(const Control& control, const Gpu& gpu) {
  unsigned value = 0;
  TRY(control.check((control.call().*kRead)(gpu.handle, &value),
                    fmt::format("{}: {}", gpu.words(), kLabel)));
  return value;
}
template <auto kWrite, const char* kLabel>
Result<> write_value(const Control& control, const Gpu& gpu, unsigned value) {
  return control.check((control.call().*kWrite)(gpu.handle, value),
                       fmt::format("{}: {}", gpu.words(), kLabel));
}

Result<unsigned> read_mig_mode(const Control& control, const Gpu& gpu) {
  unsigned now = 0;
  unsigned pending = 0;
  const Status status = control.call().mig_mode(gpu.handle, &now, &pending);
  TRY(control.check(status, gpu.words() + ": MIG mode"));
  return pending;
}

// Writes the MIG mode. A mode that stays pending is cancelled at once: it would surprise the next
// user that resets the GPU.
Result<> write_mig_mode(const Control& control, const Gpu& gpu, unsigned value) {
  const ControlFunctions& f = control.call();
  Status activation = Status::kSuccess;
  TRY(control.check(f.set_mig_mode(gpu.handle, value, &activation), gpu.words() + ": MIG mode"));
  if (activation == Status::kSuccess) return {};
  Status ignored = Status::kSuccess;
  f.set_mig_mode(gpu.handle, value == 0 ? 1 : 0, &ignored);
  const std::string what =
      fmt::format("{}: MIG mode cannot be turned {} now", gpu.words(), on_or_off(value));
  if (activation == Status::kInUse) {
    const std::string pids = process_list(processes_on(control, gpu.handle));
    return fail(Code::kUnavailable,
                fmt::format("{}: the GPU is in use by {}", what,
                            pids.empty() ? "a process or service (such as a monitoring daemon)"
                                         : "process " + pids));
  }
  if (activation == Status::kResetRequired) {
    return fail(Code::kUnsupported, what +
                                        ": the driver requires a reset of the GPU, which only an "
                                        "administrator should make (nvidia-smi --gpu-reset, or a "
                                        "reboot of the machine)");
  }
  return tl::unexpected(control.error(activation, what));
}

std::string compute_mode_text(unsigned value) {
  switch (static_cast<ComputeMode>(value)) {
    case ComputeMode::kDefault:
      return "default";
    case ComputeMode::kExclusiveThread:
      return "exclusive thread";
    case ComputeMode::kProhibited:
      return "prohibited";
    case ComputeMode::kExclusiveProcess:
      return "exclusive process";
  }
  return std::to_string(value);
}

std::string power_text(unsigned limit) {
  return limit % 1000 == 0 ? fmt::format("{} W", limit / 1000)
                           : fmt::format("{:.1f} W", static_cast<double>(limit) / 1000);
}

std::string_view clock_label(ClockDomain domain) {
  return domain == ClockDomain::kGpu ? "gpu" : "memory";
}

std::vector<unsigned> supported_clocks(const Control& control, const Gpu& gpu, ClockDomain domain) {
  const ControlFunctions& f = control.call();
  std::vector<unsigned> memory(64);
  auto count = static_cast<unsigned>(memory.size());
  if (f.memory_clocks(gpu.handle, &count, memory.data()) != Status::kSuccess) return {};
  memory.resize(count);
  if (domain == ClockDomain::kMemory || memory.empty()) return memory;
  std::vector<unsigned> clocks(1024);
  count = static_cast<unsigned>(clocks.size());
  const unsigned highest = *std::ranges::max_element(memory);
  if (f.gpu_clocks(gpu.handle, highest, &count, clocks.data()) != Status::kSuccess) return {};
  clocks.resize(count);
  return clocks;
}

}  // namespace

const Setting persistence_setting{
    .kind = "persistence",
    .label = kPersistence,
    .outlives_reboot = false,
    .read = read_value<&ControlFunctions::persistence, kPersistence>,
    .write = write_value<&ControlFunctions::set_persistence, kPersistence>,
    .words = on_or_off};
// Ampere keeps the mode over a reboot, later GPUs do not: the present mode is read.
const Setting mig_mode_setting{.kind = "mig-mode",
                               .label = "MIG mode",
                               .outlives_reboot = true,
                               .read = read_mig_mode,
                               .write = write_mig_mode,
                               .words = on_or_off};
const Setting compute_mode_setting{
    .kind = "compute-mode",
    .label = kComputeMode,
    .outlives_reboot = false,
    .read = read_value<&ControlFunctions::compute_mode, kComputeMode>,
    .write = write_value<&ControlFunctions::set_compute_mode, kComputeMode>,
    .words = compute_mode_text};
const Setting power_setting{.kind = "power",
                            .label = kPowerLimit,
                            .outlives_reboot = false,
                            .read = read_value<&ControlFunctions::power_limit, kPowerLimit>,
                            .write = write_value<&ControlFunctions::set_power_limit, kPowerLimit>,
                            .words = power_text};

std::string change_words(const Setting& setting, const Gpu& gpu, unsigned before, unsigned after) {
  return fmt::format("{} of {}: {} -> {}", setting.label, gpu.words(), setting.words(before),
                     setting.words(after));
}

Result<> change(Journal& journal, const Control& control, std::string_view uuid,
                const Setting& setting, unsigned value) {
  const Gpu gpu = TRY(find_gpu_by_uuid(control, uuid));
  const unsigned before = TRY(setting.read(control, gpu));
  if (before == value) return {};
  const std::uint64_t entry = TRY(journal.note({.kind = std::string(setting.kind),
                                                .target = gpu.uuid,
                                                .before = std::to_string(before),
                                                .after = std::to_string(value),
                                                .words = change_words(setting, gpu, before, value),
                                                .outlives_reboot = setting.outlives_reboot}));
  if (auto written = setting.write(control, gpu, value); !written) {
    TRY(journal.undone(entry));
    return written;
  }
  failpoint::reach("nvidia.made");
  return journal.complete(entry, "");
}

Result<bool> put_back_setting(const Control& control, const Change& entry, const Setting& setting,
                              bool dry_run) {
  const auto gpu = find_gpu_by_uuid(control, entry.target);
  if (!gpu && gpu.error().code == Code::kNotFound) return false;
  if (!gpu) return tl::unexpected(gpu.error());
  const auto before = parse_int(entry.before);
  const auto after = parse_int(entry.after);
  if (!before || !after) return fail(Code::kCorruption, entry.words + ": no values in the journal");
  const unsigned now = TRY(setting.read(control, *gpu));
  if (std::int64_t{now} != *after || *before == *after) return false;
  if (dry_run) return true;
  TRY(setting.write(control, *gpu, static_cast<unsigned>(*before)));
  return true;
}

std::string clock_words(ClockDomain domain, const Gpu& gpu, int mhz) {
  return fmt::format("{} clock of {}: locked at {} MHz",
                     domain == ClockDomain::kGpu ? "SM" : "memory", gpu.words(), mhz);
}

std::optional<int> nearest_clock(const Control& control, const Gpu& gpu, ClockDomain domain,
                                 int mhz) {
  std::optional<int> nearest;
  for (const unsigned clock : supported_clocks(control, gpu, domain)) {
    const auto candidate = static_cast<int>(clock);
    if (!nearest || std::abs(candidate - mhz) < std::abs(*nearest - mhz)) nearest = candidate;
  }
  return nearest;
}

Result<> lock_clock(Journal& journal, const Control& control, std::string_view uuid,
                    ClockDomain domain, int mhz) {
  const Gpu gpu = TRY(find_gpu_by_uuid(control, uuid));
  const std::string words = clock_words(domain, gpu, mhz);
  const std::uint64_t entry =
      TRY(journal.note({.kind = "clocks",
                        .target = gpu.uuid,
                        .after = fmt::format("{}={}", clock_label(domain), mhz),
                        .words = words}));
  const ControlFunctions& f = control.call();
  const auto clock = static_cast<unsigned>(mhz);
  const Status status = domain == ClockDomain::kGpu
                            ? f.lock_gpu_clocks(gpu.handle, clock, clock)
                            : f.lock_memory_clocks(gpu.handle, clock, clock);
  if (auto locked = control.check(status, words); !locked) {
    TRY(journal.undone(entry));
    return locked;
  }
  failpoint::reach("nvidia.made");
  return journal.complete(entry, "");
}

Result<bool> put_back_clock(const Control& control, const Standing& entry, bool dry_run) {
  const auto gpu = find_gpu_by_uuid(control, entry.change.target);
  if (!gpu && gpu.error().code == Code::kNotFound) return false;
  if (!gpu) return tl::unexpected(gpu.error());
  if (dry_run) return true;
  const ControlFunctions& f = control.call();
  const bool memory = entry.change.after.starts_with(clock_label(ClockDomain::kMemory));
  const Status status =
      memory ? f.reset_memory_clocks(gpu->handle) : f.reset_gpu_clocks(gpu->handle);
  TRY(control.check(status, entry.change.words + ": reset"));
  return true;
}

}  // namespace corral::collocate::nvidia
