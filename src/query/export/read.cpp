#include "query/export/read.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/json.h"
#include "core/text.h"
#include "metric/foreign.h"
#include "query/chart/chart.h"
#include "query/export/export.h"
#include "query/export/read_chunks.h"
#include "query/series/axis_cells.h"
#include "query/series/points.h"

namespace corral::query {
namespace {

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

}  // namespace

class PointReader::State final : public PointTaker {
 public:
  State(store::Store& store, ReadRequest request) : store_(store), request_(std::move(request)) {
    out_.begin(request_.points.has_value());
  }

  bool next(std::string& out) {
    const Result<bool> more = step();
    if (!more) out_.error(more.error());
    if (more && !*more) out_.end();
    out += out_.take();
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
      give(chart.series.front());
    }
    return reduced_ < series_.size();
  }

  // The points of the columns in order of time, each once.
  void give(const ChartSeries& series) {
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

  store::Store& store_;
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

Result<> check_read(store::Store& store, const ReadRequest& request) {
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

PointReader::PointReader(store::Store& store, ReadRequest request)
    : state_(std::make_unique<State>(store, std::move(request))) {}
PointReader::PointReader(PointReader&&) noexcept = default;
PointReader& PointReader::operator=(PointReader&&) noexcept = default;
PointReader::~PointReader() = default;

bool PointReader::next(std::string& out) { return state_->next(out); }

}  // namespace corral::query
