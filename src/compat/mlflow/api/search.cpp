// Searching experiments and runs.
#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/api/searching.h"
#include "compat/mlflow/tables/search.h"
#include "compat/mlflow/wire/page_token.h"
#include "core/text.h"

namespace corral::server::mlflow {
namespace {

constexpr std::int64_t kMostRows = 50000;
constexpr std::int64_t kRunsAtOnce = 1000;
// In one part of a streamed list, which waits in memory for a slow reader.
constexpr std::size_t kRunsOfPart = 250;

// The answer to a search for runs, some of them at a time. Runs that are gone by then are left out.
class RunList {
 public:
  Result<> add(store::sql::Reading& reading, std::span<const std::int64_t> keys, std::string& out) {
    const auto runs = TRY(tracking::runs(reading.db, keys));
    std::vector<std::int64_t> there;
    there.reserve(runs.size());
    for (const auto& run : runs) there.push_back(run.key);
    const auto details = TRY(tracking::details(reading.db, there));
    const auto metrics = TRY(reading.latest.of(reading.db, there));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      out += std::exchange(begun_, true) ? "," : R"({"runs":[)";
      JsonWriter json(out);
      write_run(json, runs[i], details[i], metrics[i]);
    }
    return {};
  }
  void finish(const std::string& next_page, std::string& out) const {
    if (begun_) out += ']';
    if (!begun_) out += '{';
    if (!next_page.empty()) {
      out += begun_ ? R"(,"next_page_token":)" : R"("next_page_token":)";
      append_json_string(out, next_page);
    }
    out += '}';
  }

 private:
  bool begun_ = false;
};

struct FoundRuns {
  std::vector<std::int64_t> keys;
  std::string next_page;
  std::string whole;  // the answer, when it is short
};

// kRunsOfPart in one snapshot and in memory.
http::StreamProducer stream_runs(const store::Reader& reader, FoundRuns found) {
  return [reader, found = std::move(found), list = RunList(),
          at = std::size_t{0}](std::string& part) mutable -> Result<bool> {
    const auto left = std::span<const std::int64_t>(found.keys).subspan(at);
    const auto some = left.first(std::min(kRunsOfPart, left.size()));
    std::string out;
    const auto read = [&](store::sql::Reading& reading) { return list.add(reading, some, out); };
    TRY(reader.inspect(read));
    part += out;
    at += some.size();
    if (at == found.keys.size()) list.finish(found.next_page, part);
    return at < found.keys.size();
  };
}

Answer<FoundRuns> find_runs(const tracking::RunSearch& search, Context& context) {
  return inspect(context, [&](store::sql::Reading& reading) -> Answer<FoundRuns> {
    auto rows = TRY_API(tracking::search_runs(reading, search));
    FoundRuns found{.keys = std::move(rows.rows), .next_page = {}, .whole = {}};
    if (rows.more) {
      found.next_page = corral::mlflow::page_token(search.search.paging.offset +
                                                   static_cast<std::int64_t>(found.keys.size()));
    }
    if (found.keys.size() > kRunsAtOnce) return found;
    RunList list;
    TRY_API(list.add(reading, found.keys, found.whole));
    list.finish(found.next_page, found.whole);
    return found;
  });
}

Answer<tracking::RunSearch> read_run_search(Message& in) {
  tracking::RunSearch search;
  search.search = TRY_API(read_search(
      in, {.kind = corral::mlflow::SearchKind::kRuns, .fallback = kRunsAtOnce, .most = kMostRows}));
  search.view = TRY_API(read_view(in, "run_view_type"));
  for (const std::string& id : in.texts("experiment_ids"))
    search.experiments.push_back(TRY_API(parse_experiment_id(id)));
  TRY_API(all_read(in));
  return search;
}

}  // namespace

Answer<tracking::Search> read_search(Message& in, const SearchForm& form) {
  tracking::Search search;
  const std::string filter = in.text("filter");
  const auto orders = in.texts("order_by");
  const std::string token = in.text("page_token");
  search.paging.limit = in.maybe_integer("max_results").value_or(form.fallback);
  TRY_API(all_read(in));
  if (search.paging.limit < 1) {
    return invalid(fmt::format(
        "Invalid value {} for parameter 'max_results' supplied. It must be a positive integer",
        search.paging.limit));
  }
  if (search.paging.limit > form.most) {
    return invalid(
        fmt::format("Invalid value {} for parameter 'max_results' supplied. It must be at most {}",
                    search.paging.limit, form.most));
  }
  search.filter = TRY_API(corral::mlflow::parse_filter(form.kind, filter));
  search.orders = TRY_API(corral::mlflow::parse_order_by(form.kind, orders));
  search.paging.offset = TRY_API(corral::mlflow::parse_page_token(token));
  return search;
}

Answer<tracking::View> read_view(Message& in, std::string_view name) {
  // By the numbers of the enum.
  static constexpr std::array<std::string_view, 4> kViews = {"", "ACTIVE_ONLY", "DELETED_ONLY",
                                                             "ALL"};
  const auto view = in.maybe_enum(name, kViews).value_or(1);
  TRY_API(all_read(in));
  return view == 1   ? tracking::View::kActive
         : view == 2 ? tracking::View::kDeleted
                     : tracking::View::kAll;
}

void write_next_page(JsonWriter& json, const tracking::Paging& paging, bool more,
                     std::size_t rows) {
  if (!more) return;
  json.member("next_page_token",
              corral::mlflow::page_token(paging.offset + static_cast<std::int64_t>(rows)));
}

Body search_experiments(Message& in, Context& context) {
  tracking::ExperimentSearch search;
  // Clients always say how many they want: what they leave out is none.
  search.search = TRY_API(read_search(
      in, {.kind = corral::mlflow::SearchKind::kExperiments, .fallback = 0, .most = kMostRows}));
  search.view = TRY_API(read_view(in, "view_type"));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    const auto found = TRY_API(tracking::search_experiments(reading.db, search));
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    if (!found.rows.empty()) {
      json.key("experiments").begin_array();
      for (const auto& experiment : found.rows) write_experiment(json, experiment);
      json.end_array();
    }
    write_next_page(json, search.search.paging, found.more, found.rows.size());
    json.end_object();
    return out;
  });
}

Response search_runs(Message& in, Context& context) {
  const auto search = read_run_search(in);
  if (!search) return answer(search.error());
  auto found = find_runs(*search, context);
  if (!found) return answer(found.error());
  Response response = json_response(std::move(found->whole));
  if (!response.body.empty()) return response;
  response.stream = stream_runs(context.reader, *std::move(found));
  return response;
}

}  // namespace corral::server::mlflow
