#include "imports/event_file.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <vector>

#include "codec/protobuf.h"
#include "core/test_paths.h"
#include "imports/test_event_file.h"
#include "sys/file.h"

namespace corral::imports {
namespace {

using codec::ProtoWriter;

// All records of bytes that come in pieces; the error's message comes last.
std::vector<std::string> records_of(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> found;
  RecordReader reader;
  for (std::size_t at = 0; at <= bytes.size(); at += piece) {
    reader.add(bytes.substr(at, piece));
    for (;;) {
      const auto next = reader.next();
      if (!next) {
        found.push_back(next.error().message);
        return found;
      }
      if (!*next) break;
      found.emplace_back(**next);
    }
  }
  return found;
}

TEST(RecordReader, ReadsPiecesOfAnySize) {
  const std::string bytes = record("one") + record("") + record(std::string(70'000, 'x'));
  for (const std::size_t piece : {1UL, 7UL, 1000UL, 100'000UL}) {
    const auto found = records_of(bytes, piece);
    ASSERT_EQ(found.size(), 3U) << piece;
    EXPECT_EQ(found[0], "one");
    EXPECT_EQ(found[1], "");
    EXPECT_EQ(found[2].size(), 70'000U);
  }
}

TEST(RecordReader, ACutAnywhereLosesTheLastRecordOnly) {
  const std::string first = record("first");
  const std::string bytes = first + record("second");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    RecordReader reader;
    reader.add(std::string_view(bytes).substr(0, cut));
    std::size_t found = 0;
    for (;;) {
      const auto next = reader.next();
      ASSERT_TRUE(next) << cut;
      if (!*next) break;
      ++found;
    }
    EXPECT_EQ(found, cut == bytes.size() ? 2U : cut >= first.size() ? 1U : 0U) << cut;
    EXPECT_EQ(reader.incomplete(), cut != 0 && cut != first.size() && cut != bytes.size()) << cut;
    reader.add(std::string_view(bytes).substr(cut));
    while (reader.next().value()) ++found;
    EXPECT_EQ(found, 2U) << cut;
  }
}

TEST(RecordReader, AnyChangedByteIsFound) {
  const std::string first = record("first");
  const std::string bytes = first + record("second");
  for (std::size_t at = first.size(); at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    const auto found = records_of(changed, 1000);
    ASSERT_EQ(found.size(), 2U) << at;
    EXPECT_EQ(found[0], "first");
    EXPECT_TRUE(found[1].starts_with("the record at byte 21 is damaged: ")) << found[1];
  }
}

TEST(RecordReader, LongRecordsArePassedOver) {
  const std::string length = number(RecordReader::kMostBytes + 1, 8);
  RecordReader reader;
  reader.add(length + crc_of(length));
  ASSERT_TRUE(reader.next());
  std::uint64_t left = RecordReader::kMostBytes + 1 + 4;
  const std::string piece(1 << 20, 'x');
  while (left > 0) {
    const auto now = std::min<std::uint64_t>(left, piece.size());
    reader.add(std::string_view(piece).substr(0, now));
    left -= now;
  }
  EXPECT_FALSE(reader.incomplete());
  reader.add(record("after"));
  EXPECT_EQ(*reader.next().value(), "after");
  EXPECT_EQ(reader.too_long(), 1U);
}

TEST(RecordReader, AnImpossibleLengthIsDamage) {
  const std::string length = number(~std::uint64_t{0}, 8);
  RecordReader reader;
  reader.add(length + crc_of(length));
  EXPECT_EQ(reader.next().error().message,
            "the record at byte 0 is damaged: its length is impossible");
}

// ---- events
struct Kept final : EventHandler {
  std::vector<std::string> lines;
  Result<> scalar(std::string_view tag, const EventTime& time, double value) override {
    lines.push_back(fmt::format("{} {} {} {}", tag, time.step, time.wall_time, value));
    return {};
  }
  Result<> text(std::string_view tag, const EventTime& time, std::string_view text) override {
    lines.push_back(fmt::format("{} {} text {}", tag, time.step, text));
    return {};
  }
  Result<> hparam(std::string_view name, std::string_view value) override {
    lines.push_back(fmt::format("{}={}", name, value));
    return {};
  }
  Result<> medium(std::string_view name, const EventTime& time,
                  const EventMedium& medium) override {
    lines.push_back(
        fmt::format("{} {} .{} {}", name, time.step, medium.ending, medium.content.substr(0, 90)));
    return {};
  }
  void leave_out(std::string_view what) override { lines.push_back(fmt::format("-{}", what)); }
};

ProtoWriter event_of(const ProtoWriter& value) {
  ProtoWriter event;
  event.real(1, 1.5).number(2, 7).message(5, ProtoWriter().message(1, value));
  return event;
}
ProtoWriter metadata(std::string_view plugin, std::string_view content = "") {
  return ProtoWriter().message(1, ProtoWriter().bytes(1, plugin).bytes(2, content));
}
std::vector<std::string> lines_of(const std::vector<ProtoWriter>& events) {
  EventReader reader;
  Kept kept;
  for (const ProtoWriter& event : events) EXPECT_TRUE(reader.read(event.text(), kept));
  return kept.lines;
}
// A scalar of plugin "scalars" in a tensor.
std::vector<std::string> tensor_lines(const ProtoWriter& tensor) {
  ProtoWriter value;
  value.bytes(1, "t").message(8, tensor).message(9, metadata("scalars"));
  return lines_of({event_of(value)});
}
using Lines = std::vector<std::string>;

TEST(EventReader, TensorsOfEveryNumberType) {
  const auto content = [](std::uint64_t type, std::string_view bytes) {
    return ProtoWriter().number(1, type).bytes(4, bytes);
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(tensor_lines(content(1, "\0\0\x20\xc0"sv)), Lines{"t 7 1.5 -2.5"});
  EXPECT_EQ(tensor_lines(content(2, number(std::bit_cast<std::uint64_t>(0.1), 8))),
            Lines{"t 7 1.5 0.1"});
  EXPECT_EQ(tensor_lines(content(3, "\xfe\xff\xff\xff"sv)), Lines{"t 7 1.5 -2"});
  EXPECT_EQ(tensor_lines(content(4, "\xfe"sv)), Lines{"t 7 1.5 254"});
  EXPECT_EQ(tensor_lines(content(6, "\xfe"sv)), Lines{"t 7 1.5 -2"});
  EXPECT_EQ(tensor_lines(content(9, number(~std::uint64_t{0}, 8))), Lines{"t 7 1.5 -1"});
  EXPECT_EQ(tensor_lines(content(14, "\x20\xc0"sv)), Lines{"t 7 1.5 -2.5"});
  EXPECT_EQ(tensor_lines(content(19, "\x00\xc1"sv)), Lines{"t 7 1.5 -2.5"});
  EXPECT_EQ(tensor_lines(content(19, "\x01\x00"sv)), Lines{"t 7 1.5 5.960464477539063e-08"});
  EXPECT_EQ(tensor_lines(content(19, "\x00\x7c"sv)), Lines{"t 7 1.5 inf"});
  EXPECT_EQ(tensor_lines(content(23, number(~std::uint64_t{0}, 8))),
            Lines{"t 7 1.5 1.8446744073709552e+19"});
  // Sizes that do not fit the type, and types that are no numbers.
  EXPECT_EQ(tensor_lines(content(1, "\0\0\x20"sv)), Lines{"-scalars that are no single number"});
  EXPECT_EQ(tensor_lines(content(8, "\0\0\x20\xc0"sv)),
            Lines{"-scalars that are no single number"});
}

TEST(EventReader, ValuesInFieldsPackedOrNot) {
  const std::uint64_t half = 0xc100;
  EXPECT_EQ(tensor_lines(ProtoWriter().number(1, 19).number(13, half)), Lines{"t 7 1.5 -2.5"});
  EXPECT_EQ(tensor_lines(ProtoWriter().number(1, 19).bytes(13, "\x80\x82\x03")),
            Lines{"t 7 1.5 -2.5"});
  EXPECT_EQ(tensor_lines(ProtoWriter().number(1, 1).bytes(5, std::string("\0\0\x20\xc0", 4))),
            Lines{"t 7 1.5 -2.5"});
  EXPECT_EQ(tensor_lines(ProtoWriter().number(1, 2).real(6, 0.25)), Lines{"t 7 1.5 0.25"});
  EXPECT_EQ(tensor_lines(ProtoWriter().number(1, 9).number(10, ~std::uint64_t{1})),
            Lines{"t 7 1.5 -2"});
  // Two values are no scalar.
  EXPECT_EQ(tensor_lines(ProtoWriter().number(1, 2).real(6, 1).real(6, 2)),
            Lines{"-scalars that are no single number"});
  EXPECT_EQ(tensor_lines(ProtoWriter().number(1, 1).bytes(5, std::string(8, 'x'))),
            Lines{"-scalars that are no single number"});
}

TEST(EventReader, ThePluginIsNamedOnce) {
  const ProtoWriter tensor = ProtoWriter().number(1, 2).real(6, 0.25);
  const ProtoWriter first =
      ProtoWriter().bytes(1, "t").message(8, tensor).message(9, metadata("scalars"));
  const ProtoWriter later = ProtoWriter().bytes(1, "t").message(8, tensor);
  EXPECT_EQ(lines_of({event_of(later), event_of(first), event_of(later)}),
            (Lines{"-tensors", "t 7 1.5 0.25", "t 7 1.5 0.25"}));
}

TEST(EventReader, TextsAndWhatIsLeftOut) {
  const ProtoWriter words = ProtoWriter().number(1, 7).bytes(8, "a").bytes(8, "b");
  EXPECT_EQ(
      lines_of(
          {event_of(ProtoWriter().bytes(1, "w").message(8, words).message(9, metadata("text"))),
           event_of(ProtoWriter().bytes(1, "h").bytes(5, "x")),
           event_of(ProtoWriter().bytes(1, "i").bytes(4, "x")),
           event_of(ProtoWriter().bytes(1, "p").message(8, words).message(9, metadata("mesh"))),
           event_of(ProtoWriter().bytes(1, "e")), ProtoWriter().bytes(4, "graph")}),
      (Lines{"w 7 text a\nb", "-histograms", "-images", "-values of plugin mesh",
             "-values without content", "-graphs"}));
}

const std::string kPng = "\x89PNG\r\n\x1a\n...";
const std::string kWav = "RIFF....WAVE...";

std::string packed(std::initializer_list<double> values) {
  std::string bytes;
  for (const double value : values) bytes += number(std::bit_cast<std::uint64_t>(value), 8);
  return bytes;
}

TEST(EventReader, MediaOfTheFirstVersion) {
  const auto file = [](const std::string& bytes) {
    return ProtoWriter().number(1, 2).bytes(4, bytes);
  };
  ProtoWriter histogram;
  histogram.real(1, -0.5).real(2, 2.5).real(3, 5);
  histogram.bytes(6, packed({-1, 0, 1, 2, 3, 1e308})).bytes(7, packed({0, 2, 0, 2, 1, 0}));
  EXPECT_EQ(lines_of({event_of(ProtoWriter().bytes(1, "i").message(4, file(kPng))),
                      event_of(ProtoWriter().bytes(1, "a").message(6, file(kWav))),
                      event_of(ProtoWriter().bytes(1, "h").message(5, histogram)),
                      event_of(ProtoWriter().bytes(1, "e").message(5, ProtoWriter().real(1, 0))),
                      event_of(ProtoWriter().bytes(1, "s").message(4, file("<svg/>")))}),
            (Lines{"i 7 .png " + kPng, "a 7 .wav " + kWav,
                   R"(h 7 .histogram.json {"edges":[-0.5,0,1,2,2.5],"counts":[2,0,2,1],)"
                   R"("not_finite":0})",
                   R"(e 7 .histogram.json {"edges":[],"counts":[],"not_finite":0})", "-images"}));
}

TEST(EventReader, MediaInTensors) {
  const auto value = [](std::string_view tag, std::string_view plugin, const ProtoWriter& tensor) {
    return event_of(ProtoWriter().bytes(1, tag).message(8, tensor).message(9, metadata(plugin)));
  };
  const auto strings = [](std::initializer_list<std::string> texts) {
    ProtoWriter tensor;
    tensor.number(1, 7);
    for (const std::string& text : texts) tensor.bytes(8, text);
    return tensor;
  };
  const ProtoWriter rows = ProtoWriter().number(1, 2).bytes(4, packed({0, 1, 3, 1, 4, 2}));
  const ProtoWriter gap = ProtoWriter().number(1, 2).bytes(4, packed({0, 1, 3, 2, 4, 2}));
  const ProtoWriter floats =
      ProtoWriter().number(1, 1).bytes(5, std::string("\0\0\0\0\0\0\x80\x3f\0\0\0\x40", 12));
  EXPECT_EQ(lines_of({value("one", "images", strings({"4", "4", kPng})),
                      value("two", "images", strings({"4", "4", kPng, "\xff\xd8\xff"})),
                      value("clip", "audio", strings({kWav, "label"})),
                      value("h", "histograms", rows), value("f", "histograms", floats),
                      value("gap", "histograms", gap), value("none", "images", strings({"4"}))}),
            (Lines{"one 7 .png " + kPng, "two/0 7 .png " + kPng, "two/1 7 .jpg \xff\xd8\xff",
                   "clip 7 .wav " + kWav,
                   R"(h 7 .histogram.json {"edges":[0,1,4],"counts":[3,2],"not_finite":0})",
                   R"(f 7 .histogram.json {"edges":[0,1],"counts":[2],"not_finite":0})",
                   "-histograms", "-images"}));
}

TEST(EventReader, MalformedHistogramsAreLeftOut) {
  const auto left_out = [](const ProtoWriter& histogram) {
    return lines_of({event_of(ProtoWriter().bytes(1, "h").message(5, histogram))}) ==
           Lines{"-histograms"};
  };
  EXPECT_TRUE(left_out(ProtoWriter().bytes(6, packed({1})).bytes(7, packed({1, 2}))));
  EXPECT_TRUE(left_out(ProtoWriter()
                           .real(2, 1)
                           .bytes(6, packed({1}))
                           .bytes(7, packed({-1}))
                           .bytes(6, packed({2}))
                           .bytes(7, packed({2, 3}))));
  EXPECT_TRUE(
      left_out(ProtoWriter().real(1, 3).real(2, 1).bytes(6, packed({1})).bytes(7, packed({1}))));
  EXPECT_TRUE(left_out(ProtoWriter().bytes(6, std::string(8 * 5000, '\0'))));
  EXPECT_TRUE(left_out(ProtoWriter()
                           .real(2, std::numeric_limits<double>::infinity())
                           .bytes(6, packed({1}))
                           .bytes(7, packed({1}))));
}

TEST(EventReader, HparamsOfTheSessionsStart) {
  const auto entry = [](std::string_view name, const ProtoWriter& value) {
    return ProtoWriter().bytes(1, name).message(2, value);
  };
  ProtoWriter start;
  start.message(1, entry("lr", ProtoWriter().real(2, 0.1)));
  start.message(1, entry("layers", ProtoWriter().real(2, 64)));
  start.message(1, entry("opt", ProtoWriter().bytes(3, "sgd")));
  start.message(1, entry("amp", ProtoWriter().number(4, 1)));
  start.message(1, entry("list", ProtoWriter().bytes(6, "")));
  const ProtoWriter data = ProtoWriter().number(1, 0).message(3, start);
  const ProtoWriter value = ProtoWriter()
                                .bytes(1, "_hparams_/session_start_info")
                                .message(9, metadata("hparams", data.text()));
  EXPECT_EQ(lines_of({event_of(value)}), (Lines{"lr=0.1", "layers=64", "opt=sgd", "amp=true",
                                                "-hparams without a simple value"}));
}

TEST(EventReader, MalformedMessagesAreCounted) {
  EventReader reader;
  Kept kept;
  EXPECT_TRUE(reader.read("\x09\x01", kept));
  EXPECT_TRUE(reader.read(event_of(ProtoWriter().bytes(1, "t").bytes(8, "\xff")).text(), kept));
  EXPECT_TRUE(reader.read(ProtoWriter().bytes(5, "\x0a\x7f").text(), kept));
  EXPECT_EQ(kept.lines,
            (Lines{"-records that are no events", "-malformed tensors", "-malformed values"}));
}

// No cut of a real file and no changed byte of a message makes the reader fail or read beyond.
TEST(EventReader, SurvivesEveryCutOfARealFile) {
  const std::string path =
      source_dir() + "/tests/fixtures/imports/tensorboard/exp1/events.out.tfevents.1795794664.vm";
  const std::string bytes = sys::read_file(path).value();
  RecordReader records;
  records.add(bytes);
  std::size_t count = 0;
  while (const auto record = records.next().value()) {
    ++count;
    for (std::size_t cut = 0; cut < std::min<std::size_t>(record->size(), 400); ++cut) {
      EventReader reader;
      Kept kept;
      EXPECT_TRUE(reader.read(std::string(record->substr(0, cut)), kept));
    }
  }
  EXPECT_EQ(count, 104U);
}

}  // namespace
}  // namespace corral::imports
