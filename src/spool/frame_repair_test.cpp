// Damage in the middle of the supervisor's frames costs the frames it hit and nothing else.
#include "spool/frame_repair.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "spool/frame_log.h"
#include "spool/spool_test_support.h"

namespace corral::spool {
namespace {

constexpr std::int64_t kPlenty = 1ll << 30;
constexpr std::size_t kAll = 1u << 30;
const SessionId kSession = SessionId::random();

fs::path only_file(const TestDirectory& directory) {
  return directory.path() / frame_file(frame_files(directory.files()).at(0));
}

void write_frames(const sys::PrivateDirectory& directory, int count) {
  auto writer = FrameLogWriter::open(directory, kSession, kPlenty);
  ASSERT_TRUE(writer);
  for (int i = 0; i < count; ++i)
    ASSERT_TRUE(writer->append(
        test_frame(writer->header(), std::string(static_cast<std::size_t>(10 + i * 7), 'x'))));
}

// Numbers that are readable, and those of gaps, after the log was opened again.
struct Seen {
  std::vector<std::uint64_t> numbers;
  std::size_t gaps = 0;
};
Seen reopen(const sys::PrivateDirectory& directory) {
  Seen seen;
  EXPECT_TRUE(FrameLogWriter::open(directory, kSession, kPlenty));
  const auto frames = FrameLogReader(directory).read(0, kAll);
  EXPECT_TRUE(frames);
  for (const codec::Bytes& bytes : *frames) {
    const auto frame = codec::decode_frame(bytes).value();
    seen.gaps += frame.header.kind == codec::FrameKind::kGap ? 1 : 0;
    for (std::uint64_t n = frame.header.first; n <= frame.header.last; ++n)
      seen.numbers.push_back(n);
  }
  return seen;
}

RC_GTEST_PROP(FrameRepairProperty, AFlippedByteCostsOneFrameAndNoNumber, ()) {
  const TestDirectory dir;
  const int count = *rc::gen::inRange(2, 20);
  write_frames(dir.files(), count - 1);
  // In any frame but the last, which cannot be told from one that a kill cut short.
  const auto end = static_cast<std::size_t>(fs::file_size(only_file(dir)));
  write_frames(dir.files(), 1);
  std::string content = sys::read_file(only_file(dir)).value();
  const auto at = *rc::gen::inRange<std::size_t>(0, end);
  content[at] = static_cast<char>(content[at] ^ *rc::gen::inRange(1, 256));
  RC_ASSERT(sys::replace_file(only_file(dir), content).has_value());
  const Seen seen = reopen(dir.files());
  RC_ASSERT(seen.numbers.size() == static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < seen.numbers.size(); ++i) RC_ASSERT(seen.numbers[i] == i + 1);
  RC_ASSERT(seen.gaps == 1u);
}

TEST(FrameRepair, WhatTheNextFileShowsToBeMissingIsAGap) {
  const TestDirectory dir;
  write_frames(dir.files(), 5);
  const std::string content = sys::read_file(only_file(dir)).value();
  ASSERT_TRUE(sys::replace_file(only_file(dir), content.substr(0, content.size() - 10)));
  ASSERT_TRUE(repair_frames(dir.files(), kSession, 1, 8));
  const auto frames = FrameLogReader(dir.files()).read(0, kAll).value();
  ASSERT_EQ(frames.size(), 7u);  // four whole ones, three gaps
  for (std::size_t i = 4; i < 7; ++i) {
    const auto frame = codec::decode_frame(frames[i]).value();
    EXPECT_EQ(frame.header.first, i + 1);
    EXPECT_EQ(codec::decode_gap(frame).value().reason, codec::GapReason::kCorrupt);
  }
}

TEST(FrameRepair, AWholeFileIsNotTouched) {
  const TestDirectory dir;
  write_frames(dir.files(), 5);
  const auto before = fs::last_write_time(only_file(dir));
  ASSERT_TRUE(repair_frames(dir.files(), kSession, 1, 6));
  EXPECT_EQ(fs::last_write_time(only_file(dir)), before);
}

TEST(FrameRepair, FramesOfANewerCorralAreLeftAlone) {
  const TestDirectory dir;
  write_frames(dir.files(), 1);
  std::string content = sys::read_file(only_file(dir)).value();
  content[4] = 2;  // version
  ASSERT_TRUE(sys::replace_file(only_file(dir), content));
  const auto repaired = repair_frames(dir.files(), kSession, 1, std::nullopt);
  ASSERT_FALSE(repaired);
  EXPECT_EQ(repaired.error().code, Code::kUnsupported);
  EXPECT_EQ(sys::read_file(only_file(dir)).value(), content);
}

}  // namespace
}  // namespace corral::spool
