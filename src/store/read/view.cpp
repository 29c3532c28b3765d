#include "store/read/view.h"

#include <algorithm>
#include <numeric>

#include "codec/block/row_group.h"
#include "store/engine/stored.h"
#include "store/read/host_cut.h"
#include "store/read/host_series.h"

namespace corral::store::sql {
namespace {

using Times = std::shared_ptr<const std::vector<std::int64_t>>;

// ---- blocks
class StoredBlock final : public Block {
 public:
  StoredBlock(std::int64_t session, Blob times, Blob values)
      : session_(session),
        time_bytes_(times.begin(), times.end()),
        value_bytes_(values.begin(), values.end()) {}

  // Finds the columns; whatever is not as a block must be is kCorruption.
  Result<> open() {
    values_ = TRY(codec::ValueReader::open(value_bytes_));
    times_ = TRY(codec::IntegerReader::open(time_bytes_));
    const auto rest = std::span(time_bytes_).subspan(times_.bytes());
    has_steps_ = !rest.empty();
    if (has_steps_) steps_ = TRY(codec::IntegerReader::open(rest));
    if (values_.entries() != codec::kColumnEntries || times_.entries() != codec::kColumnEntries ||
        (has_steps_ && steps_.entries() != codec::kColumnEntries))
      return fail(Code::kCorruption, "a block has not 8,192 points");
    return {};
  }

  [[nodiscard]] std::int64_t session() const override { return session_; }
  [[nodiscard]] bool has_steps() const override { return has_steps_; }
  Result<> times(std::size_t first, std::span<std::int64_t> out) const override {
    return times_.read(first, out);
  }
  Result<> steps(std::size_t first, std::span<std::int64_t> out) const override {
    return steps_.read(first, out);
  }
  Result<> values(std::size_t first, std::span<double> out) const override {
    return values_.read(first, out);
  }
  [[nodiscard]] std::size_t bytes() const {
    return sizeof *this + time_bytes_.size() + value_bytes_.size();
  }

 private:
  std::int64_t session_;
  std::vector<std::uint8_t> time_bytes_, value_bytes_;
  codec::IntegerReader times_, steps_;
  codec::ValueReader values_;
  bool has_steps_ = false;
};

// ---- the rest
std::size_t memory_size(const std::vector<codec::SamplesBody>& bodies) {
  constexpr std::size_t kEntry = 256;      // overhead of an entry in the cache
  constexpr std::size_t kAllocation = 32;  // overhead of an allocation
  std::size_t bytes = kEntry;
  for (const auto& body : bodies) {
    bytes += sizeof body + kAllocation;
    for (const auto& group : body.groups) {
      bytes += sizeof group + 3 * kAllocation + (group.times.size() + group.steps.size()) * 8;
      for (const auto& column : group.columns)
        bytes +=
            sizeof column + 2 * kAllocation + column.values.size() * 8 + column.present.size() / 8;
    }
  }
  return bytes;
}

template <class T>
std::shared_ptr<const std::vector<T>> shared(std::vector<T> items) {
  return std::make_shared<const std::vector<T>>(std::move(items));
}

void sort_by_time(Chunk& chunk) {
  if (std::ranges::is_sorted(*chunk.times)) return;
  std::vector<std::size_t> order(chunk.times->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return (*chunk.times)[row]; });
  const auto sorted = [&](const auto& items) {
    std::remove_cvref_t<decltype(items)> out;
    out.reserve(items.size());
    for (const std::size_t row : order) out.push_back(items[row]);
    return out;
  };
  chunk.values = sorted(chunk.values);
  if (chunk.steps) chunk.steps = shared(sorted(*chunk.steps));
  chunk.times = shared(sorted(*chunk.times));
}

// The rows of a sample group that a column has, shared by the columns that have them all.
class GroupRows {
 public:
  GroupRows(const codec::SampleGroup& group, const ClockAnchor& anchor)
      : group_(group), anchor_(anchor) {}

  Chunk chunk(std::int64_t session, const codec::Column& column) {
    Chunk chunk{.session = session, .times = {}, .steps = {}, .values = column.values};
    if (!column.present.empty()) {
      std::tie(chunk.times, chunk.steps) = rows(column.present);
    } else {
      if (!times_) std::tie(times_, steps_) = rows({});
      chunk.times = times_;
      chunk.steps = steps_;
    }
    sort_by_time(chunk);
    return chunk;
  }

 private:
  std::pair<Times, Times> rows(const std::vector<bool>& present) {
    std::vector<std::int64_t> times, steps;
    for (std::size_t row = 0; row < group_.times.size(); ++row) {
      if (!present.empty() && !present[row]) continue;
      times.push_back(ns_of(anchor_.to_utc(group_.times[row])));
      if (!group_.steps.empty()) steps.push_back(group_.steps[row]);
    }
    return {shared(std::move(times)), group_.steps.empty() ? nullptr : shared(std::move(steps))};
  }

  const codec::SampleGroup& group_;
  const ClockAnchor& anchor_;
  Times times_, steps_;
};

class View final : public PointView {
 public:
  View(Connection& db, Caches& caches) : db_(db), caches_(caches) {}

  // Parts of a host's series are cut out of all levels.
  Result<> open(std::span<const SeriesId> ids, Levels levels) {
    for (const SeriesId id : ids) {
      const auto part = parse_host_part(id);
      TRY(part ? open_part(id, *part) : open_series(id, levels));
    }
    for (const auto& [key, session] : sessions_) {
      for (const auto& [slice, series] : session.slices) TRY(read_row_groups(key, slice, series));
    }
    for (auto& [key, session] : sessions_) TRY(read_batches(key, session));
    for (auto& [id, part] : windows_)
      cuts_.emplace(id, TRY(HostCut::make(*this, part.first, std::move(part.second))));
    return {};
  }

  [[nodiscard]] std::int64_t block_count(SeriesId series) const override {
    if (const auto cut = cuts_.find(series); cut != cuts_.end()) return cut->second.block_count();
    const auto known = series_.find(series);
    return known == series_.end() ? 0 : known->second.blocks;
  }
  [[nodiscard]] std::span<const Chunk> recent(SeriesId series) const override {
    if (const auto cut = cuts_.find(series); cut != cuts_.end()) return cut->second.recent();
    const auto known = series_.find(series);
    return known == series_.end() ? std::span<const Chunk>() : known->second.recent;
  }
  [[nodiscard]] std::span<const Damage> damaged(SeriesId series) const override {
    if (const auto cut = cuts_.find(series); cut != cuts_.end()) return cut->second.damaged();
    const auto known = series_.find(series);
    return known == series_.end() ? std::span<const Damage>() : known->second.damaged;
  }
  [[nodiscard]] bool same_thing(SeriesId series) const override { return cuts_.contains(series); }
  Result<std::shared_ptr<const Block>> block(SeriesId series, std::int64_t no) override;
  Result<std::shared_ptr<const codec::PyramidRow>> pyramid(SeriesId series, Channel channel,
                                                           int tier, std::int64_t no) override;

 private:
  struct OneSeries {
    std::int64_t blocks = 0;
    std::vector<Chunk> recent;
    std::vector<Damage> damaged;
  };
  struct OneSession {
    ClockAnchor anchor;
    std::map<std::uint32_t, SeriesId> series;  // by the session's id
    std::map<std::int64_t, std::vector<SeriesId>> slices;
  };

  Result<> open_series(SeriesId id, Levels levels);
  Result<> open_part(SeriesId id, const HostPart& part);
  Result<bool> open_blocks(SeriesId id);
  Result<> open_sessions(SeriesId id, std::string_view which, const TimeRange& range);
  Result<> read_row_groups(std::int64_t session, std::int64_t slice,
                           const std::vector<SeriesId>& series);
  Result<> read_batches(std::int64_t key, const OneSession& session);
  void add_group(std::int64_t key, const OneSession& session, const codec::SampleGroup& group);

  Connection& db_;
  Caches& caches_;
  std::map<SeriesId, OneSeries> series_;
  std::map<std::int64_t, OneSession> sessions_;
  std::map<SeriesId, std::pair<SeriesId, Window>> windows_;  // by part: the host's series
  std::map<SeriesId, HostCut> cuts_;                         // likewise
};

Result<> View::open_series(SeriesId id, Levels levels) {
  if (!TRY(open_blocks(id)) || levels == Levels::kBlocks) return {};
  return open_sessions(id, {}, {});
}

// For series of a host, only the sessions that can have points of the part.
Result<> View::open_part(SeriesId id, const HostPart& part) {
  const auto host =
      TRY(db_.number("SELECT owner FROM series WHERE id = ?1 AND owner_kind = 2", part.series));
  if (!host) return {};
  const Window window = TRY(read_window(db_, part.workload, *host));
  if (window.empty()) return {};
  windows_[id] = {part.series, window};
  TRY(open_blocks(part.series));
  return open_sessions(part.series, kFeedsWithin,
                       {.from = window.front().from, .to = window.back().to});
}

// False: the series is open already, or does not exist.
Result<bool> View::open_blocks(SeriesId id) {
  const auto [entry, fresh] = series_.try_emplace(id);
  if (!fresh) return false;
  const auto blocks =
      TRY(db_.number("SELECT blocks FROM series s WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM "
                     "removals r WHERE r.owner_kind = s.owner_kind AND r.owner = s.owner)",
                     id));
  if (blocks) entry->second.blocks = *blocks;
  return blocks.has_value();
}

Result<> View::open_sessions(SeriesId id, std::string_view which, const TimeRange& range) {
  Statement row = TRY(db_.query(
      "SELECT m.session, m.local, m.slice, s.utc_minus_boot, s.clock_error FROM session_series m "
      "JOIN sessions s ON s.key = m.session LEFT JOIN runs r ON r.key = s.run WHERE m.series = ?1" +
      std::string(which)));
  row.set(1, id);
  if (!which.empty()) {
    row.set(2, range.from);
    row.set(3, range.to);
  }
  while (TRY(row.step())) {
    OneSession& session = sessions_[row.integer(0)];
    session.anchor = {.utc_minus_boot = Nanos(row.integer(3)), .error = Nanos(row.integer(4))};
    session.series[static_cast<std::uint32_t>(row.integer(1))] = id;
    if (row.is_null(2)) continue;
    std::vector<SeriesId>& slice = session.slices[row.integer(2)];
    if (std::ranges::find(slice, id) == slice.end()) slice.push_back(id);
  }
  return {};
}

Result<> View::read_row_groups(std::int64_t session, std::int64_t slice,
                               const std::vector<SeriesId>& series) {
  Statement row = TRY(
      db_.query("SELECT t0, t1, data FROM row_groups WHERE session = ?1 AND slice = ?2 ORDER BY id",
                session, slice));
  while (TRY(row.step())) {
    auto part = codec::read_row_group(row.blob(2), series);
    if (!part || part->damaged > 0) {
      for (const SeriesId id : series)
        series_.at(id).damaged.push_back({.t0 = row.integer(0), .t1 = row.integer(1)});
    }
    if (!part) continue;
    for (codec::SamplingGroup& group : part->groups) {
      const Times times = shared(std::move(group.times));
      const Times steps = group.steps.empty() ? nullptr : shared(std::move(group.steps));
      for (auto& column : group.columns)
        series_.at(column.series)
            .recent.push_back({.session = session,
                               .times = times,
                               .steps = steps,
                               .values = std::move(column.values)});
    }
  }
  return {};
}

Result<> View::read_batches(std::int64_t key, const OneSession& session) {
  struct Row {
    std::int64_t id = 0;
    Damage range;
  };
  const auto rows = TRY(read_all(
      db_.query("SELECT id, t0, t1 FROM batches WHERE session = ?1 ORDER BY id", key),
      [](const Statement& row) {
        return Row{.id = row.integer(0), .range = {.t0 = row.integer(1), .t1 = row.integer(2)}};
      }));
  for (const Row& row : rows) {
    const auto samples = read_samples(db_, caches_, row.id);
    if (!samples && samples.error().code != Code::kCorruption)
      return tl::unexpected(samples.error());
    if (!samples) {
      for (const auto& [local, id] : session.series) series_.at(id).damaged.push_back(row.range);
      continue;
    }
    for (const codec::SamplesBody& body : **samples) {
      for (const codec::SampleGroup& group : body.groups) add_group(key, session, group);
    }
  }
  return {};
}

void View::add_group(std::int64_t key, const OneSession& session, const codec::SampleGroup& group) {
  GroupRows rows(group, session.anchor);
  for (const codec::Column& column : group.columns) {
    const auto known = session.series.find(column.series);
    if (known == session.series.end() || column.values.empty()) continue;
    series_.at(known->second).recent.push_back(rows.chunk(key, column));
  }
}

Result<std::shared_ptr<const Block>> View::block(SeriesId series, std::int64_t no) {
  if (const auto cut = cuts_.find(series); cut != cuts_.end()) return cut->second.block(*this, no);
  if (auto known = caches_.blocks.find({series, no})) return known;
  std::shared_ptr<StoredBlock> block;
  {
    Statement row =
        TRY(db_.query("SELECT b.session, t.data, b.data FROM blocks b JOIN block_times t ON t.id = "
                      "b.times WHERE b.series = ?1 AND b.no = ?2",
                      series, no));
    if (!TRY(row.step())) return fail(Code::kCorruption, "a block is missing");
    block = std::make_shared<StoredBlock>(row.integer(0), row.blob(1), row.blob(2));
  }
  TRY(stored(block->open()));
  caches_.blocks.add({series, no}, block, block->bytes());
  return block;
}

Result<std::shared_ptr<const codec::PyramidRow>> View::pyramid(SeriesId series, Channel channel,
                                                               int tier, std::int64_t no) {
  if (const auto cut = cuts_.find(series); cut != cuts_.end())
    return cut->second.pyramid(*this, channel, tier, no);
  const std::int64_t buckets = buckets_in_row(block_count(series), tier, no);
  if (buckets == 0) return fail(Code::kNotFound, "no such pyramid row");
  const PyramidKey key{.series = series, .channel = channel, .tier = tier, .no = no};
  if (auto known = caches_.pyramid.find({key, buckets})) return known;
  auto row = std::make_shared<const codec::PyramidRow>(TRY(read_pyramid_row(db_, key)));
  if (static_cast<std::int64_t>(row->lower.size()) != buckets)
    return fail(Code::kCorruption, "a pyramid row has not the buckets of its blocks");
  caches_.pyramid.add({key, buckets}, row,
                      (row->lower.size() + row->upper.size()) * sizeof(codec::Bucket));
  return row;
}

}  // namespace

Result<std::shared_ptr<const std::vector<codec::SamplesBody>>> read_samples(Connection& db,
                                                                            Caches& caches,
                                                                            std::int64_t row) {
  if (auto known = caches.batches.find(row)) return known;
  std::shared_ptr<const std::vector<codec::SamplesBody>> samples;
  {
    Statement stored = TRY(db.query("SELECT frame FROM batches WHERE id = ?1", row));
    if (!TRY(stored.step())) return fail(Code::kNotFound, "no such batch row");
    samples =
        std::make_shared<const std::vector<codec::SamplesBody>>(TRY(decode_batch(stored.blob(0))));
  }
  caches.batches.add(row, samples, memory_size(*samples));
  return samples;
}

Result<std::unique_ptr<PointView>> open_view(Connection& db, Caches& caches,
                                             std::span<const SeriesId> series, Levels levels) {
  auto view = std::make_unique<View>(db, caches);
  TRY(view->open(series, levels));
  return view;
}

}  // namespace corral::store::sql
