// The envelope of frames: header, checksum, compression, limits; and bundles.
#include "codec/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zstd.h>

#include "codec/test_frames.h"
#include "core/limits.h"

namespace corral::codec {
namespace {

using testing::header_of;
using testing::reseal;

constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kKindAt = 5;
constexpr std::size_t kFlagsAt = 6;
constexpr std::size_t kStoredAt = 8;
constexpr std::size_t kBodyAt = 12;
constexpr std::size_t kFirstAt = 32;

template <class T>
void put(Bytes& frame, std::size_t at, T value) {
  std::memcpy(frame.data() + at, &value, sizeof value);
}
Code code_of(ByteView bytes) {
  const auto frame = decode_frame(bytes);
  return frame ? Code::kInternal : frame.error().code;
}
Bytes small_frame() {
  return encode(header_of(5, 9), FactsBody{{{FactKind::kParam, "lr", "0.1"}}});
}
// Long enough to be compressed.
Bytes large_frame() {
  return encode(header_of(), LogBody{.time = boot_time(7),
                                     .stream = LogStream::kStderr,
                                     .offset = 0,
                                     .bytes = std::string(2000, 'x')});
}

// A frame around bytes that are the compressed body, or claim to be.
Bytes compressed_frame(const Bytes& stored, std::uint32_t body_bytes) {
  Bytes frame = small_frame();
  frame.resize(kFrameHeaderBytes);
  put(frame, kFlagsAt, std::uint8_t{1});
  put(frame, kStoredAt, static_cast<std::uint32_t>(stored.size()));
  put(frame, kBodyAt, body_bytes);
  frame.insert(frame.end(), stored.begin(), stored.end());
  reseal(frame);
  return frame;
}
Bytes zstd(std::size_t size) {
  const Bytes zeros(size);
  Bytes out(ZSTD_compressBound(size));
  out.resize(ZSTD_compress(out.data(), out.size(), zeros.data(), size, 1));
  return out;
}

TEST(Frame, HeaderSaysWhatItCarries) {
  const Bytes bytes = small_frame();
  const auto frame = decode_frame(bytes);
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->header.kind, FrameKind::kFacts);
  EXPECT_EQ(frame->header.session, header_of().session);
  EXPECT_EQ(frame->header.first, 5u);
  EXPECT_EQ(frame->header.last, 9u);
  EXPECT_EQ(frame->raw.data(), bytes.data());
  EXPECT_EQ(frame->raw.size(), bytes.size());
  EXPECT_EQ(frame_length(bytes).value(), bytes.size());
}

TEST(Frame, LargeBodiesAreCompressedAndComeBack) {
  const Bytes bytes = large_frame();
  EXPECT_LT(bytes.size(), 200u);
  EXPECT_EQ(decode_log(decode_frame(bytes).value()).value().bytes, std::string(2000, 'x'));
}

TEST(Frame, EveryTruncationIsAnError) {
  for (const Bytes& bytes : {small_frame(), large_frame()}) {
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      EXPECT_EQ(code_of(ByteView(bytes).first(n)), Code::kInvalidArgument) << n;
      EXPECT_EQ(frame_length(ByteView(bytes).first(n)).value(), 0u) << n;
    }
  }
}

TEST(Frame, EveryFlippedBitIsAnError) {
  for (const Bytes& good : {small_frame(), large_frame()}) {
    Bytes bytes = good;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ 1u << bit % 8);
      EXPECT_FALSE(decode_frame(bytes)) << "byte " << bit / 8 << " bit " << bit % 8;
      bytes[bit / 8] = good[bit / 8];
    }
    EXPECT_EQ(code_of(bytes), Code::kInternal);  // good again
  }
}

TEST(Frame, BytesAfterItAreNotItsBusiness) {
  Bytes bytes = small_frame();
  const std::size_t length = bytes.size();
  const Bytes second = large_frame();
  bytes.insert(bytes.end(), second.begin(), second.end());
  EXPECT_EQ(frame_length(bytes).value(), length);
  EXPECT_EQ(decode_frame(bytes).value().raw.size(), length);
}

TEST(Frame, ANewerVersionIsNamedAsSuch) {
  Bytes bytes = small_frame();
  put(bytes, kVersionAt, std::uint8_t{2});
  reseal(bytes);
  EXPECT_EQ(code_of(bytes), Code::kUnsupported);
  EXPECT_EQ(frame_length(bytes).error().code, Code::kUnsupported);
}

TEST(Frame, AHeaderThatNoEncoderWritesIsRefused) {
  const auto with = [](std::size_t at, auto value) {
    Bytes bytes = small_frame();
    put(bytes, at, value);
    reseal(bytes);
    return code_of(bytes);
  };
  EXPECT_EQ(with(0, 'X'), Code::kInvalidArgument);
  EXPECT_EQ(with(kVersionAt, std::uint8_t{0}), Code::kInvalidArgument);
  EXPECT_EQ(with(kKindAt, std::uint8_t{0}), Code::kInvalidArgument);
  EXPECT_EQ(with(kKindAt, std::uint8_t{11}), Code::kInvalidArgument);
  EXPECT_EQ(with(kFlagsAt, std::uint8_t{2}), Code::kInvalidArgument);
  EXPECT_EQ(with(kFirstAt, std::uint64_t{0}), Code::kInvalidArgument);
  EXPECT_EQ(with(kFirstAt, std::uint64_t{10}), Code::kInvalidArgument);  // after the last
  EXPECT_EQ(with(kBodyAt, std::uint32_t{3}), Code::kInvalidArgument);    // the two lengths differ
  EXPECT_EQ(with(kStoredAt, std::uint32_t{limits::kFrameBytes + 1}), Code::kTooLarge);
  EXPECT_EQ(with(kBodyAt, std::uint32_t{limits::kFrameBytes + 1}), Code::kTooLarge);
}

TEST(Frame, TheLargestBodyIsTaken) {
  FactsBody body;
  for (std::size_t bytes = 4; bytes + 5000 < limits::kFrameBytes; bytes += 7 + 1 + 4000)
    body.facts.push_back({FactKind::kTag, "k", std::string(4000, 'v')});
  const auto frame = decode_frame(encode(header_of(), body));
  ASSERT_TRUE(frame);
  EXPECT_EQ(decode_facts(*frame).value().facts, body.facts);
}

TEST(Frame, ABombOfCompressionDoesNotGoOff) {
  const Bytes bomb = zstd(64u << 20);
  ASSERT_LT(bomb.size(), limits::kFrameBytes);
  EXPECT_EQ(code_of(compressed_frame(bomb, 100)), Code::kCorruption);
  EXPECT_EQ(code_of(compressed_frame(bomb, limits::kFrameBytes)), Code::kCorruption);
  EXPECT_EQ(code_of(compressed_frame(zstd(100), 101)),
            Code::kCorruption);  // promises more than it has
  EXPECT_EQ(code_of(compressed_frame({1, 2, 3}, 100)), Code::kCorruption);
  EXPECT_EQ(code_of(compressed_frame({}, 0)),
            Code::kInternal);  // nothing is something that zstd can say
}

// ---- bundles
TEST(Bundle, IsEmptyWithoutBodies) {
  Bundle bundle;
  bundle.add(SchemaBody{});
  bundle.add(SamplesBody{});
  bundle.add(PhasesBody{});
  bundle.add(FactsBody{});
  bundle.add(EventsBody{});
  EXPECT_TRUE(bundle.empty());
  EXPECT_EQ(bundle.size(), 0u);
}

TEST(Bundle, OtherFramesAreTheirOnlySection) {
  const Bytes bytes = small_frame();
  const auto parts = sections(decode_frame(bytes).value()).value();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].header.kind, FrameKind::kFacts);
  EXPECT_EQ(parts[0].raw.size(), bytes.size());
}

RC_GTEST_PROP(BundleProperty, SectionsComeBackInTheirOrderWithTheBundlesNumbers, ()) {
  const SchemaBody schema = testing::any_schema();
  const SamplesBody samples = testing::any_samples();
  const PhasesBody phases = testing::any_phases();
  const FactsBody facts = testing::any_facts();
  const EventsBody events = testing::any_events();
  Bundle bundle;
  bundle.add(schema);
  bundle.add(facts);
  bundle.add(events);
  bundle.add(phases);
  bundle.add(samples);
  const Bytes bytes = bundle.finish(header_of(3, 77));
  auto parts = sections(decode_frame(bytes).value());
  RC_ASSERT(parts.has_value());
  std::size_t at = 0;
  const auto next = [&](FrameKind kind, bool there) -> const Frame* {
    if (!there) return nullptr;
    RC_ASSERT(at < parts->size());
    const Frame& part = (*parts)[at++];
    RC_ASSERT(part.header.kind == kind);
    RC_ASSERT(part.header.first == 3u && part.header.last == 77u &&
              part.header.session == header_of().session);
    return &part;
  };
  if (const Frame* f = next(FrameKind::kSchema, !schema.series.empty()))
    RC_ASSERT(decode_schema(*f).value().series == schema.series);
  if (const Frame* f = next(FrameKind::kFacts, !facts.facts.empty()))
    RC_ASSERT(decode_facts(*f).value().facts == facts.facts);
  if (const Frame* f = next(FrameKind::kEvents, !events.events.empty()))
    RC_ASSERT(decode_events(*f).value().events == events.events);
  if (const Frame* f = next(FrameKind::kPhases, !phases.phases.empty()))
    RC_ASSERT(decode_phases(*f).value().phases == phases.phases);
  if (const Frame* f = next(FrameKind::kSamples, !samples.groups.empty()))
    RC_ASSERT(testing::same(decode_samples(*f).value(), samples));
  RC_ASSERT(at == parts->size());
}

Frame bundle_of(Bytes body) {
  Frame frame{.header = header_of(), .body = std::move(body), .raw = {}};
  frame.header.kind = FrameKind::kBundle;
  return frame;
}

TEST(Bundle, HoldsNothingButKindsTwoToSix) {
  for (const int kind : {1, 7, 8, 9, 10, 11, 0}) {
    const Bytes body = {1, 0, static_cast<std::uint8_t>(kind), 0, 0, 0, 0};
    const auto parts = sections(bundle_of(body));
    ASSERT_FALSE(parts) << kind;
    EXPECT_EQ(parts.error().code, Code::kInvalidArgument);
  }
  const auto cut = sections(bundle_of({1, 0, 5, 9, 0, 0, 0}));
  EXPECT_FALSE(cut);
  const auto left_over = sections(bundle_of({0, 0, 5}));
  EXPECT_FALSE(left_over);
}

}  // namespace
}  // namespace corral::codec
