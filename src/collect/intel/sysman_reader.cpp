#include "collect/intel/sysman_reader.h"

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

struct Kind {
  std::uint32_t kind;
  std::string_view metric;
};
constexpr auto kClocks =
    std::to_array<Kind>({{0, "host.gpu.clock.graphics"}, {1, "host.gpu.clock.memory"}});
constexpr auto kTemperatures =
    std::to_array<Kind>({{1, "host.gpu.temperature"}, {2, "host.gpu.memory.temperature"}});
// Groups of a single engine, named as the kernel names them. Decoders are deprecated: where codecs
// are listed, they are the same engines.
constexpr std::uint32_t kDecoder = 6;
constexpr std::uint32_t kCodec = 14;
constexpr auto kEngines = std::to_array<Kind>(
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

void SysmanReader::open(ZeDevice device, const Wanted& wanted, SeriesTable& table) {
  open_memory(device, wanted, table);
  open_energy(device, wanted, table);
  open_clocks(device, wanted, table);
  open_temperatures(device, wanted, table);
  open_engines(device, wanted, table);
}

void SysmanReader::refuse(std::string_view metric, ZeStatus status, SeriesTable& table) const {
  table.unavailable(std::string(metric) + " of " + source_,
                    "Level Zero: " + std::string(Sysman::words(status)));
}

void SysmanReader::open_memory(ZeDevice device, const Wanted& wanted, SeriesTable& table) {
  if (!wanted("host.gpu.memory.used")) return;
  ZeStatus status = ZeStatus::kSuccess;
  const auto modules = list_of(sysman_->call().memories, device, status);
  for (const auto& one : describe(modules, sysman_->call().memory, ZeType::kMemory)) {
    if (one.properties.location == kOnDevice) memory_.modules.push_back(one.part);
  }
  std::uint64_t free = 0;
  std::uint64_t size = 0;
  if (status == ZeStatus::kSuccess && memory_.modules.empty()) return;  // it uses the host's
  if (status == ZeStatus::kSuccess) status = memory(free, size);
  if (status != ZeStatus::kSuccess) {
    memory_.modules.clear();
    return refuse("host.gpu.memory.used", status, table);
  }
  memory_.used = table.add("host.gpu.memory.used", source_);
  memory_.free = table.add("host.gpu.memory.free", source_);
  memory_.total = table.add("host.gpu.memory.total", source_);
}

void SysmanReader::open_energy(ZeDevice device, const Wanted& wanted, SeriesTable& table) {
  if (!wanted("host.gpu.energy")) return;
  ZeStatus status = ZeStatus::kSuccess;
  const auto domains = list_of(sysman_->call().powers, device, status);
  for (const auto& one : describe(domains, sysman_->call().power, ZeType::kPower)) {
    energy_.parts.push_back(one.part);
    if (one.properties.on_subdevice == 0) break;  // the first is the card's, others its parts
  }
  double joules = 0;
  if (status == ZeStatus::kSuccess && energy_.parts.empty()) status = ZeStatus::kUnsupported;
  if (status == ZeStatus::kSuccess) status = energy(joules);
  if (status != ZeStatus::kSuccess) {
    energy_.parts.clear();
    return refuse("host.gpu.energy", status, table);
  }
  energy_.column = table.add("host.gpu.energy", source_);
}

void SysmanReader::open_clocks(ZeDevice device, const Wanted& wanted, SeriesTable& table) {
  ZeStatus status = ZeStatus::kSuccess;
  const auto domains = list_of(sysman_->call().frequencies, device, status);
  const auto described = describe(domains, sysman_->call().frequency, ZeType::kFrequency);
  for (const Kind& kind : kClocks) {
    const auto one = std::ranges::find_if(
        described, [&](const auto& d) { return d.properties.kind == kind.kind; });
    double hertz = 0;
    if (one == described.end() || !wanted(kind.metric)) continue;
    if (const ZeStatus read = clock(one->part, hertz); read != ZeStatus::kSuccess) {
      refuse(kind.metric, read, table);
    } else {
      clocks_.push_back({.part = one->part, .column = table.add(kind.metric, source_)});
    }
  }
}

void SysmanReader::open_temperatures(ZeDevice device, const Wanted& wanted, SeriesTable& table) {
  ZeStatus status = ZeStatus::kSuccess;
  const auto sensors = list_of(sysman_->call().temperatures, device, status);
  const auto described = describe(sensors, sysman_->call().temperature, ZeType::kTemperature);
  for (const Kind& kind : kTemperatures) {
    const auto one = std::ranges::find_if(
        described, [&](const auto& d) { return d.properties.kind == kind.kind; });
    double degrees = 0;
    if (one == described.end() || !wanted(kind.metric)) continue;
    if (const ZeStatus read = sysman_->call().degrees(one->part, &degrees);
        read != ZeStatus::kSuccess) {
      refuse(kind.metric, read, table);
    } else {
      temperatures_.push_back({.part = one->part, .column = table.add(kind.metric, source_)});
    }
  }
}

void SysmanReader::open_engines(ZeDevice device, const Wanted& wanted, SeriesTable& table) {
  if (!wanted("host.gpu.engine.busy")) return;
  ZeStatus status = ZeStatus::kSuccess;
  const auto groups = list_of(sysman_->call().engines, device, status);
  std::array<unsigned, kEngines.size()> numbers{};
  auto described = describe(groups, sysman_->call().engine, ZeType::kEngine);
  const auto is_codec = [](const auto& one) { return one.properties.kind == kCodec; };
  if (std::ranges::any_of(described, is_codec))
    std::erase_if(described, [](const auto& one) { return one.properties.kind == kDecoder; });
  for (const auto& one : described) {
    const auto kind = std::ranges::find(kEngines, one.properties.kind, &Kind::kind);
    if (kind == kEngines.end()) continue;
    const unsigned number = numbers[static_cast<std::size_t>(kind - kEngines.begin())]++;
    ZeEngineActivity activity{};
    status = sysman_->call().activity(one.part, &activity);
    if (status != ZeStatus::kSuccess) break;
    engines_.push_back(
        {.part = one.part,
         .column = table.add("host.gpu.engine.busy",
                             (source_ + ".").append(kind->metric) + std::to_string(number))});
  }
  if (status != ZeStatus::kSuccess) refuse("host.gpu.engine.busy", status, table);
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

bool SysmanReader::accept(ZeStatus status) {
  if (status == ZeStatus::kSuccess) return true;
  if (status == ZeStatus::kDeviceLost && !std::exchange(lost_, true) && news_ != nullptr)
    news_->tell(source_, "Level Zero: the device is lost; its values of the device end here");
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
  if (group == kSlowGroup) {
    for (const Part& sensor : temperatures_) {
      double degrees = 0;
      if (!lost_ && accept(sysman_->call().degrees(sensor.part, &degrees)))
        row.set(sensor.column, degrees);
    }
    return;
  }
  double joules = 0;
  if (!lost_ && !energy_.parts.empty() && accept(energy(joules))) row.set(energy_.column, joules);
  for (const Part& domain : clocks_) {
    double hertz = 0;
    if (!lost_ && accept(clock(domain.part, hertz))) row.set(domain.column, hertz);
  }
  for (const Part& engine : engines_) {
    ZeEngineActivity activity{};
    if (!lost_ && accept(sysman_->call().activity(engine.part, &activity)))
      row.set(engine.column, static_cast<double>(activity.active_us) * kMicro);
  }
}

}  // namespace corral::collect::intel
