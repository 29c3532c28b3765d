#include "collect/intel/sysman.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace corral::collect::intel {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kMega = 1e6;
constexpr std::uint32_t kOnDevice = 1;  // location of a memory module

constexpr auto kClocks =
    std::to_array<ZeKind>({{0, "host.gpu.clock.graphics"}, {1, "host.gpu.clock.memory"}});
constexpr auto kTemperatures =
    std::to_array<ZeKind>({{1, "host.gpu.temperature"}, {2, "host.gpu.memory.temperature"}});
// Groups of a single engine, named as the kernel names them. Decoders are deprecated: where codecs
// are listed, they are the same engines.
constexpr std::uint32_t kDecoder = 6;
constexpr std::uint32_t kCodec = 14;
constexpr auto kEngines = std::to_array<ZeKind>(
    {{4, "ccs"}, {5, "rcs"}, {kDecoder, "vcs"}, {kCodec, "vcs"}, {8, "bcs"}, {9, "vecs"}});

// Parts with their properties; those of the whole card, or all when there are none.
template <class Properties>
struct Described {
  ZePart part;
  Properties properties;
};
template <class Properties>
std::vector<Described<Properties>> describe(const std::vector<ZePart>& parts,
                                            const ZeFunction<ZePart, Properties*>& ask,
                                            ZeType type) {
  std::vector<Described<Properties>> described;
  for (ZePart part : parts) {
    Properties properties{};
    properties.head.type = type;
    if (ask(part, &properties) == ZeStatus::kSuccess) described.push_back({part, properties});
  }
  const auto of_card = [](const auto& one) { return one.properties.on_subdevice == 0; };
  if (std::ranges::any_of(described, of_card))
    std::erase_if(described, [&](const auto& one) { return !of_card(one); });
  return described;
}

}  // namespace

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
    for (ZeDevice device : list_parts(functions_.devices, driver, status)) {
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

void SysmanReader::open(ZeDevice device, const Wanted& wanted, SeriesTable& table) {
  const Opening opening{.device = device, .wanted = wanted, .table = table};
  open_memory(opening);
  open_energy(opening);
  open_clocks(opening);
  open_temperatures(opening);
  open_engines(opening);
}

void SysmanReader::refuse(std::string_view metric, ZeStatus status, SeriesTable& table) const {
  table.unavailable(metric, source_, "Level Zero: " + std::string(Sysman::words(status)));
}

void SysmanReader::open_memory(const Opening& opening) {
  if (!opening.wanted("host.gpu.memory.used")) return;
  ZeStatus status = ZeStatus::kSuccess;
  const auto modules = list_parts(sysman_->call().memories, opening.device, status);
  for (const auto& one : describe(modules, sysman_->call().memory, ZeType::kMemory)) {
    if (one.properties.location == kOnDevice) memory_.modules.push_back(one.part);
  }
  std::uint64_t free = 0;
  std::uint64_t size = 0;
  if (status == ZeStatus::kSuccess && memory_.modules.empty()) return;  // it uses the host's
  if (status == ZeStatus::kSuccess) status = memory(free, size);
  if (status != ZeStatus::kSuccess) {
    memory_.modules.clear();
    return refuse("host.gpu.memory.used", status, opening.table);
  }
  memory_.used = opening.table.add("host.gpu.memory.used", source_);
  memory_.free = opening.table.add("host.gpu.memory.free", source_);
  memory_.total = opening.table.add("host.gpu.memory.total", source_);
}

void SysmanReader::open_energy(const Opening& opening) {
  if (!opening.wanted("host.gpu.energy")) return;
  ZeStatus status = ZeStatus::kSuccess;
  const auto domains = list_parts(sysman_->call().powers, opening.device, status);
  for (const auto& one : describe(domains, sysman_->call().power, ZeType::kPower)) {
    energy_.parts.push_back(one.part);
    if (one.properties.on_subdevice == 0) break;  // the first is the card's, others its parts
  }
  double joules = 0;
  if (status == ZeStatus::kSuccess && energy_.parts.empty()) status = ZeStatus::kUnsupported;
  if (status == ZeStatus::kSuccess) status = energy(joules);
  if (status != ZeStatus::kSuccess) {
    energy_.parts.clear();
    return refuse("host.gpu.energy", status, opening.table);
  }
  energy_.column = opening.table.add("host.gpu.energy", source_);
}

template <class Described, std::size_t kCount>
std::vector<SysmanReader::Part> SysmanReader::open_kinds(const std::vector<Described>& described,
                                                         const std::array<ZeKind, kCount>& kinds,
                                                         Read read, const Opening& opening) const {
  std::vector<Part> parts;
  for (const ZeKind& kind : kinds) {
    const auto one = std::ranges::find_if(
        described, [&](const auto& d) { return d.properties.kind == kind.kind; });
    double value = 0;
    if (one == described.end() || !opening.wanted(kind.metric)) continue;
    if (const ZeStatus status = (this->*read)(one->part, value); status != ZeStatus::kSuccess) {
      refuse(kind.metric, status, opening.table);
    } else {
      parts.push_back({.part = one->part, .column = opening.table.add(kind.metric, source_)});
    }
  }
  return parts;
}

void SysmanReader::open_clocks(const Opening& opening) {
  ZeStatus status = ZeStatus::kSuccess;
  const auto domains = list_parts(sysman_->call().frequencies, opening.device, status);
  clocks_ = open_kinds(describe(domains, sysman_->call().frequency, ZeType::kFrequency), kClocks,
                       &SysmanReader::clock, opening);
}

void SysmanReader::open_temperatures(const Opening& opening) {
  ZeStatus status = ZeStatus::kSuccess;
  const auto sensors = list_parts(sysman_->call().temperatures, opening.device, status);
  temperatures_ = open_kinds(describe(sensors, sysman_->call().temperature, ZeType::kTemperature),
                             kTemperatures, &SysmanReader::temperature, opening);
}

void SysmanReader::open_engines(const Opening& opening) {
  if (!opening.wanted("host.gpu.engine.busy")) return;
  ZeStatus status = ZeStatus::kSuccess;
  const auto groups = list_parts(sysman_->call().engines, opening.device, status);
  std::array<unsigned, kEngines.size()> numbers{};
  auto described = describe(groups, sysman_->call().engine, ZeType::kEngine);
  const auto is_codec = [](const auto& one) { return one.properties.kind == kCodec; };
  if (std::ranges::any_of(described, is_codec))
    std::erase_if(described, [](const auto& one) { return one.properties.kind == kDecoder; });
  for (const auto& one : described) {
    const auto kind = std::ranges::find(kEngines, one.properties.kind, &ZeKind::kind);
    if (kind == kEngines.end()) continue;
    const unsigned number = numbers[static_cast<std::size_t>(kind - kEngines.begin())]++;
    double busy = 0;
    status = engine(one.part, busy);
    if (status != ZeStatus::kSuccess) break;
    engines_.push_back(
        {.part = one.part,
         .column = opening.table.add("host.gpu.engine.busy", (source_ + ".").append(kind->metric) +
                                                                 std::to_string(number))});
  }
  if (status != ZeStatus::kSuccess) refuse("host.gpu.engine.busy", status, opening.table);
}

ZeStatus SysmanReader::memory(std::uint64_t& free, std::uint64_t& size) const {
  free = 0;
  size = 0;
  for (ZePart module : memory_.modules) {
    ZeMemoryState state{};
    state.head.type = ZeType::kMemoryState;
    const ZeStatus status = sysman_->call().memory_state(module, &state);
    if (status != ZeStatus::kSuccess) return status;
    free += state.free;
    size += state.size;
  }
  return ZeStatus::kSuccess;
}

ZeStatus SysmanReader::energy(double& joules) const {
  joules = 0;
  for (ZePart domain : energy_.parts) {
    ZeEnergy energy{};
    const ZeStatus status = sysman_->call().energy(domain, &energy);
    if (status != ZeStatus::kSuccess) return status;
    joules += static_cast<double>(energy.microjoules) * kMicro;
  }
  return ZeStatus::kSuccess;
}

ZeStatus SysmanReader::clock(ZePart part, double& hertz) const {
  ZeFrequencyState state{};
  state.head.type = ZeType::kFrequencyState;
  const ZeStatus status = sysman_->call().frequency_state(part, &state);
  if (status == ZeStatus::kSuccess && state.actual < 0) return ZeStatus::kUnsupported;
  hertz = state.actual * kMega;
  return status;
}

ZeStatus SysmanReader::temperature(ZePart sensor, double& degrees) const {
  return sysman_->call().degrees(sensor, &degrees);
}

ZeStatus SysmanReader::engine(ZePart engine, double& busy_seconds) const {
  ZeEngineActivity activity{};
  const ZeStatus status = sysman_->call().activity(engine, &activity);
  busy_seconds = static_cast<double>(activity.active_us) * kMicro;
  return status;
}

bool SysmanReader::accept(ZeStatus status) {
  if (status == ZeStatus::kSuccess) return true;
  if (status == ZeStatus::kDeviceLost && !std::exchange(lost_, true))
    tell(news_, source_, "Level Zero: the device is lost; its values of the device end here");
  return false;
}

void SysmanReader::sample(Group group, Row& row) {
  if (lost_) return;
  std::uint64_t free = 0;
  std::uint64_t size = 0;
  if (!memory_.modules.empty() && accept(memory(free, size))) {
    if (group == kSlowGroup) {
      row.set(memory_.total, size);
    } else {
      row.set(memory_.free, free);
      row.set(memory_.used, size - std::min(free, size));
    }
  }
  if (group == kSlowGroup) return sample(temperatures_, &SysmanReader::temperature, row);
  double joules = 0;
  if (!lost_ && !energy_.parts.empty() && accept(energy(joules))) row.set(energy_.column, joules);
  sample(clocks_, &SysmanReader::clock, row);
  sample(engines_, &SysmanReader::engine, row);
}

void SysmanReader::sample(const std::vector<Part>& parts, Read read, Row& row) {
  for (const Part& part : parts) {
    double value = 0;
    if (!lost_ && accept((this->*read)(part.part, value))) row.set(part.column, value);
  }
}

}  // namespace corral::collect::intel
