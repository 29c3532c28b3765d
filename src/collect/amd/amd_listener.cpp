#include "collect/amd/amd_listener.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "collect/amd/amdsmi.h"
#include "collect/amd/gpu_metrics.h"
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
  // Returns the library's handle of the GPU at that address; null, with the reason in `why`, if
  // there is none.
  amd::AmdSmi::Processor find(const std::string& address, std::string& why) {
    const amd::AmdSmi* library = get();
    amd::AmdSmi::Processor processor = library != nullptr ? library->find(address) : nullptr;
    if (library == nullptr) why = obstacle_;
    if (library != nullptr && processor == nullptr) why = "amdsmi does not list this GPU";
    return processor;
  }
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

 private:
  std::unique_ptr<const amd::AmdSmi> smi_;
  std::string obstacle_;
};

class Gpu {
 public:
  Gpu(const sysfs::Card& card, const std::string& source, Smi& smi, SeriesTable& table)
      : source_(source), status_(card.device) {
    throttle_.fill(kNoColumn);
    const auto add = [&](std::string_view metric, const fs::path& path, double scale) {
      return files_.add_if_there({.metric = metric, .source = source, .path = path, .scale = scale},
                                 table);
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
    const std::string obstacle = open_table(card.device / "gpu_metrics", table);
    if (!obstacle.empty()) open_smi(obstacle, sysfs::pci_address(card), smi, table);
    if (table_ && !counted_) {
      table.unavailable("host.gpu.throttle.*", source,
                        "the driver's gpu_metrics has no count of it (GPUs from MI300 on do)");
    }
  }

  [[nodiscard]] bool has_violations() const { return violations_ != nullptr; }
  // Takes 100 ms.
  void sample_violations(sys::Clock& clock, Row& row) {
    amd::Residencies counts;
    if (status_.is_asleep() || smi_->violations(violations_, counts) != amd::SmiStatus::kSuccess)
      return;
    counts.time_ns = static_cast<std::uint64_t>(ns_of(clock.now()));
    times_.add(counts);
    set_throttling(row);
  }

  void sample(Group group, Row& row) {
    if (status_.is_asleep()) return;
    files_.sample(group, row);
    if (table_) group == kFastGroup ? sample_table(row) : sample_throttling(row);
    if (group == kFastGroup && counts_energy_ != nullptr) sample_smi(row);
  }

 private:
  struct Has {
    bool busy = false, memory_busy = false, power = false;
  };

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
  std::string open_table(const fs::path& path, SeriesTable& table) {
    auto fd = sys::open_file(path, O_RDONLY);
    if (!fd) return fd.error().message;
    table_ = *std::move(fd);
    const auto now = read_table();
    if (!now) {
      table_.reset();
      return "the driver's gpu_metrics has a format without it";
    }
    if (now->power && !has_.power) power_ = table.add("host.gpu.power", source_);
    if (now->busy && !has_.busy) busy_ = table.add("host.gpu.busy", source_);
    if (now->memory_busy && !has_.memory_busy)
      memory_busy_ = table.add("host.gpu.memory.busy", source_);
    if (now->residencies) declare_throttling(*now->residencies, table);
    if (!now->energy) return "the driver's gpu_metrics has no value of it";
    energy_ = table.add("host.gpu.energy", source_);
    return {};
  }

  void declare_throttling(const amd::Residencies& counts, SeriesTable& table) {
    counted_ = true;
    for (std::size_t i = 0; i < throttle_.size(); ++i) {
      if (counts.limits[i] != amd::kNotCounted)
        throttle_[i] = table.add(amd::kLimitMetrics[i], source_);
    }
  }

  // Opens the metrics that the library has and the table lacks.
  void open_smi(const std::string& obstacle, const std::string& address, Smi& smi,
                SeriesTable& table) {
    std::string why;
    const amd::AmdSmi::Processor processor = smi.find(address, why);
    if (processor != nullptr) smi_ = smi.get();
    if (energy_ == kNoColumn) {
      const std::string reason = processor != nullptr ? open_energy(processor, table) : why;
      if (!reason.empty()) table.unavailable("host.gpu.energy", source_, obstacle + "; " + reason);
    }
    // It would read the same table, where that is known.
    if (!table_) {
      const std::string reason = processor != nullptr ? open_violations(processor, table) : why;
      if (!reason.empty())
        table.unavailable("host.gpu.throttle.*", source_, obstacle + "; " + reason);
    }
  }

  // Why there is none, or nothing.
  std::string open_energy(amd::AmdSmi::Processor processor, SeriesTable& table) {
    double joules = 0;
    const auto status = smi_->energy(processor, joules);
    if (status != amd::SmiStatus::kSuccess) return "amdsmi: " + smi_->words(status);
    counts_energy_ = processor;
    energy_ = table.add("host.gpu.energy", source_);
    return {};
  }

  std::string open_violations(amd::AmdSmi::Processor processor, SeriesTable& table) {
    amd::Residencies counts;
    const auto status = smi_->violations(processor, counts);
    if (status != amd::SmiStatus::kSuccess) return "amdsmi: " + smi_->words(status);
    violations_ = processor;
    declare_throttling(counts, table);
    return {};
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
    if (!counted_) return;
    const auto now = read_table();
    if (!now || !now->residencies) return;
    times_.add(*now->residencies);
    set_throttling(row);
  }

  void set_throttling(Row& row) const {
    for (std::size_t i = 0; i < throttle_.size(); ++i) row.set(throttle_[i], times_.seconds()[i]);
  }

  void sample_smi(Row& row) const {
    double joules = 0;
    if (smi_->energy(counts_energy_, joules) == amd::SmiStatus::kSuccess) row.set(energy_, joules);
  }

  std::string source_;
  sysfs::RuntimeStatus status_;
  sysfs::NumberFiles files_;
  Has has_;
  sys::Fd table_;
  Column energy_ = kNoColumn, power_ = kNoColumn, busy_ = kNoColumn, memory_busy_ = kNoColumn;
  std::array<Column, amd::kLimitMetrics.size()> throttle_;  // by limit
  amd::ThrottleTimes times_;
  bool counted_ = false;              // reasons for which the clocks were held down
  const amd::AmdSmi* smi_ = nullptr;  // for values that the files lack:
  amd::AmdSmi::Processor counts_energy_ = nullptr;
  amd::AmdSmi::Processor violations_ = nullptr;
};

class AmdListener final : public Listener {
 public:
  AmdListener(Smi smi, std::vector<Gpu> gpus, sys::Clock& clock)
      : smi_(std::move(smi)), gpus_(std::move(gpus)), clock_(&clock) {}
  void sample_fast(Row& row) override {
    for (Gpu& gpu : gpus_) gpu.sample(kFastGroup, row);
  }
  void sample_slow(Row& row) override {
    for (Gpu& gpu : gpus_) gpu.sample(kSlowGroup, row);
    sample_violations(row);
  }

 private:
  // amdsmi's call for them takes 100 ms: one GPU in every second of these ticks, each in at most
  // every kTurns-th. They are counters, so nothing is lost.
  void sample_violations(Row& row) {
    constexpr std::size_t kTurns = 10;
    const std::size_t turn = turn_++ % std::max(kTurns, 2 * gpus_.size());
    if (turn % 2 != 0 || turn / 2 >= gpus_.size()) return;
    Gpu& gpu = gpus_[turn / 2];
    if (gpu.has_violations()) gpu.sample_violations(*clock_, row);
  }

  Smi smi_;  // first: outlives the GPUs
  std::vector<Gpu> gpus_;
  sys::Clock* clock_;
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Listener> amd::open_listener(const ListenerContext& context, SeriesTable& table,
                                             sys::Clock& clock) {
  const auto cards = sysfs::find_cards(context.root, kVendor);
  if (cards.empty()) {
    table.unavailable("AMD's GPUs", "no card of the amdgpu driver in /sys/class/drm");
    return nullptr;
  }
  Smi smi;
  std::vector<Gpu> gpus;
  gpus.reserve(cards.size());
  for (const sysfs::Card& card : cards)
    gpus.emplace_back(card, "amd" + std::to_string(gpus.size()), smi, table);
  return std::make_unique<AmdListener>(std::move(smi), std::move(gpus), clock);
}

std::unique_ptr<Listener> open_amd_listener(const ListenerContext& context, SeriesTable& table) {
  return amd::open_listener(context, table, sys::system_clock());
}

}  // namespace corral::collect
