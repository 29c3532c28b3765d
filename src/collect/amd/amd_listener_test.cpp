#include "collect/amd/amd_listener.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "collect/amd/gpu_metrics.h"
#include "collect/test_roots.h"

namespace corral::collect {
namespace {

// A table of that revision with everything marked as invalid.
std::string table(std::uint8_t format, std::uint8_t content, std::uint16_t size) {
  std::string bytes(size, '\xff');
  std::memcpy(bytes.data(), &size, sizeof size);
  bytes[2] = static_cast<char>(format);
  bytes[3] = static_cast<char>(content);
  return bytes;
}
template <class T>
std::string with(std::string bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}
std::optional<amd::GpuMetrics> parse(const std::string& bytes) {
  return amd::parse_gpu_metrics(std::span(bytes.data(), bytes.size()));
}

TEST(GpuMetrics, ReadsEachRevisionAtItsOffsets) {
  struct Revision {
    std::uint8_t content;
    std::uint16_t size;
    std::size_t power, busy, energy;
  };
  for (const Revision r :
       {Revision{1, 96, 22, 16, 24}, Revision{3, 120, 22, 16, 24}, Revision{4, 288, 10, 12, 24},
        Revision{5, 360, 10, 12, 88}, Revision{6, 400, 10, 12, 16}, Revision{7, 400, 10, 12, 24},
        Revision{8, 400, 10, 12, 24}}) {
    std::string bytes = with<std::uint64_t>(table(1, r.content, r.size), r.energy, 65536 * 5 / 2);
    bytes = with<std::uint16_t>(with<std::uint16_t>(bytes, r.power, 300), r.busy, 75);
    const auto metrics = parse(bytes);
    ASSERT_TRUE(metrics) << int{r.content};
    EXPECT_EQ(metrics->energy, 2.5) << int{r.content};
    EXPECT_EQ(metrics->power, 300);
    EXPECT_EQ(metrics->busy, 0.75);
    EXPECT_FALSE(metrics->memory_busy) << "all bits set is no value";
  }
}

TEST(GpuMetrics, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(parse(""));
  EXPECT_FALSE(parse("abc"));
  EXPECT_FALSE(parse(table(2, 1, 120))) << "of a processor";
  EXPECT_FALSE(parse(table(1, 99, 120))) << "of the future";
  EXPECT_FALSE(parse(table(1, 3, 120).substr(0, 60))) << "cut off";
  const auto small = parse(table(1, 3, 20));
  ASSERT_TRUE(small);
  EXPECT_FALSE(small->energy) << "beyond the size that the header says";
  EXPECT_FALSE(parse(with<std::uint64_t>(table(1, 3, 120), 24, 0))->energy) << "does not count";
}

const std::string kCard = "sys/class/drm/card1/";
const std::string kDevice = kCard + "device/";
const std::string kMonitor = kDevice + "hwmon/hwmon4/";

void write_card(const FakeRoot& root) {
  root.write("sys/class/drm/card0/device/vendor", "0x8086\n");
  root.write("sys/class/drm/card1-HDMI-A-1/status", "connected\n");
  root.write(kDevice + "vendor", "0x1002\n");
  root.write(kDevice + "gpu_busy_percent", "87\n");
  root.write(kDevice + "mem_busy_percent", "40\n");
  root.write(kDevice + "mem_info_vram_used", "1000\n");
  root.write(kDevice + "mem_info_vram_total", "4000\n");
  root.write(kMonitor + "power1_average", "250000000\n");
  root.write(kMonitor + "power1_cap", "300000000\n");
  root.write(kMonitor + "freq1_input", "1700000000\n");
  root.write(kMonitor + "freq2_input", "900000000\n");
  root.write(kMonitor + "temp1_label", "edge\n");
  root.write(kMonitor + "temp1_input", "61000\n");
  root.write(kMonitor + "temp2_label", "junction\n");
  root.write(kMonitor + "temp2_input", "75000\n");
  root.write(kMonitor + "temp3_label", "mem\n");
  root.write(kMonitor + "temp3_input", "70000\n");
  root.write(kDevice + "gpu_metrics", with<std::uint64_t>(table(1, 3, 120), 24, 65536 * 9));
}

struct Machine {
  explicit Machine(const FakeRoot& root)
      : listener(open_amd_listener({.root = root.path()}, series)) {}
  Values fast() { return sample_once(*listener, series, kFastGroup); }
  Values slow() { return sample_once(*listener, series, kSlowGroup); }
  SeriesTable series;
  std::unique_ptr<Listener> listener;
};

TEST(AmdListener, ReadsTheDriversFiles) {
  const FakeRoot root;
  write_card(root);
  Machine machine(root);
  EXPECT_EQ(machine.fast(), (Values{{"host.gpu.busy/amd0", 0.87},
                                    {"host.gpu.memory.busy/amd0", 0.4},
                                    {"host.gpu.memory.used/amd0", 1000},
                                    {"host.gpu.power/amd0", 250},
                                    {"host.gpu.clock.graphics/amd0", 1.7e9},
                                    {"host.gpu.clock.memory/amd0", 0.9e9},
                                    {"host.gpu.energy/amd0", 9}}));
  EXPECT_EQ(machine.slow(), (Values{{"host.gpu.memory.total/amd0", 4000},
                                    {"host.gpu.power.limit/amd0", 300},
                                    {"host.gpu.temperature/amd0", 61},
                                    {"host.gpu.memory.temperature/amd0", 70}}));
}

// Builds the firmware's counters: the clock, steps, then the limits, from `offset` on.
std::string counted(std::string bytes, std::size_t offset, std::uint64_t time_ns,
                    std::array<std::uint32_t, 6> counts) {
  bytes = with(bytes, offset, time_ns);
  for (std::size_t i = 0; i < counts.size(); ++i)
    bytes = with(bytes, offset + 8 + i * 4, counts[i]);
  return bytes;
}

TEST(AmdListener, AddsUpWhatHeldTheClocksDown) {
  constexpr std::uint32_t kMost = 0xffffffff;
  for (const auto& table_of : {std::pair<std::uint8_t, std::size_t>{6, 24}, {7, 32}}) {
    const std::uint8_t content =
        table_of.first;  // names of their own: a lambda of clang 14 takes no bindings
    const std::size_t offset = table_of.second;
    const FakeRoot root;
    write_card(root);
    const auto show = [&](std::uint64_t time_ns, std::array<std::uint32_t, 6> counts) {
      root.write(kDevice + "gpu_metrics", counted(table(1, content, 400), offset, time_ns, counts));
    };
    show(1'000'000'000, {kMost - 99, 10, 20, 30, 40, 50});
    Machine machine(root);
    EXPECT_EQ(machine.slow().at("host.gpu.throttle.power/amd0"), 0);
    // 1000 steps in 2 s, over the wrap: 10 % of them hot, 50 % power, 25 % socket, 0, 100 % memory.
    show(3'000'000'000, {900, 110, 520, 280, 40, 1050});
    const Values v = machine.slow();
    EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.hardware_thermal/amd0"), 0.2);
    EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.power/amd0"), 1);
    EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.thermal/amd0"), 0.5);
    EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.regulator_thermal/amd0"), 0);
    EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.memory_thermal/amd0"), 2);
    show(5'000'000'000, {0, 0, 0, 0, 0, 0});  // the firmware was reset
    EXPECT_DOUBLE_EQ(machine.slow().at("host.gpu.throttle.power/amd0"), 1);
    show(6'000'000'000, {500, 0, 500, 0, 0, 0});
    EXPECT_DOUBLE_EQ(machine.slow().at("host.gpu.throttle.power/amd0"), 2);
  }
}

TEST(AmdListener, TakesFromTheTableWhatHasNoFile) {
  const FakeRoot root;
  write_card(root);
  for (const std::string& file : {kDevice + "gpu_busy_percent", kMonitor + "power1_average"})
    root.remove(file);
  root.write(kDevice + "gpu_metrics",
             with<std::uint16_t>(with<std::uint16_t>(table(1, 4, 288), 10, 640), 12, 55));
  const Values v = Machine(root).fast();
  EXPECT_EQ(v.at("host.gpu.power/amd0"), 640);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.busy/amd0"), 0.55);
  EXPECT_FALSE(v.contains("host.gpu.energy/amd0"));
}

TEST(AmdListener, LeavesASleepingGpuAlone) {
  const FakeRoot root;
  write_card(root);
  root.write(kDevice + "power/runtime_status", "active\n");
  Machine machine(root);
  EXPECT_EQ(machine.fast().size(), 7u);
  root.write(kDevice + "power/runtime_status", "suspended\n");
  EXPECT_TRUE(machine.fast().empty());
  EXPECT_TRUE(machine.slow().empty());
}

TEST(AmdListener, SaysWhatIsNotThere) {
  const FakeRoot root;
  EXPECT_EQ(Machine(root).listener, nullptr);
  write_card(root);
  EXPECT_NE(missing(Machine(root).series, "host.gpu.throttle.* of amd0").find("MI300"),
            std::string::npos);
  root.write(kDevice + "gpu_metrics", table(3, 0, 200));
  EXPECT_NE(missing(Machine(root).series, "host.gpu.energy of amd0").find("format without it"),
            std::string::npos);
  root.remove(kDevice + "gpu_metrics");
  EXPECT_NE(missing(Machine(root).series, "host.gpu.energy of amd0").find("No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace corral::collect
