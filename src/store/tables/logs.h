// Reading a run's output from any place: the chunks after it, before it, the last ones, those from
// a time on.
//
// Free functions over the caller's snapshot. Chunks have the order in which they were stored, which
// within a stream is that of their bytes. A call reads the chunks that it returns and a few other
// rows, however long the output is. Only a search for a time reads the times of chunks one by one,
// at most those of all kept chunks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/records.h"
#include "store/model/transaction.h"

namespace corral::store::page {

inline constexpr std::array kLogStreams = {codec::LogStream::kStdout, codec::LogStream::kStderr,
                                           codec::LogStream::kTty};
// A number for each stream.
class PerStream {
 public:
  std::int64_t& operator[](codec::LogStream stream) { return numbers_.at(place(stream)); }
  std::int64_t operator[](codec::LogStream stream) const { return numbers_.at(place(stream)); }

 private:
  static std::size_t place(codec::LogStream stream) { return static_cast<std::size_t>(stream) - 1; }
  std::array<std::int64_t, kLogStreams.size()> numbers_{};
};

// Between two chunks, or before or after all of them.
struct LogPlace {
  std::int64_t row = 0;  // row of the chunk before it
  PerStream ends;        // offset of each stream there
};

struct LogPageQuery {
  enum class Which : std::uint8_t { kAfter, kBefore, kLast, kFromTime };
  RunId run;
  std::int64_t member = 0;  // number of the supervisor that recorded it (members.h)
  std::optional<codec::LogStream> stream;
  Which which = Which::kAfter;
  std::int64_t row = 0;  // kAfter: that is left out; kBefore: the last one that counts
  UtcTime time;          // kFromTime: from the first chunk that is not older
  std::size_t limit = 256;
};
struct LogPage {
  std::vector<LogChunk> chunks;  // ascending
  std::int64_t row = 0;          // row of the place before the first of them
};
Result<LogPage> log_page(Reading& reading, const LogPageQuery& query);

// The place after the row, in the output of a member.
Result<LogPlace> log_place(Reading& reading, RunId run, std::int64_t member, std::int64_t row);

// Chunks of a stream, up to `row`, that hold bytes from the offset on; ascending.
struct LogBytesQuery {
  RunId run;
  std::int64_t member = 0;
  codec::LogStream stream = codec::LogStream::kStdout;
  std::int64_t offset = 0;
  std::int64_t row = 0;
};
Result<std::vector<LogChunk>> log_bytes(Reading& reading, const LogBytesQuery& query);

}  // namespace corral::store::page
