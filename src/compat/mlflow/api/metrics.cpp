// Metrics: logging them, and their history.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "analyze/history.h"
#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/api/metric_writer.h"
#include "compat/mlflow/tables/logged_models.h"
#include "compat/mlflow/wire/log_batch.h"
#include "core/text.h"

namespace corral::server::mlflow {
namespace {

using wire::LogBatch;

constexpr std::int64_t kMostBulkRuns = 100;
constexpr std::int64_t kMostBulkPoints = 25000;
constexpr std::int64_t kMostInterval = 2500;

// Points that belong to logged models, too.
Result<> store_for_models(Connection& db, const LogBatch& batch) {
  std::vector<tracking::ModelMetric> metrics;
  metrics.reserve(batch.model_metrics.size());
  for (const auto& metric : batch.model_metrics) {
    metrics.push_back({.model_id = metric.model_id,
                       .run_id = {},
                       .key = metric.key,
                       .value = metric.point.value,
                       .time = UtcTime(std::chrono::milliseconds(metric.point.time_ms)),
                       .step = metric.point.step,
                       .dataset_name = metric.dataset_name,
                       .dataset_digest = metric.dataset_digest});
  }
  return tracking::store_model_metrics(db, batch.run_id, metrics);
}

// All or nothing: params, tags and points are one transaction.
Body store_batch(const LogBatch& batch, Context& context) {
  Repeated repeated;
  for (const auto& metric : batch.model_metrics) repeated.insert(metric.key);
  std::optional<ApiError> refused;
  const auto before = [&](Connection& db) -> Result<> {
    refused.reset();
    const auto checked = [&]() -> Answer<> {
      const bool points_only = batch.params.empty() && batch.tags.empty();
      const auto run =
          TRY_API(find_active_run(db, batch.run_id, points_only ? RowLock::kNone : RowLock::kRow));
      TRY_API(set_params(db, run, batch.params, Params::kBatch));
      TRY_API(set_tags(db, run, batch.tags));
      TRY_API(store_for_models(db, batch));
      return {};
    }();
    if (checked) return {};
    refused = checked.error();
    return corral::fail(Code::kInvalidArgument, "refused");
  };
  const auto done = [&]() -> Result<> {
    const auto run = RunId::parse(batch.run_id);
    // `before` refuses a malformed run id, like an unknown run.
    if (batch.metrics.empty() || !run) return context.store.change(before);
    const auto stored = TRY(metric_writer(context).write(*run, batch.metrics, before, repeated));
    context.events.note(stored.changed_runs, stored.data_runs);
    return {};
  }();
  if (done) return empty_answer();
  if (refused) return tl::unexpected(*refused);
  return tl::unexpected<ApiError>(done.error());
}

template <Answer<LogBatch> (*kParse)(std::string_view)>
Answer<Response> log(const Request& request, Context& context) {
  TRY_API(check_content_type(request));
  const LogBatch batch = TRY_API(kParse(request.body));
  return json_response(TRY_API(store_batch(batch, context)));
}

// Nothing for a run or a metric that is not there: clients expect an empty history.
Answer<std::optional<SeriesId>> find_run_series(Context& context, std::string_view run,
                                                std::string_view key) {
  const auto id = RunId::parse(run);
  if (!id) return std::nullopt;
  return TRY_API(find_series(context.reader, *id, key));
}

void write_point(JsonWriter& json, const analyze::HistoryPoint& point, std::string_view key,
                 std::string_view run) {
  json.begin_object().member("key", key).member("value", point.value);
  json.member("timestamp", point.time_ms).member("step", point.step);
  json.member("run_id", run).end_object();
}

struct HistoryQuery {
  std::string key;
  std::optional<SeriesId> series;
  analyze::HistoryPlace from;
  std::size_t most = std::numeric_limits<std::size_t>::max();
};

Answer<HistoryQuery> history_query(Message& in, Context& context) {
  HistoryQuery query;
  const std::string run = read_run_id(in);
  query.key = in.need_text("metric_key");
  const auto most = in.maybe_integer("max_results");
  const std::string token = in.text("page_token");
  TRY_API(in.check());
  if (most && *most <= 0) {
    return invalid(fmt::format(
        "Invalid value {} for parameter 'max_results' supplied. It must be a positive integer.",
        *most));
  }
  if (most) query.most = static_cast<std::size_t>(*most);
  if (const auto place = TRY_API(wire::parse_history_token(token)))
    query.from = {.time_ms = place->time_ms, .skip = static_cast<std::size_t>(place->offset)};
  query.series = TRY_API(find_run_series(context, run, query.key));
  return query;
}

// The JSON of a history, page behind page.
class HistoryText {
 public:
  explicit HistoryText(std::string_view key) : begin_(R"({"key":)") {
    append_json_string(begin_, key);
    begin_ += R"(,"value":)";
  }

  void add(std::string& out, std::span<const analyze::HistoryPoint> points) {
    out.reserve(out.size() + 64 + (begin_.size() + 64) * points.size());
    for (const analyze::HistoryPoint& point : points) {
      list_.separate(out);
      out += begin_;
      JsonWriter(out).value(point.value);
      fmt::format_to(std::back_inserter(out), R"(,"timestamp":{},"step":{}}})", point.time_ms,
                     point.step);
    }
  }
  void finish(std::string& out, const std::optional<analyze::HistoryPlace>& next) const {
    if (!next) return list_.finish(out);
    list_.finish(out, wire::history_token({.time_ms = next->time_ms,
                                           .offset = static_cast<std::int64_t>(next->skip)}));
  }

 private:
  std::string begin_;  // the JSON with which each point begins
  ListText list_{"metrics"};
};

// A history of any length, in the memory of one page. It begins anew, because a page for a slow
// reader is smaller than the first that was looked at.
http::StreamProducer stream_history(const store::Reader& reader, HistoryQuery query) {
  HistoryText text(query.key);
  return [reader, query = std::move(query),
          text = std::move(text)](std::string& part) mutable -> Result<bool> {
    const auto page = TRY(analyze::history_page(
        reader, *query.series, query.from, std::min(query.most, analyze::kStreamedPagePoints)));
    text.add(part, page.points);
    query.most -= page.points.size();
    if (page.next && query.most > 0) {
      query.from = *page.next;
      return true;
    }
    text.finish(part, page.next);
    return false;
  };
}

Answer<std::vector<std::string>> bulk_runs(Message& in, std::string_view name) {
  auto runs = in.texts(name);
  TRY_API(in.check());
  if (runs.empty()) {
    return invalid("GetMetricHistoryBulk request must specify at least one run_id.");
  }
  if (runs.size() > kMostBulkRuns) {
    return invalid(fmt::format(
        "GetMetricHistoryBulk request cannot specify more than {} run_ids. Received {} run_ids.",
        kMostBulkRuns, runs.size()));
  }
  return runs;
}

Answer<Response> get_history(Message& in, Context& context) {
  HistoryQuery query = TRY_API(history_query(in, context));
  if (!query.series) return answer(empty_answer());
  const auto page =
      TRY_API(analyze::history_page(context.reader, *query.series, query.from,
                                    std::min(query.most, analyze::kHistoryPagePoints)));
  if (page.next && query.most > page.points.size()) {
    Response response = json_response({});
    response.stream = stream_history(context.reader, std::move(query));
    return response;
  }
  HistoryText text(query.key);
  std::string out;
  text.add(out, page.points);
  text.finish(out, page.next);
  return json_response(std::move(out));
}

Body get_history_bulk(Message& in, Context& context) {
  const auto runs = TRY_API(bulk_runs(in, in.has("run_id") ? "run_id" : "run_ids"));
  const std::string key = in.text("metric_key");
  if (key.empty())
    in.wrong({ErrorCode::kInvalidParameterValue,
              "GetMetricHistoryBulk request must specify a metric_key."});
  const auto most = std::clamp(in.maybe_integer("max_results").value_or(kMostBulkPoints),
                               std::int64_t{0}, kMostBulkPoints);
  TRY_API(in.check());
  auto left = static_cast<std::size_t>(most);
  std::vector<std::string> sorted = runs;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());  // each run once
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("metrics").begin_array();
  for (const std::string& run : sorted) {
    if (left == 0) break;
    const auto series = TRY_API(find_run_series(context, run, key));
    if (!series) continue;
    const auto page = TRY_API(analyze::history_page(context.reader, *series, {}, left));
    for (const auto& point : page.points) write_point(json, point, key, run);
    left -= page.points.size();
  }
  json.end_array().end_object();
  return out;
}

Body get_history_bulk_interval(Message& in, Context& context) {
  if (!in.has("run_ids")) in.missing("run_ids");
  const auto runs = TRY_API(bulk_runs(in, "run_ids"));
  const std::string key = in.need_text("metric_key");
  const auto start = in.maybe_integer("start_step");
  const auto end = in.maybe_integer("end_step");
  const auto most = in.maybe_integer("max_results").value_or(kMostInterval);
  TRY_API(in.check());
  if (start.has_value() != end.has_value())
    return invalid("If either start step or end step are specified, both must be specified.");
  if (start && *start > *end) {
    return invalid(fmt::format(
        "end_step must be greater than start_step. Found start_step={} and end_step={}.", *start,
        *end));
  }
  if (most < 1 || most > kMostInterval) {
    return invalid(
        fmt::format("max_results must be between 1 and {}. See the API docs for more "
                    "information about request parameters.",
                    kMostInterval));
  }
  std::string out;
  ListText list("metrics");
  for (const std::string& run : runs) {
    const auto series = TRY_API(find_run_series(context, run, key));
    if (!series) continue;
    analyze::SampleQuery sample{.series = *series};
    sample.most = static_cast<std::size_t>(most);
    if (start) std::tie(sample.first_step, sample.last_step) = std::pair(*start, *end);
    for (const auto& point : TRY_API(analyze::sample_history(context.reader, sample))) {
      list.separate(out);
      JsonWriter json(out);
      write_point(json, point, key, run);
    }
  }
  list.finish(out);
  return out;
}

}  // namespace

std::span<const Rpc> metric_rpcs() {
  static constexpr std::array kRpcs = {
      Rpc{Method::kPost, "/2.0/mlflow/runs/log-metric", nullptr, log<wire::parse_log_metric>},
      Rpc{Method::kPost, "/2.0/mlflow/runs/log-batch", nullptr, log<wire::parse_log_batch>},
      Rpc{Method::kGet, "/2.0/mlflow/metrics/get-history", nullptr, nullptr, get_history},
      Rpc{Method::kGet, "/2.0/mlflow/metrics/get-history-bulk", get_history_bulk},
      Rpc{Method::kGet, "/2.0/mlflow/metrics/get-history-bulk-interval", get_history_bulk_interval},
  };
  return kRpcs;
}

}  // namespace corral::server::mlflow
