#include "store/sql/series_statistics.h"

#include <set>

namespace corral::store::sql {
namespace {

struct Feed {
  ClockAnchor anchor;
  SeriesMap series;  // those asked for
  std::set<std::int64_t> slices;
};
using Statistics = std::map<SeriesId, SeriesDelta>;

Result<std::map<std::int64_t, Feed>> feeds_of(Connection& db, std::span<const SeriesId> series) {
  std::map<std::int64_t, Feed> feeds;  // by session
  for (const SeriesId id : series) {
    Statement row =
        TRY(db.query("SELECT m.session, m.local, m.slice, s.utc_minus_boot FROM session_series m "
                     "JOIN sessions s ON s.key = m.session WHERE m.series = ?1",
                     id));
    while (TRY(row.step())) {
      Feed& feed = feeds[row.integer(0)];
      feed.anchor.utc_minus_boot = Nanos(row.integer(3));
      feed.series[static_cast<std::uint32_t>(row.integer(1))] = id;
      if (!row.is_null(2)) feed.slices.insert(row.integer(2));
    }
  }
  return feeds;
}

Result<> add_slice(Connection& db, std::int64_t session, std::int64_t slice, Statistics& all) {
  Statement row = TRY(
      db.query("SELECT statistics FROM slices WHERE session = ?1 AND slice = ?2", session, slice));
  if (!TRY(row.step())) return {};
  const auto statistics = decode_statistics(row.blob(0));
  if (!statistics) return {};
  for (const auto& [id, delta] : *statistics) {
    const auto known = all.find(id);
    if (known != all.end()) known->second.add(delta);
  }
  return {};
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

Result<> add_batches(Connection& db, Caches& caches,
                     const std::pair<const std::int64_t, Feed>& feed, Statistics& all) {
  std::vector<std::int64_t> rows;
  {
    Statement row =
        TRY(db.query("SELECT id FROM batches WHERE session = ?1 ORDER BY id", feed.first));
    while (TRY(row.step())) rows.push_back(row.integer(0));
  }
  for (const std::int64_t id : rows) {
    const auto samples = read_samples(db, caches, id);
    if (samples) {
      add_points(**samples, feed.second, all);
    } else if (samples.error().code != Code::kCorruption) {
      return tl::unexpected(samples.error());
    }
  }
  return {};
}

}  // namespace

Result<Statistics> read_statistics(Connection& db, Caches& caches,
                                   std::span<const SeriesId> series) {
  Statistics all;
  for (const SeriesId id : series) all.try_emplace(id);
  for (const auto& feed : TRY(feeds_of(db, series))) {
    for (const std::int64_t slice : feed.second.slices) TRY(add_slice(db, feed.first, slice, all));
    TRY(add_batches(db, caches, feed, all));
  }
  std::erase_if(all, [](const auto& entry) { return entry.second.points == 0; });
  return all;
}

}  // namespace corral::store::sql
