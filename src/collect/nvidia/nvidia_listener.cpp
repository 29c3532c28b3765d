#include "collect/nvidia/nvidia_listener.h"

#include <utility>
#include <vector>

#include "collect/nvidia/calls.h"
#include "collect/nvidia/gpu_reader.h"
#include "collect/nvidia/nvml.h"

namespace corral::collect {
namespace nvidia {
namespace {

class NvidiaListener final : public Listener {
 public:
  NvidiaListener(std::shared_ptr<const Nvml> nvml, const ListenerContext& context,
                 const Clocks& clocks)
      : nvml_(std::move(nvml)), clocks_(clocks), meter_(*clocks.boot, context.news, context.tick) {}

  void open(const ListenerContext& context, SeriesTable& table) {
    for (const FoundGpu& gpu : find_gpus(*nvml_, context.device_uuids, table)) {
      gpus_.push_back(std::make_unique<GpuReader>(ReaderParts{.nvml = *nvml_,
                                                              .news = context.news,
                                                              .meter = meter_,
                                                              .root = context.root,
                                                              .clocks = clocks_,
                                                              .tick = context.tick},
                                                  gpu, table));
    }
    if (!gpus_.empty()) clocks_.boot->sleep_until(clocks_.boot->now() + GpmMeter::kShortestWindow);
    for (const auto& gpu : gpus_) gpu->declare_units(meter_, table);
    meter_.declare(table);
  }
  [[nodiscard]] bool empty() const { return gpus_.empty(); }

  void sample_fast(Row& row) override {
    meter_.begin(clocks_.boot->now());
    for (const auto& gpu : gpus_) gpu->sample_fast(meter_, row);
  }
  void sample_slow(Row& row) override {
    for (const auto& gpu : gpus_) gpu->sample_slow(meter_, row);
    meter_.sample(row);
  }

 private:
  std::shared_ptr<const Nvml> nvml_;  // first: outlives the readers
  Clocks clocks_;
  CallMeter meter_;
  std::vector<std::unique_ptr<GpuReader>> gpus_;
};

}  // namespace

std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
                                        const Clocks& clocks) {
  auto nvml = Nvml::open(context.library_path);
  if (!nvml) {
    table.unavailable("host.gpu.*", nvml.error().message);
    return nullptr;
  }
  table.describe("nvidia.driver", read_text((*nvml)->call().driver_version));
  auto listener = std::make_unique<NvidiaListener>(std::move(*nvml), context, clocks);
  listener->open(context, table);
  if (listener->empty()) return nullptr;
  return listener;
}

}  // namespace nvidia

std::unique_ptr<Listener> open_nvidia_listener(const ListenerContext& context, SeriesTable& table) {
  return nvidia::open_listener(context, table, nvidia::clocks_on(sys::system_clock()));
}

}  // namespace corral::collect
