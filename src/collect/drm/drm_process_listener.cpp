#include "collect/drm/drm_process_listener.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/drm/open_files.h"
#include "collect/drm/usage.h"
#include "collect/sysfs/drm.h"
#include "collect/tree/process_table.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::collect {
namespace drm {
namespace {

// Engines of one kind: as their series is called, and as drivers call them.
struct EngineKind {
  std::string_view name;
  std::string_view driver_names[2];
};

inline constexpr std::size_t kMostKinds = 8;

struct Gpu {
  std::string address;                // address on PCI
  std::span<const EngineKind> kinds;  // 1 to kMostKinds; any other counts as the last
};

// The run's use of one GPU, after a round.
struct GpuUse {
  bool used = false;  // now or before
  std::uint64_t processes = 0;
  std::uint64_t memory_bytes = 0;
  bool memory_known = false;
  std::array<bool, kMostKinds> reported{};        // kinds whose time a client has reported
  std::array<double, kMostKinds> busy_seconds{};  // so far
  // Share of the busiest kind of engine, since the round before; nothing in the first round, or if
  // no time is reported.
  std::optional<double> busy_share;
};

constexpr double kNanosecond = 1e-9;
constexpr int kMostAbsent = 10;  // rounds; searches are at most 5 apart

std::size_t kind_index(std::string_view engine, std::span<const EngineKind> kinds) {
  const auto is_called = [&](const EngineKind& kind) {
    return kind.driver_names[0] == engine || kind.driver_names[1] == engine;
  };
  const auto at = std::ranges::find_if(kinds, is_called);
  return at != kinds.end() ? static_cast<std::size_t>(at - kinds.begin()) : kinds.size() - 1;
}

// ProcessGpus: the use that a run makes of GPUs, from the kernel's text about each client (an open
// file of a GPU, which several processes may share).
//
// A round begins, takes the text of every open file, and ends. Engines' time is added up as it
// grows, so that the use of a client that goes away remains. Allocates nothing after construction.
// One thread.
class ProcessGpus {
 public:
  static constexpr std::size_t kMostClients = 512;  // more are not counted

  explicit ProcessGpus(std::vector<Gpu> gpus)
      : gpus_(std::move(gpus)),
        uses_(gpus_.size()),
        last_process_(gpus_.size()),
        grown_(gpus_.size()) {
    for (const Gpu& gpu : gpus_)
      CORRAL_ASSERT(!gpu.kinds.empty() && gpu.kinds.size() <= kMostKinds);
    clients_.reserve(kMostClients);
  }

  void begin(BootTime now) {
    passed_ = before_ ? seconds(now - *before_) : 0;
    before_ = now;
    for (Client& client : clients_) client.seen = false;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      last_process_[i] = 0;
      grown_[i] = {};
      uses_[i].processes = uses_[i].memory_bytes = 0;
      uses_[i].memory_known = false;
      uses_[i].busy_share.reset();
    }
  }

  // False when the text is not of one of these GPUs.
  bool add_text(pid_t process, std::string_view text) {
    Usage usage;
    if (!parse_usage(text, usage)) return false;
    const auto at = std::ranges::find(gpus_, usage.device, &Gpu::address);
    if (at == gpus_.end()) return false;
    const auto gpu = static_cast<std::size_t>(at - gpus_.begin());
    GpuUse& use = uses_[gpu];
    use.used = true;
    if (std::exchange(last_process_[gpu], process) != process) ++use.processes;
    Client* client = find_client(gpu, usage.client);
    if (client == nullptr || std::exchange(client->seen, true)) return true;
    use.memory_bytes += usage.memory_bytes;
    use.memory_known = use.memory_known || usage.memory_known;
    add(engine_work(usage, *at), *client);
    return true;
  }

  void end() {
    for (Client& client : clients_) client.absent = client.seen ? 0 : client.absent + 1;
    std::erase_if(clients_, [](const Client& client) { return client.absent > kMostAbsent; });
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const bool reported = std::ranges::find(uses_[i].reported, true) != uses_[i].reported.end();
      if (reported && passed_ > 0) uses_[i].busy_share = std::ranges::max(grown_[i]) / passed_;
    }
  }

  [[nodiscard]] std::span<const GpuUse> uses() const { return uses_; }

 private:
  // The work of a client's engines of one kind so far.
  struct Work {
    double seconds = 0;
    double cycles = 0, total_cycles = 0;
    bool timed = false;
  };
  using Works = std::array<Work, kMostKinds>;
  struct Client {
    std::size_t gpu = 0;
    std::uint64_t number = 0;
    bool seen = false;  // in this round
    bool fresh = true;  // in no round before
    int absent = 0;     // rounds since it was seen: its descriptor may only be looked for again
    Works last{};
  };

  Client* find_client(std::size_t gpu, std::uint64_t number) {
    const auto at = std::ranges::find_if(clients_, [&](const Client& client) {
      return client.gpu == gpu && client.number == number;
    });
    if (at != clients_.end()) return &*at;
    if (clients_.size() == kMostClients) {
      const auto gone = std::ranges::max_element(clients_, {}, &Client::absent);
      if (gone->absent == 0) return nullptr;
      *gone = Client{.gpu = gpu, .number = number};
      return &*gone;
    }
    return &clients_.emplace_back(Client{.gpu = gpu, .number = number});
  }

  static Works engine_work(const Usage& usage, const Gpu& gpu) {
    Works works;
    for (const Engine& engine : usage.engines()) {
      Work& work = works[kind_index(engine.name, gpu.kinds)];
      const auto capacity = static_cast<double>(engine.capacity);
      if (engine.timed) {
        work.timed = true;
        work.seconds += static_cast<double>(engine.busy_ns) * kNanosecond / capacity;
      } else if (engine.total_cycles > 0) {
        work.cycles += static_cast<double>(engine.cycles) / capacity;
        work.total_cycles = std::max(work.total_cycles, static_cast<double>(engine.total_cycles));
      }
    }
    return works;
  }

  // For a new client, all its work counts; for cycles, whose time is unknown, the work before it
  // was first seen is left out.
  void add(const Works& works, Client& client) {
    GpuUse& use = uses_[client.gpu];
    for (std::size_t kind = 0; kind < kMostKinds; ++kind) {
      const Work& now = works[kind];
      Work& last = client.last[kind];
      if (!now.timed && now.total_cycles == 0) continue;
      use.reported[kind] = true;
      double grown = now.seconds - last.seconds;
      if (!now.timed) {
        const double total = now.total_cycles - last.total_cycles;
        const bool known = !client.fresh && total > 0 && last.total_cycles > 0;
        grown = known ? (now.cycles - last.cycles) / total * passed_ : 0;
      }
      grown = std::max(grown, 0.0);
      use.busy_seconds[kind] += grown;
      if (!client.fresh) grown_[client.gpu][kind] += grown;
      // The kernel may tell of less than before: the greater value stays the one to compare with.
      last.timed = now.timed;
      last.seconds = std::max(last.seconds, now.seconds);
      last.cycles = std::max(last.cycles, now.cycles);
      last.total_cycles = std::max(last.total_cycles, now.total_cycles);
    }
    client.fresh = false;
  }

  std::vector<Gpu> gpus_;
  std::vector<GpuUse> uses_;
  std::vector<Client> clients_;
  // The last process of the round, by GPU.
  std::vector<pid_t> last_process_;
  std::vector<std::array<double, kMostKinds>> grown_;
  std::optional<BootTime> before_;
  double passed_ = 0;  // seconds since the round before; 0: there was none
};

// ---- the listener

// Processes and their files are looked for once a second while programs start, then less often.
constexpr int kEagerSamples = 30;
constexpr int kSamplesPerSearch = 5;

// Engines of amdgpu.
constexpr auto kAmdKinds = std::to_array<EngineKind>({
    {"gfx", {"gfx"}},
    {"compute", {"compute"}},
    {"dma", {"dma"}},
    {"enc", {"enc", "enc_1"}},
    {"dec", {"dec"}},
    {"jpeg", {"jpeg"}},
    {"vpe", {"vpe"}},
    {"other", {}},
});
// Engines of i915 and of xe; the names are those of host.gpu.engine.busy.
constexpr auto kIntelKinds = std::to_array<EngineKind>({
    {"rcs", {"render", "rcs"}},
    {"ccs", {"compute", "ccs"}},
    {"bcs", {"copy", "bcs"}},
    {"vcs", {"video", "vcs"}},
    {"vecs", {"video-enhance", "vecs"}},
    {"other", {}},
});

struct Vendor {
  std::uint32_t pci;
  const char* name;  // prefix of its sources, as in its own listener
  std::span<const EngineKind> kinds;
};
constexpr auto kVendors = std::to_array<Vendor>({
    {0x1002, "amd", kAmdKinds},
    {0x8086, "intel", kIntelKinds},
});

// The columns of one GPU.
struct Columns {
  Column processes, memory, busy;
  std::array<Column, kMostKinds> engines;
};

class ProcessListener final : public Listener {
 public:
  struct Gpus {
    std::vector<Gpu> gpus;
    std::vector<Columns> columns;  // by GPU
  };
  ProcessListener(const ListenerContext& context, Gpus found, sys::Clock& clock)
      : clock_(clock),
        news_(context.news),
        processes_({.root = context.root,
                    .run_pid = context.run_pid,
                    .supervisor_pid = context.supervisor_pid,
                    .keeps_files = false}),
        files_(context.root, {}),
        gpus_(std::move(found.gpus)),
        columns_(std::move(found.columns)) {}

  void sample_fast(Row&) override {}

  void sample_slow(Row& row) override {
    search();
    gpus_.begin(clock_.now());
    const auto take = [this](pid_t process, std::string_view text) {
      return gpus_.add_text(process, text);
    };
    files_.read(std::ref(take));
    gpus_.end();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const GpuUse& use = gpus_.uses()[i];
      const Columns& columns = columns_[i];
      // A device that the run never touched has no values of the run.
      if (!use.used) continue;
      row.set(columns.processes, use.processes);
      if (use.memory_known || use.processes == 0) row.set(columns.memory, use.memory_bytes);
      if (use.busy_share) row.set(columns.busy, *use.busy_share);
      for (std::size_t kind = 0; kind < kMostKinds; ++kind) {
        if (use.reported[kind]) row.set(columns.engines[kind], use.busy_seconds[kind]);
      }
    }
  }

 private:
  void search() {
    const bool due = samples_ < kEagerSamples || samples_ % kSamplesPerSearch == 0;
    ++samples_;
    if (!due) return;
    processes_.walk();
    files_.search(processes_.pids());
    if (files_.left_out() && !std::exchange(reported_left_out_, true))
      tell(news_, "run.gpu.*", "the run has too many files of GPUs open: some are not counted");
  }

  sys::Clock& clock_;
  std::shared_ptr<News> news_;
  tree::ProcessTable processes_;
  OpenFiles files_;
  ProcessGpus gpus_;
  std::vector<Columns> columns_;
  int samples_ = 0;
  bool reported_left_out_ = false;
};

Columns declare(const std::string& source, std::span<const EngineKind> kinds, SeriesTable& table) {
  Columns columns{.processes = table.add("run.gpu.processes", source),
                  .memory = table.add("run.gpu.memory.used", source),
                  .busy = table.add("run.gpu.busy", source),
                  .engines = {}};
  columns.engines.fill(kNoColumn);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    columns.engines[i] =
        table.add("run.gpu.engine.busy", source + "." + std::string(kinds[i].name));
  return columns;
}

ProcessListener::Gpus find(const ListenerContext& context, SeriesTable& table) {
  ProcessListener::Gpus found;
  std::error_code ignored;
  const bool rocm = std::filesystem::exists(context.root / "sys/class/kfd/kfd", ignored);
  for (const Vendor& vendor : kVendors) {
    int number = 0;
    for (const sysfs::Card& card : sysfs::find_cards(context.root, vendor.pci)) {
      const std::string source = vendor.name + std::to_string(number++);
      std::string address = sysfs::pci_address(card);
      if (address.empty()) {
        table.unavailable("run.gpu.*", source, "its PCI address is not known");
        continue;
      }
      found.gpus.push_back({.address = std::move(address), .kinds = vendor.kinds});
      found.columns.push_back(declare(source, vendor.kinds, table));
      if (rocm && vendor.pci == kVendors[0].pci)
        table.unavailable("run.gpu.busy of ROCm on " + source,
                          "the GPU itself schedules work from /dev/kfd: the kernel "
                          "does not count its time");
    }
  }
  return found;
}

}  // namespace
}  // namespace drm

std::unique_ptr<Listener> open_drm_process_listener(const ListenerContext& context,
                                                    SeriesTable& table, sys::Clock& clock) {
  // No pattern of metrics: NVIDIA's may be there.
  constexpr const char* kWhat = "the run's share of AMD's and Intel's GPUs";
  if (context.run_pid == 0) {
    table.unavailable(kWhat, "there is no run");
    return nullptr;
  }
  drm::ProcessListener::Gpus found = drm::find(context, table);
  if (found.gpus.empty()) {
    table.unavailable(kWhat, "no card of theirs in /sys/class/drm");
    return nullptr;
  }
  return std::make_unique<drm::ProcessListener>(context, std::move(found), clock);
}

std::unique_ptr<Listener> open_drm_process_listener(const ListenerContext& context,
                                                    SeriesTable& table) {
  return open_drm_process_listener(context, table, sys::system_clock());
}

}  // namespace corral::collect
