// Runs: create, read, update, delete, restore, search.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/api/search.h"
#include "compat/mlflow/tables/search_experiments.h"
#include "compat/mlflow/wire/names.h"
#include "compat/mlflow/wire/page_token.h"
#include "compat/mlflow/wire/run_name.h"
#include "compat/mlflow/wire/times.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::server::mlflow {
namespace {

using store::sql::Connection;
using tracking::Lifecycle;

constexpr std::string_view kRunNameTag = "mlflow.runName";
// By the numbers of the enum.
constexpr std::array<std::string_view, 6> kStatuses = {"",         "RUNNING", "SCHEDULED",
                                                       "FINISHED", "FAILED",  "KILLED"};

std::string run_answer(const tracking::RunRow& run, const tracking::RunDetails& details,
                       const store::sql::RunMetrics& metrics) {
  return object_with("run", [&](JsonWriter& json) { write_run(json, run, details, metrics); });
}

// A time that a client gave, or nothing when it left it out.
Answer<std::optional<UtcTime>> time_of(Message& in, std::string_view name) {
  const auto ms = in.maybe_integer(name);
  TRY_API(all_read(in));
  if (!ms) return std::nullopt;
  if (*ms < 0 || !corral::mlflow::client_time(*ms)) {
    in.wrong_value(name, "Times are milliseconds since 1970, at most those of 2110");
    TRY_API(all_read(in));
  }
  return UtcTime(std::chrono::milliseconds(*ms));
}

// The name of the field and the one of the tag are one; none of both: a made one.
Answer<std::string> name_of(const std::string& name, tracking::Tags& tags, RunId id) {
  const auto tag =
      std::ranges::find(tags, kRunNameTag, &std::pair<std::string, std::string>::first);
  if (tag != tags.end() && !name.empty() && tag->second != name) {
    return invalid(fmt::format(
        "Both 'run_name' argument and 'mlflow.runName' tag are specified, but with different "
        "values (run_name='{}', mlflow.runName='{}').",
        name, tag->second));
  }
  if (tag != tags.end() && !tag->second.empty()) return tag->second;
  std::uint64_t bits = 0;
  std::memcpy(&bits, id.bytes.data(), sizeof bits);
  std::string chosen = name.empty() ? corral::mlflow::run_name(bits) : name;
  if (tag != tags.end()) {
    tag->second = chosen;
  } else {
    tags.emplace_back(kRunNameTag, chosen);
  }
  return chosen;
}

Result<tracking::RunDetails> details_of(Connection& db, std::int64_t key) {
  auto all = TRY(tracking::details(db, std::span(&key, 1)));
  return std::move(all.front());
}

constexpr std::int64_t kMostFoundRuns = 50000;
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
  search.search = TRY_API(read_search(in, {.kind = corral::mlflow::SearchKind::kRuns,
                                           .fallback = kRunsAtOnce,
                                           .most = kMostFoundRuns}));
  search.view = TRY_API(read_view(in, "run_view_type"));
  for (const std::string& id : in.texts("experiment_ids"))
    search.experiments.push_back(TRY_API(parse_experiment_id(id)));
  TRY_API(all_read(in));
  return search;
}

Body move_to(Message& in, Context& context, Lifecycle lifecycle) {
  const std::string id = run_id_of(in);
  TRY_API(all_read(in));
  const auto run = change(context, [&](Connection& db) -> Answer<RunId> {
    const auto found = TRY_API(find_run(db, id));
    TRY_API(tracking::set_run_lifecycle(db, found.key, lifecycle));
    return found.id;
  });
  if (!run) return tl::unexpected(run.error());
  const std::array changed{*run};
  context.events.note(changed, {});
  return empty_answer();
}
}  // namespace

Body create_run(Message& in, Context& context) {
  tracking::NewRun run;
  run.id = RunId::random();
  const std::string experiment = in.text("experiment_id");
  TRY_API(all_read(in));
  if (experiment.empty())
    return refuse(ErrorCode::kBadRequest, "Creating a run needs an 'experiment_id'.");
  run.user_id = in.text("user_id");
  const std::string name = in.text("run_name");
  run.start = TRY_API(time_of(in, "start_time")).value_or(sys::utc_now());
  run.tags = TRY_API(read_tags(in, "tags", corral::mlflow::kTagLength));
  run.name = TRY_API(name_of(name, run.tags, run.id));
  const auto row = change(context, [&](Connection& db) -> Answer<tracking::RunRow> {
    run.experiment = TRY_API(hold_active_experiment(db, experiment)).id;
    TRY_API(tracking::create_run(db, run));
    return *TRY_API(tracking::run(db, run.id));
  });
  if (!row) return tl::unexpected(row.error());
  const std::array changed{run.id};
  context.events.note(changed, {});
  tracking::RunDetails details;
  details.tags = run.tags;
  return run_answer(*row, details, std::make_shared<std::vector<store::sql::LatestMetric>>());
}

Body get_run(Message& in, Context& context) {
  const std::string id = run_id_of(in);
  TRY_API(all_read(in));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    const auto run = TRY_API(find_run(reading.db, id));
    const auto metrics = TRY_API(reading.latest.of(reading.db, std::span(&run.key, 1)));
    return run_answer(run, TRY_API(details_of(reading.db, run.key)), metrics.front());
  });
}

Body update_run(Message& in, Context& context) {
  const std::string id = run_id_of(in);
  tracking::RunUpdate update;
  if (const auto status = in.maybe_enum("status", kStatuses))
    update.status = static_cast<tracking::ClientStatus>(*status);
  update.end = TRY_API(time_of(in, "end_time"));
  update.name = in.maybe_text("run_name");
  if (update.name && update.name->empty()) update.name.reset();
  TRY_API(all_read(in));
  const auto run = change(context, [&](Connection& db) -> Answer<tracking::RunRow> {
    const auto before = TRY_API(find_active_run(db, id));
    TRY_API(tracking::update_run(db, before, update));
    if (update.name) {
      TRY_API(tracking::set_fact(db, before.key, tracking::Fact::kTag, kRunNameTag, *update.name));
    }
    return *TRY_API(tracking::run(db, before.id));
  });
  if (!run) return tl::unexpected(run.error());
  const std::array changed{run->id};
  context.events.note(changed, {});
  return object_with("run_info", [&](JsonWriter& json) { write_run_info(json, *run); });
}

Body delete_run(Message& in, Context& context) { return move_to(in, context, Lifecycle::kDeleted); }
Body restore_run(Message& in, Context& context) { return move_to(in, context, Lifecycle::kActive); }

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
