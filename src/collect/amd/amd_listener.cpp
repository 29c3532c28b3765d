#include "collect/amd/amd_listener.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "collect/amd/amdsmi.h"
#include "collect/amd/gpu_metrics.h"
#include "collect/amd/throttle_times.h"
#include "collect/proc_file.h"
#include "collect/sysfs/drm.h"
#include "sys/file.h"

namespace corral::collect {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kVendor = 0x1002;
constexpr double kPercent = 0.01;
constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;

// amdsmi, looked for when the first GPU needs it.
class Smi {
 public:
  // Null when it cannot be used; obstacle() says why.
  const amd::AmdSmi* get() {
    if (!smi_ && obstacle_.empty()) {
      const char* library = std::getenv("CORRAL_AMDSMI_LIBRARY");
      auto opened = amd::AmdSmi::open(library != nullptr ? library : "");
      if (opened) {
        smi_ = *std::move(opened);
      } else {
        obstacle_ = opened.error().message;
      }
    }
    return smi_.get();
  }
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

 private:
  std::unique_ptr<const amd::AmdSmi> smi_;
  std::string obstacle_;
};

class Gpu {
 public:
  Gpu(const sysfs::Card& card, const std::string& source, Smi& smi, SeriesTable& table)
      : status_(card.device) {
    const auto add = [&](std::string_view metric, const fs::path& path, double scale) {
      const std::size_t before = declared(table);
      files_.add_if_there({.metric = metric, .source = source, .path = path, .scale = scale},
                          table);
      return declared(table) > before;
    };
    has_.busy = add("host.gpu.busy", card.device / "gpu_busy_percent", kPercent);
    has_.memory_busy = add("host.gpu.memory.busy", card.device / "mem_busy_percent", kPercent);
    add("host.gpu.memory.used", card.device / "mem_info_vram_used", 1);
    add("host.gpu.memory.total", card.device / "mem_info_vram_total", 1);
    if (!card.hwmon.empty()) {
      has_.power = add("host.gpu.power", card.hwmon / "power1_average", kMicro) ||
                   add("host.gpu.power", card.hwmon / "power1_input", kMicro);
      add("host.gpu.power.limit", card.hwmon / "power1_cap", kMicro);
      add("host.gpu.clock.graphics", card.hwmon / "freq1_input", 1);
      add("host.gpu.clock.memory", card.hwmon / "freq2_input", 1);
      add_temperatures(card.hwmon, add);
    }
    const std::string obstacle = open_table(card.device / "gpu_metrics", source, table);
    if (!obstacle.empty()) {
      open_smi(obstacle, sysfs::pci_address(card), smi, source, table);
    }
  }

  void sample(Group group, Row& row) {
    if (status_.is_asleep()) return;
    files_.sample(group, row);
    if (table_) group == kFastGroup ? sample_table(row) : sample_throttling(row);
    if (group == kFastGroup && processor_ != nullptr) sample_smi(row);
  }

 private:
  struct Has {
    bool busy = false, memory_busy = false, power = false;
  };

  static std::size_t declared(const SeriesTable& table) {
    return table.series(kFastGroup).size() + table.series(kSlowGroup).size();
  }

  template <class Add>
  static void add_temperatures(const fs::path& hwmon, const Add& add) {
    // GPUs for computing have no sensor at the edge of the die, but one at its hottest point.
    for (const char* label : {"edge", "junction"}) {
      const std::string sensor = sysfs::sensor_labelled(hwmon, "temp", label);
      if (!sensor.empty() && add("host.gpu.temperature", hwmon / (sensor + "_input"), kMilli))
        break;
    }
    const std::string memory = sysfs::sensor_labelled(hwmon, "temp", "mem");
    if (!memory.empty()) add("host.gpu.memory.temperature", hwmon / (memory + "_input"), kMilli);
  }

  // The table has the energy; the rest where there is no file for it. Why there is no energy, or
  // nothing.
  std::string open_table(const fs::path& path, const std::string& source, SeriesTable& table) {
    auto fd = sys::open_file(path, O_RDONLY);
    if (!fd) return fd.error().message;
    table_ = *std::move(fd);
    const auto now = read_table();
    if (!now) {
      table_.reset();
      return "the driver's gpu_metrics has a format without it";
    }
    if (now->power && !has_.power) power_ = table.add("host.gpu.power", source);
    if (now->busy && !has_.busy) busy_ = table.add("host.gpu.busy", source);
    if (now->memory_busy && !has_.memory_busy)
      memory_busy_ = table.add("host.gpu.memory.busy", source);
    if (now->residencies) declare_throttling(source, table);
    if (!now->energy) return "the driver's gpu_metrics has no value of it";
    energy_ = table.add("host.gpu.energy", source);
    return {};
  }

  void declare_throttling(const std::string& source, SeriesTable& table) {
    throttle_.power = table.add("host.gpu.throttle.power", source);
    throttle_.socket_thermal = table.add("host.gpu.throttle.thermal", source);
    throttle_.processor_hot = table.add("host.gpu.throttle.hardware_thermal", source);
    throttle_.memory_thermal = table.add("host.gpu.throttle.memory_thermal", source);
    throttle_.regulator_thermal = table.add("host.gpu.throttle.regulator_thermal", source);
  }

  void open_smi(const std::string& obstacle, const std::string& address, Smi& smi,
                const std::string& source, SeriesTable& table) {
    std::string why;
    double joules = 0;
    if (const amd::AmdSmi* library = smi.get(); library == nullptr) {
      why = smi.obstacle();
    } else if (processor_ = library->find(address); processor_ == nullptr) {
      why = "amdsmi does not know this GPU";
    } else if (const auto status = library->energy(processor_, joules);
               status != amd::SmiStatus::kSuccess) {
      why = "amdsmi: " + library->words(status);
    } else {
      smi_ = library;
      energy_ = table.add("host.gpu.energy", source);
      return;
    }
    processor_ = nullptr;
    table.unavailable("host.gpu.energy of " + source, obstacle + "; " + why);
  }

  [[nodiscard]] std::optional<amd::GpuMetrics> read_table() const {
    std::array<char, 4096> buffer;
    const std::ptrdiff_t n = read_from_start(table_.get(), buffer);
    if (n <= 0) return std::nullopt;
    return amd::parse_gpu_metrics(std::span(buffer).first(static_cast<std::size_t>(n)));
  }

  void sample_table(Row& row) const {
    const auto now = read_table();
    if (!now) return;
    if (now->energy) row.set(energy_, *now->energy);
    if (now->power) row.set(power_, *now->power);
    if (now->busy) row.set(busy_, *now->busy);
    if (now->memory_busy) row.set(memory_busy_, *now->memory_busy);
  }

  void sample_throttling(Row& row) {
    if (throttle_.power == kNoColumn) return;
    const auto now = read_table();
    if (!now || !now->residencies) return;
    times_.add(*now->residencies);
    row.set(throttle_.power, times_.power);
    row.set(throttle_.socket_thermal, times_.socket_thermal);
    row.set(throttle_.processor_hot, times_.processor_hot);
    row.set(throttle_.memory_thermal, times_.memory_thermal);
    row.set(throttle_.regulator_thermal, times_.regulator_thermal);
  }

  void sample_smi(Row& row) const {
    double joules = 0;
    if (smi_->energy(processor_, joules) == amd::SmiStatus::kSuccess) row.set(energy_, joules);
  }

  struct ThrottleColumns {
    Column power = kNoColumn, socket_thermal = kNoColumn, processor_hot = kNoColumn,
           memory_thermal = kNoColumn, regulator_thermal = kNoColumn;
  };

  sysfs::RuntimeStatus status_;
  sysfs::NumberFiles files_;
  Has has_;
  sys::Fd table_;
  Column energy_ = kNoColumn, power_ = kNoColumn, busy_ = kNoColumn, memory_busy_ = kNoColumn;
  ThrottleColumns throttle_;
  amd::ThrottleTimes times_;
  const amd::AmdSmi* smi_ = nullptr;  // where the files have no energy
  amd::AmdSmi::Processor processor_ = nullptr;
};

class AmdListener final : public Listener {
 public:
  AmdListener(Smi smi, std::vector<Gpu> gpus) : smi_(std::move(smi)), gpus_(std::move(gpus)) {}
  void sample_fast(Row& row) override {
    for (Gpu& gpu : gpus_) gpu.sample(kFastGroup, row);
  }
  void sample_slow(Row& row) override {
    for (Gpu& gpu : gpus_) gpu.sample(kSlowGroup, row);
  }

 private:
  Smi smi_;  // first: outlives the GPUs
  std::vector<Gpu> gpus_;
};

}  // namespace

std::unique_ptr<Listener> open_amd_listener(const ListenerContext& context, SeriesTable& table) {
  const auto cards = sysfs::cards_of(context.root, kVendor);
  if (cards.empty()) {
    table.unavailable("AMD's GPUs", "no card of the amdgpu driver in /sys/class/drm");
    return nullptr;
  }
  Smi smi;
  std::vector<Gpu> gpus;
  gpus.reserve(cards.size());
  for (const sysfs::Card& card : cards)
    gpus.emplace_back(card, "amd" + std::to_string(gpus.size()), smi, table);
  return std::make_unique<AmdListener>(std::move(smi), std::move(gpus));
}

}  // namespace corral::collect
