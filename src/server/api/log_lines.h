// Searches the lines of a run's output for a text. The chunks arrive in the order in which they
// were stored.
//
// Lines end with \n or \r (progress bars draw over themselves) and may span chunks, also with
// chunks of another stream in between; a new line begins after a gap. A line longer than kMostLine
// is searched in pieces that overlap by kOverlap, so that its part in memory is bounded; patterns
// are RE2's, whose time is linear in the text. One thread.
#pragma once

#include <re2/re2.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "store/reader.h"
#include "store/tables/logs.h"

namespace corral::server::api {

inline constexpr std::size_t kMostLine = 64u << 10;
inline constexpr std::size_t kOverlap = 4u << 10;
inline constexpr std::size_t kMostExcerpt = 1000;  // bytes of a line that are given

struct LogPattern {
  std::string text;
  bool regex = false;
  bool case_sensitive = false;
};
// kInvalidArgument: no regular expression, or one that needs too much memory.
Result<std::unique_ptr<const RE2>> compile(const LogPattern& pattern);

// The first match in a line.
struct LogMatch {
  codec::LogStream stream = codec::LogStream::kStdout;
  std::int64_t offset = 0;             // byte in the stream where `line` begins
  std::string line;                    // UTF-8; of a long line, the part around the match
  std::size_t column = 0, length = 0;  // the match in `line`, in UTF-16 units
  std::int64_t row = 0;                // row of the place before the chunk where the line begins
  UtcTime time;                        // time of that chunk
};

class LogSearch {
 public:
  // Searches on from `searched`, the end of an earlier search in each stream. `pattern` must
  // outlive the object.
  LogSearch(const RE2& pattern, const store::page::PerStream& searched, std::size_t limit)
      : pattern_(pattern), searched_(searched), limit_(limit) {
    for (const auto stream : store::page::kLogStreams) state(stream).end = searched[stream];
  }

  // Skips bytes of the chunk that were searched before. False: the limit was reached before the end
  // of the chunk, which must be passed again.
  bool add(const store::LogChunk& chunk);
  // Ends the last line of each stream: no more output follows.
  void finish();

  [[nodiscard]] const std::vector<LogMatch>& matches() const { return matches_; }
  // The offset, in each stream, of the first line that was not searched completely.
  [[nodiscard]] const store::page::PerStream& searched() const { return searched_; }

 private:
  struct State {
    std::string line;      // the newest line, as far as it has arrived
    std::size_t seen = 0;  // bytes of `line` already searched with the piece before
    std::int64_t end = 0;  // end of the bytes taken, in the stream
    std::int64_t row = 0;  // row of the place before the chunk where the line begins
    UtcTime time;
  };
  State& state(codec::LogStream stream) { return states_.at(static_cast<std::size_t>(stream) - 1); }
  void end_line(codec::LogStream stream, std::size_t separator);
  void cut_line(codec::LogStream stream);
  void search_line(codec::LogStream stream);
  [[nodiscard]] bool full() const { return matches_.size() >= limit_; }

  const RE2& pattern_;
  store::page::PerStream searched_;
  const std::size_t limit_;
  std::array<State, store::page::kLogStreams.size()> states_;
  std::vector<LogMatch> matches_;
};

}  // namespace corral::server::api
