// Writer and reader as a pair, in one process: what was logged is what is read, whatever the
// threads, sizes and damage.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <thread>

#include "codec/health.h"
#include "core/test_paths.h"
#include "spool/segment_format.h"
#include "spool/test_spool.h"

namespace corral::spool {
namespace {

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

TEST(Segment, APointIsReadAsItWasLogged) {
  const TestDirectory dir;
  SegmentWriter writer(dir.options());
  const std::int64_t before = SegmentWriter::now();
  const std::int64_t step = -7;
  Series* loss = writer.series(view("loss"));
  ASSERT_TRUE(writer.point(loss, before, 0.25, &step));
  ASSERT_TRUE(writer.point(loss, before + 1, std::numeric_limits<double>::quiet_NaN(), nullptr));
  const Stream read = read_all(dir.path());
  ASSERT_EQ(read.points.size(), 2u);
  EXPECT_EQ(read.names.at(read.points[0].series), "loss");
  EXPECT_EQ(read.points[0].step, step);
  EXPECT_EQ(read.points[0].value, 0.25);
  EXPECT_EQ(ns_of(read.points[0].time), before);
  EXPECT_FALSE(read.points[1].step.has_value());
  EXPECT_TRUE(std::isnan(read.points[1].value));
}

TEST(Segment, TheHeaderSaysWhoWrites) {
  const TestDirectory dir;
  WriterOptions options = dir.options();
  options.run[0] = 0xAB;
  options.rank = 3;
  SegmentWriter writer(options);
  ASSERT_TRUE(writer.tag(view("a"), view("b")));
  const auto reader = open_segment(dir.segments().at(0));
  ASSERT_TRUE(reader) << reader.error().message;
  const SegmentHeader& header = reader->header();
  EXPECT_EQ(header.pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(header.run.bytes[0], 0xAB);
  EXPECT_EQ(header.rank, 3);
  EXPECT_EQ(header.base, 1u);
  EXPECT_EQ(header.slots, (kFirstSegmentBytes - kSegmentHeaderBytes) / kSlotBytes);
  EXPECT_FALSE(header.session.is_nil());
  EXPECT_FALSE(header.host.empty());
  EXPECT_GT(header.start_time, 0u);
  EXPECT_LT(header.anchor.error, std::chrono::milliseconds(100));
  EXPECT_TRUE(reader->writer_alive());
}

TEST(Segment, EveryKindOfTextRecordComesBack) {
  const TestDirectory dir;
  SegmentWriter writer(dir.options());
  const std::string value(limits::kValueBytes, 'v');
  ASSERT_TRUE(writer.param(view("lr"), view("0.1")));
  ASSERT_TRUE(writer.tag(view("note"), view(value)));
  ASSERT_TRUE(writer.event(view("checkpoint"), view(R"({"path":"a\"b","n":3})")));
  const std::uint64_t links[] = {5, 6};
  const std::uint64_t id = writer.phase_begin({.parent = 0,
                                               .kind = 2,
                                               .name = view("epoch"),
                                               .type = view("train/epoch"),
                                               .lane = view("h/1/t"),
                                               .attributes = view(R"({"n":1})"),
                                               .links = links,
                                               .link_count = 2});
  ASSERT_EQ(id, 1u);
  ASSERT_TRUE(writer.phase_end(id));
  const Stream read = read_all(dir.path());
  ASSERT_EQ(read.facts.size(), 2u);
  EXPECT_EQ(read.facts[0], (codec::Fact{codec::FactKind::kParam, "lr", "0.1"}));
  EXPECT_EQ(read.facts[1], (codec::Fact{codec::FactKind::kTag, "note", value}));
  ASSERT_EQ(read.events.size(), 1u);
  EXPECT_EQ(read.events[0].name, "checkpoint");
  EXPECT_EQ(read.events[0].attributes, (codec::Attributes{{"path", R"("a\"b")"}, {"n", "3"}}));
  ASSERT_EQ(read.phases.size(), 2u);
  EXPECT_EQ(read.phases[0].type, "train/epoch");
  EXPECT_EQ(read.phases[0].kind, codec::PhaseKind::kIo);
  EXPECT_EQ(read.phases[0].links, (std::vector<std::uint64_t>{5, 6}));
  EXPECT_TRUE(read.phases[0].begin && !read.phases[0].end);
  EXPECT_EQ(read.phases[1].id, id);
  EXPECT_GE(*read.phases[1].end, *read.phases[0].begin);
  EXPECT_TRUE(read.corrupt.empty());
}

TEST(Segment, TheHealthOfTheCaptureIsNoEventOfTheScript) {
  const TestDirectory dir;
  SegmentWriter writer(dir.options());
  const std::string told =
      R"({"part":"capture.keras.fit","state":"given up","reason":"TypeError"})";
  ASSERT_TRUE(writer.event(view("corral.health"), view(told)));
  ASSERT_TRUE(writer.event(view("corral.health"), view(R"({"part":"x","state":"fine"})")));
  ASSERT_TRUE(writer.event(view("health"), view(told)));
  const Stream read = read_all(dir.path());
  ASSERT_EQ(read.events.size(), 3u);
  EXPECT_EQ(read.events[0].name, "health");
  EXPECT_EQ(read.events[0].origin, "corral");
  EXPECT_EQ(codec::health_of(read.events[0].attributes),
            (codec::Health{"capture.keras.fit", codec::HealthState::kGivenUp, "TypeError"}));
  EXPECT_EQ(read.events[1].name, "corral.health");
  EXPECT_EQ(read.events[1].origin, "user");
  EXPECT_EQ(read.events[2].origin, "user");
}

TEST(Segment, AnEndedSessionIsOverThoughItsProcessGoesOn) {
  const TestDirectory dir;
  std::string first;
  {
    SegmentWriter writer(dir.options());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer.point(writer.series(view("x")), i, i, nullptr));
    first = dir.segments().at(0);
    const auto reader = open_segment(first);
    ASSERT_TRUE(reader);
    EXPECT_TRUE(reader->writer_alive());
    EXPECT_FALSE(reader->closed_at().value());
  }
  SegmentWriter next(dir.options());
  ASSERT_TRUE(next.point(next.series(view("x")), 3, 3, nullptr));
  const auto reader = open_segment(first);
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->writer_alive());
  EXPECT_EQ(reader->closed_at().value(), reader->header().base + 4) << "the series and its points";
  const auto batch = reader->read(reader->header().base, 100, false);
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->end);
  EXPECT_EQ(batch->records.size(), 4u);
  EXPECT_EQ(dir.segments().size(), 2u) << "the next session has a segment of its own";
}

TEST(Segment, SegmentsFollowEachOtherWithoutAGap) {
  const TestDirectory dir;
  WriterOptions options = dir.options();
  options.first_bytes = kSegmentHeaderBytes + 64 * kSlotBytes;
  options.largest_bytes = kSegmentHeaderBytes + 200 * kSlotBytes;
  SegmentWriter writer(options);
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(writer.point(writer.series(view(i % 2 == 0 ? "a" : "b")), i, i, nullptr));
  }
  std::uint64_t expected = 1;
  const auto files = dir.segments();
  ASSERT_GT(files.size(), 5u);
  std::uint64_t previous = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto reader = open_segment(files[i]);
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->header().index, i);
    EXPECT_EQ(reader->header().base, expected);
    EXPECT_GE(reader->header().slots, previous);
    previous = reader->header().slots;
    const auto closed = reader->closed_at();
    ASSERT_TRUE(closed);
    EXPECT_EQ(closed->has_value(), i + 1 < files.size());
    expected = closed->value_or(0);
  }
  const Stream read =
      read_all(dir.path());  // fails when a point's series is not declared before it in its segment
  ASSERT_EQ(read.points.size(), 2'000u);
  for (int i = 0; i < 2'000; ++i) EXPECT_EQ(read.points[static_cast<std::size_t>(i)].value, i);
}

TEST(Segment, AnIncrementalReaderSeesEachRecordOnce) {
  const TestDirectory dir;
  SegmentWriter writer(dir.options());
  Series* series = writer.series(view("x"));
  std::uint64_t next = 1;
  int seen = 0;
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(writer.point(series, i, i, nullptr));
    if (i % 7 != 0) continue;
    const auto reader = open_segment(dir.segments().at(0));
    for (;;) {
      const auto batch = reader->read(next, 3, true);
      ASSERT_TRUE(batch);
      EXPECT_FALSE(batch->end);
      if (batch->records.empty()) break;
      EXPECT_LE(batch->records.size(), 3u);
      for (const Record& record : batch->records) {
        EXPECT_EQ(record.first, next);
        next = record.last + 1;
        const auto* point = std::get_if<Point>(&record.body);
        if (point != nullptr) {
          EXPECT_EQ(point->value, seen++);
        }
      }
      EXPECT_EQ(batch->next, next);
    }
    EXPECT_EQ(seen, i + 1);
  }
}

TEST(Segment, ThreadsDoNotDisturbEachOther) {
  const TestDirectory dir;
  WriterOptions options = dir.options();
  options.first_bytes = kSegmentHeaderBytes + 128 * kSlotBytes;
  options.largest_bytes = 64u << 10;
  SegmentWriter writer(options);
  constexpr int kThreads = 4;
  constexpr int kEach = 5'000;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&writer, t] {
        const std::string name = "thread" + std::to_string(t);
        for (int i = 0; i < kEach; ++i) {
          writer.point(writer.series(view(name)), i, i, nullptr);
          if (i % 100 == 0) writer.tag(view(name), view(std::string(200, 'x')));
        }
      });
    }
  }
  const Stream read = read_all(dir.path());
  EXPECT_EQ(writer.dropped(), 0u);
  EXPECT_TRUE(read.corrupt.empty());
  EXPECT_EQ(read.facts.size(), kThreads * kEach / 100u);
  std::map<std::uint32_t, int> counts;
  for (const Point& point : read.points) EXPECT_EQ(point.value, counts[point.series]++);
  EXPECT_EQ(counts.size(), std::size_t{kThreads});
  for (const auto& [series, count] : counts) EXPECT_EQ(count, kEach);
}

RC_GTEST_PROP(SegmentProperty, AnyCallsComeBackInOrder, ()) {
  const TestDirectory dir;
  WriterOptions options = dir.options();
  options.first_bytes =
      kSegmentHeaderBytes + *rc::gen::inRange<std::uint64_t>(64, 400) * kSlotBytes;
  options.largest_bytes = 32u << 10;
  SegmentWriter writer(options);
  const auto calls =
      *rc::gen::container<std::vector<std::tuple<int, std::uint64_t, std::int64_t, std::string>>>(
          rc::gen::tuple(rc::gen::inRange(0, 4), rc::gen::arbitrary<std::uint64_t>(),
                         rc::gen::arbitrary<std::int64_t>(),
                         rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))));
  std::vector<std::pair<std::string, std::uint64_t>> points;
  std::vector<codec::Fact> facts;
  for (const auto& [kind, value, step, text] : calls) {
    const std::string name = "n" + text;
    if (kind < 3) {
      RC_ASSERT(writer.point(writer.series(view(name)), 5, std::bit_cast<double>(value),
                             kind == 0 ? nullptr : &step));
      points.emplace_back(name, value);
    } else {
      RC_ASSERT(writer.param(view(name), view(text)));
      facts.push_back({codec::FactKind::kParam, name, text});
    }
  }
  const Stream read = read_all(dir.path());
  RC_ASSERT(read.corrupt.empty());
  RC_ASSERT(read.facts == facts);
  RC_ASSERT(read.points.size() == points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    RC_ASSERT(read.names.at(read.points[i].series) == points[i].first);
    RC_ASSERT(bits(read.points[i].value) == points[i].second);
  }
}

RC_GTEST_PROP(SegmentProperty, DamagedBytesAreNamedAndTheRestIsRead, ()) {
  const TestDirectory dir;
  SegmentWriter writer(dir.options());
  for (int i = 0; i < 50; ++i) {
    RC_ASSERT(writer.point(writer.series(view("x")), i, i, nullptr));
    RC_ASSERT(writer.tag(view("key"), view(std::string(50, 'v'))));
  }
  codec::Bytes slots = slots_of(dir.segments().at(0));
  const Batch whole = parse_slots(slots, {.first = 1});
  // A changed byte costs the record that it is in, nothing else: 1 declaration, then 50 of point (1
  // slot) and tag (3 slots).
  const auto slot = *rc::gen::inRange<std::size_t>(0, 201);
  const auto byte = *rc::gen::inRange<std::size_t>(4, 32);
  const auto change = *rc::gen::inRange<int>(1, 256);
  slots[slot * kSlotBytes + byte] ^= static_cast<std::uint8_t>(change);
  const Batch damaged = parse_slots(slots, {.first = 1});
  RC_ASSERT(damaged.next == whole.next);
  RC_ASSERT(damaged.records.size() + 1 >= whole.records.size());
  if (damaged.records.size() < whole.records.size()) {
    RC_ASSERT(damaged.corrupt.size() == 1);
    RC_ASSERT(damaged.corrupt[0].sequence <= slot + 1);
    RC_ASSERT(damaged.corrupt[0].sequence + 2 >= slot + 1);
  }
}

RC_GTEST_PROP(SegmentProperty, AnyBytesAreSafeAndEverySlotIsPassedOnce,
              (codec::Bytes bytes, bool alive, bool last)) {
  const Batch batch = parse_slots(bytes, {.first = 10, .alive = alive, .last = last});
  std::uint64_t at = 10;
  for (const Record& record : batch.records) {
    RC_ASSERT(record.first >= at && record.last >= record.first);
    at = record.last + 1;
  }
  RC_ASSERT(at <= batch.next && batch.next <= batch.looked_to);
  RC_ASSERT(batch.looked_to <= 10 + bytes.size() / kSlotBytes);
}

TEST(Segment, AnEmptySlotStopsALivingReaderAndIsSkippedAfterwards) {
  const TestDirectory dir;
  SegmentWriter writer(dir.options());
  for (int i = 0; i < 4; ++i) writer.point(writer.series(view("x")), i, i, nullptr);
  codec::Bytes slots = slots_of(dir.segments().at(0));
  std::memset(slots.data() + 2 * kSlotBytes, 0, kSlotBytes);  // declaration, 0, [1], 2, 3
  const Batch alive = parse_slots(slots, {.first = 1, .alive = true});
  EXPECT_EQ(alive.records.size(), 2u);
  EXPECT_EQ(alive.next, 3u);
  const Batch dead = parse_slots(slots, {.first = 1});
  EXPECT_EQ(dead.records.size(), 4u);
  EXPECT_EQ(dead.next, 6u);
  EXPECT_TRUE(dead.corrupt.empty());
}

TEST(Segment, NewerVersionsAndForeignFilesAreRefusedByName) {
  const TestDirectory dir;
  SegmentWriter writer(dir.options());
  ASSERT_TRUE(writer.tag(view("a"), view("b")));
  const auto path = dir.segments().at(0);
  patch(path, 4, "\x02");
  EXPECT_EQ(open_segment(path).error().code, Code::kUnsupported);
  patch(path, 4, "\x01");
  patch(path, 20, "\xFF\xFE");
  EXPECT_EQ(open_segment(path).error().code, Code::kCorruption);
  patch(path, 0, "XXXX");
  EXPECT_EQ(open_segment(path).error().code, Code::kCorruption);
  std::filesystem::resize_file(path, 100);
  EXPECT_EQ(open_segment(path).error().code, Code::kCorruption);
  EXPECT_EQ(open_segment(path.string() + "x").error().code, Code::kNotFound);
}

TEST(Segment, AFileCutShortGivesWhatIsLeftAndSaysSo) {
  const TestDirectory dir;
  {
    SegmentWriter writer(dir.options());
    for (int i = 0; i < 100; ++i) writer.point(writer.series(view("x")), i, i, nullptr);
  }
  const auto path = dir.segments().at(0);
  std::filesystem::resize_file(path, kSegmentHeaderBytes + 51 * kSlotBytes + 10);
  // As of a process that was killed: the segment does not say where it ends.
  std::fstream(path).seekp(offsetof(SegmentHeaderLayout, used)).write("\0\0\0\0\0\0\0\0", 8);
  const auto reader = open_segment(path);
  const auto batch = reader->read(1, SIZE_MAX, false);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->records.size(), 51u);
  ASSERT_EQ(batch->corrupt.size(), 1u);
  EXPECT_EQ(batch->corrupt[0].sequence, 52u);
  EXPECT_TRUE(batch->end);
  EXPECT_EQ(batch->next, 52u);
}

TEST(Segment, TheSpoolLimitIsKeptAndRefusalsAreCounted) {
  const TestDirectory dir;
  ASSERT_TRUE(make_drops(dir.files()));
  WriterOptions options = dir.options();
  options.spool_limit = 700u << 10;  // 256 KiB, then no room for 512 KiB: 256 KiB again
  SegmentWriter writer(options);
  std::uint64_t refused = 0;
  constexpr std::uint64_t kCalls = 20'000;
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    if (!writer.point(writer.series(view("x")), 0, 1, nullptr)) ++refused;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(dir.segments().size(), 2u);
  EXPECT_EQ(read_all(dir.path()).points.size() + refused, kCalls);
  EXPECT_EQ(writer.dropped(), refused);
  EXPECT_EQ(read_drops(dir.files()), refused);
}

TEST(Segment, WhatCannotBeKeptIsRefusedAndCounted) {
  const TestDirectory dir;
  SegmentWriter writer(dir.options());
  EXPECT_EQ(writer.series(view("")), nullptr);
  EXPECT_EQ(writer.series(view(std::string(251, 'x'))), nullptr);
  EXPECT_FALSE(writer.tag(view("k"), view(std::string(70'000, 'x'))));
  EXPECT_FALSE(writer.param(view(""), view("x")));
  EXPECT_EQ(writer.dropped(), 4u);
  SegmentWriter off{WriterOptions{}};
  EXPECT_FALSE(off.enabled());
  EXPECT_FALSE(off.tag(view("a"), view("b")));
  WriterOptions nowhere;
  nowhere.directory = "/nonexistent/directory";
  SegmentWriter lost(nowhere);
  EXPECT_FALSE(lost.tag(view("a"), view("b")));
  EXPECT_EQ(lost.dropped(), 1u);
}

// The program that made tests/golden/segment-v1.* (--gtest_also_run_disabled_tests). Never run
// again for version 1.
TEST(Segment, DISABLED_WriteGoldenFile) {
  const TestDirectory dir;
  WriterOptions options = dir.options();
  options.first_bytes = kSegmentHeaderBytes + 64 * kSlotBytes;
  options.rank = 2;
  for (std::uint8_t i = 0; i < 16; ++i) options.run[i] = i;
  SegmentWriter writer(options);
  const std::int64_t step = 12;
  const std::int64_t back = std::numeric_limits<std::int64_t>::min();
  Series* loss = writer.series(view("loss"));
  writer.point(loss, 1'000, 0.5, nullptr);
  writer.point(loss, 2'000, std::numeric_limits<double>::quiet_NaN(), &step);
  writer.point(writer.series(view("g\xC3\xBCte/top-1")), 3'000, -0.0, &back);
  writer.point(loss, 1'500, std::numeric_limits<double>::infinity(), &step);
  writer.param(view("lr"), view("0.1"));
  writer.param(view("empty"), view(""));
  writer.tag(view("note"), view(std::string(100, 'n')));
  writer.event(view("checkpoint"), view(""));
  writer.event(view("saved"), view(R"({"path":"a\"b","bytes":12,"ok":true,"none":null,"x":1.5})"));
  const std::uint64_t links[] = {7, 9};
  const std::uint64_t train = writer.phase_begin(
      {.name = view("train"), .type = view("train"), .lane = view("h/rank2/1/main")});
  const std::uint64_t epoch = writer.phase_begin({.parent = train,
                                                  .kind = 4,
                                                  .name = view("epoch"),
                                                  .type = view("train/epoch"),
                                                  .lane = view("h/rank2/1/main"),
                                                  .attributes = view(R"({"n":1})"),
                                                  .links = links,
                                                  .link_count = 2});
  writer.phase_end(epoch);
  writer.phase_end(train);
  const auto path = dir.segments().at(0);
  SegmentHeaderLayout header{};
  const auto content = sys::read_file(path);
  std::memcpy(&header, content->data(), sizeof header);
  std::memset(header.host, 0, sizeof header.host);
  std::memcpy(header.host, "golden", 6);
  header.crc = codec::crc32c(&header, offsetof(SegmentHeaderLayout, crc));
  patch(path, 0, {reinterpret_cast<const char*>(&header), sizeof header});
  std::filesystem::copy_file(path, golden_dir() + "/segment-v1.seg");
  std::ofstream(golden_dir() + "/segment-v1.txt")
      << describe(*open_segment(path)->read(1, SIZE_MAX, false));
}

TEST(Segment, GoldenFileOfVersion1ReadsAsEver) {
  const std::filesystem::path path = golden_dir() + "/segment-v1.seg";
  const auto reader = open_segment(path);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->header().run.hex(), "000102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(reader->header().rank, 2);
  const auto batch = reader->read(1, SIZE_MAX, false);
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->corrupt.empty());
  EXPECT_EQ(describe(*batch), golden_records());
}

}  // namespace
}  // namespace corral::spool
