#include "collect/foreign/exec_lines.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace corral::collect::foreign {
namespace {

// "name[/source]=value[ unit][@step]" of each reading; "?" for a line that is not understood.
std::vector<std::string> read(ExecLines& lines, const std::vector<std::string>& text) {
  std::vector<std::string> all;
  for (const std::string& line : text) {
    const bool good = lines.read(line, [&](const Reading& r) {
      std::string one(r.name);
      if (!r.source.empty()) one.append("/").append(r.source);
      one += fmt::format("={}", r.value);
      if (!r.unit.empty()) one.append(" ").append(r.unit);
      if (r.step) one += fmt::format("@{}", *r.step);
      if (r.kind == metric::Kind::kCounter) one += " counter";
      all.push_back(one);
    });
    if (!good) all.emplace_back("?");
  }
  return all;
}
std::vector<std::string> read(const std::vector<std::string>& text, Format format = Format::kAuto) {
  ExecLines lines(format, "source");
  return read(lines, text);
}
using Strings = std::vector<std::string>;

TEST(ExecLines, PlainIsNameValueUnit) {
  EXPECT_EQ(read({"power 35.5 W", "temp\t-4", "", "# a comment", "loss nan", "x +1e3"}),
            (Strings{"power=35.5 W", "temp=-4", "loss=nan", "x=1000"}));
}

TEST(ExecLines, PlainRefusesWhatIsNotThat) {
  EXPECT_EQ(read({"power 35", "power", "power W 35", "power 35 W more", "\xff\xfe\x01 zz",
                  "power 0x10", "power 1,5"}),
            (Strings{"power=35", "?", "?", "?", "?", "?", "?"}));
}

TEST(ExecLines, JsonWithANameAndAValue) {
  EXPECT_EQ(read({R"({"name": "power", "value": 3.5, "unit": "W", "source": "gpu0", "step": 4})",
                  R"({"name": "energy", "value": 7, "kind": "counter"})",
                  R"({"name": "loss", "value": NaN})", R"({"name": "x", "value": "text"})"}),
            (Strings{"power/gpu0=3.5 W@4", "energy=7 counter", "loss=nan", "?"}));
}

// `macmon pipe`, shortened.
TEST(ExecLines, JsonObjectsGiveTheirNumbersByPath) {
  EXPECT_EQ(
      read({R"({"timestamp": "2025-02-24T20:38:15.427569+00:00",)"
            R"("temp": {"cpu_temp_avg": 43.73614, "gpu_temp_avg": 36.95167},)"
            R"("memory": {"ram_total": 25769803776, "swap_usage": 2602434560},)"
            R"("ecpu_usage": [1181, 0.082656614], "gpu_power": 0.01016, "ok": true,)"
            R"("name": "M1 \"Pro\" NaN"})"}),
      (Strings{"temp.cpu_temp_avg=43.73614", "temp.gpu_temp_avg=36.95167",
               "memory.ram_total=25769803776", "memory.swap_usage=2602434560", "ecpu_usage.0=1181",
               "ecpu_usage.1=0.082656614", "gpu_power=0.01016", "ok=1"}));
}

TEST(ExecLines, JsonAsPythonPrintsItMayHoldNaN) {
  EXPECT_EQ(read({R"({"a": NaN, "b": -Infinity, "text NaN": "NaN \\", "step": 2.0})"}),
            (Strings{"a=nan@2", "b=-inf@2"}));
}

TEST(ExecLines, JsonRefusesWhatIsNone) {
  EXPECT_EQ(read({R"({"a": 1})", "{\"a\": ", "[1, 2]", "power 3", R"({"a": "text"})"}),
            (Strings{"a=1", "?", "?", "?", "?"}));
}

// nvidia-smi --query-gpu=index,name,power.draw,utilization.gpu,memory.used,clocks.sm --format=csv
// -l 1
TEST(ExecLines, CsvOfNvidiaSmi) {
  ExecLines lines(Format::kAuto, "index");
  EXPECT_EQ(read(lines, {"index, name, power.draw [W], utilization.gpu [%], memory.used [MiB], "
                         "clocks.current.sm [MHz]",
                         "0, NVIDIA A100-SXM4-40GB, 61.33 W, 37 %, 1547 MiB, 1410 MHz",
                         "1, NVIDIA A100-SXM4-40GB, [N/A], 0 %, 3 MiB, 210 MHz"}),
            (Strings{"power.draw/0=61.33 W", "utilization.gpu/0=37 %", "memory.used/0=1547 MiB",
                     "clocks.current.sm/0=1410 MHz", "utilization.gpu/1=0 %", "memory.used/1=3 MiB",
                     "clocks.current.sm/1=210 MHz"}));
}

TEST(ExecLines, CsvKeepsQuotedCommasAndTheStep) {
  EXPECT_EQ(read({"step,\"a, \"\"b\"\"\",timestamp,c", "3,1.5,12,x", "3,1.5", "4, ,13,-1 ms"},
                 Format::kCsv),
            (Strings{"a, \"b\"=1.5@3", "?", "c=-1 ms@4"}));
}

TEST(ExecLines, AGreetingAndGarbageDoNotDecideTheFormat) {
  EXPECT_EQ(read({"Starting up, please wait", "v1.2, (c) somebody", "\xff\xfe,\x01", "1,2", "x 1"}),
            (Strings{"?", "?", "?", "?", "x=1"}));
  EXPECT_EQ(read({"{\xff\x01", "{hello}", "x 1"}), (Strings{"?", "?", "x=1"}));
}

TEST(ExecLines, AFormatThatWasAskedForIsKept) {
  EXPECT_EQ(read({"a,b", "1,2"}, Format::kPlain), (Strings{"?", "?"}));
  EXPECT_EQ(read({"value", "5"}, Format::kCsv), (Strings{"value=5"}));
  EXPECT_EQ(read({"power 3"}, Format::kJson), (Strings{"?"}));
}

RC_GTEST_PROP(ExecLines, PlainValuesComeBackBitForBit, (double value)) {
  const auto got = read({fmt::format("x {}", value)}, Format::kPlain);
  RC_ASSERT(got == Strings{fmt::format("x={}", value)});
}

RC_GTEST_PROP(ExecLines, AnyBytesAreTakenOrRefused, (std::vector<std::string> lines)) {
  for (const Format format : {Format::kAuto, Format::kPlain, Format::kJson, Format::kCsv})
    read(lines, format);
}

}  // namespace
}  // namespace corral::collect::foreign
