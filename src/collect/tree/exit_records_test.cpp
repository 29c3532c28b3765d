#include "collect/tree/exit_records.h"

#include <gtest/gtest.h>
#include <linux/taskstats.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "core/test_paths.h"
#include "sys/file.h"

namespace corral::collect::tree {
namespace {

std::string stats_of(std::uint16_t version, std::size_t size) {
  taskstats stats{};
  stats.version = version;
  stats.ac_pid = 12;
  stats.ac_ppid = 3;
  stats.ac_tgid = 10;
  stats.ac_utime = 1'000;
  stats.ac_stime = 2'000;
  stats.read_char = 5;
  stats.write_bytes = 4096;
  std::string bytes(size, '\xff');  // behind the struct: what later versions added
  std::memcpy(bytes.data(), &stats, std::min(size, sizeof stats));
  return bytes;
}

TEST(ExitRecords, AreReadByTheVersionsThatNameTheProcess) {
  for (const int version : {12, 13, 16, 99}) {
    const auto record =
        parse_taskstats(stats_of(static_cast<std::uint16_t>(version), sizeof(taskstats) + 144), 12);
    ASSERT_TRUE(record) << version;
    EXPECT_EQ(record->process, 10);
    EXPECT_EQ(record->parent, 3);
    EXPECT_EQ(record->counters[kUserMicros], 1'000u);
    EXPECT_EQ(record->counters[kSystemMicros], 2'000u);
    EXPECT_EQ(record->counters[kReadSyscallBytes], 5u);
    EXPECT_EQ(record->counters[kWriteBlockBytes], 4096u);
  }
  EXPECT_TRUE(parse_taskstats(stats_of(12, offsetof(taskstats, ac_tgid) + 4), 12));
  EXPECT_FALSE(parse_taskstats(stats_of(12, offsetof(taskstats, ac_tgid)), 12)) << "too short";
  EXPECT_FALSE(parse_taskstats(stats_of(11, sizeof(taskstats)), 12)) << "too old";
  EXPECT_FALSE(parse_taskstats(stats_of(13, sizeof(taskstats)), 11)) << "layout is not supported";
}

TEST(ExitRecords, TicksAreSharesOfWhatTheSchedulerMeasured) {
  std::string bytes = stats_of(12, sizeof(taskstats));
  const __u64 measured = 6'000'000;
  std::memcpy(bytes.data() + offsetof(taskstats, cpu_run_virtual_total), &measured,
              sizeof measured);
  const auto record = parse_taskstats(bytes, 12);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->counters[kUserMicros], 2'000u);
  EXPECT_EQ(record->counters[kSystemMicros], 4'000u);
}

// As Linux 6.18 sent it: a thread of a process of several.
TEST(ExitRecords, OfARecordedDatagram) {
  const auto datagram = sys::read_file(source_dir() + "/tests/fixtures/taskstats-v16.bin").value();
  std::vector<ExitRecord> records;
  EXPECT_FALSE(read_exit_records(datagram, [&](const ExitRecord& r) { records.push_back(r); }));
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].process, 31252);
  EXPECT_EQ(records[0].counters[kUserMicros], 1260u)
      << "too short for a tick of the clock to see it";
  EXPECT_EQ(records[0].counters[kSystemMicros], 0u);
  EXPECT_EQ(records[0].parent, 31250);
  for (std::size_t cut = 0; cut < datagram.size(); cut += 3) {
    std::size_t more = 0;
    read_exit_records(datagram.substr(0, cut), [&](const ExitRecord&) { ++more; });
    EXPECT_EQ(more, 0u) << cut;
  }
}

// The recorded one with another version, and cut short within the struct.
TEST(ExitRecords, WhatCannotBeReadHasAReason) {
  auto datagram = sys::read_file(source_dir() + "/tests/fixtures/taskstats-v16.bin").value();
  const auto reason = [&] {
    std::size_t read = 0;
    const auto unread = read_exit_records(datagram, [&](const ExitRecord&) { ++read; });
    EXPECT_EQ(read, 0u);
    std::array<char, 200> room;
    return unread ? std::string(describe_unread(*unread, room)) : std::string();
  };
  // The struct begins with its version, behind the headers of two messages, an attribute with the
  // thread's number and its own.
  constexpr std::size_t kVersion = 16 + 4 + 4 + 8 + 4;
  std::uint16_t version = 0;
  std::memcpy(&version, datagram.data() + kVersion, sizeof version);
  ASSERT_EQ(version, 16);
  datagram[kVersion] = 11;
  EXPECT_TRUE(reason().ends_with("version 12 (Linux 5.19) is the first that names the process"))
      << reason();
  datagram[kVersion] = 17;
  datagram[kVersion + offsetof(taskstats, ac_pid)] ^= 1;
  EXPECT_TRUE(reason().starts_with("the kernel's exit records are of taskstats version 17 ("))
      << reason();
  EXPECT_TRUE(reason().ends_with("its layout is not supported")) << reason();
}

// Processes 1 (the supervisor), 10 and 11 (of the run; 11 ignores SIGCHLD), 5 (a helper).
struct Fixed final : ShortLived::Family {
  [[nodiscard]] bool is_known(pid_t p) const override { return p == 10 || p == 11; }
  [[nodiscard]] bool is_supervisor(pid_t p) const override { return p == 1; }
  [[nodiscard]] bool is_helper(pid_t p) const override { return p == 5; }
  [[nodiscard]] bool ignores_children(pid_t p) override { return p == 11; }
};

TEST(ShortLived, SaysOnceThatSomeWereLeftOut) {
  ShortLived exits;
  for (std::size_t i = 0; i < ShortLived::kMost; ++i) exits.add({});
  EXPECT_FALSE(exits.left_out());
  exits.add({});
  EXPECT_TRUE(exits.left_out());
  EXPECT_FALSE(exits.left_out());
}

ExitRecord exit_of(pid_t process, pid_t parent, std::uint64_t us, std::uint64_t peak_kib = 0) {
  ExitRecord record;
  record.process = process;
  record.parent = parent;
  record.counters[kUserMicros] = us;
  record.peak_resident_kib = peak_kib;
  return record;
}

TEST(ShortLived, CountsWhatNobodyCanWaitFor) {
  const auto total = [](std::initializer_list<ExitRecord> records) {
    ShortLived exits;
    Fixed family;
    for (const ExitRecord& record : records) exits.add(record);
    exits.resolve(family);
    exits.resolve(family);  // forgot them
    return exits.totals().counters[kUserMicros];
  };
  EXPECT_EQ(total({exit_of(20, 11, 7), exit_of(21, 20, 3)}), 10u) << "11 never gets them";
  EXPECT_EQ(total({exit_of(20, 11, 7), exit_of(20, 11, 2)}), 9u) << "of two threads";
  EXPECT_EQ(total({exit_of(20, 1, 7), exit_of(30, 20, 1)}), 0u) << "the supervisor waits";
  EXPECT_EQ(total({exit_of(20, 10, 7), exit_of(21, 20, 3)}), 0u) << "10 has them";
  EXPECT_EQ(total({exit_of(10, 1, 7)}), 0u) << "a walk saw it";
  EXPECT_EQ(total({exit_of(20, 999, 7), exit_of(21, 20, 3)}), 0u) << "somebody else's";
  EXPECT_EQ(total({exit_of(20, 21, 7), exit_of(21, 20, 3), exit_of(22, 22, 1)}), 0u) << "no end";
}

TEST(ShortLived, TellsTheGreatestMemoryOfAnyProcessOfTheRun) {
  ShortLived exits;
  Fixed family;
  const auto peak_with = [&](const ExitRecord& record) {
    exits.add(record);
    exits.resolve(family);
    return exits.totals().peak_resident_kib;
  };
  EXPECT_EQ(peak_with(exit_of(20, 10, 7, 500)), 500u);
  EXPECT_EQ(peak_with(exit_of(21, 10, 7, 300)), 500u);
  EXPECT_EQ(peak_with(exit_of(22, 1, 7, 600)), 600u) << "an orphan";
  EXPECT_EQ(peak_with(exit_of(5, 1, 7, 900)), 600u) << "a helper";
  EXPECT_EQ(peak_with(exit_of(23, 999, 7, 900)), 600u) << "somebody else's";
}

}  // namespace
}  // namespace corral::collect::tree
