// Logged models (MLflow 3): a model that a run made, with files, params, tags and metrics of its
// own. Rows of `logged_models`, `logged_model_facts` and `logged_model_metrics`.
//
// Free functions over a connection, in the caller's transaction or snapshot. Ids are "m-" and 32
// hex digits, made here. A deleted model (lifecycle 1) is hidden and keeps its rows. The run that
// made it may be unknown to this store. Run, key, time, step and dataset identify a metric's value;
// the first one stays, so that sending it twice is harmless.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/engine/database.h"
#include "store/search/experiments.h"
#include "store/search/search.h"

namespace corral::store::tracking {

// The numbers of MLflow's enum.
enum class ModelStatus : std::uint8_t { kPending = 1, kReady = 2, kUploadFailed = 3 };

struct ModelMetric {
  std::string model_id, run_id, key;
  double value = 0;
  UtcTime time;
  std::int64_t step = 0;
  std::string dataset_name, dataset_digest;
};

struct LoggedModelRow {
  std::string id;
  ExperimentId experiment;
  std::string name, model_type, run_id;
  ModelStatus status = ModelStatus::kPending;
  std::string status_message, artifact_uri;
  UtcTime created, updated;
  Lifecycle lifecycle = Lifecycle::kActive;
  Tags params, tags;                 // by key
  std::vector<ModelMetric> metrics;  // by run, key, time, step
};

struct NewLoggedModel {
  ExperimentId experiment;
  std::string experiment_location;
  std::string name, model_type, run_id;
  Tags params, tags;  // each key once
};
// Returns the new model's id.
Result<std::string> create_logged_model(sql::Connection& db, const NewLoggedModel& model,
                                        UtcTime now);
// Finds active and deleted models alike.
Result<std::optional<LoggedModelRow>> logged_model(sql::Connection& db, const std::string& id);
// Returns models in the order of `ids`; unknown ids are skipped.
Result<std::vector<LoggedModelRow>> logged_models(sql::Connection& db,
                                                  std::span<const std::string> ids);
Result<bool> has_logged_model(sql::Connection& db, std::string_view id);

Result<> set_model_status(sql::Connection& db, std::string_view id, ModelStatus status,
                          UtcTime now);
Result<> delete_logged_model(sql::Connection& db, std::string_view id, UtcTime now);
// kUnprocessable: a key already has another value. Adding the same value again is allowed.
Result<> add_model_params(sql::Connection& db, std::string_view id, const Tags& params);
Result<> set_model_tags(sql::Connection& db, std::string_view id, const Tags& tags);
// Returns false if there was no such tag.
Result<bool> delete_model_tag(sql::Connection& db, std::string_view id, std::string_view key);

// kNotFound: a model does not exist; the caller must then roll the transaction back.
Result<> store_model_metrics(sql::Connection& db, std::string_view run_id,
                             std::span<const ModelMetric> metrics);

// ---- searches (store/search/search.h)

struct DatasetFilter {
  std::string name;
  std::string digest;  // empty: any
};
struct LoggedModelSearch {
  std::vector<ExperimentId> experiments;
  Search search;
  // Metrics count only if they were logged for one of these; without metrics in the filter, models
  // with any such metric. None: all metrics count.
  std::vector<DatasetFilter> datasets;
  // Beside each order, by its place: the dataset whose metrics it goes by; an empty name: any.
  std::vector<DatasetFilter> order_datasets;
};
// Ids. The newest first, then by id, where orders leave it open.
Result<Found<std::string>> search_logged_models(sql::Connection& db,
                                                const LoggedModelSearch& search);

}  // namespace corral::store::tracking
