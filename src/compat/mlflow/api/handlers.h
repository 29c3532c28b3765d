// The handlers of MLflow's interface, grouped by source file; routes.cpp has their paths.
#pragma once

#include "compat/mlflow/api/call.h"

namespace corral::server::mlflow {

// experiments.cpp
Body create_experiment(Message& in, Context& context);
Body get_experiment(Message& in, Context& context);
Body get_experiment_by_name(Message& in, Context& context);
Body search_experiments(Message& in, Context& context);
Body update_experiment(Message& in, Context& context);
Body delete_experiment(Message& in, Context& context);
Body restore_experiment(Message& in, Context& context);
Body set_experiment_tag(Message& in, Context& context);
Body delete_experiment_tag(Message& in, Context& context);
// runs.cpp
Body create_run(Message& in, Context& context);
Body get_run(Message& in, Context& context);
Body update_run(Message& in, Context& context);
Body delete_run(Message& in, Context& context);
Body restore_run(Message& in, Context& context);
Response search_runs(Message& in, Context& context);
// facts.cpp
Body log_parameter(Message& in, Context& context);
Body set_tag(Message& in, Context& context);
Body delete_tag(Message& in, Context& context);
// inputs.cpp
Body log_inputs(Message& in, Context& context);
Body log_outputs(Message& in, Context& context);
Body search_datasets(Message& in, Context& context);
Body log_model(Message& in, Context& context);
// metrics.cpp
Response log_batch(const Request& request, Context& context);
Response log_metric(const Request& request, Context& context);
Response get_history(Message& in, Context& context);
Body get_history_bulk(Message& in, Context& context);
Body get_history_bulk_interval(Message& in, Context& context);
// artifacts.cpp
Body list_artifacts(Message& in, Context& context);
Body list_logged_model_artifacts(Message& in, Context& context);
Body list_stored_artifacts(Message& in, Context& context);
Body create_multipart_upload(Message& in, Context& context);
Body complete_multipart_upload(Message& in, Context& context);
Body abort_multipart_upload(Message& in, Context& context);
Response get_stored_artifact(const Request& request, Context& context);
Response put_artifact(const Request& request, Context& context);
Response delete_artifact(const Request& request, Context& context);
Response get_artifact(const Request& request, Context& context);
Response get_model_version_artifact(const Request& request, Context& context);
Response get_logged_model_file(const Request& request, Context& context);
Response upload_artifact(const Request& request, Context& context);
// registry.cpp
Body create_registered_model(Message& in, Context& context);
Body get_registered_model(Message& in, Context& context);
Body rename_registered_model(Message& in, Context& context);
Body update_registered_model(Message& in, Context& context);
Body delete_registered_model(Message& in, Context& context);
Body get_latest_versions(Message& in, Context& context);
Body set_registered_model_tag(Message& in, Context& context);
Body delete_registered_model_tag(Message& in, Context& context);
Body set_registered_model_alias(Message& in, Context& context);
Body delete_registered_model_alias(Message& in, Context& context);
Body get_version_by_alias(Message& in, Context& context);
Body create_model_version(Message& in, Context& context);
Body get_model_version(Message& in, Context& context);
Body update_model_version(Message& in, Context& context);
Body transition_stage(Message& in, Context& context);
Body delete_model_version(Message& in, Context& context);
Body get_download_uri(Message& in, Context& context);
Body set_model_version_tag(Message& in, Context& context);
Body delete_model_version_tag(Message& in, Context& context);
Body search_registered_models(Message& in, Context& context);
Body search_model_versions(Message& in, Context& context);
// logged_models.cpp
Body create_logged_model(Message& in, Context& context);
Body get_logged_model(Message& in, Context& context);
Body finalize_logged_model(Message& in, Context& context);
Body delete_logged_model(Message& in, Context& context);
Body log_logged_model_params(Message& in, Context& context);
Body set_logged_model_tags(Message& in, Context& context);
Body delete_logged_model_tag(Message& in, Context& context);
Body search_logged_models(Message& in, Context& context);
// about.cpp
Response mlflow_version(const Request& request, Context& context);
Body server_info(Message& in, Context& context);
Body radt_config(Message& in, Context& context);
// traces.cpp
Body start_trace(Message& in, Context& context);
Body get_trace_info(Message& in, Context& context);
Body get_trace(Message& in, Context& context);
Body batch_get_traces(Message& in, Context& context);
Body batch_get_trace_infos(Message& in, Context& context);
Body search_traces(Message& in, Context& context);
Body search_traces_v2(Message& in, Context& context);
Body delete_traces(Message& in, Context& context);
Body set_trace_tag(Message& in, Context& context);
Body delete_trace_tag(Message& in, Context& context);
Body link_traces_to_run(Message& in, Context& context);
// assessments.cpp
Body create_assessment(Message& in, Context& context);
Body get_assessment(Message& in, Context& context);
Body update_assessment(Message& in, Context& context);
Body delete_assessment(Message& in, Context& context);
// evaluation_datasets.cpp
Body create_evaluation_dataset(Message& in, Context& context);
Body get_evaluation_dataset(Message& in, Context& context);
Body set_evaluation_dataset_tags(Message& in, Context& context);
Body find_no_evaluation_datasets(Message& in, Context& context);
Body drop_from_evaluation_dataset(Message& in, Context& context);
Body count_evaluation_records(Message& in, Context& context);
Body refuse_evaluation_records(Message& in, Context& context);
Body start_trace_v2(Message& in, Context& context);
Body end_trace_v2(Message& in, Context& context);
Body get_trace_info_v2(Message& in, Context& context);
// otlp.cpp
Response post_spans(const Request& request, Context& context);

}  // namespace corral::server::mlflow
