#include "collect/drm/drm_process_listener.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "collect/drm/open_files.h"
#include "collect/drm/usage.h"
#include "collect/test_roots.h"
#include "sys/clock.h"

namespace corral::collect::drm {
namespace {

namespace fs = std::filesystem;

class TestClock final : public sys::Clock {
 public:
  BootTime now() override { return time; }
  bool sleep_until(BootTime deadline) override {
    time = deadline;
    return true;
  }
  BootTime time{};
};

std::map<std::string, double> seconds_of(const Usage& usage) {
  std::map<std::string, double> all;
  for (const Engine& engine : usage.engines())
    all[std::string(engine.name)] = static_cast<double>(engine.busy_ns) * 1e-9;
  return all;
}

TEST(DrmUsage, OfAmdgpu) {
  Usage usage;
  const std::string text = fixture_text("drm/amdgpu");
  ASSERT_TRUE(parse_usage(text, usage));
  EXPECT_EQ(usage.device, "0000:03:00.0");
  EXPECT_EQ(usage.client, 41u);
  EXPECT_TRUE(usage.memory_known);
  EXPECT_EQ(usage.memory_bytes, 2ull << 30) << "once, though two keys say it; not the machine's";
  EXPECT_EQ(seconds_of(usage),
            (std::map<std::string, double>{{"gfx", 1.5}, {"compute", 8}, {"enc_1", 0.25}}));
  EXPECT_EQ(usage.engines()[1].capacity, 4u);
}

TEST(DrmUsage, OfI915AndXe) {
  Usage usage;
  const std::string i915 = fixture_text("drm/i915");
  ASSERT_TRUE(parse_usage(i915, usage));
  EXPECT_EQ(usage.memory_bytes, 48u << 20) << "the machine's: it has none of its own";
  EXPECT_EQ(usage.engines().size(), 4u);
  EXPECT_EQ(usage.engines()[0].busy_ns, 9288864723u);
  EXPECT_EQ(usage.engines()[2].capacity, 2u);
  const std::string xe = fixture_text("drm/xe");
  ASSERT_TRUE(parse_usage(xe, usage));
  EXPECT_EQ(usage.memory_bytes, 300u << 20);
  ASSERT_EQ(usage.engines().size(), 2u);
  EXPECT_FALSE(usage.engines()[0].timed);
  EXPECT_EQ(usage.engines()[0].cycles, 28257900u);
  EXPECT_EQ(usage.engines()[0].total_cycles, 7655183225u);
  EXPECT_EQ(usage.engines()[1].capacity, 4u);
}

TEST(DrmUsage, TakesAnyText) {
  Usage usage;
  ASSERT_TRUE(
      parse_usage("drm-\ndrm-:\n:\n\ndrm-pdev\ndrm-client-id:\t18446744073709551616 x\n"
                  "drm-engine-:\t5 ns\ndrm-engine-capacity-gfx:\t0\n"
                  "drm-engine-gfx:\t99999999999999999999999 ns\ndrm-engine-gfx:\t-3\n"
                  "drm-engine-\xff\xfe:\t1\ndrm-resident-vram:\t18446744073709551615 MiB\n"
                  "drm-resident-vram:\t1 KiB\ndrm-resident-local0:\nnot-drm-engine-gfx:\t1\n"
                  "drm-pdev:\t0000:03:00.0 trailing",
                  usage));
  EXPECT_EQ(usage.client, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(usage.device, "0000:03:00.0");
  EXPECT_EQ(usage.memory_bytes, std::numeric_limits<std::uint64_t>::max());
  for (const Engine& engine : usage.engines()) EXPECT_GE(engine.capacity, 1u);
  EXPECT_FALSE(parse_usage("pos:\t0\nflags:\t02100002\n", usage)) << "a file of something else";
  EXPECT_FALSE(parse_usage("", usage));
  std::string many = "drm-client-id: 1\n";
  for (int i = 0; i < 100; ++i) many += "drm-engine-e" + std::to_string(i) + ": 1 ns\n";
  EXPECT_TRUE(parse_usage(many, usage));
  EXPECT_EQ(usage.engines().size(), Usage::kMostEngines);
}

// Supervisor 100 has the run 200, which has 210; 900 is somebody else's. One GPU of AMD, two of
// Intel.
constexpr pid_t kSupervisor = 100;
constexpr pid_t kRun = 200;

class Machine {
 public:
  Machine() {
    process(100, 1, "200");
    process(200, 100, "210");
    process(210, 200, "");
    process(900, 1, "");
    card(0, "0x1002", "0000:03:00.0");
    card(1, "0x8086", "0000:00:02.0");
    card(2, "0x8086", "0000:8c:00.0");
    listener = open_drm_process_listener(
        {.root = root.path(), .run_pid = kRun, .supervisor_pid = kSupervisor, .news = news}, table,
        clock);
  }
  void open_file(pid_t process, int number, const std::string& info,
                 const std::string& target = "/dev/dri/renderD128") {
    const std::string at = "proc/" + std::to_string(process);
    root.write(at + "/fdinfo/" + std::to_string(number), info);
    fs::create_directories(root.path() / at / "fd");
    fs::create_symlink(target, root.path() / at / "fd" / std::to_string(number));
  }
  void close_file(pid_t process, int number) {
    const std::string at = "proc/" + std::to_string(process);
    root.remove(at + "/fdinfo/" + std::to_string(number));
    root.remove(at + "/fd/" + std::to_string(number));
  }
  Values at(int s) {
    clock.time = BootTime(std::chrono::seconds(s));
    return sample_once(*listener, table, kSlowGroup);
  }

  FakeRoot root;
  TestClock clock;
  std::shared_ptr<News> news = std::make_shared<News>();
  SeriesTable table;
  std::unique_ptr<Listener> listener;

 private:
  void process(int pid, int parent, const std::string& children) {
    const std::string id = std::to_string(pid);
    root.write("proc/" + id + "/stat", id + " (py) S " + std::to_string(parent) + " " + id + " " +
                                           id + " 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 0 0 0\n");
    root.write("proc/" + id + "/task/" + id + "/children", children);
  }
  void card(int number, const char* vendor, const std::string& address) {
    const std::string at = "sys/class/drm/card" + std::to_string(number) + "/device/";
    root.write(at + "vendor", std::string(vendor) + "\n");
    root.write(at + "uevent", "DRIVER=x\nPCI_SLOT_NAME=" + address + "\n");
  }
};

std::string amd_client(int number, int gfx_ms, int vram_mib) {
  return "drm-client-id: " + std::to_string(number) + "\ndrm-pdev: 0000:03:00.0\n" +
         "drm-resident-vram: " + std::to_string(vram_mib) + " MiB\n" +
         "drm-engine-gfx: " + std::to_string(gfx_ms) + "000000 ns\n";
}

TEST(DrmProcesses, SumsTheRunsClientsEachOnceAndNobodyElses) {
  Machine machine;
  machine.open_file(200, 3, amd_client(1, 100, 10));
  machine.open_file(200, 4, amd_client(1, 100, 10));  // a copy of the descriptor
  machine.open_file(210, 3, amd_client(1, 100, 10));  // inherited
  machine.open_file(210, 9, amd_client(2, 50, 5), "/dev/dri/card0");
  machine.open_file(210, 10, "pos: 0\n", "/home/a/dri/cards.txt");
  machine.open_file(900, 3, amd_client(3, 9999, 1000));
  const Values first = machine.at(10);
  EXPECT_EQ(first.at("run.gpu.processes/amd0"), 2);
  EXPECT_EQ(first.at("run.gpu.memory.used/amd0"), 15.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(first.at("run.gpu.engine.busy/amd0.gfx"), 0.15);
  EXPECT_FALSE(first.contains("run.gpu.busy/amd0")) << "since when?";
  EXPECT_FALSE(first.contains("run.gpu.processes/intel0")) << "the run never used it";

  machine.root.write("proc/200/fdinfo/3", amd_client(1, 600, 10));
  machine.root.write("proc/200/fdinfo/4", amd_client(1, 600, 10));
  machine.root.write("proc/210/fdinfo/3", amd_client(1, 600, 10));
  const Values second = machine.at(12);
  EXPECT_DOUBLE_EQ(second.at("run.gpu.engine.busy/amd0.gfx"), 0.65);
  EXPECT_DOUBLE_EQ(second.at("run.gpu.busy/amd0"), 0.25);
}

TEST(DrmProcesses, WhatAClientDidStaysWhenItIsGone) {
  Machine machine;
  machine.open_file(210, 3, fixture_text("drm/amdgpu"));
  EXPECT_DOUBLE_EQ(machine.at(1).at("run.gpu.engine.busy/amd0.compute"), 2) << "8 s of 4 engines";
  machine.close_file(210, 3);
  const Values after = machine.at(2);
  EXPECT_EQ(after.at("run.gpu.processes/amd0"), 0);
  EXPECT_EQ(after.at("run.gpu.memory.used/amd0"), 0);
  EXPECT_DOUBLE_EQ(after.at("run.gpu.engine.busy/amd0.compute"), 2);
  EXPECT_DOUBLE_EQ(after.at("run.gpu.engine.busy/amd0.enc"), 0.25);
  EXPECT_EQ(after.at("run.gpu.busy/amd0"), 0);
  // The number of a file that is closed may be another's next.
  machine.open_file(210, 3, amd_client(8, 1000, 1));
  EXPECT_DOUBLE_EQ(machine.at(3).at("run.gpu.engine.busy/amd0.gfx"), 1.5 + 1);
}

TEST(DrmProcesses, AClientWhoseDescriptorMovesIsCountedOnce) {
  Machine machine;
  machine.open_file(200, 3, amd_client(1, 100, 10));
  machine.at(1);
  machine.close_file(200, 3);
  machine.at(2);
  machine.open_file(210, 5, amd_client(1, 300, 10));  // handed on, and only now found
  EXPECT_DOUBLE_EQ(machine.at(3).at("run.gpu.engine.busy/amd0.gfx"), 0.3);
}

// The kernel may tell of less than before, for a while: what was counted stays, and no more is.
TEST(DrmProcesses, WorkThatFallsAndRisesAgainIsCountedOnce) {
  Machine machine;
  machine.open_file(200, 3, amd_client(1, 100, 10));
  machine.at(1);
  for (const auto& [second, told, counted] :
       {std::tuple(2, 90, 0.1), std::tuple(3, 100, 0.1), std::tuple(4, 130, 0.13)}) {
    machine.root.write("proc/200/fdinfo/3", amd_client(1, told, 10));
    EXPECT_DOUBLE_EQ(machine.at(second).at("run.gpu.engine.busy/amd0.gfx"), counted) << second;
  }
}

TEST(DrmProcesses, CyclesAreTimeOnceTheyAreSeenToGrow) {
  Machine machine;
  const auto xe = [](int cycles, int total) {
    return "drm-client-id: 5\ndrm-pdev: 0000:8c:00.0\ndrm-cycles-rcs: " + std::to_string(cycles) +
           "\ndrm-total-cycles-rcs: " + std::to_string(total) + "\n";
  };
  machine.open_file(200, 5, xe(1000, 5000));
  machine.open_file(200, 6, fixture_text("drm/i915"));
  const Values first = machine.at(1);
  EXPECT_EQ(first.at("run.gpu.engine.busy/intel1.rcs"), 0);
  EXPECT_DOUBLE_EQ(first.at("run.gpu.engine.busy/intel0.rcs"), 9.288864723);
  EXPECT_FALSE(first.contains("run.gpu.memory.used/intel1")) << "its driver does not tell";
  machine.root.write("proc/200/fdinfo/5", xe(1400, 6000));
  const Values second = machine.at(3);
  EXPECT_DOUBLE_EQ(second.at("run.gpu.engine.busy/intel1.rcs"), 0.8);
  EXPECT_DOUBLE_EQ(second.at("run.gpu.busy/intel1"), 0.4);
}

TEST(DrmProcesses, AFileThatIsOpenedLateIsFoundWithinFiveSamples) {
  Machine machine;
  int second = 0;
  for (; second < 41; ++second) EXPECT_TRUE(machine.at(second).empty());
  machine.open_file(200, 3, amd_client(1, 5, 1));
  Values seen;
  for (int i = 0; i < 5 && seen.empty(); ++i) seen = machine.at(second++);
  EXPECT_EQ(seen.at("run.gpu.processes/amd0"), 1);
}

// Returns the number of files of processes 200 and 210 that are known after one search, and after
// two.
std::pair<int, int> found(OpenFiles& files) {
  constexpr std::array<pid_t, 2> kProcesses{200, 210};
  const auto search = [&] {
    int known = 0;
    files.search(kProcesses);
    files.read([&](pid_t, std::string_view) { return ++known > 0; });
    return known;
  };
  const int first = search();
  return {first, search()};
}

TEST(DrmOpenFiles, ASearchIsLimitedAndTheNextGoesOn) {
  Machine machine;
  for (const int number : {0, 1, 2}) machine.open_file(200, number, "", "/dev/null");
  machine.open_file(210, 3, amd_client(1, 5, 1));
  OpenFiles files(machine.root.path(), {.links = 4});  // "." and ".." are two
  EXPECT_EQ(found(files), (std::pair{0, 1}));
  EXPECT_FALSE(files.left_out());
}

TEST(DrmOpenFiles, SaysThatThereAreMoreThanFollowed) {
  Machine machine;
  for (const int number : {0, 1, 2}) machine.open_file(200, number, amd_client(number, 1, 1));
  OpenFiles all(machine.root.path(), {.files = 3});
  EXPECT_EQ(found(all), (std::pair{3, 3}));
  EXPECT_FALSE(all.left_out());
  OpenFiles some(machine.root.path(), {.files = 2});
  EXPECT_EQ(found(some), (std::pair{2, 2}));
  EXPECT_TRUE(some.left_out());
}

TEST(DrmProcesses, SaysWhyThereIsNothing) {
  SeriesTable table;
  EXPECT_EQ(open_drm_process_listener({.root = fixture_root("root_vm"), .run_pid = 1}, table),
            nullptr);
  EXPECT_EQ(missing(table, "the run's share of AMD's and Intel's GPUs"),
            "no card of theirs in /sys/class/drm");
  const FakeRoot rocm{{"sys/class/drm/card0/device/vendor", "0x1002\n"},
                      {"sys/class/drm/card0/device/uevent", "PCI_SLOT_NAME=0000:03:00.0\n"},
                      {"sys/class/kfd/kfd/dev", "1:1\n"}};
  EXPECT_NE(open_drm_process_listener({.root = rocm.path(), .run_pid = 1}, table), nullptr);
  EXPECT_NE(missing(table, "run.gpu.busy of ROCm on amd0"), "");
}

}  // namespace
}  // namespace corral::collect::drm
