#include "collect/jetson/jetson_listener.h"

#include <algorithm>
#include <array>
#include <utility>

#include "collect/jetson/tegrastats.h"
#include "collect/sysfs/number_file.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::collect {
namespace {

namespace fs = std::filesystem;
using sysfs::NumberFile;
using sysfs::read_text;

constexpr double kMilli = 1e-3;
constexpr double kMicro = 1e-6;
constexpr int kChannels = 3;  // channels of one INA3221

// Names of the integrated GPU's device, from the oldest board on: "17000000.ga10b".
bool is_gpu(std::string_view device) {
  constexpr auto kEnds =
      std::to_array<std::string_view>({".gm20b", ".gpu", ".gp10b", ".gv11b", ".ga10b", ".gb10b"});
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return device.ends_with(end); });
}

class JetsonListener final : public Listener {
 public:
  JetsonListener(const ListenerContext& context, SeriesTable& table) : news_(context.news) {
    open_gpu(context.root / "sys/class/devfreq", table);
    open_rails(context.root / "sys/class/hwmon", table);
    open_iio_rails(context.root / "sys/bus/iio/devices", table);
    open_stream(context, table);
  }

  void sample_fast(Row& row) override {
    files_.sample(kFastGroup, row);
    for (const Rail& rail : rails_) {
      const auto millivolts = rail.voltage.read();
      const auto milliamperes = rail.current.read();
      if (millivolts && milliamperes) row.set(rail.column, *millivolts * *milliamperes * kMicro);
    }
  }
  void sample_slow(Row& row) override {
    if (stream_ != nullptr) stream_->sample(row, news_);
  }
  [[nodiscard]] bool empty() const {
    return files_.empty() && rails_.empty() && (stream_ == nullptr || stream_->empty());
  }

 private:
  struct Rail {
    NumberFile voltage, current;
    Column column;
  };

  void open_gpu(const fs::path& devfreq, SeriesTable& table) {
    for (const std::string& device : sys::list_directory(devfreq)) {
      if (!is_gpu(device)) continue;
      const auto add = [&](std::string_view metric, const char* file, double scale) {
        files_.add_if_there(
            {.metric = metric, .source = "jetson", .path = devfreq / device / file, .scale = scale},
            table);
      };
      add("host.gpu.busy", "device/load", kMilli);  // parts of 1000
      add("host.gpu.clock.graphics", "cur_freq", 1);
      return;
    }
  }

  void open_rails(const fs::path& hwmon, SeriesTable& table) {
    for (const std::string& monitor : sysfs::numbered_entries(hwmon, "hwmon")) {
      const fs::path directory = hwmon / monitor;
      if (read_text(directory / "name") != "ina3221") continue;
      for (int i = 1; i <= kChannels; ++i) {
        const std::string channel = std::to_string(i);
        const std::string label = read_text(directory / ("in" + channel + "_label"));
        auto voltage = NumberFile::open(directory / ("in" + channel + "_input"));
        auto current = NumberFile::open(directory / ("curr" + channel + "_input"));
        if (label.empty() || label == "NC" || !voltage || !current) continue;  // not connected
        rails_.push_back({.voltage = *std::move(voltage),
                          .current = *std::move(current),
                          .column = table.add("host.power.rail", to_utf8(label))});
      }
    }
  }

  void open_iio_rails(const fs::path& devices, SeriesTable& table) {
    for (const std::string& device : sysfs::numbered_entries(devices, "iio:device")) {
      const fs::path directory = devices / device;
      if (!read_text(directory / "name").starts_with("ina3221")) continue;
      for (int i = 0; i < kChannels; ++i) {
        const std::string channel = std::to_string(i);
        const std::string label = read_text(directory / ("rail_name_" + channel));
        if (label.empty()) continue;
        files_.add_if_there({.metric = "host.power.rail",
                             .source = to_utf8(label),
                             .path = directory / ("in_power" + channel + "_input"),
                             .scale = kMilli},
                            table);
      }
    }
  }

  // Opens the stream for values that the files lack; once a second, while the files are read at
  // every tick.
  void open_stream(const ListenerContext& context, SeriesTable& table) {
    const fs::path program = TegraStats::program(context.root);
    if (program.empty()) return;
    const auto declared = [&](std::string_view metric, std::string_view source) {
      return std::ranges::any_of(table.series(kFastGroup), [&](const SeriesInfo& series) {
        return series.metric->name == metric && series.source == source;
      });
    };
    auto stream = TegraStats::open(program, declared, table);
    if (!stream) return table.unavailable("jetson: tegrastats", stream.error().message);
    stream_ = *std::move(stream);
  }

  sysfs::NumberFiles files_;
  std::vector<Rail> rails_;
  std::shared_ptr<News> news_;
  std::unique_ptr<TegraStats> stream_;
};

}  // namespace

std::unique_ptr<Listener> open_jetson_listener(const ListenerContext& context, SeriesTable& table) {
  auto listener = std::make_unique<JetsonListener>(context, table);
  if (listener->empty()) {
    table.unavailable("Jetson's GPU and rails",
                      "no integrated GPU in /sys/class/devfreq, no INA3221 and no tegrastats");
    return nullptr;
  }
  return listener;
}

}  // namespace corral::collect
