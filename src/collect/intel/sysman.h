// Sysman: Level Zero's system interface, found at run time: for values that the drivers' files and
// PMU lack, memory above all.
//
// Nothing is configured. zesInit loads the vendor's driver into the process, so it is only called
// where there is one of Intel's GPUs. Calls may block; they allocate nothing of ours. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collect/intel/sysman_types.h"
#include "collect/vendor/library.h"
#include "core/result.h"

namespace corral::collect::intel {

template <class... Arguments>
using ZeFunction = vendor::Function<ZeStatus, ZeStatus::kUnsupported, Arguments...>;
// A list: how many there are, then room for them.
template <class Of>
using ZeList = ZeFunction<Of, std::uint32_t*, ZePart*>;

struct SysmanFunctions {
  ZeFunction<std::uint32_t> init;
  ZeFunction<std::uint32_t*, ZeDriver*> drivers;
  ZeList<ZeDriver> devices;
  ZeFunction<ZeDevice, ZePci*> pci;
  ZeList<ZeDevice> engines, powers, frequencies, temperatures, memories;
  ZeFunction<ZePart, ZeEngine*> engine;
  ZeFunction<ZePart, ZePower*> power;
  ZeFunction<ZePart, ZeFrequency*> frequency;
  ZeFunction<ZePart, ZeTemperature*> temperature;
  ZeFunction<ZePart, ZeMemory*> memory;
  ZeFunction<ZePart, ZeEngineActivity*> activity;
  ZeFunction<ZePart, ZeEnergy*> energy;
  ZeFunction<ZePart, ZeFrequencyState*> frequency_state;
  ZeFunction<ZePart, double*> degrees;
  ZeFunction<ZePart, ZeMemoryState*> memory_state;
};

class Sysman {
 public:
  // `library`: empty for the system's. The error is why it cannot be used.
  static Result<std::unique_ptr<const Sysman>> open(const std::string& library);

  [[nodiscard]] const SysmanFunctions& call() const { return functions_; }
  // The device at a PCI address ("0000:03:00.0"); null when the library does not know it.
  [[nodiscard]] ZeDevice find(std::string_view address) const;
  static std::string_view words(ZeStatus status);

 private:
  explicit Sysman(const vendor::Library& library);

  SysmanFunctions functions_;
};

// All of a list; empty when it is refused.
template <class Of>
std::vector<ZePart> list_of(const ZeList<Of>& list, Of of, ZeStatus& status) {
  std::uint32_t count = 0;
  status = list(of, &count, nullptr);
  std::vector<ZePart> parts(status == ZeStatus::kSuccess ? count : 0);
  if (!parts.empty()) status = list(of, &count, parts.data());
  if (status != ZeStatus::kSuccess) count = 0;
  if (count < parts.size()) parts.resize(count);
  return parts;
}

}  // namespace corral::collect::intel
