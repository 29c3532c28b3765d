#include "collocate/nvidia/undo.h"

#include <array>
#include <string>

#include "collocate/nvidia/control.h"
#include "collocate/nvidia/gpu.h"
#include "collocate/nvidia/mig.h"
#include "collocate/nvidia/mps.h"
#include "collocate/nvidia/settings.h"

namespace corral::collocate::nvidia {
namespace {

// The driver is opened for each entry: there are few, and it does not stay open afterwards.
template <const Setting* kSetting>
Result<bool> setting_back(const Standing& entry, const UndoOptions& options) {
  const auto control = TRY(Control::open(options.nvml));
  return put_back_setting(*control, entry.change, *kSetting, options.dry_run);
}

Result<bool> clock_back(const Standing& entry, const UndoOptions& options) {
  const auto control = TRY(Control::open(options.nvml));
  return put_back_clock(*control, entry.change, options.dry_run);
}

Result<bool> gpu_instance_back(const Standing& entry, const UndoOptions& options) {
  const auto control = TRY(Control::open(options.nvml));
  return put_back_gpu_instance(*control, entry, options.dry_run);
}

Result<bool> compute_instance_back(const Standing& entry, const UndoOptions& options) {
  const auto control = TRY(Control::open(options.nvml));
  return put_back_compute_instance(*control, entry, options.dry_run);
}

std::string users(const Standing& entry, const UndoOptions& options) {
  const auto control = Control::open(options.nvml);
  if (!control) return "";
  return words_of_processes(users_of_instance(**control, entry));
}

constexpr auto kHandlers = std::to_array<KindHandler>({
    {.kind = "persistence", .put_back = setting_back<&persistence_setting>},
    {.kind = "mig-mode", .put_back = setting_back<&mig_mode_setting>},
    {.kind = "compute-mode", .put_back = setting_back<&compute_mode_setting>},
    {.kind = "power", .put_back = setting_back<&power_setting>},
    {.kind = "clocks", .put_back = clock_back},
    {.kind = "mig-instance", .put_back = gpu_instance_back, .in_use = users},
    {.kind = "compute-instance", .put_back = compute_instance_back, .in_use = users},
    {.kind = "mps", .put_back = put_back_mps, .in_use = mps_clients},
});

}  // namespace

std::span<const KindHandler> handlers() { return kHandlers; }

}  // namespace corral::collocate::nvidia
