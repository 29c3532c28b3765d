#include "collect/intel/intel_listener.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "collect/intel/engines.h"
#include "collect/intel/sysman.h"
#include "collect/sysfs/drm.h"

namespace corral::collect {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kVendor = 0x8086;
constexpr double kMega = 1e6;
constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;

struct Way {
  bool of_device;  // below the card's device, else below the card
  const char* file;
};
// The first that is there: xe, i915 with several GTs, i915 before.
constexpr auto kClock = std::to_array<Way>({{true, "tile0/gt0/freq0/act_freq"},
                                            {false, "gt/gt0/rps_act_freq_mhz"},
                                            {false, "gt_act_freq_mhz"}});
constexpr auto kIdle = std::to_array<Way>({{true, "tile0/gt0/gtidle/idle_residency_ms"},
                                           {false, "gt/gt0/rc6_residency_ms"},
                                           {false, "power/rc6_residency_ms"}});

// Returns true if the GPU, or an engine of it, has that metric already.
bool declared(const SeriesTable& table, std::string_view metric, const std::string& source) {
  for (const Group group : {kFastGroup, kSlowGroup}) {
    for (const SeriesInfo& series : table.series(group)) {
      const bool its = series.source == source || series.source.starts_with(source + ".");
      if (its && series.metric->name == metric) return true;
    }
  }
  return false;
}

class Gpu {
 public:
  Gpu(const sysfs::Card& card, std::string source, SeriesTable& table)
      : status_(card.device), source_(std::move(source)), address_(sysfs::pci_address(card)) {
    add_first("host.gpu.clock.graphics", kClock, card, kMega, table);
    add_first("host.gpu.idle", kIdle, card, kMilli, table);
    if (!card.hwmon.empty()) add_sensors(card.hwmon, table);
    if (files_.empty())
      table.unavailable("host.gpu.*", source_, "its driver has none of the files of i915, xe");
  }

  void open_engines(const ListenerContext& context, intel::OpenEvent open_event, sys::Clock& clock,
                    SeriesTable& table) {
    engine_obstacle_ = engines_.open({.root = context.root,
                                      .address = address_,
                                      .source = source_,
                                      .open_event = open_event,
                                      .clock = &clock},
                                     table);
  }

  // After the files and the engines: metrics that they have are not requested again.
  void open_sysman(const Result<std::unique_ptr<const intel::Sysman>>& sysman,
                   const std::shared_ptr<News>& news, SeriesTable& table) {
    intel::ZeDevice device = sysman ? (*sysman)->find(address_) : nullptr;
    if (device == nullptr) {
      table.unavailable("memory", source_,
                        !sysman ? sysman.error().message : "Level Zero does not list this GPU");
    } else {
      sysman_ = std::make_unique<intel::SysmanReader>(**sysman, source_, news);
      sysman_->open(
          device, [&](std::string_view metric) { return !declared(table, metric, source_); },
          table);
    }
    if (!engine_obstacle_.empty() && !declared(table, "host.gpu.engine.busy", source_))
      table.unavailable("host.gpu.engine.busy", source_, engine_obstacle_);
  }

  void sample(Group group, Row& row) {
    if (status_.is_asleep()) return;
    files_.sample(group, row);
    if (group == kFastGroup) engines_.sample(row);
    if (sysman_ != nullptr) sysman_->sample(group, row);
  }

 private:
  template <std::size_t N>
  void add_first(std::string_view metric, const std::array<Way, N>& ways, const sysfs::Card& card,
                 double scale, SeriesTable& table) {
    for (const Way& way : ways) {
      const fs::path path = (way.of_device ? card.device : card.card) / way.file;
      std::error_code ignored;
      if (!fs::exists(path, ignored)) continue;
      return add(metric, path, scale, table);
    }
  }

  // The card's own counter where there are several, else the package's or the only one.
  void add_sensors(const fs::path& hwmon, SeriesTable& table) {
    std::string energy = sysfs::sensor_labelled(hwmon, "energy", "card");
    if (energy.empty()) energy = "energy1";
    add("host.gpu.energy", hwmon / (energy + "_input"), kMicro, table);
    add("host.gpu.power.limit", hwmon / "power1_max", kMicro, table);
    std::string temperature = sysfs::sensor_labelled(hwmon, "temp", "pkg");
    if (temperature.empty()) temperature = "temp1";
    add("host.gpu.temperature", hwmon / (temperature + "_input"), kMilli, table);
    const std::string memory = sysfs::sensor_labelled(hwmon, "temp", "vram");
    if (!memory.empty())
      add("host.gpu.memory.temperature", hwmon / (memory + "_input"), kMilli, table);
    add("host.gpu.fan", hwmon / "fan1_input", 1, table);
  }

  void add(std::string_view metric, const fs::path& path, double scale, SeriesTable& table) {
    files_.add_if_there({.metric = metric, .source = source_, .path = path, .scale = scale}, table);
  }

  sysfs::RuntimeStatus status_;
  std::string source_;
  std::string address_;
  sysfs::NumberFiles files_;
  intel::Engines engines_;
  std::string engine_obstacle_;  // why the kernel gives none
  std::unique_ptr<intel::SysmanReader> sysman_;
};

class IntelListener final : public Listener {
 public:
  void open(const ListenerContext& context, intel::OpenEvent open_event, sys::Clock& clock,
            SeriesTable& table) {
    for (const sysfs::Card& card : sysfs::find_cards(context.root, kVendor)) {
      Gpu& gpu = gpus_.emplace_back(card, "intel" + std::to_string(gpus_.size()), table);
      gpu.open_engines(context, open_event, clock, table);
    }
    if (gpus_.empty()) return;
    const char* library = std::getenv("CORRAL_ZE_LIBRARY");
    sysman_ = intel::Sysman::open(library != nullptr ? library : "");
    for (Gpu& gpu : gpus_) gpu.open_sysman(sysman_, context.news, table);
  }
  [[nodiscard]] bool empty() const { return gpus_.empty(); }

  void sample_fast(Row& row) override {
    for (Gpu& gpu : gpus_) gpu.sample(kFastGroup, row);
  }
  void sample_slow(Row& row) override {
    for (Gpu& gpu : gpus_) gpu.sample(kSlowGroup, row);
  }

 private:
  Result<std::unique_ptr<const intel::Sysman>> sysman_;  // first: outlives the GPUs
  std::vector<Gpu> gpus_;
};

}  // namespace

std::unique_ptr<Listener> intel::open_listener(const ListenerContext& context, SeriesTable& table,
                                               OpenEvent open_event, sys::Clock& clock) {
  auto listener = std::make_unique<IntelListener>();
  listener->open(context, open_event, clock, table);
  if (!listener->empty()) return listener;
  table.unavailable("Intel's GPUs", "no card of the drivers i915 or xe in /sys/class/drm");
  return nullptr;
}

std::unique_ptr<Listener> open_intel_listener(const ListenerContext& context, SeriesTable& table) {
  return intel::open_listener(context, table, intel::open_engine_event, sys::system_clock());
}

}  // namespace corral::collect
