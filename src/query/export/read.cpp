#include "query/export/read.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "core/text.h"
#include "metric/foreign.h"
#include "query/chart/chart.h"
#include "query/export/export.h"
#include "query/series/axis_cells.h"
#include "query/series/points.h"

namespace corral::query {
namespace {

// ---- chunks
static_assert(std::endian::native == std::endian::little, "columns are sent as they lie in memory");

constexpr std::uint16_t kVersion = 1;
constexpr std::uint16_t kReduced = 1;
constexpr std::uint32_t kHasSteps = 1;
enum Kind : std::uint32_t { kSeries = 1, kPoints = 2, kGap = 3, kEnd = 4, kError = 5 };

template <class T>
std::string_view bytes_of(std::span<const T> items) {
  return {reinterpret_cast<const char*>(items.data()), items.size_bytes()};
}

template <class T>
std::string_view bytes_of(const T& item) {
  return {reinterpret_cast<const char*>(&item), sizeof item};
}

struct StreamHeader {
  char magic[4] = {'C', 'R', 'P', 'T'};
  std::uint16_t version = kVersion;
  std::uint16_t flags = 0;
  std::uint64_t zero = 0;
};
static_assert(sizeof(StreamHeader) == 16);

struct Triple {
  std::uint64_t a, b, c;
};

// Writes docs/format-points.md: columns go to a buffer as they lie in memory.
class ChunkWriter {
 public:
  [[nodiscard]] std::size_t size() const { return out_.size(); }
  // All since the last call.
  std::string drain() { return std::exchange(out_, {}); }

  void begin(bool reduced);
  // JSON of the series that the following chunks belong to.
  void declare(std::string json);
  void points(const PointBatch& batch);
  void gap(std::int64_t from, std::int64_t to, std::uint64_t points);
  // One of them last.
  void end();
  void error(const Error& error);

 private:
  struct Header;
  void put(std::string_view bytes) { out_ += bytes; }
  void text(std::uint32_t kind, std::string text);

  std::string out_;
  std::uint64_t series_ = 0, points_ = 0, gaps_ = 0;
};

struct ChunkWriter::Header {
  std::uint32_t kind = 0;
  std::uint32_t flags = 0;
  std::uint64_t bytes = 0;  // length of the body
  std::uint32_t count = 0;
  std::uint32_t series = 0;
  std::int64_t session = 0;
};

void ChunkWriter::begin(bool reduced) {
  StreamHeader header;
  if (reduced) header.flags = kReduced;
  put(bytes_of(header));
}

void ChunkWriter::text(std::uint32_t kind, std::string text) {
  const auto count = static_cast<std::uint32_t>(text.size());
  text.resize((text.size() + 7) / 8 * 8);
  const auto series = static_cast<std::uint32_t>(kind == kSeries ? series_ : 0);
  put(bytes_of(Header{.kind = kind, .bytes = text.size(), .count = count, .series = series}));
  put(text);
}

void ChunkWriter::declare(std::string json) {
  text(kSeries, std::move(json));
  ++series_;
}

void ChunkWriter::points(const PointBatch& batch) {
  const std::size_t columns = batch.steps.empty() ? 2 : 3;
  put(bytes_of(Header{.kind = kPoints,
                      .flags = batch.steps.empty() ? 0 : kHasSteps,
                      .bytes = batch.values.size() * columns * 8,
                      .count = static_cast<std::uint32_t>(batch.values.size()),
                      .series = static_cast<std::uint32_t>(series_ - 1),
                      .session = batch.session}));
  put(bytes_of(batch.times));
  if (!batch.steps.empty()) put(bytes_of(batch.steps));
  put(bytes_of(batch.values));
  points_ += batch.values.size();
}

void ChunkWriter::gap(std::int64_t from, std::int64_t to, std::uint64_t points) {
  const Triple body{static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), points};
  put(bytes_of(Header{
      .kind = kGap, .bytes = sizeof body, .series = static_cast<std::uint32_t>(series_ - 1)}));
  put(bytes_of(body));
  ++gaps_;
}

void ChunkWriter::end() {
  const Triple body{series_, points_, gaps_};
  put(bytes_of(Header{.kind = kEnd, .bytes = sizeof body}));
  put(bytes_of(body));
}

void ChunkWriter::error(const Error& error) {
  std::string json;
  JsonWriter(json)
      .begin_object()
      .member("code", code_name(error.code))
      .member("message", error.message)
      .end_object();
  text(kError, std::move(json));
}

// ---- the stream of a request
bool matches(const ReadRequest& request, const store::Series& series) {
  return std::ranges::any_of(request.metrics, [&](const std::string& wanted) {
    return wanted == series.name || metric::name_matches(wanted, series.name);
  });
}

std::string declaration(const store::Run& run, const store::Series& series) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().member("run", run.id.hex()).member("run_name", run.name).key("start_ns");
  json.value_string(ns_of(run.start)).member("series", series.id.value);
  json.member("metric", series.name).member("source", series.source).member("unit", series.unit);
  json.member("owner", metric::owner_name(series.owner));
  json.member("kind", series.kind == metric::Kind::kCounter ? "counter" : "gauge");
  json.member("points", series.points).end_object();
  return text;
}

class PointReader final : public PointTaker {
 public:
  PointReader(const store::Reader& store, ReadRequest request)
      : store_(store), request_(std::move(request)) {
    out_.begin(request_.points.has_value());
  }

  bool next(std::string& out) {
    const Result<bool> more = step();
    if (!more) out_.error(more.error());
    if (more && !*more) out_.end();
    out += out_.drain();
    return more && *more;
  }

  void points(const PointBatch& batch) override {
    declare_up_to(batch.series);
    out_.points(batch);
  }
  void gap(const PointGap& gap) override {
    declare_up_to(gap.series);
    out_.gap(gap.from, gap.to, gap.points);
  }
  [[nodiscard]] bool full() const override { return out_.size() >= kPartBytes; }

 private:
  Result<bool> step() {
    while (next_run_ < request_.runs.size() && !full()) {
      if (!run_) TRY(open_run(request_.runs[next_run_]));
      if (request_.points ? TRY(reduced()) : TRY(walk_->next(*this))) return true;
      declare_up_to(std::nullopt);
      TRY(check_not_removed(store_, request_.runs[next_run_]));
      run_.reset();
      ++next_run_;
    }
    return next_run_ < request_.runs.size();
  }

  Result<> open_run(RunId id) {
    auto run = TRY(store_.run(id));
    if (!run) return fail(Code::kNotFound, fmt::format("run {} is not there any more", id.hex()));
    const auto bound = [&](std::optional<std::int64_t> ns) {
      return ns && request_.since_start ? add_clipped(ns_of(run->start), *ns) : ns;
    };
    from_ = bound(request_.from);
    to_ = bound(request_.to);
    series_ = TRY(store_.series_of(id));
    std::erase_if(series_, [&](const store::Series& s) { return !matches(request_, s); });
    declared_ = 0;
    reduced_ = 0;
    PointQuery query;
    for (const store::Series& series : series_) query.series.push_back(series.id);
    if (from_) query.from = utc_time(*from_);
    if (to_) query.to = utc_time(*to_);
    walk_.emplace(store_, std::move(query));
    run_ = std::move(*run);
    return {};
  }

  // True: there is more.
  Result<bool> reduced() {
    for (; reduced_ < series_.size() && !full(); ++reduced_) {
      const store::Series& series = series_[reduced_];
      const ChartRequest wanted{
          .series = {series.id},
          .from = from_,
          .to = to_,
          .width = static_cast<std::uint32_t>(std::max<std::int64_t>(*request_.points / 4, 1)),
          .mode = ChartMode::kValue};
      const Chart chart = TRY(make_chart(store_, wanted));
      declare_up_to(series.id);
      emit(chart.series.front());
    }
    return reduced_ < series_.size();
  }

  // The points of the columns in order of time, each once.
  void emit(const ChartSeries& series) {
    times_.clear();
    values_.clear();
    for (const ChartColumn& column : series.columns) {
      std::array<ChartPoint, 4> four{column.first, column.min, column.max, column.last};
      // An estimated time stays between first and last.
      for (const std::size_t i : {1U, 2U}) four[i].x = std::clamp(four[i].x, four[0].x, four[3].x);
      if (four[1].x > four[2].x) std::swap(four[1], four[2]);
      for (std::size_t i = 0; i < four.size(); ++i) {
        if (i > 0 && four[i] == four[i - 1]) continue;
        times_.push_back(four[i].x);
        values_.push_back(four[i].value);
      }
    }
    if (!times_.empty())
      out_.points({.series = series.id, .times = times_, .steps = {}, .values = values_});
    for (const ChartGap& gap : series.gaps) out_.gap(gap.from, gap.to, 0);
    if (series.unknown_gap) out_.gap(PointGap::kEarliest, PointGap::kLatest, 0);
  }

  // Series come in the order of series_; one without points is declared as well.
  void declare_up_to(std::optional<SeriesId> id) {
    while (declared_ < series_.size() && (declared_ == 0 || series_[declared_ - 1].id != id)) {
      out_.declare(declaration(*run_, series_[declared_]));
      ++declared_;
    }
  }

  store::Reader store_;
  const ReadRequest request_;
  ChunkWriter out_;
  std::size_t next_run_ = 0;
  std::optional<std::int64_t> from_, to_;
  std::optional<store::Run> run_;  // that is being read
  std::vector<store::Series> series_;
  std::size_t declared_ = 0;
  std::size_t reduced_ = 0;
  std::optional<PointWalk> walk_;
  std::vector<std::int64_t> times_;
  std::vector<double> values_;
};

}  // namespace

Result<> check_read(const store::Reader& store, const ReadRequest& request) {
  for (const RunId run : request.runs) {
    for (const store::Series& series : TRY(store.series_of(run)))
      if (matches(request, series)) return {};
  }
  std::string names;
  for (const std::string& glob : request.metrics)
    names += (names.empty() ? "" : ", ") + to_utf8(glob);
  return fail(
      Code::kNotFound,
      fmt::format("no metric of the runs matches {}; `corral ls metrics RUN` names them", names));
}

PartStream read_points(const store::Reader& store, ReadRequest request) {
  return [reader = std::make_shared<PointReader>(store, std::move(request))](
             std::string& text) -> Result<bool> { return reader->next(text); };
}

}  // namespace corral::query
