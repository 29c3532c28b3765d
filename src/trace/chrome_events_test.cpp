#include "trace/chrome_events.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace corral::trace {
namespace {

struct Seen {
  std::string phase, name, category, process, thread, id, label;
  std::optional<std::int64_t> time_ns, length_ns, device, stream, correlation;
};

struct ReadTrace {
  std::vector<Seen> events;
  Result<ChromeHeader> header;
};

// In pieces of `size` bytes.
ReadTrace read_in_pieces(std::string_view text, std::size_t size) {
  ReadTrace done;
  ChromeEvents events([&](const ChromeEvent& event) {
    done.events.push_back({.phase = std::string(1, event.phase),
                           .name = std::string(event.name),
                           .category = std::string(event.category),
                           .process = std::string(event.process),
                           .thread = std::string(event.thread),
                           .id = std::string(event.id),
                           .label = std::string(event.label),
                           .time_ns = event.time_ns,
                           .length_ns = event.length_ns,
                           .device = event.device,
                           .stream = event.stream,
                           .correlation = event.correlation});
  });
  for (std::size_t at = 0; at < text.size(); at += size) {
    if (auto read = events.read(text.substr(at, size)); !read) {
      done.header = tl::unexpected(read.error());
      return done;
    }
  }
  done.header = events.finish();
  return done;
}

std::string error_of(std::string_view text) {
  const ReadTrace done = read_in_pieces(text, text.size());
  return done.header ? "" : done.header.error().message;
}

TEST(ChromeEvents, MicrosecondsBecomeExactNanoseconds) {
  EXPECT_EQ(parse_micros("0"), 0);
  EXPECT_EQ(parse_micros("12"), 12'000);
  EXPECT_EQ(parse_micros("12.345"), 12'345);
  EXPECT_EQ(parse_micros("12.3454"), 12'345);
  EXPECT_EQ(parse_micros("12.3455"), 12'346);
  EXPECT_EQ(parse_micros("-0.0015"), -2);
  EXPECT_EQ(parse_micros("1.2e3"), 1'200'000);
  EXPECT_EQ(parse_micros("5E-4"), 1);
  EXPECT_EQ(parse_micros("1e-9"), 0);
  // A double would give …456.78…
  EXPECT_EQ(parse_micros("1695315432123456.789"), 1'695'315'432'123'456'789);
  EXPECT_EQ(parse_micros("9223372036854775.807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_micros("0e999"), 0);
  for (const char* bad :
       {"", "-", ".", "abc", "1x", "1e", "1e9999", "9223372036854775.808", "1e30"})
    EXPECT_EQ(parse_micros(bad), std::nullopt) << bad;
}

constexpr std::string_view kTrace = R"( {
  "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a } in \" a string"}],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "k<\"\\u00e9\">", "pid": 0, "tid": 7, "ts": 5.125, "dur": 2.5,
     "args": {"device": 0, "stream": 7, "correlation": 41, "blocks per SM": inf, "grid": [1, 2, 3]}},
    {"ph":"M","name":"thread_name","pid":"CPU","tid":"","ts":0,"args":{"name":"stream 7"}},{},
    {"ph": "b", "id2": {"local": "0x1f"}, "name": "a", "ts": "7", "dur": null}
  ],
  "traceName": "x.json", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1759395792000000123 })";

TEST(ChromeEvents, ReadsEventsAndHeaderInPiecesOfAnySize) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, kTrace.size()}) {
    const ReadTrace done = read_in_pieces(kTrace, size);
    ASSERT_TRUE(done.header) << done.header.error().message;
    EXPECT_TRUE(done.header->kineto && done.header->closed);
    EXPECT_EQ(done.header->base_ns, 1'759'395'792'000'000'123);
    EXPECT_EQ(done.header->rank, 3);
    ASSERT_EQ(done.events.size(), 4U);
    const Seen& kernel = done.events[0];
    EXPECT_EQ(kernel.name, "k<\"\\u00e9\">");
    EXPECT_EQ(kernel.time_ns, 5125);
    EXPECT_EQ(kernel.length_ns, 2500);
    EXPECT_EQ(std::tuple(kernel.device, kernel.stream, kernel.correlation), std::tuple(0, 7, 41));
    EXPECT_EQ(std::tuple(kernel.process, kernel.thread), std::tuple("0", "7"));
    EXPECT_EQ(std::tuple(done.events[1].process, done.events[1].label),
              std::tuple("CPU", "stream 7"));
    EXPECT_EQ(done.events[2].phase, std::string(1, '\0'));
    EXPECT_EQ(std::tuple(done.events[3].id, done.events[3].time_ns), std::tuple("0x1f", 7000));
    EXPECT_EQ(done.events[3].length_ns, std::nullopt);
  }
}

TEST(ChromeEvents, ABareArrayMayLackItsEnd) {
  const ReadTrace whole = read_in_pieces(R"([{"ph":"X"},{"ph":"E"}])", 3);
  EXPECT_EQ(whole.events.size(), 2U);
  EXPECT_TRUE(whole.header && whole.header->closed);
  for (const char* text : {R"([{"ph":"X"})", R"([{"ph":"X"},)", "["}) {
    const ReadTrace cut = read_in_pieces(text, 3);
    EXPECT_TRUE(cut.header && !cut.header->closed) << text;
  }
  EXPECT_TRUE(read_in_pieces("[]", 1).header->closed);
  EXPECT_TRUE(read_in_pieces(R"({"traceEvents":[]})", 1).header);
}

TEST(ChromeEvents, SaysWhereATextIsMalformed) {
  EXPECT_EQ(error_of(R"([{"ph":"X"} {)"), "malformed JSON at byte 12: expected ',' or ']'");
  EXPECT_EQ(error_of(R"([{"ph":"X" "ts":1}])"),
            "malformed JSON at byte 11: in the event that begins at byte 1");
  EXPECT_EQ(error_of(R"({"traceEvents":[{"ph":"X"})"),
            "malformed JSON at byte 26: the text ends too early");
  EXPECT_EQ(error_of(R"([{"ph":"X","na)"), "malformed JSON at byte 14: the text ends too early");
  EXPECT_EQ(error_of(R"({"a":1})"), "no trace: it has no 'traceEvents'");
  EXPECT_EQ(error_of(R"([{}]x)"), "malformed JSON at byte 4: expected the end");
  EXPECT_EQ(error_of(R"([1])"), "malformed JSON at byte 1: expected an event");
  EXPECT_EQ(error_of(R"({"traceEvents":[{},]})"), "malformed JSON at byte 19: expected an event");
  EXPECT_EQ(error_of(R"({"a":})"), "malformed JSON at byte 5: expected a value");
  EXPECT_EQ(error_of("[{\"name\":\"\xff\"}]"),
            "malformed JSON at byte 10: in the event that begins at byte 1");
  EXPECT_EQ(error_of("SQLite format 3"),
            "malformed JSON at byte 0: expected an object or an array");
  EXPECT_EQ(error_of(" "), "malformed JSON at byte 1: the text ends too early");
}

TEST(ChromeEvents, DeepNestingAndHugeTextsAreBounded) {
  const std::string deep(100'000, '[');
  const std::string closed(100'000, ']');
  EXPECT_NE(error_of("[{\"args\":" + deep + closed + "}]"), "crash");
  const std::string text(kMostEventBytes, 'a');
  EXPECT_EQ(error_of("[{\"name\":\"" + text + "\"}]"), "the event at byte 1 is longer than 16 MiB");
  const ReadTrace fits = read_in_pieces("[{\"name\":\"" + text.substr(100) + "\"}]", 1 << 20);
  ASSERT_EQ(fits.events.size(), 1U);
  EXPECT_EQ(fits.events[0].name.size(), kMostEventBytes - 100);
  // Members beside the events may be longer than any.
  EXPECT_EQ(error_of("{\"other\":\"" + text + text + "\",\"traceEvents\":[]}"), "");
}

}  // namespace
}  // namespace corral::trace
