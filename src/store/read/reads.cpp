#include "store/read/reads.h"

#include "store/model/content.h"

namespace corral::store::sql {
Result<std::vector<StoredEvent>> read_events(Connection& db, RunId run) {
  Statement row =
      TRY(db.query("SELECT time, name, origin, attributes FROM events WHERE run = (SELECT key FROM "
                   "runs WHERE id = ?1) "
                   "ORDER BY time, id",
                   run));
  std::vector<StoredEvent> events;
  while (TRY(row.step())) {
    events.push_back({.time = row.utc(0),
                      .name = row.text(1),
                      .origin = row.text(2),
                      .attributes = attributes_of(row.text(3))});
  }
  return events;
}

Result<std::vector<LogChunk>> chunks_of(Result<Statement> rows) {
  Statement row = TRY(std::move(rows));
  std::vector<LogChunk> chunks;
  while (TRY(row.step())) {
    const Blob bytes = row.blob(4);
    chunks.push_back({.row = row.integer(0),
                      .stream = static_cast<codec::LogStream>(row.integer(1)),
                      .offset = row.integer(2),
                      .time = row.utc(3),
                      .bytes = {bytes.begin(), bytes.end()}});
  }
  return chunks;
}

Result<std::vector<LogChunk>> read_logs(Connection& db, const LogQuery& query) {
  return chunks_of(db.query(std::string(kLogColumns) +
                                "(SELECT key FROM runs WHERE id = ?1) AND id > ?2 AND (?3 IS NULL "
                                "OR stream = ?3) ORDER BY id LIMIT ?4",
                            query.run, query.after_row, query.stream, query.limit));
}

Result<std::vector<LogExtent>> read_log_extents(Connection& db, RunId run) {
  std::vector<LogExtent> extents;
  Statement stream = TRY(db.query(
      "SELECT stream, length FROM log_streams WHERE run = (SELECT key FROM runs WHERE id = ?1) "
      "ORDER BY stream",
      run));
  while (TRY(stream.step())) {
    LogExtent extent{.stream = static_cast<codec::LogStream>(stream.integer(0)),
                     .end = stream.integer(1),
                     .gaps = {}};
    Statement chunk =
        TRY(db.query("SELECT start, length FROM logs WHERE run = (SELECT key FROM runs WHERE id = "
                     "?1) AND stream = ?2 ORDER BY start",
                     run, extent.stream));
    std::int64_t reached = 0;
    while (TRY(chunk.step())) {
      if (chunk.integer(0) > reached) extent.gaps.emplace_back(reached, chunk.integer(0));
      reached = chunk.integer(0) + chunk.integer(1);
    }
    extents.push_back(std::move(extent));
  }
  return extents;
}

}  // namespace corral::store::sql
