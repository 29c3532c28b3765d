#include "compat/mlflow/api/metric_writer.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "analyze/history.h"
#include "compat/mlflow/tables/phase_writer.h"
#include "compat/mlflow/wire/times.h"
#include "store/engine/database.h"

namespace corral::server::mlflow {
namespace {

// Limits of all idle lanes together and of one lane's series. Beyond either, a new lane costs one
// more session row.
constexpr std::size_t kIdleBytes = 32u << 20;
constexpr std::size_t kMostSeries = 100'000;
// Columns with equal times share them; only so many groups back are compared.
constexpr std::size_t kGroupsCompared = 8;

// Sessions of a run stand together, and in the order of the runs: servers that write to several
// runs at once lock these in one order, too (store/sql/writer.h).
SessionId session_for(RunId run) {
  SessionId id = SessionId::random();
  std::copy_n(run.bytes.begin(), run.bytes.size() / 2, id.bytes.begin());
  return id;
}

BootTime point_time(const wire::MetricPoint& point) {
  return wire::nearest_client_time(point.time_ms);
}

bool same_axes(const codec::SampleGroup& group, const wire::MetricColumn& column) {
  if (group.times.size() != column.points.size()) return false;
  for (std::size_t i = 0; i < column.points.size(); ++i) {
    if (group.steps[i] != column.points[i].step || group.times[i] != point_time(column.points[i]))
      return false;
  }
  return true;
}

codec::SampleGroup& group_for(codec::SamplesBody& samples, const wire::MetricColumn& column) {
  const std::size_t last = samples.groups.size() - std::min(kGroupsCompared, samples.groups.size());
  for (std::size_t i = samples.groups.size(); i-- > last;) {
    if (same_axes(samples.groups[i], column)) return samples.groups[i];
  }
  codec::SampleGroup& group = samples.groups.emplace_back();
  group.times.reserve(column.points.size());
  group.steps.reserve(column.points.size());
  for (const auto& point : column.points) {
    group.times.push_back(point_time(point));
    group.steps.push_back(point.step);
  }
  return group;
}

// The newest that a lane wrote to a series.
struct Newest {
  std::int64_t time_ms = std::numeric_limits<std::int64_t>::min();
  std::int64_t step = std::numeric_limits<std::int64_t>::min();

  // False: the point may be one of those before it.
  bool advance(const wire::MetricPoint& point) {
    const bool newer = point.time_ms > time_ms || point.step > step;
    time_ms = std::max(time_ms, point.time_ms);
    step = std::max(step, point.step);
    return newer;
  }
};

analyze::HistoryPoint history_point(const wire::MetricPoint& point) {
  return {.time_ms = point.time_ms, .step = point.step, .value = point.value};
}

// Sorted, each once.
std::vector<analyze::HistoryPoint> in_order(std::vector<analyze::HistoryPoint> points) {
  std::ranges::sort(points, analyze::history_less);
  const auto same = [](const auto& a, const auto& b) { return !analyze::history_less(a, b); };
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
  return points;
}

// Leaves out the points of `known` and those that the column has twice.
void drop_points(wire::MetricColumn& column, std::span<const analyze::HistoryPoint> known) {
  std::set<analyze::HistoryPoint,
           bool (*)(const analyze::HistoryPoint&, const analyze::HistoryPoint&)>
      seen(known.begin(), known.end(), analyze::history_less);
  std::erase_if(column.points, [&](const wire::MetricPoint& point) {
    return !seen.insert(history_point(point)).second;
  });
}

}  // namespace

Result<std::optional<SeriesId>> find_series(const store::Reader& reader, RunId run,
                                            std::string_view key) {
  std::optional<SeriesId> found;
  const auto read = reader.inspect([&](store::sql::Reading& reading) -> Result<> {
    const auto id = TRY(reading.db.number(
        "SELECT x.id FROM series x JOIN runs r ON r.key = x.owner WHERE x.owner_kind = 0 AND r.id "
        "= ?1 AND x.name = ?2 AND x.source = ''",
        run, key));
    if (id) found = SeriesId{*id};
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  return found;
}

struct MetricWriter::Lane {
  explicit Lane(RunId of) : run(of), session(session_for(of)) {}
  RunId run;
  SessionId session;
  std::uint64_t next = 1;  // sequence number
  struct Series {
    std::uint32_t id = 0;
    Newest newest;
  };
  std::unordered_map<std::string, Series> series;
  std::size_t name_bytes = 0;

  // That it takes, about: with its nodes in maps and lists.
  [[nodiscard]] std::size_t bytes() const {
    constexpr std::size_t kOwn = 400;
    constexpr std::size_t kOfSeries = 112;
    return kOwn + series.size() * kOfSeries + name_bytes;
  }

  // The lane's state before a call, restored if the call fails.
  struct Mark {
    std::uint64_t next = 1;
    std::size_t series = 0;
  };
  [[nodiscard]] Mark mark() const { return {.next = next, .series = series.size()}; }
  void go_back(const Mark& mark) {
    next = mark.next;
    std::erase_if(series, [&](const auto& known) {
      const bool newer = known.second.id > mark.series;
      if (newer) name_bytes -= known.first.size();
      return newer;
    });
  }

  // Declares the series if the lane has not declared it yet.
  std::uint32_t find_or_declare(const std::string& key, codec::SchemaBody& schema) {
    const auto id = static_cast<std::uint32_t>(series.size() + 1);
    const auto [known, fresh] = series.emplace(key, Series{.id = id, .newest = {}});
    if (fresh) {
      codec::SeriesDef def;
      def.id = id;
      def.name = key;
      name_bytes += key.size();
      schema.series.push_back(std::move(def));
    }
    return known->second.id;
  }

  void note(MetricColumns metrics) {
    for (const auto& column : metrics) {
      Newest& newest = series.at(column.key).newest;
      for (const auto& point : column.points) newest.advance(point);
    }
  }

  codec::FrameHeader header(codec::FrameKind kind) {
    const std::uint64_t number = next++;
    return {.kind = kind, .session = session, .first = number, .last = number};
  }
};

MetricWriter::MetricWriter(store::Store& store, const store::Reader& reader)
    : store_(store), reader_(reader) {}
MetricWriter::~MetricWriter() = default;

Result<store::AppendResult> MetricWriter::write(RunId run, MetricColumns metrics,
                                                const store::Change& before,
                                                const Repeated& repeated) {
  // A lane that another server or a restart left behind is a conflict: once more with a new one.
  for (int attempt = 0;; ++attempt) {
    std::unique_ptr<Lane> lane = acquire(run, attempt > 0);
    const auto left = TRY(new_points(*lane, metrics, repeated));
    const MetricColumns columns = left ? MetricColumns(*left) : metrics;
    const Lane::Mark mark = lane->mark();
    int asked = 0;
    bool refused = false;
    auto stored = append(*lane, columns, [&](store::Writing& writing) {
      asked += 1;
      Result<> agreed = before(writing);
      refused = !agreed;
      return agreed;
    });
    if (!stored) {
      // Asked once and refused: nothing of it was ever stored.
      if (refused && asked == 1) {
        lane->go_back(mark);
        release(std::move(lane));
      }
      return stored;
    }
    if (stored->refusals.empty()) {
      lane->note(columns);
      release(std::move(lane));
      return stored;
    }
    const Error& error = stored->refusals.front().error;
    if (error.code != Code::kConflict || attempt > 0) return tl::unexpected(error);
  }
}

Result<std::optional<MetricWriter::Columns>> MetricWriter::new_points(const Lane& lane,
                                                                      MetricColumns metrics,
                                                                      const Repeated& repeated) {
  std::optional<Columns> left;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const auto& column = metrics[i];
    const auto written = lane.series.find(column.key);
    const bool all = written == lane.series.end() || repeated.contains(column.key);
    Newest newest = all ? Newest() : written->second.newest;
    std::vector<analyze::HistoryPoint> doubtful;
    for (const auto& point : column.points)
      if (!newest.advance(point) || all) doubtful.push_back(history_point(point));
    if (doubtful.empty()) continue;
    const std::size_t asked = doubtful.size();
    doubtful = in_order(std::move(doubtful));
    const auto series = TRY(find_series(reader_, lane.run, column.key));
    if (!series && doubtful.size() == asked) continue;
    const auto known = series ? TRY(analyze::known_points(reader_, *series, doubtful))
                              : std::vector<analyze::HistoryPoint>();
    if (known.empty() && doubtful.size() == asked) continue;
    if (!left) left.emplace(metrics.begin(), metrics.end());
    drop_points((*left)[i], known);
  }
  if (left) std::erase_if(*left, [](const auto& column) { return column.points.empty(); });
  return left;
}

std::unique_ptr<MetricWriter::Lane> MetricWriter::acquire(RunId run, bool fresh) {
  const Lock lock(mutex_);
  const auto known = by_run_.find(run);
  if (fresh || known == by_run_.end()) return std::make_unique<Lane>(run);
  const auto at = known->second.back();
  known->second.pop_back();
  if (known->second.empty()) by_run_.erase(known);
  std::unique_ptr<Lane> lane = std::move(*at);
  idle_.erase(at);
  idle_bytes_ -= lane->bytes();
  return lane;
}

void MetricWriter::release(std::unique_ptr<Lane> lane) {
  if (lane->series.size() > kMostSeries) return;
  const Lock lock(mutex_);
  const RunId run = lane->run;
  idle_bytes_ += lane->bytes();
  idle_.push_front(std::move(lane));
  by_run_[run].push_back(idle_.begin());
  while (idle_bytes_ > kIdleBytes && idle_.size() > 1) {
    const auto oldest = std::prev(idle_.end());
    const auto of_run = by_run_.find((*oldest)->run);
    std::erase(of_run->second, oldest);
    if (of_run->second.empty()) by_run_.erase(of_run);
    idle_bytes_ -= (*oldest)->bytes();
    idle_.erase(oldest);
  }
}

Result<store::AppendResult> MetricWriter::append(Lane& lane, MetricColumns metrics,
                                                 const store::Change& before) {
  std::vector<codec::Bytes> bytes;
  if (metrics.empty()) {  // all of it is there
    TRY(store_.change(before));
    return store::AppendResult();
  }
  if (lane.next == 1)
    bytes.push_back(codec::encode(lane.header(codec::FrameKind::kSession),
                                  store::tracking::client_session(lane.run)));
  codec::SchemaBody schema;
  codec::SamplesBody samples;
  for (const auto& column : metrics) {
    codec::Column values;
    values.series = lane.find_or_declare(column.key, schema);
    values.values.reserve(column.points.size());
    for (const auto& point : column.points) values.values.push_back(point.value);
    group_for(samples, column).columns.push_back(std::move(values));
  }
  codec::Bundle bundle;
  if (!schema.series.empty()) bundle.add(schema);
  if (!samples.groups.empty()) bundle.add(samples);
  bytes.push_back(bundle.finish(lane.header(codec::FrameKind::kBundle)));
  std::vector<codec::Frame> frames;
  frames.reserve(bytes.size());
  for (const codec::Bytes& one : bytes) frames.push_back(TRY(codec::decode_frame(one)));
  return store_.append(frames, before);
}

}  // namespace corral::server::mlflow
