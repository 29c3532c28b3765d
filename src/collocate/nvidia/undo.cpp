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
template <auto kPutBack>
Result<bool> with_driver(const Standing& entry, const UndoOptions& options) {
  const auto control = TRY(Control::open(options.nvml));
  return kPutBack(*control, entry, options.dry_run);
}

template <const Setting* kSetting>
Result<bool> put_back_one(const Control& control, const Standing& entry, bool dry_run) {
  return put_back_setting(control, entry.change, *kSetting, dry_run);
}

std::string users(const Standing& entry, const UndoOptions& options) {
  const auto control = Control::open(options.nvml);
  if (!control) return "";
  return process_list(users_of_instance(**control, entry));
}

constexpr auto kHandlers = std::to_array<KindHandler>({
    {.kind = "persistence", .put_back = with_driver<put_back_one<&persistence_setting>>},
    {.kind = "mig-mode", .put_back = with_driver<put_back_one<&mig_mode_setting>>},
    {.kind = "compute-mode", .put_back = with_driver<put_back_one<&compute_mode_setting>>},
    {.kind = "power", .put_back = with_driver<put_back_one<&power_setting>>},
    {.kind = "clocks", .put_back = with_driver<put_back_clock>},
    {.kind = "mig-instance", .put_back = with_driver<put_back_gpu_instance>, .in_use = users},
    {.kind = "compute-instance",
     .put_back = with_driver<put_back_compute_instance>,
     .in_use = users},
    {.kind = "mps", .put_back = put_back_mps, .in_use = mps_clients},
});

}  // namespace

std::span<const KindHandler> handlers() { return kHandlers; }

}  // namespace corral::collocate::nvidia
