#include "server/api/log_lines.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "core/text.h"

namespace corral::server::api {
namespace {

using codec::LogStream;
using store::page::PerStream;

store::LogChunk chunk(std::int64_t row, LogStream stream, std::int64_t offset, std::string bytes) {
  return {.row = row,
          .stream = stream,
          .offset = offset,
          .time = utc_time(row),
          .bytes = std::move(bytes)};
}
std::string text_of(const LogMatch& match) {
  return fmt::format("{}@{} '{}' {}+{}", match.stream == LogStream::kStdout ? "out" : "err",
                     match.offset, match.line, match.column, match.length);
}
std::vector<std::string> search(const LogPattern& pattern,
                                const std::vector<store::LogChunk>& chunks,
                                std::size_t limit = 1000) {
  const auto compiled = compile(pattern);
  EXPECT_TRUE(compiled) << compiled.error().message;
  LogSearch search(**compiled, PerStream(), limit);
  bool more = true;
  for (const auto& one : chunks) more = more && search.add(one);
  if (more) search.finish();
  std::vector<std::string> texts;
  for (const LogMatch& match : search.matches()) texts.push_back(text_of(match));
  return texts;
}
using Texts = std::vector<std::string>;

TEST(LogLines, LinesSpanChunksWhileAnotherStreamWrites) {
  const std::vector chunks = {
      chunk(5, LogStream::kStdout, 0, "first\nlo"), chunk(6, LogStream::kStderr, 0, "no los"),
      chunk(7, LogStream::kStdout, 8, "ss 0."), chunk(8, LogStream::kStderr, 6, "s\n"),
      chunk(9, LogStream::kStdout, 13, "5\r\nlast loss")};
  EXPECT_EQ(search({.text = "loss"}, chunks),
            (Texts{"err@0 'no loss' 3+4", "out@6 'loss 0.5' 0+4", "out@16 'last loss' 5+4"}));
  const auto pattern = compile({.text = "loss 0"});
  LogSearch one(**pattern, PerStream(), 10);
  for (const auto& each : chunks) one.add(each);
  ASSERT_EQ(one.matches().size(), 1U);
  EXPECT_EQ(one.matches()[0].row, 4) << "the place before the chunk in which the line begins";
  EXPECT_EQ(one.matches()[0].time, utc_time(5));
}

TEST(LogLines, TextIsTextAndCaseIsAsAsked) {
  const std::vector chunks = {chunk(1, LogStream::kStdout, 0, "a.b\nA.B\naxb\n\xC3\x84 x\n")};
  EXPECT_EQ(search({.text = "a.b"}, chunks).size(), 2U);
  EXPECT_EQ(search({.text = "a.b", .case_sensitive = true}, chunks).size(), 1U);
  EXPECT_EQ(search({.text = "a.b", .regex = true}, chunks).size(), 3U);
  EXPECT_EQ(search({.text = "^a.b$", .regex = true, .case_sensitive = true}, chunks).size(), 2U);
  EXPECT_EQ(search({.text = "\xC3\xA4"}, chunks), (Texts{"out@12 '\xC3\x84 x' 0+1"}));
}

TEST(LogLines, ColumnsCountAsJavaScriptDoes) {
  const std::vector chunks = {
      chunk(1, LogStream::kStdout, 0, "\xF0\x9F\x98\x80\xC3\xA4\xFF here\n")};
  EXPECT_EQ(search({.text = "here"}, chunks),
            (Texts{"out@0 '\xF0\x9F\x98\x80\xC3\xA4\xEF\xBF\xBD here' 5+4"}));
}

TEST(LogLines, OfALongLineWhatIsAroundTheMatchIsGiven) {
  const std::string line = std::string(5000, 'x') + "needle" + std::string(5000, 'y');
  const auto pattern = compile({.text = "needle"});
  LogSearch found(**pattern, PerStream(), 10);
  found.add(chunk(1, LogStream::kStdout, 0, line + "\n"));
  ASSERT_EQ(found.matches().size(), 1U);
  const LogMatch& match = found.matches()[0];
  EXPECT_EQ(match.line.size(), kMostExcerpt);
  EXPECT_EQ(match.line.substr(match.column, match.length), "needle");
  EXPECT_EQ(match.offset + static_cast<std::int64_t>(match.column), 5000);
}

TEST(LogLines, EndlessLinesAreSearchedInPiecesAndMatchesFoundOnce) {
  // One match in the first piece, one over the border, one in what both pieces have.
  std::string line(200'000, 'x');
  const std::vector<std::size_t> places = {100, kMostLine - 3, 190'000};
  for (const std::size_t place : places) line.replace(place, 6, "needle");
  std::vector<store::LogChunk> chunks;
  for (std::size_t at = 0; at < line.size(); at += 1000) {
    chunks.push_back(chunk(static_cast<std::int64_t>(at + 1), LogStream::kStdout,
                           static_cast<std::int64_t>(at), line.substr(at, 1000)));
  }
  const auto pattern = compile({.text = "needle"});
  LogSearch found(**pattern, PerStream(), 10);
  for (const auto& each : chunks) EXPECT_TRUE(found.add(each));
  found.finish();
  std::vector<std::size_t> at;
  for (const LogMatch& match : found.matches())
    at.push_back(static_cast<std::size_t>(match.offset) + match.column);
  EXPECT_EQ(at, places);
  // In the overlap: a single match although both pieces hold it.
  std::string other(100'000, 'x');
  other.replace(kMostLine - 1000, 6, "needle");
  EXPECT_EQ(search({.text = "needle"}, {chunk(1, LogStream::kStdout, 0, other.substr(0, 65536)),
                                        chunk(2, LogStream::kStdout, 65536, other.substr(65536))})
                .size(),
            1U);
}

TEST(LogLines, AfterAGapALineBegins) {
  EXPECT_EQ(search({.text = "ab"}, {chunk(1, LogStream::kStdout, 0, "x a"),
                                    chunk(2, LogStream::kStdout, 100, "b\nab")}),
            (Texts{"out@102 'ab' 0+2"}));
}

TEST(LogLines, PatternsOfAnySizeStayLinear) {
  EXPECT_EQ(compile({.text = "(", .regex = true}).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(compile({.text = "("}));
  EXPECT_EQ(compile({.text = "((x{1,1000}){1,1000}){1,1000}", .regex = true}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(compile({.text = "(a)\\1", .regex = true}).error().code, Code::kInvalidArgument);
  // Other engines take 2^30000 steps here.
  const std::string line(30'000, 'a');
  EXPECT_TRUE(
      search({.text = "(a*)*(a*)*b", .regex = true}, {chunk(1, LogStream::kStdout, 0, line)})
          .empty());
}

// Wherever the bytes are cut into chunks and answers, the matches are those of the lines.
RC_GTEST_PROP(LogLines, CutsChangeNothing, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '\n', '\r'));
  const std::size_t limit = *rc::gen::inRange<std::size_t>(1, 4);
  std::vector<store::LogChunk> chunks;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = std::min(text.size() - at, *rc::gen::inRange<std::size_t>(1, 5));
    chunks.push_back(chunk(static_cast<std::int64_t>(chunks.size() + 1), LogStream::kStdout,
                           static_cast<std::int64_t>(at), text.substr(at, length)));
    at += length;
  }
  std::vector<std::int64_t> expected;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    if (text.substr(begin, end - begin).find("ab") != std::string::npos)
      expected.push_back(static_cast<std::int64_t>(begin));
    begin = end + 1;
  }
  const auto pattern = compile({.text = "ab"});
  std::vector<std::int64_t> got;
  PerStream searched;
  for (bool done = false; !done;) {
    LogSearch search(**pattern, searched, limit);
    done = true;
    for (const auto& one : chunks) {
      if (one.offset + static_cast<std::int64_t>(one.bytes.size()) <= searched[LogStream::kStdout])
        continue;
      done = done && search.add(one);
    }
    if (done) search.finish();
    for (const LogMatch& match : search.matches()) got.push_back(match.offset);
    searched = search.searched();
  }
  RC_ASSERT(got == expected);
}

}  // namespace
}  // namespace corral::server::api
