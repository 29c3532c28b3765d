// Tests of profilers: the values of `--profile`, the commands that are started, and the tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/ids.h"
#include "core/json.h"
#include "run/profiler.h"
#include "run/record/profile_summary.h"
#include "spool/profile_request.h"
#include "spool/test_spool.h"
#include "sys/file.h"
#include "upload/transport.h"

namespace corral::run {
namespace {

namespace fs = std::filesystem;
using spool::TestDirectory;
using Words = std::vector<std::string>;

TEST(Profiler, ReadsWhatIsWanted) {
  const auto torch = parse_profile("torch").value();
  EXPECT_EQ(torch.tool, ProfileTool::kTorch);
  EXPECT_EQ(profile_window(torch), "torch:10-12");
  EXPECT_EQ(profile_window(parse_profile("nsys:steps=100-103").value()), "nsys:100-103");
  EXPECT_EQ(profile_id(parse_profile("ncu:steps=7").value()), "ncu-7-7");
  EXPECT_EQ(profile_id(parse_profile("ncuraw").value()), "ncuraw");
  EXPECT_EQ(profile_window(parse_profile("nsysraw").value()), "");
}

TEST(Profiler, RefusesAnythingElseAndSaysWhatIsWanted) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "the profilers are torch, nsys, ncu, nsysraw, ncuraw, ncuattach"},
      {"perf", "the profilers are torch"},
      {"torch:", "'' is no option"},
      {"torch:step=3", "'step=3' is no option"},
      {"torch:steps=", "a range of numbers"},
      {"torch:steps=5-3", "a range of numbers"},
      {"torch:steps=-3", "a range of numbers"},
      {"torch:steps=1-2-3", "a range of numbers"},
      {"torch:steps=0-1000", "at most 1000 steps"},
      {"torch:steps=99999999999999", "a range of numbers"},
      {"nsysraw:steps=1-2", "nsysraw has no window"},
  };
  for (const auto& [text, why] : cases) {
    const auto plan = parse_profile(text);
    ASSERT_FALSE(plan) << text;
    EXPECT_EQ(plan.error().code, Code::kInvalidArgument) << text;
    EXPECT_NE(plan.error().message.find(why), std::string::npos) << plan.error().message;
  }
}

TEST(Profiler, TakesRadtsWordsOutOfTheListeners) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(split_profilers("smi+nsys+top"), Pair("smi+top", "nsys"));
  EXPECT_EQ(split_profilers("ncuraw"), Pair("", "ncuraw"));
  EXPECT_EQ(split_profilers(" proc , tree "), Pair("proc+tree", ""));
  EXPECT_EQ(split_profilers("torch"), Pair("torch", "")) << "no name of radT's";
}

class ProfilerPrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"bin/nsys", "bin/ncu"}) {
      write(name, "#!/bin/sh\n");
      fs::permissions(root_.path() / name, fs::perms::owner_all);
    }
  }
  void write(const fs::path& name, const std::string& text) {
    fs::create_directories((root_.path() / name).parent_path());
    ASSERT_TRUE(sys::replace_file(root_.path() / name, text));
  }
  [[nodiscard]] Result<fs::path> find(const char* plan) const {
    return find_profiler(parse_profile(plan).value(), (root_.path() / "bin").string(),
                         root_.path() / "proc");
  }
  TestDirectory root_;
};

TEST_F(ProfilerPrograms, AreFoundBeforeAnythingIsStarted) {
  EXPECT_EQ(find("nsys").value(), root_.path() / "bin/nsys");
  EXPECT_EQ(find("ncuattach").value(), root_.path() / "bin/ncu");
  EXPECT_TRUE(find("torch").value().empty());
  fs::remove(root_.path() / "bin/nsys");
  const auto missing = find("nsysraw");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().message.find("Nsight Systems"), std::string::npos);
}

TEST_F(ProfilerPrograms, CountersThatAreForAdministratorsAreRefusedToOthers) {
  write("proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n");
  write("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
  const auto refused = find("ncu");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermission);
  EXPECT_NE(refused.error().message.find("NVreg_RestrictProfilingToAdminUsers=0"),
            std::string::npos);
  EXPECT_TRUE(find("nsys")) << "it reads no counters";
  write("proc/self/status", "CapEff:\t0000000000200000\n");
  EXPECT_TRUE(find("ncu"));
  write("proc/self/status", "CapEff:\t0000000000000000\n");
  write("proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
  EXPECT_TRUE(find("ncu"));
}

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

TEST(Profiler, StandsInFrontOfTheCommand) {
  const auto command = [](const char* plan) {
    return profiled_command(parse_profile(plan).value(), "/bin/tool", "/run/report",
                            {"python", "train.py", "--export"});
  };
  for (const char* plan : {"nsys", "nsysraw", "ncu", "ncuraw", "ncuattach"}) {
    const Words words = command(plan);
    EXPECT_EQ(words[0], "/bin/tool");
    EXPECT_EQ(Words(words.end() - 3, words.end()), (Words{"python", "train.py", "--export"}));
  }
  EXPECT_TRUE(has(command("nsys"), "--capture-range=cudaProfilerApi"));
  EXPECT_TRUE(has(command("nsys"), "--capture-range-end=stop")) << "the default kills the training";
  EXPECT_FALSE(has(command("nsysraw"), "--capture-range=cudaProfilerApi"));
  EXPECT_TRUE(has(command("nsysraw"), "--output=/run/report"));
  EXPECT_TRUE(has(command("ncu"), "--profile-from-start"));
  EXPECT_TRUE(has(command("ncuraw"), "--launch-count"));
  EXPECT_EQ(command("ncuattach")[1], "--mode=launch");
}

// ---- on demand

TEST(ProfileOnDemand, OneRequestWaitsAtATime) {
  const TestDirectory run;
  spool::ProfileRequest one(run.files(), "torch-1");
  EXPECT_EQ(one.ask(3).error().code, Code::kUnsupported) << "--no-capture";
  fs::create_directory(run.path() / "profile");
  ASSERT_TRUE(one.ask(3));
  const spool::ProfileRequest other(run.files(), "torch-2");
  EXPECT_EQ(other.ask(5).error().code, Code::kConflict);
  const fs::path request = run.path() / "profile/request";
  EXPECT_EQ(Json::parse(sys::read_file(request).value())->get_string("id"), "torch-1");
  EXPECT_EQ(sys::list_directory(run.path() / "profile").size(), 1U);
  EXPECT_FALSE(other.withdraw()) << "it is another's";
  EXPECT_EQ(Json::parse(sys::read_file(request).value())->get_string("id"), "torch-1");
  EXPECT_TRUE(one.withdraw());
  EXPECT_FALSE(one.withdraw()) << "somebody has taken it";
  EXPECT_EQ(one.next().value(), std::nullopt);
  std::ofstream answer(run.path() / "profile/torch-1.answer");
  answer << "{\"state\":\"begun\"}\n{\"state\":" << std::flush;
  EXPECT_EQ(one.next().value()->get_string("state"), "begun");
  EXPECT_EQ(one.next().value(), std::nullopt) << "half a line";
  answer << "\"done\"}\n" << std::flush;
  EXPECT_EQ(one.next().value()->get_string("state"), "done");
}

TEST(ProfileOnDemand, OnlyAWishThatCanBeIsOne) {
  const auto parsed = [](const char* more) {
    return upload::parse_requested_profile(
        Json::parse(R"({"run":"00000000000000000000000000000001","tool":"torch",)" +
                    std::string(more) + "}")
            .value());
  };
  EXPECT_EQ(parsed(R"("id":"torch-1.5Z","steps":3)")->steps, 3);
  EXPECT_FALSE(parsed(R"("id":"../x","steps":3)"));
  EXPECT_FALSE(parsed(R"("id":"","steps":3)"));
  EXPECT_FALSE(parsed(R"("id":"torch-1","steps":1001)"));
  EXPECT_FALSE(parsed(R"("id":"torch-1")"));
  EXPECT_TRUE(is_profile_id(make_profile_id("torch", utc_time(1'763'710'530'123'999'999))));
}

// ---- tables

std::string line_of(const DeviceTime& t) {
  return t.name + "|" + t.kind + "|" + std::to_string(t.calls) + "|" +
         std::to_string(std::lround(t.ms * 1e6));
}
Words lines_of(const Result<std::vector<DeviceTime>>& times) {
  Words lines;
  if (!times) return {times.error().message};
  for (const DeviceTime& time : *times) lines.push_back(line_of(time));
  return lines;
}

constexpr const char* kKernels =
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
    "67.5,\"2,700,000\",3,900000.0,900000.0,800000,1000000,1.0,\"void gemm<float, 4>(\"\"x\"\", "
    "int)\"\n"
    "32.5,1300000,2,650000.0,650000.0,600000,700000,1.0,ncclDevKernel_AllReduce_Sum_f32\n"
    "\n";

TEST(ProfileSummary, ReadsTablesOfNsysOldAndNew) {
  EXPECT_EQ(lines_of(parse_nsys_table(kKernels)),
            (Words{"void gemm<float, 4>(\"x\", int)|kernel|3|2700000",
                   "ncclDevKernel_AllReduce_Sum_f32|communication|2|1300000"}));
  EXPECT_EQ(lines_of(parse_nsys_table(
                "Generating SQLite file report.sqlite\nProcessing [report.sqlite]...\n"
                "Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,StdDev,Name\r\n"
                "100.0,5000,1,5000.0,5000,5000,0.0,old_kernel\r\n")),
            Words{"old_kernel|kernel|1|5000"});
  EXPECT_EQ(
      lines_of(parse_nsys_table("Time (%),Total Time (ns),Count,Avg (ns),Operation\n"
                                "80,800,4,200,[CUDA memcpy Host-to-Device]\n"
                                "20,200,1,200,[CUDA memset]\n")),
      (Words{"[CUDA memcpy Host-to-Device]|memory copy|4|800", "[CUDA memset]|memory set|1|200"}));
  EXPECT_EQ(lines_of(parse_nsys_table("Total Time (ns),Count,Name\n"
                                      "nan,1,a\ninf,1,b\n-5,1,c\n5,1e300,d\n5,nan,e\n5,1,f\n")),
            Words{"f|kernel|1|5"})
      << "no amounts";
  EXPECT_TRUE(lines_of(parse_nsys_table("")).empty());
  EXPECT_FALSE(parse_nsys_table("something else\n"));
}

TEST(ProfileSummary, ReadsBothPagesOfNcu) {
  const char* details =
      "==PROF== Connected to process 17\n"
      "\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\","
      "\"Metric Value\"\n"
      "\"0\",\"17\",\"gemm\",\"Speed Of Light\",\"Duration\",\"usecond\",\"1,234.50\"\n"
      "\"0\",\"17\",\"gemm\",\"Speed Of Light\",\"SM Frequency\",\"cycle/nsecond\",\"1.2\"\n"
      "\"1\",\"17\",\"gemm\",\"Speed Of Light\",\"Duration\",\"ns\",\"500\"\n";
  EXPECT_EQ(lines_of(parse_ncu_table(details)), Words{"gemm|kernel|2|1235000"});
  const char* raw =
      "\"ID\",\"Kernel Name\",\"dram__bytes.sum\",\"gpu__time_duration.sum\"\n"
      "\"\",\"\",\"Mbyte\",\"us\"\n"
      "\"0\",\"relu\",\"1\",\"2.5\"\n"
      "\"1\",\"gemm\",\"1\",\"1,000\"\n"
      "\"2\",\"relu\",\"1\",\"1.5\"\n";
  EXPECT_EQ(lines_of(parse_ncu_table(raw)), (Words{"gemm|kernel|1|1000000", "relu|kernel|2|4000"}));
  EXPECT_TRUE(lines_of(parse_ncu_table("==WARNING== No kernels were profiled.\n")).empty());
  EXPECT_FALSE(parse_ncu_table("==ERROR== Failed to open file\n"));
  EXPECT_FALSE(parse_ncu_table("\"Kernel Name\",\"Grid Size\"\n\"gemm\",\"1\"\n"));
}

TEST(ProfileSummary, SaysTheMostFirst) {
  std::vector<DeviceTime> times;
  for (int i = 0; i < 40; ++i)
    times.push_back({.name = "k" + std::to_string(i), .kind = "kernel", .calls = 1, .ms = 1.0 * i});
  times.push_back({.name = "copy", .kind = "memory copy", .calls = 2, .ms = 220});
  const Json json =
      Json::parse(profile_summary({.tool = "nsys",
                                   .steps = std::pair<std::int64_t, std::int64_t>(10, 12),
                                   .start_ns = 1'700'000'000'000'000'000,
                                   .end_ns = 1'700'000'002'000'000'000},
                                  times))
          .value();
  EXPECT_EQ(json.get_string("tool"), "nsys");
  EXPECT_EQ(json.find("steps")->get_int("last"), 12);
  EXPECT_EQ(json.get_int("start_ns"), 1'700'000'000'000'000'000);
  EXPECT_DOUBLE_EQ(json.find("total_ms")->as_double(0), 2000);
  const auto& kinds = *json.find("by_kind")->as_array();
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_DOUBLE_EQ(kinds[0].find("share")->as_double(0), 0.78);
  EXPECT_EQ(kinds[1].get_string("kind"), "memory copy");
  const auto& top = *json.find("top")->as_array();
  ASSERT_EQ(top.size(), 30u);
  EXPECT_EQ(top[0].get_string("name"), "copy");
  EXPECT_EQ(top[1].get_string("name"), "k39");
  const Json empty = Json::parse(profile_summary({.tool = "ncuraw", .steps = {}}, {})).value();
  EXPECT_EQ(empty.find("steps"), nullptr);
  EXPECT_TRUE(empty.find("top")->as_array()->empty());
}

}  // namespace
}  // namespace corral::run
