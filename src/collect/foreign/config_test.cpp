#include "collect/foreign/config.h"

#include <gtest/gtest.h>

namespace corral::collect::foreign {
namespace {

template <class Source>
std::string wrong(const Source& source) {
  const auto good = check(source);
  return good ? "" : good.error().message;
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(SourceConfig, ExecNeedsOneCommand) {
  ExecSource source;
  EXPECT_EQ(wrong(source), "command: is missing");
  source.command = "echo x 1";
  EXPECT_EQ(wrong(source), "");
  source.argv = {"echo"};
  EXPECT_EQ(wrong(source), "command: is given twice, as text and as a list");
  source.command.clear();
  source.interval = Nanos(1);
  EXPECT_EQ(wrong(source), "interval: must be from 10 ms to 1 h");
  source.interval = kNoDuration;
  source.max_points_per_s = 0;
  EXPECT_EQ(wrong(source), "max-points-per-s: must be at least 1");
}

TEST(SourceConfig, PrometheusNeedsAnAddress) {
  PrometheusSource source;
  for (const char* url : {"", "localhost:9400", "ftp://x/", "http://", "http:///x", "http://a b"}) {
    source.url = url;
    EXPECT_TRUE(has(wrong(source), "is not an address of an endpoint")) << url;
  }
  source.url = "http://127.0.0.1:9400/metrics";
  EXPECT_EQ(wrong(source), "");
  source.keep = {"DCGM_(.*"};
  EXPECT_TRUE(has(wrong(source), "keep: 'DCGM_(.*' is not a regular expression")) << wrong(source);
}

TEST(SourceConfig, RegexNeedsNamedGroups) {
  RegexSource source;
  EXPECT_EQ(wrong(source), "pattern: is missing");
  for (const char* bad :
       {"loss=(.*)", "(?P<step>.)", "(?P<metric>.)", "(?P<value>.)", "(", "(?<a"}) {
    source.pattern = bad;
    EXPECT_TRUE(wrong(source).starts_with("pattern: ")) << bad;
  }
  for (const char* good : {"(?P<loss>.)", "(?<loss>.)", "(?P<metric>.)=(?P<value>.)"}) {
    source.pattern = good;
    EXPECT_EQ(wrong(source), "") << good;
  }
}

TEST(SourceConfig, StatsdListensOnTheLoopbackOnly) {
  StatsdSource source;
  for (const char* bad : {"", "0.0.0.0:8125", "example.org:8125", "192.168.0.1:1", "unix:here",
                          "[::]:8125", "127.0.0.1"}) {
    source.listen = bad;
    EXPECT_TRUE(wrong(source).starts_with("listen: ")) << bad;
  }
  for (const char* good : {":8125", "127.0.0.1:0", "localhost:1", "[::1]:8125", "udp:127.0.0.1:1",
                           "unix:/tmp/x.sock"}) {
    source.listen = good;
    EXPECT_EQ(wrong(source), "") << good;
  }
}

TEST(SourceConfig, NamesAreUsedOnceAndMessagesNameTheSection) {
  Sources sources;
  ExecSource exec;
  exec.name = "power";
  exec.command = "true";
  sources.exec = {exec};
  EXPECT_EQ(wrong(sources), "");
  sources.exec.push_back(exec);
  EXPECT_EQ(wrong(sources), "exec.power: is given twice");
  sources.exec[1].name = "other";
  sources.exec[1].command = " ";
  EXPECT_EQ(wrong(sources), "exec.other: command: is missing");
}

TEST(SourceConfig, WordsAreReadOrNamed) {
  EXPECT_EQ(parse_format("csv").value(), Format::kCsv);
  EXPECT_EQ(parse_stream("err").value(), Stream::kErr);
  EXPECT_TRUE(has(parse_format("xml").error().message, "auto, plain, json or csv"));
  EXPECT_TRUE(has(parse_stream("stdout").error().message, "out, err or both"));
}

}  // namespace
}  // namespace corral::collect::foreign
