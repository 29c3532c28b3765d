// A libze_loader.so.1 for tests: one driver with one device at 0000:03:00.0, answers from the
// timeline file that CORRAL_FAKE_ZE names, and is as strict as the real one about what a struct
// says it is. Never installed.
//
// Keys: lost; PARTS and their number for engines, powers, frequencies, temperatures, memories;
// PARTN.kind|subdevice|value (and .location, .free, .size of memories) with N from 0, as
// "engine0.value"; call.FUNCTION.status.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "collect/intel/fake/control.h"
#include "collect/intel/sysman_types.h"
#include "collect/nvidia/fake/timeline.h"

using namespace corral::collect::intel;  // NOLINT

namespace {

using corral::collect::nvidia::fake::Timeline;

constexpr auto kInvalid = static_cast<ZeStatus>(0x78000004);

struct Library {
  Timeline timeline;
  double now = 0;
  bool begun = false;
  std::map<std::string, std::string> parts;  // stable addresses for handles
};
Library& library() {
  static Library one;
  return one;
}

double number(const std::string& key, double otherwise) {
  const auto* value = library().timeline.find(key, library().now);
  return value != nullptr ? value->at(library().now) : otherwise;
}
ZeStatus enter(const std::string& function) {
  if (!library().begun) return ZeStatus::kUninitialised;
  if (number("lost", 0) != 0) return ZeStatus::kDeviceLost;
  return static_cast<ZeStatus>(
      static_cast<std::uint32_t>(number("call." + function + ".status", 0)));
}

std::string& part(const std::string& name) {
  return library().parts.try_emplace(name, name).first->second;
}
const std::string& name_of(ZePart handle) { return *static_cast<std::string*>(handle); }

ZeStatus list(const char* function, const std::string& of, const std::string& one,
              std::uint32_t* count, ZePart* parts) {
  if (const ZeStatus s = enter(function); s != ZeStatus::kSuccess) return s;
  const auto there = static_cast<std::uint32_t>(number(of, 0));
  if (parts != nullptr) {
    for (std::uint32_t i = 0; i < std::min(*count, there); ++i)
      parts[i] = &part(one + std::to_string(i));
  }
  *count = parts == nullptr ? there : std::min(*count, there);
  return ZeStatus::kSuccess;
}

template <class Properties>
ZeStatus describe(const char* function, ZePart handle, Properties* out, ZeType type) {
  if (const ZeStatus s = enter(function); s != ZeStatus::kSuccess) return s;
  if (out->head.type != type || out->head.next != nullptr) return kInvalid;
  const double tile = number(name_of(handle) + ".subdevice", -1);
  out->on_subdevice = tile >= 0 ? 1 : 0;
  out->subdevice = tile >= 0 ? static_cast<std::uint32_t>(tile) : 0;
  if constexpr (requires { out->kind; })
    out->kind = static_cast<std::uint32_t>(number(name_of(handle) + ".kind", 0));
  return ZeStatus::kSuccess;
}

std::uint64_t value_of(ZePart handle, const char* what) {
  return static_cast<std::uint64_t>(number(name_of(handle) + "." + what, 0));
}

}  // namespace

extern "C" {

void corral_fake_ze_set_time(double seconds) { library().now = seconds; }

ZeStatus zesInit(std::uint32_t flags) {
  const char* path = std::getenv("CORRAL_FAKE_ZE");
  library() = Library{};
  if (flags != 0 || path == nullptr || !library().timeline.load(path)) return kInvalid;
  library().begun = true;
  return enter("zesInit");
}
ZeStatus zesDriverGet(std::uint32_t* count, ZeDriver* drivers) {
  if (drivers != nullptr && *count > 0) *drivers = &part("driver");
  *count = 1;
  return enter("zesDriverGet");
}
ZeStatus zesDeviceGet(ZeDriver, std::uint32_t* count, ZeDevice* devices) {
  if (devices != nullptr && *count > 0) *devices = &part("device");
  *count = 1;
  return enter("zesDeviceGet");
}
ZeStatus zesDevicePciGetProperties(ZeDevice, ZePci* out) {
  if (out->head.type != ZeType::kPci) return kInvalid;
  out->domain = 0;
  out->bus = 3;
  out->device = 0;
  out->function = 0;
  return enter("zesDevicePciGetProperties");
}

ZeStatus zesDeviceEnumEngineGroups(ZeDevice, std::uint32_t* count, ZePart* parts) {
  return list("zesDeviceEnumEngineGroups", "engines", "engine", count, parts);
}
ZeStatus zesDeviceEnumPowerDomains(ZeDevice, std::uint32_t* count, ZePart* parts) {
  return list("zesDeviceEnumPowerDomains", "powers", "power", count, parts);
}
ZeStatus zesDeviceEnumFrequencyDomains(ZeDevice, std::uint32_t* count, ZePart* parts) {
  return list("zesDeviceEnumFrequencyDomains", "frequencies", "frequency", count, parts);
}
ZeStatus zesDeviceEnumTemperatureSensors(ZeDevice, std::uint32_t* count, ZePart* parts) {
  return list("zesDeviceEnumTemperatureSensors", "temperatures", "temperature", count, parts);
}
ZeStatus zesDeviceEnumMemoryModules(ZeDevice, std::uint32_t* count, ZePart* parts) {
  return list("zesDeviceEnumMemoryModules", "memories", "memory", count, parts);
}

ZeStatus zesEngineGetProperties(ZePart engine, ZeEngine* out) {
  return describe("zesEngineGetProperties", engine, out, ZeType::kEngine);
}
ZeStatus zesPowerGetProperties(ZePart power, ZePower* out) {
  return describe("zesPowerGetProperties", power, out, ZeType::kPower);
}
ZeStatus zesFrequencyGetProperties(ZePart frequency, ZeFrequency* out) {
  return describe("zesFrequencyGetProperties", frequency, out, ZeType::kFrequency);
}
ZeStatus zesTemperatureGetProperties(ZePart temperature, ZeTemperature* out) {
  return describe("zesTemperatureGetProperties", temperature, out, ZeType::kTemperature);
}
ZeStatus zesMemoryGetProperties(ZePart memory, ZeMemory* out) {
  const ZeStatus status = describe("zesMemoryGetProperties", memory, out, ZeType::kMemory);
  out->location = static_cast<std::uint32_t>(number(name_of(memory) + ".location", 1));
  return status;
}

ZeStatus zesEngineGetActivity(ZePart engine, ZeEngineActivity* out) {
  out->active_us = value_of(engine, "value");
  out->time_us = static_cast<std::uint64_t>(library().now * 1e6);
  return enter("zesEngineGetActivity");
}
ZeStatus zesPowerGetEnergyCounter(ZePart power, ZeEnergy* out) {
  out->microjoules = value_of(power, "value");
  out->time_us = static_cast<std::uint64_t>(library().now * 1e6);
  return enter("zesPowerGetEnergyCounter");
}
ZeStatus zesFrequencyGetState(ZePart frequency, ZeFrequencyState* out) {
  if (out->head.type != ZeType::kFrequencyState) return kInvalid;
  out->actual = number(name_of(frequency) + ".value", -1);
  return enter("zesFrequencyGetState");
}
ZeStatus zesTemperatureGetState(ZePart temperature, double* out) {
  *out = number(name_of(temperature) + ".value", 0);
  return enter("zesTemperatureGetState");
}
ZeStatus zesMemoryGetState(ZePart memory, ZeMemoryState* out) {
  if (out->head.type != ZeType::kMemoryState) return kInvalid;
  out->free = value_of(memory, "free");
  out->size = value_of(memory, "size");
  return enter("zesMemoryGetState");
}
}
