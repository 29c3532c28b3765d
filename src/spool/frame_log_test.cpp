// The supervisor's frames on disk: numbers without holes whatever is killed, whatever is full.
#include "spool/frame_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spool/test_spool.h"

namespace corral::spool {
namespace {

constexpr std::int64_t kPlenty = 1ll << 30;
constexpr std::size_t kAll = 1u << 30;

const SessionId kSession = SessionId::random();

FrameLogWriter open_log(const fs::path& directory, std::int64_t limit = kPlenty) {
  auto writer =
      FrameLogWriter::open(sys::PrivateDirectory::open(directory).value(), kSession, limit);
  CORRAL_ASSERT(writer.has_value());
  return *std::move(writer);
}
// Bytes that zstd cannot make smaller.
std::string noise(std::size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
  return bytes;
}
std::vector<std::uint64_t> numbers(const std::vector<codec::Bytes>& frames) {
  std::vector<std::uint64_t> all;
  for (const codec::Bytes& bytes : frames) {
    const auto frame = codec::decode_frame(bytes).value();
    EXPECT_EQ(frame.header.session, kSession);
    for (std::uint64_t n = frame.header.first; n <= frame.header.last; ++n) all.push_back(n);
  }
  return all;
}
std::vector<std::uint64_t> range(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t n = first; n <= last; ++n) all.push_back(n);
  return all;
}
std::uint64_t append(FrameLogWriter& writer, std::string text = "x") {
  const std::uint64_t number = writer.next();
  EXPECT_TRUE(writer.append(test_frame(writer.header(), std::move(text))));
  return number;
}
fs::path newest(const fs::path& directory) {
  return directory / frame_file(frame_files(sys::PrivateDirectory::open(directory).value()).back());
}

TEST(FrameLog, GivesBackWhatWasAppendedFromAnyNumberOn) {
  const TestDirectory dir;
  FrameLogWriter writer = open_log(dir.path());
  FrameLogReader reader(dir.files());
  EXPECT_EQ(reader.last().value(), 0u);
  EXPECT_TRUE(reader.read(0, kAll).value().empty());
  for (int i = 0; i < 5; ++i) append(writer, std::to_string(i));
  EXPECT_EQ(numbers(reader.read(0, kAll).value()), range(1, 5));
  EXPECT_EQ(numbers(reader.read(3, kAll).value()), range(4, 5));
  EXPECT_TRUE(reader.read(5, kAll).value().empty());
  EXPECT_EQ(numbers(reader.read(0, 1).value()), range(1, 1));  // at least one
  EXPECT_EQ(numbers(reader.read(1, kAll).value()), range(2, 5));
  EXPECT_EQ(reader.last().value(), 5u);
  const auto frame = codec::decode_frame(reader.read(2, 1).value()[0]).value();
  EXPECT_EQ(codec::decode_log(frame).value().bytes, "2");
}

TEST(FrameLog, IsReadOnAsItGrowsAndFromBeforeWhenAsked) {
  const TestDirectory dir;
  FrameLogWriter writer = open_log(dir.path(), 4 * kSmallestFrameFileBytes);
  FrameLogReader reader(dir.files());
  std::uint64_t durable = 0;
  for (unsigned i = 0; i < 41; ++i) {  // several files
    const std::uint64_t last = append(writer, noise(20'000, i));
    EXPECT_EQ(numbers(reader.read(durable, kAll).value()), range(durable + 1, last));
    EXPECT_EQ(reader.first(), durable + 1);
    if (i % 3 == 0) continue;  // the server was away
    durable = last;
    reader.acknowledge(durable);
    EXPECT_LE(frame_files(dir.files()).size(), 3u);
  }
  const std::uint64_t oldest = frame_files(dir.files()).front();
  EXPECT_GT(oldest, 1u);
  EXPECT_EQ(numbers(reader.read(0, kAll).value()), range(oldest, durable)) << "a store was lost";
}

TEST(FrameLog, AReaderFollowsALogThatWasRepairedUnderIt) {
  const TestDirectory dir;
  FrameLogWriter writer = open_log(dir.path());
  FrameLogReader reader(dir.files());
  append(writer);
  EXPECT_EQ(numbers(reader.read(0, kAll).value()), range(1, 1));
  append(writer);
  const fs::path file = newest(dir.path());
  const auto content = sys::read_file(file).value();
  ASSERT_TRUE(sys::replace_file(file, content, 0600, false));  // another file of that name
  FrameLogWriter other = open_log(dir.path());
  append(other);
  std::vector<std::uint64_t> all = numbers(reader.read(1, kAll).value());
  for (const std::uint64_t more : numbers(reader.read(all.back(), kAll).value()))
    all.push_back(more);
  EXPECT_EQ(all, range(2, 3));
}

// The file that could not be read has been opened: where the one before it was read to says nothing
// about it, though a frame may begin at the same place.
TEST(FrameLog, AReaderThatFailedBeginsTheFileAnew) {
  const TestDirectory dir;
  FrameLogReader reader(dir.files());
  std::uint64_t full = 0;  // the last number of the first file
  {
    FrameLogWriter writer = open_log(dir.path(), 4 * kSmallestFrameFileBytes);
    while (static_cast<std::int64_t>(fs::file_size(newest(dir.path()))) < kSmallestFrameFileBytes)
      full = append(writer, noise(20'000, 1));
    EXPECT_EQ(numbers(reader.read(0, kAll).value()), range(1, full));
    append(writer, noise(20'000, 1));
  }
  FrameLogWriter writer = open_log(dir.path());  // a new log, whose files are larger
  std::uint64_t last = 0;
  while (fs::file_size(newest(dir.path())) < 2 * fs::file_size(dir.path() / frame_file(1)))
    last = append(writer, noise(20'000, 1));
  ASSERT_EQ(last, 3 * full);
  ASSERT_EQ(frame_files(dir.files()), (std::vector<std::uint64_t>{1, full + 1}));
  const std::string content = sys::read_file(newest(dir.path())).value();
  patch(newest(dir.path()), codec::kFrameHeaderBytes + 5, "!!");
  EXPECT_FALSE(reader.read(full, kAll));
  patch(newest(dir.path()), 0, content);
  EXPECT_EQ(numbers(reader.read(full, kAll).value()), range(full + 1, last));
  EXPECT_EQ(reader.first(), full + 1);
}

TEST(FrameLog, GoesOnWhereItStopped) {
  const TestDirectory dir;
  {
    FrameLogWriter writer = open_log(dir.path());
    append(writer);
    append(writer);
  }
  FrameLogWriter writer = open_log(dir.path());
  EXPECT_EQ(append(writer), 3u);
  EXPECT_EQ(numbers(FrameLogReader(dir.files()).read(0, kAll).value()), range(1, 3));
}

TEST(FrameLog, ATornLastFrameIsCutOffWhereverItWasCut) {
  const TestDirectory dir;
  std::uintmax_t two = 0;
  {
    FrameLogWriter writer = open_log(dir.path());
    append(writer, "first");
    append(writer, "second");
    two = fs::file_size(newest(dir.path()));
    append(writer, noise(500, 1));
  }
  const auto whole = sys::read_file(newest(dir.path())).value();
  for (std::size_t size = two + 1; size < whole.size(); size += 7) {
    ASSERT_TRUE(sys::replace_file(newest(dir.path()), std::string_view(whole).substr(0, size), 0600,
                                  false));
    FrameLogReader reader(dir.files());
    EXPECT_EQ(numbers(reader.read(0, kAll).value()), range(1, 2))
        << size;  // a living writer's half frame is not there yet
    EXPECT_EQ(reader.last().value(), 2u);
    FrameLogWriter writer = open_log(dir.path());
    EXPECT_EQ(writer.next(), 3u) << size;
    append(writer, "third");
    EXPECT_EQ(numbers(reader.read(0, kAll).value()), range(1, 3)) << size;
  }
}

TEST(FrameLog, EveryAppendThatReturnedOutlivesKill9) {
  const TestDirectory dir;
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FrameLogWriter writer = open_log(dir.path());
    for (unsigned i = 0;; ++i) {
      const std::uint64_t number = writer.next();
      if (!writer.append(test_frame(writer.header(), noise(3000, i)))) ::_exit(1);
      if (::write(pipe[1], &number, sizeof number) != sizeof number) ::_exit(1);
    }
  }
  ::close(pipe[1]);
  std::uint64_t returned = 0;
  while (returned < 200)
    ASSERT_EQ(::read(pipe[0], &returned, sizeof returned), static_cast<ssize_t>(sizeof returned));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  while (::read(pipe[0], &returned, sizeof returned) > 0) {
  }
  ::close(pipe[0]);
  const std::uint64_t next = open_log(dir.path()).next();
  EXPECT_GE(next, returned + 1);
  EXPECT_EQ(numbers(FrameLogReader(dir.files()).read(0, kAll).value()), range(1, next - 1));
}

TEST(FrameLog, FullFilesAreFollowedByNewOnes) {
  const TestDirectory dir;
  FrameLogWriter writer = open_log(dir.path());
  for (unsigned i = 0; i < 150; ++i) append(writer, noise(60'000, i));  // 9 MB
  const auto files = frame_files(dir.files());
  EXPECT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0], 1u);
  EXPECT_EQ(numbers(FrameLogReader(dir.files()).read(0, kAll).value()), range(1, 150));
  EXPECT_EQ(numbers(FrameLogReader(dir.files()).read(files[1], kAll).value()),
            range(files[1] + 1, 150));
}

TEST(FrameLog, OnlyFilesThatAreWhollyAcknowledgedGo) {
  const TestDirectory dir;
  FrameLogWriter writer = open_log(dir.path(), 4 * kSmallestFrameFileBytes);
  while (frame_files(dir.files()).size() < 3) append(writer, noise(20'000, 3));
  const auto files = frame_files(dir.files());
  FrameLogReader reader(dir.files());
  reader.acknowledge(files[1] - 2);  // all of the first file but its last frame
  EXPECT_EQ(frame_files(dir.files()), files);
  reader.acknowledge(files[1] - 1);
  EXPECT_EQ(frame_files(dir.files()), (std::vector<std::uint64_t>{files[1], files[2]}));
  const std::uint64_t last = reader.last().value();
  reader.acknowledge(last);  // the newest stays: it says which number comes next
  EXPECT_EQ(frame_files(dir.files()), std::vector<std::uint64_t>{files[2]});
  EXPECT_EQ(open_log(dir.path()).next(), last + 1);
}

TEST(FrameLog, TheLimitIsKeptAndRoomComesBackWithAcknowledgements) {
  const TestDirectory dir;
  constexpr std::int64_t kLimit = 4 * kSmallestFrameFileBytes;
  FrameLogWriter writer = open_log(dir.path(), kLimit);
  Result<> appended;
  std::uint64_t count = 0;
  for (; appended && count < 1000; ++count)
    appended = writer.append(test_frame(writer.header(), noise(10'000, 1)));
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, Code::kNoSpace);
  std::int64_t bytes = 0;
  for (const std::uint64_t first : frame_files(dir.files()))
    bytes += static_cast<std::int64_t>(fs::file_size(dir.path() / frame_file(first)));
  EXPECT_GT(bytes, kLimit / 2);
  EXPECT_LE(bytes, kLimit + 4 * 11'000);
  const std::uint64_t next = writer.next();
  EXPECT_EQ(next, count);  // a refused frame takes no number
  FrameLogReader(dir.files()).acknowledge(next - 1);
  EXPECT_EQ(append(writer), next);
}

TEST(FrameLog, DamageIsNamedWithItsFile) {
  const TestDirectory dir;
  {
    FrameLogWriter writer = open_log(dir.path());
    append(writer);
    append(writer, noise(300, 1));
  }
  patch(newest(dir.path()), fs::file_size(newest(dir.path())) - 5, "!!");
  const auto read = FrameLogReader(dir.files()).read(0, kAll);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kCorruption);
  EXPECT_NE(read.error().message.find(newest(dir.path()).filename().string()), std::string::npos);
}

TEST(FrameLog, AFullDiskLeavesNoHalfFrame) {
  const TestDirectory dir;
  FrameLogWriter writer = open_log(dir.path());
  append(writer);
  // As a full disk, for this process alone: the file may not grow further.
  const auto size = static_cast<rlim_t>(fs::file_size(newest(dir.path())));
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = size + 100, .rlim_max = old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_FALSE(writer.append(test_frame(writer.header(), noise(5000, 1))));
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(fs::file_size(newest(dir.path())), size);
  EXPECT_EQ(append(writer), 2u);
  EXPECT_EQ(numbers(FrameLogReader(dir.files()).read(0, kAll).value()), range(1, 2));
}

RC_GTEST_PROP(FrameLogProperty, AReaderThatFollowsSeesEveryNumberOnce, ()) {
  const TestDirectory dir;
  std::optional<FrameLogWriter> writer = open_log(dir.path(), 1ll << 40);
  FrameLogReader reader(dir.files());
  std::uint64_t durable = 0;
  std::uint64_t written = 0;
  for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        append(*writer, noise(*rc::gen::inRange<std::size_t>(0, 64'000), 1));
        ++written;
        break;
      case 1: {
        const auto frames = reader.read(durable, *rc::gen::inRange<std::size_t>(1, 200'000));
        RC_ASSERT(frames.has_value());
        const auto seen = numbers(*frames);
        RC_ASSERT(seen.empty() == (durable == written));
        if (!seen.empty()) {
          RC_ASSERT(seen == range(durable + 1, seen.back()));
          durable += *rc::gen::inRange<std::uint64_t>(0, seen.back() - durable + 1);
        }
        break;
      }
      case 2:
        reader.acknowledge(durable);
        break;
      default:
        writer.reset();
        writer = open_log(dir.path(), 1ll << 40);
        RC_ASSERT(writer->next() == written + 1);
    }
  }
  RC_ASSERT(numbers(reader.read(durable, kAll).value()) == range(durable + 1, written));
}

RC_GTEST_PROP(FrameLogProperty, DamageCostsTheFramesThatItHitsAndNoOther, ()) {
  const TestDirectory dir;
  std::vector<std::pair<fs::path, std::int64_t>> where;  // file and offset of each frame
  const int count = *rc::gen::inRange(2, 12);
  {
    FrameLogWriter writer = open_log(dir.path(), 1 << 19);
    for (int i = 0; i < count; ++i) {
      append(writer, std::to_string(i) + " " + noise(*rc::gen::inRange<std::size_t>(0, 40'000), 1));
      const auto frame =
          FrameLogReader(dir.files()).read(static_cast<std::uint64_t>(i), 1).value().at(0);
      where.emplace_back(newest(dir.path()), static_cast<std::int64_t>(
                                                 fs::file_size(newest(dir.path())) - frame.size()));
    }
  }
  const auto hit = *rc::gen::inRange<std::size_t>(0, static_cast<std::size_t>(count));
  const auto& [file, offset] = where[hit];
  constexpr std::int64_t kVersionAt = 4;  // a file that looks like a newer version is left alone
  const std::int64_t in_frame =
      *rc::gen::suchThat(rc::gen::inRange<std::int64_t>(0, codec::kFrameHeaderBytes),
                         [](std::int64_t at) { return at != kVersionAt; });
  std::string content = sys::read_file(file).value();
  char& byte = content[static_cast<std::size_t>(offset + in_frame)];
  byte = static_cast<char>(byte ^ 0x15);
  RC_ASSERT(sys::replace_file(file, content, 0600, false).has_value());

  FrameLogWriter writer = open_log(dir.path(), 1 << 19);
  const bool last = hit + 1 == static_cast<std::size_t>(count);  // as good as torn
  RC_ASSERT(writer.next() == static_cast<std::uint64_t>(count) + (last ? 0u : 1u));
  const auto frames = FrameLogReader(dir.files()).read(0, kAll).value();
  RC_ASSERT(numbers(frames) == range(1, writer.next() - 1));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto frame = codec::decode_frame(frames[i]).value();
    RC_ASSERT((frame.header.kind == codec::FrameKind::kGap) == (i == hit));
    if (i == hit) {
      RC_ASSERT(codec::decode_gap(frame).value().message.find(file.filename().string()) !=
                std::string::npos);
    } else {
      RC_ASSERT(codec::decode_log(frame).value().bytes.starts_with(std::to_string(i) + " "));
    }
  }
}

// ---- Damage in the middle of the supervisor's frames costs the frames it hit and nothing else

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
