// Frames of version 1 as they were when version 1 was made (tests/golden/frame-v1.bin): they are
// read for ever.
//
// CORRAL_UPDATE_GOLDEN=1 rewrites the file; that is right only while version 1 has never been
// released.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "codec/frame.h"
#include "codec/test_frames.h"
#include "core/test_paths.h"

namespace corral::codec {
namespace {

using testing::header_of;

SessionBody session() {
  SessionBody body;
  body.run.bytes.fill(0x11);
  body.workload.bytes.fill(0x22);
  body.experiment = "digits";
  body.workload_name = "pair";
  body.run_name = "calm-otter-07";
  body.host = "node7";
  body.role = "process";
  body.pid = 4711;
  body.rank = 3;
  body.boot_id = "0123456789abcdef0123456789abcdef";
  body.anchor = {.utc_minus_boot = Nanos(1'763'710'530'000'000'000), .error = Nanos(250)};
  body.started = boot_time(1'000'000'007);
  return body;
}
SchemaBody schema() {
  return {{{.id = 1, .name = "loss", .source = "rank3", .unit = ""},
           {.id = 2,
            .owner = metric::Owner::kWorkload,
            .kind = metric::Kind::kCounter,
            .aggregation = metric::Aggregation::kSharedOnce,
            .name = "host.cpu.busy",
            .source = "cpu0",
            .unit = "s"}}};
}
SamplesBody samples() {
  SampleGroup steps;
  SampleGroup sparse;
  for (int i = 0; i < 3; ++i) {
    steps.times.push_back(boot_time(1'000'000'000 + 10 * i));
    steps.steps.push_back(i == 2 ? -5 : i);
  }
  steps.columns.push_back({.series = 1,
                           .present = {},
                           .values = {0.5, std::bit_cast<double>(0x7FF8000000001234u), -0.0}});
  sparse.times = {boot_time(5), boot_time(4)};
  sparse.columns.push_back({.series = 2, .present = {false, true}, .values = {1e300}});
  return {{steps, sparse}};
}
PhasesBody phases() {
  const PhaseRecord begin{.id = 2,
                          .parent = 1,
                          .begin = boot_time(50),
                          .end = {},
                          .kind = PhaseKind::kIo,
                          .name = "epoch",
                          .type = "train/epoch",
                          .lane = "node7/rank3/4711/main",
                          .links = {7, 8},
                          .attributes = {{"index", "3"}, {"note", R"("é")"}}};
  PhaseRecord end;
  end.id = 2;
  end.end = boot_time(60);
  return {{begin, end}};
}
FactsBody facts() {
  return {{{FactKind::kParam, "lr", "0.1"},
           {FactKind::kTag, "kind", "test"},
           {FactKind::kInfo, "cpus", "16"},
           {FactKind::kUnavailable, "run.io", "no permission"},
           {FactKind::kDrop, "points", "12"}}};
}
EventsBody events() { return {{{boot_time(70), "checkpoint", "user", {{"path", R"("a.pt")"}}}}}; }
LogBody log() {
  return {.time = boot_time(80),
          .stream = LogStream::kStderr,
          .offset = 5,
          .bytes = std::string("epoch 1\n\xFF\0", 10)};
}
LogBody long_log() {
  return {.time = boot_time(81),
          .stream = LogStream::kTty,
          .offset = 15,
          .bytes = std::string(3000, 'e')};
}
RunEndBody run_end() {
  return {.time = boot_time(90), .reason = EndReason::kSignal, .exit_code = {}, .exit_signal = 9};
}
GapBody gap() { return {.reason = GapReason::kRefused, .message = "series 9 was never declared"}; }
Bundle bundle() {
  Bundle all;
  all.add(schema());
  all.add(facts());
  all.add(events());
  all.add(phases());
  all.add(samples());
  return all;
}

std::vector<Bytes> encoded() {
  return {encode(header_of(1, 1), session()),      encode(header_of(2, 2), schema()),
          encode(header_of(3, 6), samples()),      encode(header_of(7, 9), phases()),
          encode(header_of(10, 10), facts()),      encode(header_of(11, 11), events()),
          encode(header_of(12, 12), log()),        encode(header_of(13, 13), run_end()),
          encode(header_of(14, ~0ull - 1), gap()), bundle().finish(header_of(20, 40)),
          encode(header_of(41, 41), long_log())};
}

std::string golden_path() { return golden_dir() + "/frame-v1.bin"; }

std::vector<Bytes> golden() {
  std::ifstream in(golden_path(), std::ios::binary);
  const Bytes all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<Bytes> frames;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t length = frame_length(ByteView(all).subspan(at)).value_or(0);
    if (length == 0) break;
    frames.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                        all.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length;
  }
  return frames;
}

class FrameGolden : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("CORRAL_UPDATE_GOLDEN") == nullptr) return;
    std::ofstream out(golden_path(), std::ios::binary);
    for (const Bytes& frame : encoded())
      out.write(reinterpret_cast<const char*>(frame.data()),
                static_cast<std::streamsize>(frame.size()));
  }
  void SetUp() override { ASSERT_EQ(frames_.size(), 11u); }
  [[nodiscard]] Frame frame(std::size_t i) const { return decode_frame(frames_[i]).value(); }
  std::vector<Bytes> frames_ = golden();
};

TEST_F(FrameGolden, EveryBodyIsReadAsItWasMeant) {
  EXPECT_EQ(decode_session(frame(0)).value(), session());
  EXPECT_EQ(decode_schema(frame(1)).value().series, schema().series);
  EXPECT_TRUE(testing::same(decode_samples(frame(2)).value(), samples()));
  EXPECT_EQ(decode_phases(frame(3)).value().phases, phases().phases);
  EXPECT_EQ(decode_facts(frame(4)).value().facts, facts().facts);
  EXPECT_EQ(decode_events(frame(5)).value().events, events().events);
  EXPECT_EQ(decode_log(frame(6)).value(), log());
  EXPECT_EQ(decode_run_end(frame(7)).value(), run_end());
  EXPECT_EQ(decode_gap(frame(8)).value().reason, GapReason::kRefused);
  EXPECT_EQ(decode_gap(frame(8)).value().message, gap().message);
  EXPECT_EQ(decode_log(frame(10)).value(), long_log());
}

TEST_F(FrameGolden, HeadersAreReadAsTheyWereMeant) {
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const int kind = i == 10 ? static_cast<int>(FrameKind::kLog) : static_cast<int>(i) + 1;
    EXPECT_EQ(static_cast<int>(frame(i).header.kind), kind);
    EXPECT_EQ(frame(i).header.session, header_of().session);
  }
  EXPECT_EQ(frame(2).header.first, 3u);
  EXPECT_EQ(frame(2).header.last, 6u);
  EXPECT_EQ(frame(8).header.last, ~0ull - 1);
}

TEST_F(FrameGolden, ABundleIsReadAsItWasMeant) {
  const auto parts = sections(frame(9)).value();
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(decode_schema(parts[0]).value().series, schema().series);
  EXPECT_EQ(decode_facts(parts[1]).value().facts, facts().facts);
  EXPECT_EQ(decode_events(parts[2]).value().events, events().events);
  EXPECT_EQ(decode_phases(parts[3]).value().phases, phases().phases);
  EXPECT_TRUE(testing::same(decode_samples(parts[4]).value(), samples()));
}

// Compressed ones may differ with the version of zstd; they are the two last.
TEST_F(FrameGolden, TheEncoderStillWritesTheSameBytes) {
  const std::vector<Bytes> fresh = encoded();
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(fresh[i], frames_[i]) << i;
}

}  // namespace
}  // namespace corral::codec
