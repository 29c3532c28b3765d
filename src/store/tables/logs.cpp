#include "store/tables/logs.h"

#include <algorithm>
#include <limits>

#include "core/limits.h"
#include "store/engine/database.h"
#include "store/read/reads.h"

namespace corral::store::page {
namespace {

using sql::Connection;
using sql::Statement;

constexpr std::int64_t kAfterAll = std::numeric_limits<std::int64_t>::max();

std::int64_t first_stream(const LogPageQuery& query) {
  return stored_stream(query.stream.value_or(kLogStreams.front()), query.member);
}
std::int64_t last_stream(const LogPageQuery& query) {
  return stored_stream(query.stream.value_or(kLogStreams.back()), query.member);
}

Result<std::vector<LogChunk>> chunks_after(Connection& db, std::int64_t run,
                                           const LogPageQuery& query) {
  return sql::read_chunks(
      db.query(std::string(sql::kLogColumns) +
                   "?1 AND id > ?2 AND stream BETWEEN ?3 AND ?4 ORDER BY id LIMIT ?5",
               run, query.row, first_stream(query), last_stream(query), query.limit));
}

Result<std::vector<LogChunk>> chunks_before(Connection& db, std::int64_t run,
                                            const LogPageQuery& query) {
  auto chunks = TRY(sql::read_chunks(
      db.query(std::string(sql::kLogColumns) +
                   "?1 AND id <= ?2 AND stream BETWEEN ?3 AND ?4 ORDER BY id DESC LIMIT ?5",
               run, query.row, first_stream(query), last_stream(query), query.limit)));
  std::ranges::reverse(chunks);
  return chunks;
}

// The row before the first chunk that is not older; the last row when there is none.
Result<std::int64_t> row_before(Connection& db, std::int64_t run, const LogPageQuery& query) {
  const auto first =
      TRY(db.number("SELECT id FROM logs WHERE run = ?1 AND time >= ?2 AND stream BETWEEN ?3 AND "
                    "?4 ORDER BY id LIMIT 1",
                    run, query.time, first_stream(query), last_stream(query)));
  if (first) return *first - 1;
  return TRY(db.number("SELECT max(id) FROM logs WHERE run = ?1", run)).value_or(0);
}

// The end of the stream when it has the chunks up to `row`. Within a stream rows ascend with their
// starts: halving the starts finds the last such chunk.
Result<std::int64_t> end_at(Connection& db, std::int64_t run, std::int64_t stream,
                            std::int64_t row) {
  const auto length =
      TRY(db.number("SELECT length FROM log_streams WHERE run = ?1 AND stream = ?2", run, stream));
  std::int64_t end = 0;
  std::int64_t low = -1;                   // chunks that start here or before are up to the row
  std::int64_t high = length.value_or(0);  // those that start here or later are beyond it
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    Statement chunk =
        TRY(db.query("SELECT id, start, length FROM logs WHERE run = ?1 AND stream = ?2 AND start "
                     "<= ?3 ORDER BY start DESC LIMIT 1",
                     run, stream, middle));
    if (!TRY(chunk.step())) {
      low = middle;
    } else if (chunk.integer(0) > row) {
      high = chunk.integer(1);
    } else {
      end = chunk.integer(1) + chunk.integer(2);
      low = std::max(middle, end - 1);
    }
  }
  return end;
}

}  // namespace

Result<LogPage> log_page(Reading& reading, const LogPageQuery& asked) {
  using Which = LogPageQuery::Which;
  const std::int64_t run = TRY(sql::run_key(reading, asked.run));
  LogPageQuery query = asked;
  if (query.which == Which::kLast) query.row = kAfterAll;
  if (query.which == Which::kFromTime) query.row = TRY(row_before(reading, run, query));
  const bool backwards = query.which == Which::kBefore || query.which == Which::kLast;
  LogPage page;
  page.chunks =
      TRY(backwards ? chunks_before(reading, run, query) : chunks_after(reading, run, query));
  if (!backwards || page.chunks.empty()) {
    page.row = query.which == Which::kLast ? 0 : query.row;
  } else {
    page.row = page.chunks.front().row - 1;
  }
  return page;
}

Result<LogPlace> log_place(Reading& reading, RunId run, std::int64_t member, std::int64_t row) {
  const std::int64_t key = TRY(sql::run_key(reading, run));
  LogPlace place{.row = row, .ends = {}};
  for (const auto stream : kLogStreams)
    place.ends[stream] = TRY(end_at(reading, key, stored_stream(stream, member), row));
  return place;
}

Result<std::vector<LogChunk>> log_bytes(Reading& reading, const LogBytesQuery& query) {
  const std::int64_t run = TRY(sql::run_key(reading, query.run));
  constexpr auto kLongest = static_cast<std::int64_t>(limits::kLogChunkBytes);
  return sql::read_chunks(reading->query(
      std::string(sql::kLogColumns) +
          "?1 AND stream = ?2 AND start > ?3 AND start + length > ?4 AND id <= ?5 ORDER BY start",
      run, stored_stream(query.stream, query.member), query.offset - kLongest, query.offset,
      query.row));
}

}  // namespace corral::store::page
