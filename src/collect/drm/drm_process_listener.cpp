#include "collect/drm/drm_process_listener.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "collect/drm/open_files.h"
#include "collect/drm/process_gpus.h"
#include "collect/sysfs/drm.h"
#include "collect/tree/process_table.h"

namespace corral::collect {
namespace drm {
namespace {

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
  struct Found {
    std::vector<Gpu> gpus;
    std::vector<Columns> columns;  // by GPU
  };
  ProcessListener(const ListenerContext& context, Found found, sys::Clock& clock)
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

ProcessListener::Found find(const ListenerContext& context, SeriesTable& table) {
  ProcessListener::Found found;
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
  constexpr const char* kWhat = "run.gpu.* of AMD's and Intel's GPUs";
  if (context.run_pid == 0) {
    table.unavailable(kWhat, "there is no run");
    return nullptr;
  }
  drm::ProcessListener::Found found = drm::find(context, table);
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
