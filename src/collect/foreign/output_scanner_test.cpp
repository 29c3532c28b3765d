#include "collect/foreign/output_scanner.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "collect/foreign/test_sources.h"

namespace corral::collect::foreign {
namespace {

constexpr BootTime kNow = boot_time(5'000'000'000);

struct Scan {
  explicit Scan(const std::vector<RegexSource>& sources) {
    std::vector<std::unique_ptr<OutputPattern>> patterns;
    for (const RegexSource& source : sources)
      patterns.push_back(OutputPattern::create(source, queue, problems).value());
    scanner.emplace(std::move(patterns));
  }
  Scan& out(std::string_view text) {
    scanner->feed(Stream::kOut, text, kNow);
    return *this;
  }
  Scan& err(std::string_view text) {
    scanner->feed(Stream::kErr, text, kNow);
    return *this;
  }
  PointQueue queue;
  ProblemBox problems;
  std::optional<OutputScanner> scanner;
  Collected got{queue};
};

RegexSource pattern(std::string text, Stream stream = Stream::kBoth) {
  RegexSource source;
  source.name = "train";
  source.pattern = std::move(text);
  source.stream = stream;
  return source;
}
using Doubles = std::vector<double>;

TEST(OutputScanner, NamedGroupsAreMetricsAndStepIsTheirStep) {
  Scan scan({pattern(R"(step (?P<step>\d+)/\d+ loss=(?P<loss>\S+)( acc=(?P<acc>\S+))?)")});
  scan.out("Loading data\nstep 1/10 loss=2.5\nstep 2/10 loss=nan acc=0.5\n");
  ASSERT_EQ(scan.got.values("loss").size(), 2u);
  EXPECT_EQ(scan.got.points("loss")[0].value, 2.5);
  EXPECT_EQ(scan.got.points("loss")[0].step, 1);
  EXPECT_EQ(scan.got.points("loss")[0].time, kNow);
  EXPECT_TRUE(std::isnan(scan.got.points("loss")[1].value));
  EXPECT_EQ(scan.got.points("acc").at(0).step, 2);
  EXPECT_EQ(scan.got.names(), (std::vector<std::string>{"loss", "acc"}));
}

TEST(OutputScanner, AGroupMayNameTheMetric) {
  RegexSource source = pattern(R"((?<metric>\w+): (?<value>[-0-9.e]+)\s?(?<unit>\w*))");
  source.prefix = "train/";
  Scan scan({source});
  scan.out("throughput: 812.5 img\nlr: 1e-3\n");
  EXPECT_EQ(scan.got.values("train/throughput"), Doubles{812.5});
  EXPECT_EQ(scan.got.series("train/throughput")->unit, "img");
  EXPECT_EQ(scan.got.values("train/lr"), Doubles{1e-3});
}

// tqdm: states of one bar, separated by carriage returns, in pieces, with colours.
TEST(OutputScanner, ProgressBarsAndColours) {
  Scan scan({pattern(R"((?P<step>\d+)/100 .*?, +(?P<speed>[\d.]+)it/s, loss=(?P<loss>[\d.]+))")});
  scan.err("\r  1%|\xE2\x96\x8F| 1/100 [00:00<00:09, 10.5it/s, lo")
      .err("ss=0.9]\r  2%|\xE2\x96\x8F| 2/100 [00:00<00:09, 11it/s, loss=\x1b[32m0.8\x1b[0m]\r")
      .err("  3%| 3/100 [00:00<00:09, 12it/s, loss=0.7]");
  EXPECT_EQ(scan.got.values("loss"), (Doubles{0.9, 0.8}));
  scan.scanner->finish(kNow);
  EXPECT_EQ(scan.got.values("loss"), (Doubles{0.9, 0.8, 0.7}));
  EXPECT_EQ(scan.got.values("speed"), (Doubles{10.5, 11, 12}));
  EXPECT_EQ(scan.got.points("speed")[2].step, 3);
}

TEST(OutputScanner, StreamsAreKeptApart) {
  Scan scan({pattern("o=(?P<o>.+)", Stream::kOut), pattern("e=(?P<e>.+)", Stream::kErr)});
  scan.out("o=").err("e=1\n").out("2\n").err("o=3\n").out("e=4\n");
  EXPECT_EQ(scan.got.values("o"), Doubles{2});
  EXPECT_EQ(scan.got.values("e"), Doubles{1});
}

TEST(OutputScanner, AtATerminalEveryPatternReads) {
  Scan scan({pattern("o=(?P<o>.+)", Stream::kOut), pattern("e=(?P<e>.+)", Stream::kErr)});
  scan.scanner->feed(Stream::kBoth, "o=1\r\ne=2\r\no=3\r\ne=4", kNow);
  scan.scanner->finish(kNow);
  EXPECT_EQ(scan.got.values("o"), (Doubles{1, 3}));
  EXPECT_EQ(scan.got.values("e"), (Doubles{2, 4}));
}

TEST(OutputScanner, UnitsComeFromTheConfigurationOrTheText) {
  RegexSource source = pattern(R"(took (?P<time>[\d.]+ ?\w+))");
  Scan scan({source});
  scan.out("took 12.5 ms\n");
  EXPECT_EQ(scan.got.values("time"), Doubles{12.5});
  EXPECT_EQ(scan.got.series("time")->unit, "ms");
  source.unit = "s";
  Scan other({source});
  other.out("took 3ms\n");
  EXPECT_EQ(other.got.series("time")->unit, "s");
}

TEST(OutputScanner, WhatIsNoNumberIsSaidOnce) {
  Scan scan({pattern("loss=(?P<loss>.*)")});
  scan.out("loss=high\nloss=higher\nloss=1\n");
  EXPECT_EQ(scan.got.values("loss"), Doubles{1});
  const auto problems = scan.problems.take();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].source, "regex.train");
  EXPECT_EQ(problems[0].message, "group 'loss' matches a text that is not a number: high");
}

TEST(OutputScanner, BinaryAndEndlessLinesDoNoHarm) {
  Scan scan({pattern("loss=(?P<loss>[0-9.]+)")});
  scan.out(std::string("\xff\xfe\0\x1b", 4)).out("[9999loss=1\nloss=2\xff\n");
  EXPECT_EQ(scan.got.values("loss"), Doubles{2});
  scan.out("loss=3 " + std::string(1 << 20, 'x') + "loss=4\nloss=5\n");
  EXPECT_EQ(scan.got.values("loss"), (Doubles{2, 3, 5}));
}

RC_GTEST_PROP(OutputScanner, PiecesDoNotMatter, (std::vector<std::uint8_t> cuts)) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "x\x1b[1mloss=" + std::to_string(i) + (i % 3 ? "\n" : "\r");
  Scan whole({pattern("loss=(?P<loss>[0-9.]+)")});
  whole.out(text);
  Scan pieces({pattern("loss=(?P<loss>[0-9.]+)")});
  std::string_view rest = text;
  for (const std::uint8_t cut : cuts) {
    const std::size_t n = std::min<std::size_t>(cut, rest.size());
    pieces.out(rest.substr(0, n));
    rest.remove_prefix(n);
  }
  pieces.out(rest);
  RC_ASSERT(pieces.got.values("loss") == whole.got.values("loss"));
  RC_ASSERT(whole.got.values("loss").size() == 20u);
}

TEST(StripTerminal, TakesSequencesOut) {
  std::string out;
  strip_terminal("\x1b]0;title\aa\x1b[2Kb\x1b[1;31mc\x1b(d\x1b]8;;x\x1b\\e\x1b", out);
  EXPECT_EQ(out, "abcde");
}

}  // namespace
}  // namespace corral::collect::foreign
