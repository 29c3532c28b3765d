#include "collect/amd/amd_listener.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/amd/gpu_metrics.h"
#include "collect/proc_file.h"
#include "collect/sysfs/drm.h"
#include "collect/vendor/library.h"
#include "core/result.h"
#include "sys/file.h"

namespace corral::collect {
namespace amd {
namespace {

namespace fs = std::filesystem;

constexpr double kMicro = 1e-6;

template <class... Arguments>
using SmiFunction = vendor::Function<SmiStatus, SmiStatus::kFailedSymbol, Arguments...>;

constexpr std::uint64_t kGpusOnly = 2;  // the kind that init looks for

// As the library packs it: function in the lowest 3 bits, device in 5, bus in 8, domain above.
std::string format_address(std::uint64_t address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address >> 16U, (address >> 8U) & 0xffU,
                     (address >> 3U) & 0x1fU, address & 7U);
}

// AmdSmi: AMD's management library, found at run time: for values that the driver's files lack.
//
// Its structs change from version to version without a version word, so only calls are made whose
// arguments are plain numbers and the same in all of them, and one whose struct has only ever grown
// at its end (the violation status). Left out for that reason: its process list, which the driver's
// files have. One thread; calls read files of the driver and allocate nothing of ours.
class AmdSmi {
 public:
  using Processor = void*;

  // `library`: empty for the system's. The error is why it cannot be used.
  static Result<std::unique_ptr<const AmdSmi>> open(const std::string& library);
  ~AmdSmi();
  AmdSmi(const AmdSmi&) = delete;
  AmdSmi& operator=(const AmdSmi&) = delete;

  // The GPU at a PCI address ("0000:03:00.0"); null when the library does not know it.
  [[nodiscard]] Processor find(std::string_view pci_address) const;
  // J since the driver was loaded.
  SmiStatus energy(Processor processor, double& joules) const;
  // Reads for how long each limit held the clocks down, without the reference time; a limit that is
  // not counted is kNotCounted. Sleeps 100 ms where it is supported.
  SmiStatus violations(Processor processor, Residencies& counts) const;
  [[nodiscard]] std::string words(SmiStatus status) const;

 private:
  explicit AmdSmi(const vendor::Library& library) : library_(library) {}
  Result<> start();

  vendor::Library library_;
  SmiFunction<std::uint64_t> init_{library_, {"amdsmi_init"}};
  SmiFunction<> shut_down_{library_, {"amdsmi_shut_down"}};
  SmiFunction<std::uint32_t*, void**> sockets_{library_, {"amdsmi_get_socket_handles"}};
  SmiFunction<void*, std::uint32_t*, Processor*> processors_{library_,
                                                             {"amdsmi_get_processor_handles"}};
  SmiFunction<Processor, std::uint64_t*> address_{library_, {"amdsmi_get_gpu_device_bdf"}};
  // uJ of a step; ns
  SmiFunction<Processor, std::uint64_t*, float*, std::uint64_t*> energy_count_{
      library_, {"amdsmi_get_energy_count"}};
  SmiFunction<Processor, std::uint64_t*> violation_status_{library_,
                                                           {"amdsmi_get_violation_status"}};
  SmiFunction<SmiStatus, const char**> status_text_{library_, {"amdsmi_status_code_to_string"}};
  // Space for that call's struct, which has some 6 KiB in ROCm 7.
  using Room = std::array<std::uint64_t, 8192>;
  std::unique_ptr<Room> room_ = std::make_unique<Room>();
  bool started_ = false;
  std::vector<Processor> known_;
};

AmdSmi::~AmdSmi() {
  if (started_) shut_down_();
}

Result<std::unique_ptr<const AmdSmi>> AmdSmi::open(const std::string& library) {
  const auto loaded = vendor::Library::open(
      library, {"libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "libamd_smi.so"});
  if (!loaded) {
    return fail(Code::kUnsupported, "amdsmi is not installed here: " + loaded.error().message);
  }
  std::unique_ptr<AmdSmi> smi(new AmdSmi(*loaded));
  TRY(smi->start());
  return smi;
}

Result<> AmdSmi::start() {
  const auto check = [&](SmiStatus status) -> Result<> {
    if (status == SmiStatus::kSuccess) return {};
    return fail(Code::kUnavailable, "amdsmi: " + words(status));
  };
  TRY(check(init_(kGpusOnly)));
  started_ = true;
  std::uint32_t count = 0;
  TRY(check(sockets_(&count, nullptr)));
  std::vector<void*> sockets(count);
  TRY(check(sockets_(&count, sockets.data())));
  sockets.resize(std::min<std::size_t>(count, sockets.size()));
  for (void* socket : sockets) {
    std::uint32_t on_socket = 0;
    TRY(check(processors_(socket, &on_socket, nullptr)));
    std::vector<Processor> processors(on_socket);
    TRY(check(processors_(socket, &on_socket, processors.data())));
    processors.resize(std::min<std::size_t>(on_socket, processors.size()));
    known_.insert(known_.end(), processors.begin(), processors.end());
  }
  return {};
}

AmdSmi::Processor AmdSmi::find(std::string_view pci_address) const {
  for (Processor processor : known_) {
    std::uint64_t address = 0;
    if (address_(processor, &address) == SmiStatus::kSuccess &&
        format_address(address) == pci_address)
      return processor;
  }
  return nullptr;
}

SmiStatus AmdSmi::energy(Processor processor, double& joules) const {
  std::uint64_t steps = 0;
  float microjoules = 0;
  std::uint64_t time_ns = 0;
  const SmiStatus status = energy_count_(processor, &steps, &microjoules, &time_ns);
  // A counter that stands at 0 is none.
  if (status == SmiStatus::kSuccess && steps == 0) return SmiStatus::kNotSupported;
  joules = static_cast<double>(steps) * static_cast<double>(microjoules) * kMicro;
  return status;
}

// Since there is the call (ROCm 6.3) its struct begins with two times, the firmware's steps and the
// five limits, each all ones where it is not counted.
SmiStatus AmdSmi::violations(Processor processor, Residencies& counts) const {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::ranges::fill(*room_, kNone);
  const SmiStatus status = violation_status_(processor, room_->data());
  if (status != SmiStatus::kSuccess) return status;
  const auto word = [&](std::size_t at) { return static_cast<std::uint32_t>((*room_)[at]); };
  if ((*room_)[2] == kNone) return SmiStatus::kNotSupported;
  counts = {
      .time_ns = 0, .steps = word(2), .limits = {word(3), word(4), word(5), word(6), word(7)}};
  return status;
}

std::string AmdSmi::words(SmiStatus status) const {
  const char* text = nullptr;
  if (status_text_(status, &text) == SmiStatus::kSuccess && text != nullptr) return text;
  return fmt::format("status {}", static_cast<std::uint32_t>(status));
}

// ---- the GPUs
constexpr std::uint32_t kVendor = 0x1002;
constexpr double kPercent = 0.01;
constexpr double kMilli = 1e-3;

// amdsmi, looked for when the first GPU needs it.
class Smi {
 public:
  // Returns the library's handle of the GPU at that address; null, with the reason in `why`, if
  // there is none.
  AmdSmi::Processor find(const std::string& address, std::string& why) {
    const AmdSmi* library = get();
    AmdSmi::Processor processor = library != nullptr ? library->find(address) : nullptr;
    if (library == nullptr) why = obstacle_;
    if (library != nullptr && processor == nullptr) why = "amdsmi does not list this GPU";
    return processor;
  }
  // Null when it cannot be used; obstacle() says why.
  const AmdSmi* get() {
    if (!smi_ && obstacle_.empty()) {
      const char* library = std::getenv("CORRAL_AMDSMI_LIBRARY");
      auto opened = AmdSmi::open(library != nullptr ? library : "");
      if (opened) {
        smi_ = *std::move(opened);
      } else {
        obstacle_ = opened.error().message;
      }
    }
    return smi_.get();
  }

 private:
  std::unique_ptr<const AmdSmi> smi_;
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
    Residencies counts;
    if (status_.is_asleep() || smi_->violations(violations_, counts) != SmiStatus::kSuccess) return;
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

  void declare_throttling(const Residencies& counts, SeriesTable& table) {
    counted_ = true;
    for (std::size_t i = 0; i < throttle_.size(); ++i) {
      if (counts.limits[i] != kNotCounted) throttle_[i] = table.add(kLimitMetrics[i], source_);
    }
  }

  // Opens the metrics that the library has and the table lacks.
  void open_smi(const std::string& obstacle, const std::string& address, Smi& smi,
                SeriesTable& table) {
    std::string why;
    const AmdSmi::Processor processor = smi.find(address, why);
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
  std::string open_energy(AmdSmi::Processor processor, SeriesTable& table) {
    double joules = 0;
    const auto status = smi_->energy(processor, joules);
    if (status != SmiStatus::kSuccess) return "amdsmi: " + smi_->words(status);
    counts_energy_ = processor;
    energy_ = table.add("host.gpu.energy", source_);
    return {};
  }

  std::string open_violations(AmdSmi::Processor processor, SeriesTable& table) {
    Residencies counts;
    const auto status = smi_->violations(processor, counts);
    if (status != SmiStatus::kSuccess) return "amdsmi: " + smi_->words(status);
    violations_ = processor;
    declare_throttling(counts, table);
    return {};
  }

  [[nodiscard]] std::optional<GpuMetrics> read_table() const {
    std::array<char, 4096> buffer;
    const std::ptrdiff_t n = read_from_start(table_.get(), buffer);
    if (n <= 0) return std::nullopt;
    return parse_gpu_metrics(std::span(buffer).first(static_cast<std::size_t>(n)));
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
    if (smi_->energy(counts_energy_, joules) == SmiStatus::kSuccess) row.set(energy_, joules);
  }

  std::string source_;
  sysfs::RuntimeStatus status_;
  sysfs::NumberFiles files_;
  Has has_;
  sys::Fd table_;
  Column energy_ = kNoColumn, power_ = kNoColumn, busy_ = kNoColumn, memory_busy_ = kNoColumn;
  std::array<Column, kLimitMetrics.size()> throttle_;  // by limit
  ThrottleTimes times_;
  bool counted_ = false;         // reasons for which the clocks were held down
  const AmdSmi* smi_ = nullptr;  // for values that the files lack:
  AmdSmi::Processor counts_energy_ = nullptr;
  AmdSmi::Processor violations_ = nullptr;
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

std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
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

}  // namespace amd

std::unique_ptr<Listener> open_amd_listener(const ListenerContext& context, SeriesTable& table) {
  return amd::open_listener(context, table, sys::system_clock());
}

}  // namespace corral::collect
