#include "collect/sensors/sensors_listener.h"

#include "collect/sensors/sensors.h"

namespace corral::collect {
namespace {

class SensorsListener final : public Listener {
 public:
  SensorsListener(const std::filesystem::path& root, SeriesTable& table)
      : monitor_(root, table), frequencies_(root, table), throttles_(root, table) {
    if (monitor_.empty()) {
      table.unavailable("host.temperature, host.fan, host.power.sensor",
                        "no sensor in /sys/class/hwmon or /sys/class/thermal; "
                        "virtual machines usually have none");
    }
  }

  void sample_fast(Row&) override {}
  void sample_slow(Row& row) override {
    monitor_.sample(row);
    frequencies_.sample(row);
    throttles_.sample(row);
  }
  [[nodiscard]] bool empty() const {
    return monitor_.empty() && frequencies_.empty() && throttles_.empty();
  }

 private:
  sensors::HardwareMonitor monitor_;
  sensors::Frequencies frequencies_;
  sensors::ThermalThrottles throttles_;
};

}  // namespace

std::unique_ptr<Listener> open_sensors_listener(const ListenerContext& context,
                                                SeriesTable& table) {
  auto listener = std::make_unique<SensorsListener>(context.root, table);
  if (listener->empty()) return nullptr;
  return listener;
}

}  // namespace corral::collect
