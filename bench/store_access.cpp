#include "store_access.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "analyze/group.h"
#include "query/chart/chart.h"
#include "query/loss.h"
#include "store/open/postgres_store.h"
#include "store/open/sqlite_store.h"

namespace corral::bench {

void give_up(const std::string& what) {
  fmt::print(stderr, "corral_bench_store: {}\n", what);
  std::exit(1);
}

std::unique_ptr<store::Store> open_store(const StoreSpec& spec) {
  if (!spec.embedded()) return must(store::open_postgres_store({.url = spec.location}), "open");
  return must(store::open_sqlite_store({.directory = spec.location}), "open");
}

void settle(store::Store& store) { must(store.seal(true), "seal"); }

void append(store::Store& store, const std::vector<codec::ByteView>& frames) {
  std::vector<codec::Frame> decoded;
  decoded.reserve(frames.size());
  for (const codec::ByteView bytes : frames)
    decoded.push_back(must(codec::decode_frame(bytes), "decode_frame"));
  const auto result = must(store.append(decoded), "append");
  if (!result.refusals.empty()) give_up("refused: " + result.refusals[0].error.message);
}

RunId run_named(store::Store& store, const std::string& name) {
  const auto ids = must(reader_of(store).find_runs(name), "find_runs");
  if (ids.empty()) give_up("no run " + name);
  return ids.front();
}

std::vector<SeriesId> series_of(store::Store& store, RunId run) {
  std::vector<SeriesId> ids;
  for (const store::Series& s : must(reader_of(store).series_of(run), "series_of"))
    ids.push_back(s.id);
  return ids;
}

std::size_t chart(store::Store& store, const ChartAsk& ask) {
  query::ChartRequest request;
  request.series = ask.series;
  if (ask.window.to != 0) {
    request.from = ask.window.from;
    request.to = ask.window.to;
  }
  request.width = ask.width;
  request.exact = ask.exact;
  const query::Chart chart = must(query::make_chart(reader_of(store), request), "make_chart");
  std::size_t columns = 0;
  for (const query::ChartSeries& s : chart.series) columns += s.columns.size();
  return columns + query::encode_chart(chart).size() / SIZE_MAX;
}

namespace {

Window whole(store::Store& store, const std::vector<SeriesId>& ids) {
  Window window{.from = INT64_MAX, .to = INT64_MIN};
  for (const store::Series& s : must(reader_of(store).series(ids), "series")) {
    window.from = std::min(window.from, ns_of(s.first));
    window.to = std::max(window.to, ns_of(s.last_time) + 1);
  }
  return window;
}

Result<analyze::GroupAnswer> mean_of(store::PointView& view, const ChartAsk& ask, Window window) {
  query::ResampleRequest wanted;
  for (const SeriesId id : ask.series)
    wanted.series.push_back({.series = id, .channel = store::Channel::kValue, .origin = 0});
  wanted.grid = {
      .axis = query::GridAxis::kTime, .from = window.from, .to = window.to, .columns = ask.width};
  wanted.exactness = ask.exact ? query::Exactness::kExact : query::Exactness::kAligned;
  wanted.ends = false;
  const std::vector<query::ResampledSeries> lines = TRY(query::resample(view, wanted));
  analyze::GroupRequest group;
  for (std::size_t i = 0; i < lines.size(); ++i)
    group.members.push_back({.series = &lines[i], .owner = fmt::format("{}", i), .thing = {}});
  group.repetitions = true;
  return analyze::aggregate_group(group);
}

}  // namespace

std::size_t group_mean(store::Store& store, const ChartAsk& ask) {
  const Window window = ask.window.to != 0 ? ask.window : whole(store, ask.series);
  analyze::GroupAnswer answer;
  must(reader_of(store).view(ask.series,
                             [&](store::PointView& view) -> Result<> {
                               answer = TRY(mean_of(view, ask, window));
                               return {};
                             }),
       "group");
  return answer.mean.size();
}

std::size_t list_runs(store::Store& store) {
  const auto page = must(reader_of(store).runs(store::RunFilter{}), "runs");
  std::vector<RunId> ids;
  for (const store::Run& run : page.runs) ids.push_back(run.id);
  return must(query::read_losses(reader_of(store), ids), "read_losses").size() + ids.size();
}

}  // namespace corral::bench
