// Searches of experiments, registered models, versions, logged models and traces.
#include <limits>

#include "compat/mlflow/tables/logged_models.h"
#include "compat/mlflow/tables/registry.h"
#include "compat/mlflow/tables/search_experiments.h"
#include "compat/mlflow/tables/traces.h"
#include "store/search/test_search.h"

namespace corral::store::tracking {
namespace {

using mlflow::SearchKind;
using Names = std::vector<std::string>;

constexpr UtcTime at_ms(std::int64_t ms) { return utc_time(ms * 1'000'000); }

class SearchEntities : public SearchTest {
 protected:
  static Search asked(SearchKind kind, std::string_view filter, const Names& orders,
                      Paging paging = {}) {
    return {filter_of(kind, filter), orders_of(kind, orders), paging};
  }

  ExperimentId new_experiment(const std::string& name, std::int64_t created_ms, Tags tags = {}) {
    return write([&](sql::Connection& db) {
      return create_experiment(db, {.name = name, .artifact_location = {}, .tags = tags},
                               at_ms(created_ms));
    });
  }
  Names experiments(std::string_view filter, const Names& orders = {}, View view = View::kActive) {
    const auto found = read([&](sql::Reading& reading) {
      return search_experiments(reading.db,
                                {view, asked(SearchKind::kExperiments, filter, orders)});
    });
    Names names;
    for (const ExperimentRow& row : found.rows) names.push_back(row.name);
    return names;
  }

  Names models(std::string_view filter, const Names& orders = {}) {
    return read([&](sql::Reading& reading) {
             return search_registered_models(reading.db,
                                             asked(SearchKind::kRegisteredModels, filter, orders));
           })
        .rows;
  }
  Names versions(std::string_view filter, const Names& orders = {}) {
    const auto found = read([&](sql::Reading& reading) {
      return search_model_versions(reading.db, asked(SearchKind::kModelVersions, filter, orders));
    });
    Names names;
    for (const VersionKey& key : found.rows)
      names.push_back(key.model + "/" + std::to_string(key.version));
    return names;
  }
  void fill_registry();

  Names logged(const LoggedModelSearch& search) {
    const Names ids =
        read([&](sql::Reading& reading) { return search_logged_models(reading.db, search); }).rows;
    Names names;
    for (const LoggedModelRow& row :
         read([&](sql::Reading& reading) { return logged_models(reading.db, ids); }))
      names.push_back(row.name);
    return names;
  }
  Names logged(ExperimentId experiment, std::string_view filter, const Names& orders = {},
               bool ascending = true) {
    LoggedModelSearch search{
        {experiment}, asked(SearchKind::kLoggedModels, filter, orders), {}, {}};
    for (mlflow::Order& order : search.search.orders) order.ascending = ascending;
    return logged(search);
  }
  Names traces_of(ExperimentId experiment, std::string_view filter, const Names& orders = {}) {
    return read([&](sql::Reading& reading) {
             return search_traces(reading.db,
                                  {{experiment}, asked(SearchKind::kTraces, filter, orders)});
           })
        .rows;
  }
};

TEST_P(SearchEntities, Experiments) {
  constexpr std::int64_t kLater = 4'000'000'000'000;  // than the default one
  const ExperimentId first = new_experiment("Digits", kLater + 10, {{"team", "x"}, {"a", "1"}});
  new_experiment("letters", kLater + 30, {{"team", "y"}});
  const ExperimentId last = new_experiment("gone", kLater + 20);
  write([&](sql::Connection& db) {
    return set_lifecycle(db, last, Lifecycle::kDeleted, at_ms(kLater + 40));
  });
  EXPECT_EQ(experiments(""), (Names{"letters", "Digits", "Default"}));
  EXPECT_EQ(experiments("", {}, View::kDeleted), (Names{"gone"}));
  EXPECT_EQ(experiments("", {"name"}, View::kAll), (Names{"Default", "Digits", "gone", "letters"}));
  EXPECT_EQ(experiments("", {"last_update_time DESC"}, View::kAll),
            (Names{"gone", "letters", "Digits", "Default"}));
  EXPECT_EQ(experiments("", {"experiment_id"}), (Names{"Default", "Digits", "letters"}));
  EXPECT_EQ(experiments("name LIKE 'd%'"), Names{});
  EXPECT_EQ(experiments("name ILIKE 'd%'"), (Names{"Digits", "Default"}));
  EXPECT_EQ(experiments("creation_time >= 4000000000010 AND creation_time < 4000000000030"),
            (Names{"Digits"}));
  EXPECT_EQ(experiments("tags.team != 'x'"), (Names{"letters"}));
  EXPECT_EQ(experiments("tags.team IS NULL"), (Names{"Default"}));
  EXPECT_EQ(experiments("experiment_id IN ('0', '0" + std::to_string(first.value) + "')"),
            (Names{"Digits", "Default"}));
  EXPECT_EQ(experiments("experiment_id != '0' AND name != 'letters'"), (Names{"Digits"}));
  const auto page = read([&](sql::Reading& reading) {
    return search_experiments(reading.db,
                              {View::kActive, asked(SearchKind::kExperiments, "", {}, {1, 1})});
  });
  ASSERT_EQ(page.rows.size(), 1u);
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.rows[0].id, first);
  EXPECT_EQ(page.rows[0].tags, (Tags{{"a", "1"}, {"team", "x"}}));
}

void SearchEntities::fill_registry() {
  write([&](sql::Connection& db) -> Result<> {
    TRY(create_registered_model(db, {"net", "", {{"team", "x"}}}, at_ms(1)));
    TRY(create_registered_model(db, {"Tree", "", {}}, at_ms(2)));
    TRY(create_registered_model(db, {"ask", "", {{std::string(kPromptTag), "true"}, {"team", "x"}}},
                                at_ms(3)));
    const auto version = [&](const std::string& model, const std::string& run, Tags tags,
                             std::int64_t now) {
      NewModelVersion made;
      made.model = model;
      made.source = "s3://b/" + model;
      made.run_id = run;
      made.tags = std::move(tags);
      return create_model_version(db, made, at_ms(now));
    };
    TRY(version("net", "r1", {{"ok", "yes"}}, 10));
    TRY(version("net", "", {}, 30));
    TRY(version("Tree", "r2", {{"ok", "no"}}, 20));
    TRY(version("ask", "", {{std::string(kPromptTag), "true"}}, 40));
    TRY(version("ask", "", {}, 50));
    return {};
  });
}

TEST_P(SearchEntities, RegisteredModels) {
  fill_registry();
  EXPECT_EQ(models(""), (Names{"Tree", "net"}));
  EXPECT_EQ(models("", {"name DESC"}), (Names{"net", "Tree"}));
  EXPECT_EQ(models("", {"timestamp"}), (Names{"Tree", "net"})) << "a version changes its model";
  EXPECT_EQ(models("name LIKE 't%'"), Names{});
  EXPECT_EQ(models("name ilike 't%'"), (Names{"Tree"}));
  EXPECT_EQ(models("name IN ('net', 'ask')"), (Names{"net"}));
  EXPECT_EQ(models("tags.team = 'x'"), (Names{"net"}));
  EXPECT_EQ(models("tags.team != 'x'"), Names{});
  EXPECT_EQ(models("tag.`mlflow.prompt.is_prompt` != 'true'"), (Names{"Tree", "net"}));
  EXPECT_EQ(models("tag.`mlflow.prompt.is_prompt` = 'false' AND name != 'net'"), (Names{"Tree"}));
  EXPECT_EQ(models("tag.`mlflow.prompt.is_prompt` = 'true' AND tags.team = 'x'"), (Names{"ask"}));
}

TEST_P(SearchEntities, ModelVersions) {
  fill_registry();
  EXPECT_EQ(versions(""), (Names{"net/2", "Tree/1", "net/1"}));
  EXPECT_EQ(versions("", {"version_number"}), (Names{"Tree/1", "net/1", "net/2"}));
  EXPECT_EQ(versions("", {"name"}), (Names{"Tree/1", "net/2", "net/1"}));
  EXPECT_EQ(versions("", {"creation_timestamp DESC"}), (Names{"net/2", "Tree/1", "net/1"}));
  EXPECT_EQ(versions("name = 'net' AND version_number > 1"), (Names{"net/2"}));
  EXPECT_EQ(versions("version_number = '2'"), (Names{"net/2"}));
  EXPECT_EQ(versions("run_id IN ('r1', 'r2')"), (Names{"Tree/1", "net/1"}));
  EXPECT_EQ(versions("run_id != 'r1'"), (Names{"Tree/1"})) << "one without a run is not meant";
  EXPECT_EQ(versions("source_path LIKE 's3://%/net'"), (Names{"net/2", "net/1"}));
  EXPECT_EQ(versions("tags.ok ilike 'Y%'"), (Names{"net/1"}));
  EXPECT_EQ(versions("tags.`mlflow.prompt.is_prompt` = 'true'"), (Names{"ask/1"}));
  EXPECT_EQ(versions("tags.`mlflow.prompt.is_prompt` != 'true' AND name = 'ask'"), Names{});
}

TEST_P(SearchEntities, LoggedModels) {
  const ExperimentId experiment = new_experiment("e", 1), other = new_experiment("f", 1);
  write([&](sql::Connection& db) -> Result<> {
    const auto model = [&](ExperimentId of, const std::string& name, std::int64_t now) {
      NewLoggedModel made;
      made.experiment = of;
      made.experiment_location = "mlflow-artifacts:/1";
      made.name = name;
      if (name != "c") made.run_id = "run-" + name;
      made.params = {{"lr", name == "a" ? "0.1" : "0.2"}};
      made.tags = {{"team", name}};
      return create_logged_model(db, made, at_ms(now));
    };
    const std::string a = TRY(model(experiment, "a", 10)), b = TRY(model(experiment, "b", 30)),
                      c = TRY(model(experiment, "c", 20)), gone = TRY(model(experiment, "gone", 5));
    TRY(model(other, "other", 99));
    TRY(set_model_status(db, a, ModelStatus::kReady, at_ms(50)));
    TRY(delete_logged_model(db, gone, at_ms(60)));
    const auto metric = [&](const std::string& id, double value, std::int64_t step,
                            const std::string& dataset) {
      ModelMetric made;
      made.model_id = id;
      made.run_id = "r";
      made.key = "acc";
      made.value = value;
      made.time = at_ms(100 + step);
      made.step = step;
      made.dataset_name = dataset;
      made.dataset_digest = dataset.empty() ? "" : "d";
      return made;
    };
    return store_model_metrics(
        db, "r",
        std::vector{metric(a, 0.9, 1, "train"), metric(a, 0.5, 2, ""), metric(b, 0.7, 1, "eval")});
  });
  EXPECT_EQ(logged(experiment, ""), (Names{"b", "c", "a"}));
  EXPECT_EQ(logged(experiment, "", {"name"}), (Names{"a", "b", "c"}));
  EXPECT_EQ(logged(experiment, "", {"name"}, false), (Names{"c", "b", "a"}));
  EXPECT_EQ(logged(experiment, "", {"last_updated_timestamp"}, false), (Names{"a", "b", "c"}));
  EXPECT_EQ(logged(experiment, "status = 'READY'"), (Names{"a"}));
  EXPECT_EQ(logged(experiment, "status != 'READY'"), (Names{"b", "c"}));
  EXPECT_EQ(logged(experiment, "params.lr = 0.1"), (Names{"a"}));
  EXPECT_EQ(logged(experiment, "tags.team IN ('a', 'b') AND creation_timestamp > 10"),
            (Names{"b"}));
  EXPECT_EQ(logged(experiment, "source_run_id LIKE 'run-%'"), (Names{"b", "a"}));
  EXPECT_EQ(logged(experiment, "experiment_id = '" + std::to_string(experiment.value) + "'").size(),
            3u);
  EXPECT_EQ(logged(experiment, "metrics.acc > 0.8"), (Names{"a"})) << "any that was measured";
  EXPECT_EQ(logged(experiment, "metrics.acc < 0.8"), (Names{"b", "a"}));
  EXPECT_EQ(logged(experiment, "", {"metrics.acc"}), (Names{"a", "b", "c"})) << "the last measured";
  EXPECT_EQ(logged(experiment, "", {"metrics.acc"}, false), (Names{"b", "a", "c"}));

  LoggedModelSearch search{{experiment}, {}, {{"train", "d"}, {"none", ""}}, {}};
  EXPECT_EQ(logged(search), (Names{"a"}));
  search.search = asked(SearchKind::kLoggedModels, "metrics.acc < 0.8", {});
  EXPECT_EQ(logged(search), Names{}) << "0.5 was not measured on it";
  search = {{experiment, other},
            asked(SearchKind::kLoggedModels, "", {"metrics.acc"}),
            {},
            {{"train", ""}}};
  search.search.orders[0].ascending = false;
  EXPECT_EQ(logged(search), (Names{"a", "other", "b", "c"}));
}

TEST_P(SearchEntities, Traces) {
  const ExperimentId experiment = new_experiment("e", 1);
  write([&](sql::Connection& db) -> Result<> {
    TraceRow trace{.id = "tr-a",
                   .experiment = experiment,
                   .client_request_id = "q",
                   .request_preview = {},
                   .response_preview = {},
                   .start = at_ms(10),
                   .duration = Nanos(5'900'000),
                   .state = TraceState::kOk,
                   .metadata = {{std::string(kSourceRun), "r1"}, {"m", "1"}},
                   .tags = {{"mlflow.traceName", "predict"}},
                   .runs = {}};
    TRY(put_trace(db, trace));
    trace = {.id = "tr-b",
             .experiment = experiment,
             .client_request_id = {},
             .request_preview = {},
             .response_preview = {},
             .start = at_ms(30),
             .duration = {},
             .state = TraceState::kInProgress,
             .metadata = {},
             .tags = {{"t", "x"}},
             .runs = {}};
    TRY(put_trace(db, trace));
    TRY(set_trace_fact(db, "tr-b", TraceFact::kRun, "r2", ""));
    trace = {.id = "tr-c",
             .experiment = experiment,
             .client_request_id = {},
             .request_preview = {},
             .response_preview = {},
             .start = at_ms(20),
             .duration = Nanos(1'000'000),
             .state = TraceState::kError,
             .metadata = {},
             .tags = {{"mlflow.traceName", "Fit"}},
             .runs = {}};
    return put_trace(db, trace);
  });
  const auto found = [&](std::string_view filter, const Names& orders = {}) {
    return traces_of(experiment, filter, orders);
  };
  EXPECT_EQ(found(""), (Names{"tr-b", "tr-c", "tr-a"}));
  EXPECT_EQ(found("trace.status = 'OK'"), (Names{"tr-a"}));
  EXPECT_EQ(found("status IN ('OK', 'ERROR')"), (Names{"tr-c", "tr-a"}));
  EXPECT_EQ(found("timestamp_ms > 10"), (Names{"tr-b", "tr-c"}));
  EXPECT_EQ(found("timestamp >= 10 AND timestamp < 20"), (Names{"tr-a"}));
  EXPECT_EQ(found("timestamp = 20"), (Names{"tr-c"}));
  EXPECT_EQ(found("timestamp > 9223372036854775807"), Names{});
  EXPECT_EQ(found("execution_time_ms = 5"), (Names{"tr-a"}));
  EXPECT_EQ(found("end_time_ms <= 21"), (Names{"tr-c", "tr-a"}));
  EXPECT_EQ(found("name ILIKE 'f%'"), (Names{"tr-c"}));
  EXPECT_EQ(found("tags.t IS NOT NULL"), (Names{"tr-b"}));
  EXPECT_EQ(found("metadata.m = '1' AND client_request_id = 'q'"), (Names{"tr-a"}));
  EXPECT_EQ(found("run_id = 'r1'"), (Names{"tr-a"}));
  EXPECT_EQ(found("metadata.`mlflow.sourceRun` = 'r2'"), (Names{"tr-b"}));
  EXPECT_EQ(found("request_id LIKE '%-c'"), (Names{"tr-c"}));
  EXPECT_EQ(found("", {"execution_time DESC"}), (Names{"tr-a", "tr-c", "tr-b"}));
  EXPECT_EQ(found("", {"name"}), (Names{"tr-c", "tr-a", "tr-b"}));
  EXPECT_EQ(found("", {"timestamp"}), (Names{"tr-a", "tr-c", "tr-b"}));
}

INSTANTIATE_TEST_SUITE_P(Engines, SearchEntities, both_engines(), engine_name);

}  // namespace
}  // namespace corral::store::tracking
