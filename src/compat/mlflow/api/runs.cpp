// Runs: create, read, update, delete, restore.
#include <fmt/core.h>

#include <array>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/wire/names.h"
#include "compat/mlflow/wire/run_name.h"
#include "compat/mlflow/wire/times.h"
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

namespace {

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

Body delete_run(Message& in, Context& context) { return move_to(in, context, Lifecycle::kDeleted); }
Body restore_run(Message& in, Context& context) { return move_to(in, context, Lifecycle::kActive); }

}  // namespace corral::server::mlflow
