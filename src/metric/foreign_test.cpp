#include "metric/foreign.h"

#include <gtest/gtest.h>

#include "metric/catalogue.h"

namespace corral::metric {
namespace {

TEST(Foreign, KnowsRadtsNamesOldAndNew) {
  for (const char* name : {"SMI - Power Draw", "system/SMI - Power Draw"}) {
    const auto power = find_foreign(name);
    ASSERT_TRUE(power) << name;
    EXPECT_EQ(power->unit, "W");
    EXPECT_EQ(power->alias, "host.gpu.power");
  }
  EXPECT_TRUE(find_foreign("system/system/TOP - CPU Utilization"));
  EXPECT_EQ(find_foreign("system/gpu_0_power_usage_watts")->source, "0");
}

TEST(Foreign, TheAliasIsAMetricOfTheCatalogueInItsUnit) {
  const auto used = find_foreign("system/Free - Mem Used GB");
  ASSERT_TRUE(used);
  ASSERT_NE(find_metric(used->alias), nullptr);
  // 32,768 MB by `free --mega`, logged as 32.
  EXPECT_EQ(32 * used->factor, 32'768e6);
}

TEST(Foreign, EveryAliasIsInTheCatalogue) {
  for (const char* name : {"SMI - Power Draw",
                           "SMI - GPU Util",
                           "SMI - Mem Util",
                           "SMI - Mem Used",
                           "SMI - Performance State",
                           "DCGMI - Power Usage",
                           "DCGMI - GPU Utilization",
                           "DCGMI - Memory Copy Utilization",
                           "DCGMI - GR Engine Active",
                           "DCGMI - SM Active",
                           "DCGMI - SN Active",
                           "DCGMI - SM Occupancy",
                           "DCGMI - Tensor Active",
                           "DCGMI - DRAM Active",
                           "DCGMI - FP64 Active",
                           "DCGMI - FP32 Active",
                           "DCGMI - FP16 Active",
                           "DCGMI - PCIE TX Bytes",
                           "DCGMI - PCIE RX Bytes",
                           "DCGMI - NVlink TX Bytes",
                           "DCGMI - NVlink RX Bytes",
                           "system/gpu_0_memory_usage_megabytes",
                           "system/gpu_0_utilization_percentage",
                           "system/gpu_0_power_usage_watts",
                           "Free - Mem Used GB",
                           "iostat - sda - MB read/s"})
    EXPECT_NE(find_metric(find_foreign(name)->alias), nullptr) << name;
}

TEST(Foreign, RatesOfDevicesAreGaugesOfTheCatalogue) {
  for (const char* name : {"DCGMI - PCIE TX Bytes", "DCGMI - PCIE RX Bytes",
                           "DCGMI - NVlink TX Bytes", "DCGMI - NVlink RX Bytes"}) {
    const auto foreign = find_foreign(name);
    ASSERT_TRUE(foreign) << name;
    const Metric* same = find_metric(foreign->alias);
    ASSERT_NE(same, nullptr) << name;
    EXPECT_EQ(same->kind, Kind::kGauge) << name;
    EXPECT_EQ(same->unit, foreign->unit) << name;
  }
}

TEST(Foreign, TellsTheDevice) {
  const auto read = find_foreign("system/iostat - nvme0n1 - MB read/s");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->source, "nvme0n1");
  EXPECT_EQ(read->alias, "host.disk.read");
  EXPECT_EQ(find_foreign("system/iostat - nvme0n1 - MB read")->alias, "");
  EXPECT_EQ(find_foreign("system/PS - CPU 12")->source, "12");
}

TEST(Foreign, AScriptsOwnMetricsAreLeftAlone) {
  for (const char* name : {"loss", "", "system/", "SMI - ", "PS - CPU ", "iostat -  - tps"})
    EXPECT_FALSE(find_foreign(name)) << name;
}

TEST(Foreign, APatternFindsEitherName) {
  const char* name = "system/iostat - sda - MB written/s";
  EXPECT_TRUE(name_matches("host.disk.*", name));
  EXPECT_TRUE(name_matches("*iostat*", name));
  EXPECT_FALSE(name_matches("host.memory.*", name));
  EXPECT_TRUE(name_matches("SMI - Power Draw", "host.gpu.power")) << "radT's name, Corral's run";
  EXPECT_TRUE(name_matches("system/SMI - Power Draw", "host.gpu.power"));
  EXPECT_FALSE(name_matches("SMI - Power Draw", "host.gpu.power.instant"));
  EXPECT_FALSE(name_matches("SMI - Timestamp", ""));
  EXPECT_TRUE(name_matches("loss", "loss"));
  EXPECT_FALSE(name_matches("host.*", "loss"));
}

}  // namespace
}  // namespace corral::metric
