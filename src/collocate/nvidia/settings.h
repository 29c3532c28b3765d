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

#include "collocate/journal.h"
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
// Nothing is done or noted when it has that value already. An error means that nothing was changed.
Result<> change(Journal& journal, const Control& control, std::string_view uuid,
                const Setting& setting, unsigned value);
// True: it was still ours and is put back.
Result<bool> put_back_setting(const Control& control, const Change& entry, const Setting& setting,
                              bool dry_run);

enum class ClockDomain { kGpu, kMemory };
std::string clock_words(ClockDomain domain, const Gpu& gpu, int mhz);
// The clock that this GPU has nearest to `mhz`, or nothing when the driver does not say.
std::optional<int> nearest_clock(const Control& control, const Gpu& gpu, ClockDomain domain,
                                 int mhz);
// Holds it there. A previous lock cannot be read: it is undone by a reset.
Result<> lock_clock(Journal& journal, const Control& control, std::string_view uuid,
                    ClockDomain domain, int mhz);
Result<bool> put_back_clock(const Control& control, const Change& entry, bool dry_run);

}  // namespace corral::collocate::nvidia
