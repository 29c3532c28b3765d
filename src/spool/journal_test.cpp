// The supervisor's journal: numbered, described first, and honest about records that it could not
// write.
#include "spool/journal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <thread>

#include "core/limits.h"
#include "spool/test_spool.h"

namespace corral::spool {
namespace {

struct Spool {
  TestDirectory root;
  RunDirectory directory = RunDirectory::create(root.path(), test_manifest()).value();
  [[nodiscard]] Journal open(std::int64_t limit = 1ll << 30) const {
    return Journal::open(directory, limit).value();
  }
  [[nodiscard]] std::vector<codec::Frame> frames() const {
    std::vector<codec::Frame> all;
    const std::vector<codec::Bytes> written =
        FrameLogReader(directory.files()).read(0, 1u << 30).value();
    for (const codec::Bytes& bytes : written) all.push_back(codec::decode_frame(bytes).value());
    return all;
  }
};

codec::LogBody chunk(std::size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
  return {.time = boot_time(1),
          .stream = codec::LogStream::kStdout,
          .offset = 0,
          .bytes = std::move(bytes)};
}

TEST(Journal, StartsWithTheDescriptionOnce) {
  const Spool spool;
  {
    Journal journal = spool.open();
    journal.describe(session_body(spool.directory.manifest()));
    journal.run_end({.time = boot_time(5),
                     .reason = codec::EndReason::kExit,
                     .exit_code = 0,
                     .exit_signal = {}});
  }
  Journal again = spool.open();
  again.describe(session_body(spool.directory.manifest()));
  const auto frames = spool.frames();
  ASSERT_EQ(frames.size(), 2u);
  const auto session = codec::decode_session(frames[0]).value();
  EXPECT_EQ(session.run, spool.directory.manifest().run);
  EXPECT_EQ(session.role, "supervisor");
  EXPECT_EQ(session.anchor, spool.directory.manifest().anchor);
  EXPECT_EQ(frames[0].header.session, spool.directory.manifest().session);
  EXPECT_EQ(codec::decode_run_end(frames[1]).value().exit_code, 0);
}

TEST(Journal, WhatWasDroppedIsCountedAndToldAsSoonAsSomethingCanBeWritten) {
  const Spool spool;
  Journal journal = spool.open(4 * kSmallestFrameFileBytes);
  journal.describe(session_body(spool.directory.manifest()));
  while (journal.dropped() < 3) journal.log(chunk(60'000, 1));
  EXPECT_FALSE(journal.drop_reason().empty());
  const std::uint64_t kept = FrameLogReader(spool.directory.files()).last().value();
  FrameLogReader(spool.directory.files()).acknowledge(kept);
  journal.event("goes on", {});
  journal.event("and on", {});
  const auto frames = spool.frames();
  ASSERT_GE(frames.size(), 3u);
  const codec::Frame& told = frames[frames.size() - 2];
  EXPECT_EQ(codec::decode_events(frames[frames.size() - 3]).value().events[0].name, "goes on");
  EXPECT_EQ(codec::decode_facts(told).value().facts,
            (std::vector<codec::Fact>{{codec::FactKind::kDrop, "frames", "3"}}));
  EXPECT_EQ(frames.back().header.last, kept + 3);  // said once
}

// No file of this process can grow, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{.rlim_cur = 0, .rlim_max = old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &old_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit old_{};
};

codec::SchemaBody schema_of(std::uint32_t id, std::string name) {
  return {{{.id = id,
            .owner = metric::Owner::kRun,
            .kind = metric::Kind::kGauge,
            .aggregation = metric::Aggregation::kMean,
            .name = std::move(name),
            .source = "",
            .unit = ""}}};
}

TEST(Journal, SeriesOfDroppedFramesAreDeclaredBeforeTheNextFrame) {
  const Spool spool;
  Journal journal = spool.open();
  journal.describe(session_body(spool.directory.manifest()));
  {
    const FullDisk full;
    journal.bundle(schema_of(1, "first"));
    journal.bundle(schema_of(2, "second"));
    EXPECT_EQ(journal.dropped(), 2U);
  }
  journal.event("kept", {});
  journal.event("and on", {});
  const auto frames = spool.frames();
  ASSERT_EQ(frames.size(), 5U) << "description, series, event, drops, event";
  const auto schema = codec::decode_schema(frames[1]).value();
  ASSERT_EQ(schema.series.size(), 2U);
  EXPECT_EQ(schema.series[0].name, "first");
  EXPECT_EQ(schema.series[1].id, 2U);
  EXPECT_EQ(codec::decode_events(frames[2]).value().events[0].name, "kept");
}

TEST(Journal, ManySeriesOfDroppedFramesAreDeclaredAPartAtATime) {
  constexpr std::uint32_t kMany = 1200;
  const Spool spool;
  Journal journal = spool.open();
  {
    const FullDisk full;
    for (std::uint32_t id = 1; id <= kMany; ++id)
      journal.bundle(schema_of(id, std::string(limits::kNameBytes, 'x')));
  }
  journal.event("kept", {});
  std::size_t declared = 0, parts = 0;
  for (const codec::Frame& frame : spool.frames()) {
    const auto schema = codec::decode_schema(frame);
    if (!schema) continue;
    ++parts;
    declared += schema->series.size();
  }
  EXPECT_EQ(declared, kMany);
  EXPECT_GT(parts, 1U);
}

TEST(Journal, ADescriptionThatCouldNotBeWrittenStillComesFirst) {
  const Spool spool;
  Journal journal = spool.open();
  {
    const FullDisk full;
    journal.describe(session_body(spool.directory.manifest()));
    journal.event("lost", {});
  }
  EXPECT_EQ(journal.dropped(), 1u);
  journal.event("kept", {});
  const auto frames = spool.frames();
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_TRUE(codec::decode_session(frames[0]));
  EXPECT_EQ(codec::decode_events(frames[1]).value().events[0].name, "kept");
  EXPECT_EQ(codec::decode_facts(frames[2]).value().facts[0].value, "1");
}

TEST(Journal, ALongOrBrokenEventNameIsCutToWhatAServerTakes) {
  const Spool spool;
  Journal journal = spool.open();
  journal.event(std::string(limits::kNameBytes - 1, 'x') + "é", {});
  journal.event("\xFF", {});
  const auto frames = spool.frames();
  EXPECT_EQ(codec::decode_events(frames.at(0)).value().events[0].name,
            std::string(limits::kNameBytes - 1, 'x'));
  EXPECT_EQ(codec::decode_events(frames.at(1)).value().events[0].name, "\uFFFD");
  EXPECT_EQ(codec::decode_events(frames.at(1)).value().events[0].origin, "corral");
}

TEST(Journal, NothingToSayIsNoFrame) {
  const Spool spool;
  Journal journal = spool.open();
  journal.facts({});
  journal.bundle({});
  EXPECT_TRUE(spool.frames().empty());
  EXPECT_EQ(journal.bytes_written(), 0u);
}

TEST(Journal, ThreadsGetNumbersOfTheirOwn) {
  const Spool spool;
  Journal journal = spool.open();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) journal.event("e", {});
      });
    }
  }
  const auto frames = spool.frames();
  ASSERT_EQ(frames.size(), 800u);
  for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(frames[i].header.first, i + 1);
}

}  // namespace
}  // namespace corral::spool
