// Sysman: Level Zero's system interface, found at run time: for values that the drivers' files and
// PMU lack, memory above all.
//
// Nothing is configured. zesInit loads the vendor's driver into the process, so it is only called
// where there is one of Intel's GPUs. Calls may block; they allocate nothing of ours. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collect/intel/sysman_types.h"
#include "collect/news.h"
#include "collect/series.h"
#include "collect/vendor/library.h"
#include "core/result.h"

namespace corral::collect::intel {

template <class... Arguments>
using ZeFunction = vendor::Function<ZeStatus, ZeStatus::kUnsupported, Arguments...>;
// A list: how many there are, then room for them.
template <class Of>
using ZeList = ZeFunction<Of, std::uint32_t*, ZePart*>;

struct SysmanFunctions {
  vendor::Library library;
  ZeFunction<std::uint32_t> init{library, {"zesInit"}};
  ZeFunction<std::uint32_t*, ZeDriver*> drivers{library, {"zesDriverGet"}};
  ZeList<ZeDriver> devices{library, {"zesDeviceGet"}};
  ZeFunction<ZeDevice, ZePci*> pci{library, {"zesDevicePciGetProperties"}};
  ZeList<ZeDevice> engines{library, {"zesDeviceEnumEngineGroups"}};
  ZeList<ZeDevice> powers{library, {"zesDeviceEnumPowerDomains"}};
  ZeList<ZeDevice> frequencies{library, {"zesDeviceEnumFrequencyDomains"}};
  ZeList<ZeDevice> temperatures{library, {"zesDeviceEnumTemperatureSensors"}};
  ZeList<ZeDevice> memories{library, {"zesDeviceEnumMemoryModules"}};
  ZeFunction<ZePart, ZeEngine*> engine{library, {"zesEngineGetProperties"}};
  ZeFunction<ZePart, ZePower*> power{library, {"zesPowerGetProperties"}};
  ZeFunction<ZePart, ZeFrequency*> frequency{library, {"zesFrequencyGetProperties"}};
  ZeFunction<ZePart, ZeTemperature*> temperature{library, {"zesTemperatureGetProperties"}};
  ZeFunction<ZePart, ZeMemory*> memory{library, {"zesMemoryGetProperties"}};
  ZeFunction<ZePart, ZeEngineActivity*> activity{library, {"zesEngineGetActivity"}};
  ZeFunction<ZePart, ZeEnergy*> energy{library, {"zesPowerGetEnergyCounter"}};
  ZeFunction<ZePart, ZeFrequencyState*> frequency_state{library, {"zesFrequencyGetState"}};
  ZeFunction<ZePart, double*> degrees{library, {"zesTemperatureGetState"}};
  ZeFunction<ZePart, ZeMemoryState*> memory_state{library, {"zesMemoryGetState"}};
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
  explicit Sysman(const vendor::Library& library) : functions_{library} {}

  SysmanFunctions functions_;
};

// All of a list; empty when it is refused.
template <class Of>
std::vector<ZePart> list_parts(const ZeList<Of>& list, Of of, ZeStatus& status) {
  std::uint32_t count = 0;
  status = list(of, &count, nullptr);
  std::vector<ZePart> parts(status == ZeStatus::kSuccess ? count : 0);
  if (!parts.empty()) status = list(of, &count, parts.data());
  if (status != ZeStatus::kSuccess) count = 0;
  if (count < parts.size()) parts.resize(count);
  return parts;
}

// A kind of part in Level Zero's numbers, and its metric.
struct ZeKind {
  std::uint32_t kind;
  std::string_view metric;
};

// SysmanReader: metrics of one of Intel's GPUs from Level Zero that no other reader has declared
// for it.
//
// Parts of a card with several tiles: those of the whole card where there are any, else the tiles'
// together (energy, memory) or the first one (clock, temperature). A lost device ends its values,
// reported once. One thread; no allocation after open().
class SysmanReader {
 public:
  SysmanReader(const Sysman& sysman, std::string source, std::shared_ptr<News> news)
      : sysman_(&sysman), source_(std::move(source)), news_(std::move(news)) {}

  // `wanted`: metrics that the table has not got for this GPU. Each part is read once; one that
  // refuses is reported to the table.
  void open(ZeDevice device, const std::function<bool(std::string_view)>& wanted,
            SeriesTable& table);
  void sample(Group group, Row& row);

 private:
  struct Memory {
    std::vector<ZePart> modules;
    Column used = kNoColumn, free = kNoColumn, total = kNoColumn;
  };
  struct Part {
    ZePart part;
    Column column;
  };
  struct Parts {
    std::vector<ZePart> parts;
    Column column = kNoColumn;
  };
  using Wanted = std::function<bool(std::string_view)>;
  struct Opening {
    ZeDevice device;
    const Wanted& wanted;
    SeriesTable& table;
  };
  void open_memory(const Opening& opening);
  void open_energy(const Opening& opening);
  void open_clocks(const Opening& opening);
  void open_temperatures(const Opening& opening);
  void open_engines(const Opening& opening);
  void refuse(std::string_view metric, ZeStatus status, SeriesTable& table) const;

  ZeStatus memory(std::uint64_t& free, std::uint64_t& size) const;
  ZeStatus energy(double& joules) const;
  ZeStatus clock(ZePart part, double& hertz) const;
  ZeStatus temperature(ZePart sensor, double& degrees) const;
  ZeStatus engine(ZePart engine, double& busy_seconds) const;
  using Read = ZeStatus (SysmanReader::*)(ZePart part, double& value) const;
  // The first part of each kind whose metric is requested.
  template <class Described, std::size_t kCount>
  std::vector<Part> open_kinds(const std::vector<Described>& described,
                               const std::array<ZeKind, kCount>& kinds, Read read,
                               const Opening& opening) const;
  void sample(const std::vector<Part>& parts, Read read, Row& row);
  bool accept(ZeStatus status);

  const Sysman* sysman_;
  std::string source_;
  std::shared_ptr<News> news_;
  Memory memory_;
  Parts energy_;
  std::vector<Part> clocks_;
  std::vector<Part> temperatures_;
  std::vector<Part> engines_;
  bool lost_ = false;
};

}  // namespace corral::collect::intel
