#include "store/read/series_statistics.h"

#include <algorithm>
#include <string>
#include <vector>

#include "store/engine/keys.h"

namespace corral::store::sql {
namespace {

using Statistics = std::map<SeriesId, SeriesDelta>;

// Nothing of a damaged slice.
void add_slice(Blob bytes, const Feed& feed, Statistics& all) {
  static_cast<void>(read_statistics_of(
      bytes, feed.ids, [&](SeriesId id, const SeriesDelta& delta) { all[id].add(delta); }));
}

void add_points(const std::vector<codec::SamplesBody>& bodies, const Feed& feed, Statistics& all) {
  for (const codec::SamplesBody& body : bodies) {
    for (const codec::SampleGroup& group : body.groups) {
      for (const codec::Column& column : group.columns) {
        const auto known = feed.series.find(column.series);
        if (known == feed.series.end()) continue;
        add_column(all[known->second], group, column, feed.anchor);
      }
    }
  }
}

Result<> add_batch(Connection& db, Caches& caches, std::int64_t id, const Feed& feed,
                   Statistics& all) {
  const auto samples = read_samples(db, caches, id);
  if (samples) {
    add_points(**samples, feed, all);
  } else if (samples.error().code != Code::kCorruption) {
    return tl::unexpected(samples.error());
  }
  return {};
}

// Slices first: their points arrived before those of batch rows.
Result<> add_session(Connection& db, Caches& caches, std::int64_t session, const Feed& feed,
                     Statistics& all) {
  for (const std::int64_t slice : feed.slices) {
    Statement row = TRY(db.query("SELECT statistics FROM slices WHERE session = ?1 AND slice = ?2",
                                 session, slice));
    if (TRY(row.step())) add_slice(row.blob(0), feed, all);
  }
  const auto rows =
      TRY(db.numbers("SELECT id FROM batches WHERE session = ?1 ORDER BY id", session));
  for (const std::int64_t id : rows) TRY(add_batch(db, caches, id, feed, all));
  return {};
}

// From so many sessions on, kKeysAtOnce of them share a statement: of other slices of theirs some
// are read in vain.
constexpr std::size_t kMany = 8;

Result<> add_many(Connection& db, Caches& caches, const Feeds& feeds,
                  std::span<const std::int64_t> sessions, Statistics& all) {
  TRY(for_rows_of(db, "SELECT session, slice, statistics FROM slices WHERE {}", "session", sessions,
                  [&](const Statement& row) {
                    const Feed& feed = feeds.at(row.integer(0));
                    if (feed.slices.contains(row.integer(1))) add_slice(row.blob(2), feed, all);
                  }));
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;
  TRY(for_rows_of(
      db, "SELECT id, session FROM batches WHERE {}", "session", sessions,
      [&](const Statement& row) { rows.emplace_back(row.integer(0), row.integer(1)); }));
  std::ranges::sort(rows);
  for (const auto& [id, session] : rows) TRY(add_batch(db, caches, id, feeds.at(session), all));
  return {};
}

}  // namespace

void add_feed(Feeds& feeds, SeriesId series, const Statement& row, int column) {
  Feed& feed = feeds[row.integer(column)];
  feed.series[static_cast<std::uint32_t>(row.integer(column + 1))] = series;
  feed.ids.insert(series);
  if (!row.is_null(column + 2)) feed.slices.insert(row.integer(column + 2));
  feed.anchor.utc_minus_boot = Nanos(row.integer(column + 3));
}

Result<Statistics> read_statistics(Connection& db, Caches& caches,
                                   std::span<const SeriesId> series) {
  Feeds feeds;
  for (const SeriesId id : series) {
    Statement row =
        TRY(db.query("SELECT m.session, m.local, m.slice, s.utc_minus_boot FROM session_series m "
                     "JOIN sessions s ON s.key = m.session WHERE m.series = ?1",
                     id));
    while (TRY(row.step())) add_feed(feeds, id, row, 0);
  }
  return read_statistics(db, caches, feeds);
}

Result<Statistics> read_statistics(Connection& db, Caches& caches, const Feeds& feeds) {
  Statistics all;
  for (const auto& [session, feed] : feeds) {
    for (const auto& [local, id] : feed.series) all.try_emplace(id);
  }
  if (feeds.size() >= kMany) {
    std::vector<std::int64_t> sessions;
    for (const auto& [session, feed] : feeds) sessions.push_back(session);
    for (std::span<const std::int64_t> left(sessions); !left.empty();) {
      const auto some = left.first(std::min(kKeysAtOnce, left.size()));
      TRY(add_many(db, caches, feeds, some, all));
      left = left.subspan(some.size());
    }
  } else {
    for (const auto& [session, feed] : feeds) TRY(add_session(db, caches, session, feed, all));
  }
  std::erase_if(all, [](const auto& entry) { return entry.second.points == 0; });
  return all;
}

}  // namespace corral::store::sql
