#include "collect/intel/sysman.h"

#include <fmt/core.h>

namespace corral::collect::intel {

Sysman::Sysman(const vendor::Library& library) {
  SysmanFunctions& f = functions_;
  f.init.bind(library.find({"zesInit"}));
  f.drivers.bind(library.find({"zesDriverGet"}));
  f.devices.bind(library.find({"zesDeviceGet"}));
  f.pci.bind(library.find({"zesDevicePciGetProperties"}));
  f.engines.bind(library.find({"zesDeviceEnumEngineGroups"}));
  f.powers.bind(library.find({"zesDeviceEnumPowerDomains"}));
  f.frequencies.bind(library.find({"zesDeviceEnumFrequencyDomains"}));
  f.temperatures.bind(library.find({"zesDeviceEnumTemperatureSensors"}));
  f.memories.bind(library.find({"zesDeviceEnumMemoryModules"}));
  f.engine.bind(library.find({"zesEngineGetProperties"}));
  f.power.bind(library.find({"zesPowerGetProperties"}));
  f.frequency.bind(library.find({"zesFrequencyGetProperties"}));
  f.temperature.bind(library.find({"zesTemperatureGetProperties"}));
  f.memory.bind(library.find({"zesMemoryGetProperties"}));
  f.activity.bind(library.find({"zesEngineGetActivity"}));
  f.energy.bind(library.find({"zesPowerGetEnergyCounter"}));
  f.frequency_state.bind(library.find({"zesFrequencyGetState"}));
  f.degrees.bind(library.find({"zesTemperatureGetState"}));
  f.memory_state.bind(library.find({"zesMemoryGetState"}));
}

Result<std::unique_ptr<const Sysman>> Sysman::open(const std::string& library) {
  const auto loaded = vendor::Library::open(library, {"libze_loader.so.1"});
  if (!loaded) {
    return fail(Code::kUnsupported, "Level Zero is not installed here: " + loaded.error().message);
  }
  std::unique_ptr<const Sysman> sysman(new Sysman(*loaded));
  if (!sysman->functions_.init.there())
    return fail(Code::kUnsupported, "Level Zero's loader is too old: it has no zesInit");
  const ZeStatus status = sysman->functions_.init(0);
  if (status != ZeStatus::kSuccess) {
    return fail(Code::kUnavailable, "Level Zero does not start: " + std::string(words(status)));
  }
  return sysman;
}

ZeDevice Sysman::find(std::string_view address) const {
  std::uint32_t count = 0;
  if (functions_.drivers(&count, nullptr) != ZeStatus::kSuccess) return nullptr;
  std::vector<ZeDriver> drivers(count);
  if (functions_.drivers(&count, drivers.data()) != ZeStatus::kSuccess) return nullptr;
  for (ZeDriver driver : drivers) {
    ZeStatus status = ZeStatus::kSuccess;
    for (ZeDevice device : list_of(functions_.devices, driver, status)) {
      ZePci pci{};
      pci.head.type = ZeType::kPci;
      if (functions_.pci(device, &pci) != ZeStatus::kSuccess) continue;
      if (fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.device, pci.function) ==
          address)
        return device;
    }
  }
  return nullptr;
}

std::string_view Sysman::words(ZeStatus status) {
  switch (status) {
    case ZeStatus::kSuccess:
      return "success";
    case ZeStatus::kDeviceLost:
      return "the device is lost";
    case ZeStatus::kNoPermission:
      return "permission denied";
    case ZeStatus::kNotAvailable:
      return "not available now";
    case ZeStatus::kDependency:
      return "a library that its driver needs is missing";
    case ZeStatus::kUninitialised:
      return "no driver of Level Zero found";
    case ZeStatus::kUnsupportedVersion:
      return "the driver has another version";
    case ZeStatus::kUnsupported:
      return "not supported";
  }
  return "unknown error of Level Zero";
}

}  // namespace corral::collect::intel
