// Settings of a GPU: those that can be read (persistence, MIG mode, compute mode, power limit) are
// one table; locked clocks can only be set and reset.
//
// Every change is journalled before it is made; undo restores only settings that are still as we
// set them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collocate/journal/journal.h"
#include "collocate/nvidia/control.h"
#include "collocate/nvidia/gpu.h"
#include "core/result.h"

namespace corral::collocate::nvidia {

struct Setting {
  std::string_view kind;   // in the journal
  std::string_view label;  // "MIG mode"
  bool outlives_reboot;
  // Returns the MIG mode: the present one, or the one after the next reset.
  Result<unsigned> (*read)(const Control&, const Gpu&);
  Result<> (*write)(const Control&, const Gpu&, unsigned value);
  std::string (*words)(unsigned value);  // "off", "300 W"
};

extern const Setting persistence_setting;
extern const Setting mig_mode_setting;
extern const Setting compute_mode_setting;
extern const Setting power_setting;  // mW

// "MIG mode of GPU 0: off -> on"
std::string change_words(const Setting& setting, const Gpu& gpu, unsigned before, unsigned after);
// Changes a setting; does nothing if it has that value already. On an error nothing was changed.
Result<> change(Journal& journal, const Control& control, std::string_view uuid,
                const Setting& setting, unsigned value);
// Undoes a setting. True: it was still ours and is restored.
Result<bool> put_back_setting(const Control& control, const Change& entry, const Setting& setting,
                              bool dry_run);

enum class ClockDomain { kGpu, kMemory };
std::string clock_words(ClockDomain domain, const Gpu& gpu, int mhz);
// Returns the GPU's clock nearest to `mhz`; nullopt if the driver does not report clocks.
std::optional<int> nearest_clock(const Control& control, const Gpu& gpu, ClockDomain domain,
                                 int mhz);
// Locks a clock. A previous lock cannot be read: the undo is a reset.
Result<> lock_clock(Journal& journal, const Control& control, std::string_view uuid,
                    ClockDomain domain, int mhz);
Result<bool> put_back_clock(const Control& control, const Standing& entry, bool dry_run);

}  // namespace corral::collocate::nvidia
