#include "store/read/series_statistics.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

namespace corral::store::sql {
namespace {

using Statistics = std::map<SeriesId, SeriesDelta>;

Result<Feeds> feeds_of(Connection& db, std::span<const SeriesId> series) {
  Feeds feeds;
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

void add_decoded(Blob bytes, Statistics& all) {
  const auto statistics = decode_statistics(bytes);
  if (!statistics) return;
  for (const auto& [id, delta] : *statistics) {
    const auto known = all.find(id);
    if (known != all.end()) known->second.add(delta);
  }
}

Result<> add_slice(Connection& db, std::int64_t session, std::int64_t slice, Statistics& all) {
  Statement row = TRY(
      db.query("SELECT statistics FROM slices WHERE session = ?1 AND slice = ?2", session, slice));
  if (TRY(row.step())) add_decoded(row.blob(0), all);
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

Result<> add_batches(Connection& db, Caches& caches,
                     const std::pair<const std::int64_t, Feed>& feed, Statistics& all) {
  std::vector<std::int64_t> rows;
  {
    Statement row =
        TRY(db.query("SELECT id FROM batches WHERE session = ?1 ORDER BY id", feed.first));
    while (TRY(row.step())) rows.push_back(row.integer(0));
  }
  for (const std::int64_t id : rows) TRY(add_batch(db, caches, id, feed.second, all));
  return {};
}

// From so many sessions on, kAtOnce of them share a statement: of other slices of theirs some are
// read in vain.
constexpr std::size_t kMany = 8;
constexpr std::size_t kAtOnce = 64;

std::string of_sessions(std::string_view select) {
  std::string sql(select);
  for (std::size_t i = 1; i <= kAtOnce; ++i) sql += fmt::format("{}?{}", i == 1 ? " (" : ", ", i);
  return sql + ")";
}

Result<Statement> for_sessions(Connection& db, const std::string& sql,
                               std::span<const std::int64_t> sessions) {
  Statement row = TRY(db.query(sql));
  for (std::size_t i = 0; i < kAtOnce; ++i)
    row.set(static_cast<int>(i + 1), sessions[std::min(i, sessions.size() - 1)]);
  return row;
}

Result<> add_many(Connection& db, Caches& caches, const Feeds& feeds,
                  std::span<const std::int64_t> sessions, Statistics& all) {
  {
    static const std::string slices_sql =
        of_sessions("SELECT session, slice, statistics FROM slices WHERE session IN");
    Statement row = TRY(for_sessions(db, slices_sql, sessions));
    while (TRY(row.step())) {
      if (feeds.at(row.integer(0)).slices.contains(row.integer(1))) add_decoded(row.blob(2), all);
    }
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;
  {
    static const std::string batches_sql =
        of_sessions("SELECT id, session FROM batches WHERE session IN");
    Statement row = TRY(for_sessions(db, batches_sql, sessions));
    while (TRY(row.step())) rows.emplace_back(row.integer(0), row.integer(1));
  }
  std::ranges::sort(rows);
  for (const auto& [id, session] : rows) TRY(add_batch(db, caches, id, feeds.at(session), all));
  return {};
}

}  // namespace

Result<Statistics> read_statistics(Connection& db, Caches& caches,
                                   std::span<const SeriesId> series) {
  return read_statistics(db, caches, TRY(feeds_of(db, series)));
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
      const auto some = left.first(std::min(kAtOnce, left.size()));
      TRY(add_many(db, caches, feeds, some, all));
      left = left.subspan(some.size());
    }
    std::erase_if(all, [](const auto& entry) { return entry.second.points == 0; });
    return all;
  }
  for (const auto& feed : feeds) {
    for (const std::int64_t slice : feed.second.slices) TRY(add_slice(db, feed.first, slice, all));
    TRY(add_batches(db, caches, feed, all));
  }
  std::erase_if(all, [](const auto& entry) { return entry.second.points == 0; });
  return all;
}

}  // namespace corral::store::sql
