// Experiments: create, read, rename, delete, restore, tags, search.
#include <fmt/core.h>

#include <array>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/tables/search_experiments.h"
#include "compat/mlflow/wire/names.h"
#include "store/search/change_runs.h"
#include "store/tables/spaces.h"
#include "sys/clock.h"

namespace corral::server::mlflow {
namespace {

using tracking::Lifecycle;

Answer<> check_location(std::string_view location) {
  if (wire::code_points(location) > wire::kArtifactLocationLength) {
    return invalid(fmt::format("'artifact_location' exceeds the maximum length of {} characters",
                               wire::kArtifactLocationLength));
  }
  if (location.find_first_of("#?") != std::string_view::npos) {
    return invalid(
        fmt::format("Invalid artifact location '{}': it may not contain '#' or '?'", location));
  }
  return {};
}

std::string as_answer(const tracking::ExperimentRow& experiment) {
  return object_with("experiment", [&](JsonWriter& json) { write_experiment(json, experiment); });
}

// Returns the error of a change; kAlreadyExists becomes MLflow's message about a taken name.
Answer<> rename_error(Result<> done, std::string_view name) {
  if (done) return {};
  if (done.error().code == Code::kAlreadyExists)
    return refuse(ErrorCode::kBadRequest, fmt::format("Experiment(name={}) already exists.", name));
  return tl::unexpected<ApiError>(done.error());
}

constexpr std::int64_t kMostFound = 50000;

// From one state to the other; 404 when it is in that already, as if it were not there.
Body move_to(Message& in, Context& context, Lifecycle lifecycle) {
  const std::string id = in.need_text("experiment_id");
  return change(in, context, [&](Connection& db) -> Body {
    const auto experiment = TRY_API(find_experiment(db, id));
    if (experiment.lifecycle == lifecycle) {
      return refuse(ErrorCode::kResourceDoesNotExist,
                    fmt::format("No Experiment with id={} exists", experiment.id.value));
    }
    if (lifecycle == Lifecycle::kDeleted)
      TRY_API(tracking::check_own(db, experiment.id, trashes_own_of(context)));
    TRY_API(tracking::set_lifecycle(db, experiment.id, lifecycle, sys::utc_now()));
    return empty_answer();
  });
}

Body create_experiment(Message& in, Context& context) {
  tracking::NewExperiment experiment;
  experiment.name = in.need_text("name");
  experiment.artifact_location = in.text("artifact_location");
  TRY_API(in.check());
  TRY_API(wire::check_experiment_name(experiment.name));
  TRY_API(check_location(experiment.artifact_location));
  while (experiment.artifact_location.ends_with('/')) experiment.artifact_location.pop_back();
  experiment.tags =
      TRY_API(read_tags(in, "tags", std::string::npos, ErrorCode::kResourceAlreadyExists));
  const ExperimentId id = TRY_API(change(context, [&](Connection& db) -> Answer<ExperimentId> {
    const auto made = tracking::create_experiment(db, experiment, sys::utc_now());
    if (made) return *made;
    if (made.error().code != Code::kAlreadyExists) return tl::unexpected<ApiError>(made.error());
    return refuse(ErrorCode::kResourceAlreadyExists,
                  fmt::format("Experiment(name={}) already exists.", experiment.name));
  }));
  return fmt::format(R"({{"experiment_id":"{}"}})", id.value);
}

Body get_experiment(Message& in, Context& context) {
  const std::string id = in.need_text("experiment_id");
  return inspect(in, context, [&](Reading& reading) -> Body {
    return as_answer(TRY_API(find_experiment(reading.db, id)));
  });
}

Body get_experiment_by_name(Message& in, Context& context) {
  const std::string name = in.need_text("experiment_name");
  return inspect(in, context, [&](Reading& reading) -> Body {
    const auto experiment = TRY_API(tracking::experiment_named(reading.db, name));
    if (experiment) return as_answer(*experiment);
    return refuse(ErrorCode::kResourceDoesNotExist,
                  fmt::format("Could not find experiment with name '{}'", name));
  });
}

// With the experiment go the runs of others.
Answer<> check_move(Connection& db, const Principal& who, std::string_view from,
                    std::string_view to) {
  store::Writing writing(db);
  if (who.role >= Role::kOwner ||
      !TRY_API(store::accounts::are_in_different_spaces(writing, from, to)))
    return {};
  return refuse(ErrorCode::kPermissionDenied,
                "to move an experiment into a space, or out of it, needs the role owner");
}

Body update_experiment(Message& in, Context& context) {
  const std::string id = in.need_text("experiment_id");
  const std::string name = in.need_text("new_name");
  TRY_API(in.check());
  TRY_API(wire::check_experiment_name(name));
  return change(context, [&](Connection& db) -> Body {
    const auto experiment = TRY_API(find_experiment(db, id));
    if (experiment.lifecycle != Lifecycle::kActive)
      return refuse(ErrorCode::kInvalidState, "Cannot rename a non-active experiment.");
    TRY_API(check_move(db, context.who, experiment.name, name));
    TRY_API(
        rename_error(tracking::rename_experiment(db, experiment.id, name, sys::utc_now()), name));
    return empty_answer();
  });
}

Body delete_experiment(Message& in, Context& context) {
  return move_to(in, context, Lifecycle::kDeleted);
}

Body restore_experiment(Message& in, Context& context) {
  return move_to(in, context, Lifecycle::kActive);
}

Body set_experiment_tag(Message& in, Context& context) {
  const std::string id = in.need_text("experiment_id");
  const std::string key = in.need_text("key");
  const std::string value = in.text("value");
  TRY_API(in.check());
  TRY_API(wire::check_key(key, "key"));
  return change(context, [&](Connection& db) -> Body {
    const auto experiment = TRY_API(find_experiment(db, id));
    TRY_API(check_active(experiment));
    TRY_API(tracking::set_experiment_tag(db, experiment.id, key, value));
    return empty_answer();
  });
}

Body delete_experiment_tag(Message& in, Context& context) {
  const std::string id = in.need_text("experiment_id");
  const std::string key = in.need_text("key");
  return change(in, context, [&](Connection& db) -> Body {
    const auto experiment = TRY_API(find_experiment(db, id));
    TRY_API(check_active(experiment));
    if (TRY_API(tracking::delete_experiment_tag(db, experiment.id, key))) return empty_answer();
    return refuse(ErrorCode::kResourceDoesNotExist,
                  fmt::format("No tag with name: {} in experiment with id {}", key, id));
  });
}

Body search_experiments(Message& in, Context& context) {
  tracking::ExperimentSearch search;
  // Clients always send max_results; a missing one counts as 0 and is refused.
  search.search = TRY_API(
      read_search(in, {.kind = wire::SearchKind::kExperiments, .fallback = 0, .most = kMostFound}));
  search.view = TRY_API(read_view(in, "view_type"));
  return inspect(context, [&](Reading& reading) -> Body {
    const auto found = TRY_API(tracking::search_experiments(reading.db, search));
    return list_answer("experiments", found.rows, write_experiment,
                       next_page(search.search.paging, found));
  });
}

}  // namespace

std::span<const Rpc> experiment_rpcs() {
  static constexpr std::array kRpcs = {
      Rpc{Method::kPost, "/2.0/mlflow/experiments/create", create_experiment},
      Rpc{Method::kGet, "/2.0/mlflow/experiments/get", get_experiment},
      Rpc{Method::kGet, "/2.0/mlflow/experiments/get-by-name", get_experiment_by_name},
      needing(Role::kReader,
              Rpc{Method::kPost, "/2.0/mlflow/experiments/search", search_experiments}),
      Rpc{Method::kGet, "/2.0/mlflow/experiments/search", search_experiments},
      Rpc{Method::kPost, "/2.0/mlflow/experiments/update", update_experiment},
      Rpc{Method::kPost, "/2.0/mlflow/experiments/delete", delete_experiment},
      Rpc{Method::kPost, "/2.0/mlflow/experiments/restore", restore_experiment},
      Rpc{Method::kPost, "/2.0/mlflow/experiments/set-experiment-tag", set_experiment_tag},
      Rpc{Method::kPost, "/2.0/mlflow/experiments/delete-experiment-tag", delete_experiment_tag},
  };
  return kRpcs;
}

}  // namespace corral::server::mlflow
