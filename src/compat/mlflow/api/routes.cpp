#include "compat/mlflow/api/routes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "compat/mlflow/api/handlers.h"
#include "core/text.h"
#include "server/core/router.h"

namespace corral::server::mlflow {
namespace {

constexpr std::array<std::string_view, 2> kPrefixes = {"/api", "/ajax-api"};

constexpr std::array kRpcs = {
    Rpc{Method::kPost, "/2.0/mlflow/experiments/create", create_experiment},
    Rpc{Method::kGet, "/2.0/mlflow/experiments/get", get_experiment},
    Rpc{Method::kGet, "/2.0/mlflow/experiments/get-by-name", get_experiment_by_name},
    Rpc{Method::kPost, "/2.0/mlflow/experiments/search", search_experiments},
    Rpc{Method::kGet, "/2.0/mlflow/experiments/search", search_experiments},
    Rpc{Method::kPost, "/2.0/mlflow/experiments/update", update_experiment},
    Rpc{Method::kPost, "/2.0/mlflow/experiments/delete", delete_experiment},
    Rpc{Method::kPost, "/2.0/mlflow/experiments/restore", restore_experiment},
    Rpc{Method::kPost, "/2.0/mlflow/experiments/set-experiment-tag", set_experiment_tag},
    Rpc{Method::kPost, "/2.0/mlflow/experiments/delete-experiment-tag", delete_experiment_tag},
    Rpc{Method::kPost, "/2.0/mlflow/experiments/search-datasets", search_datasets},
    Rpc{Method::kPost, "/2.0/mlflow/runs/create", create_run},
    Rpc{Method::kGet, "/2.0/mlflow/runs/get", get_run},
    Rpc{Method::kPost, "/2.0/mlflow/runs/update", update_run},
    Rpc{Method::kPost, "/2.0/mlflow/runs/delete", delete_run},
    Rpc{Method::kPost, "/2.0/mlflow/runs/restore", restore_run},
    Rpc{Method::kPost, "/2.0/mlflow/runs/search", nullptr, nullptr, search_runs},
    Rpc{Method::kPost, "/2.0/mlflow/runs/log-parameter", log_parameter},
    Rpc{Method::kPost, "/2.0/mlflow/runs/set-tag", set_tag},
    Rpc{Method::kPost, "/2.0/mlflow/runs/delete-tag", delete_tag},
    Rpc{Method::kPost, "/2.0/mlflow/runs/log-inputs", log_inputs},
    Rpc{Method::kPost, "/2.0/mlflow/runs/outputs", log_outputs},
    Rpc{Method::kPost, "/2.0/mlflow/runs/log-model", log_model},
    Rpc{Method::kPost, "/2.0/mlflow/runs/log-metric", nullptr, log_metric},
    Rpc{Method::kPost, "/2.0/mlflow/runs/log-batch", nullptr, log_batch},
    Rpc{Method::kGet, "/2.0/mlflow/metrics/get-history", nullptr, nullptr, get_history},
    Rpc{Method::kGet, "/2.0/mlflow/metrics/get-history-bulk", get_history_bulk},
    Rpc{Method::kGet, "/2.0/mlflow/metrics/get-history-bulk-interval", get_history_bulk_interval},
    Rpc{Method::kGet, "/2.0/mlflow/artifacts/list", list_artifacts},
    Rpc{Method::kPost, "/2.0/mlflow/upload-artifact", nullptr, upload_artifact},
    Rpc{Method::kGet, "/2.0/mlflow-artifacts/artifacts", list_stored_artifacts},
    Rpc{Method::kGet, "/2.0/mlflow-artifacts/artifacts/{artifact_path...}", nullptr,
        get_stored_artifact},
    Rpc{Method::kPut, "/2.0/mlflow-artifacts/artifacts/{artifact_path...}", nullptr, put_artifact},
    Rpc{Method::kDelete, "/2.0/mlflow-artifacts/artifacts/{artifact_path...}", nullptr,
        delete_artifact},
    Rpc{Method::kPost, "/2.0/mlflow-artifacts/mpu/create/{artifact_path...}",
        create_multipart_upload},
    Rpc{Method::kPost, "/2.0/mlflow-artifacts/mpu/complete/{artifact_path...}",
        complete_multipart_upload},
    Rpc{Method::kPost, "/2.0/mlflow-artifacts/mpu/abort/{artifact_path...}",
        abort_multipart_upload},
    Rpc{Method::kGet, "/2.0/mlflow/logged-models/{model_id}/artifacts/directories",
        list_logged_model_artifacts},
    Rpc{Method::kGet, "/2.0/mlflow/logged-models/{model_id}/artifacts/files", nullptr,
        get_logged_model_file},
    Rpc{Method::kPost, "/2.0/mlflow/registered-models/create", create_registered_model},
    Rpc{Method::kGet, "/2.0/mlflow/registered-models/get", get_registered_model},
    Rpc{Method::kGet, "/2.0/mlflow/registered-models/search", search_registered_models},
    Rpc{Method::kPost, "/2.0/mlflow/registered-models/rename", rename_registered_model},
    Rpc{Method::kPatch, "/2.0/mlflow/registered-models/update", update_registered_model},
    Rpc{Method::kDelete, "/2.0/mlflow/registered-models/delete", delete_registered_model},
    Rpc{Method::kGet, "/2.0/mlflow/registered-models/get-latest-versions", get_latest_versions},
    Rpc{Method::kPost, "/2.0/mlflow/registered-models/get-latest-versions", get_latest_versions},
    Rpc{Method::kPost, "/2.0/mlflow/registered-models/set-tag", set_registered_model_tag},
    Rpc{Method::kDelete, "/2.0/mlflow/registered-models/delete-tag", delete_registered_model_tag},
    Rpc{Method::kPost, "/2.0/mlflow/registered-models/alias", set_registered_model_alias},
    Rpc{Method::kDelete, "/2.0/mlflow/registered-models/alias", delete_registered_model_alias},
    Rpc{Method::kGet, "/2.0/mlflow/registered-models/alias", get_version_by_alias},
    Rpc{Method::kPost, "/2.0/mlflow/model-versions/create", create_model_version},
    Rpc{Method::kGet, "/2.0/mlflow/model-versions/get", get_model_version},
    Rpc{Method::kGet, "/2.0/mlflow/model-versions/search", search_model_versions},
    Rpc{Method::kPatch, "/2.0/mlflow/model-versions/update", update_model_version},
    Rpc{Method::kPost, "/2.0/mlflow/model-versions/transition-stage", transition_stage},
    Rpc{Method::kDelete, "/2.0/mlflow/model-versions/delete", delete_model_version},
    Rpc{Method::kGet, "/2.0/mlflow/model-versions/get-download-uri", get_download_uri},
    Rpc{Method::kPost, "/2.0/mlflow/model-versions/set-tag", set_model_version_tag},
    Rpc{Method::kDelete, "/2.0/mlflow/model-versions/delete-tag", delete_model_version_tag},
    Rpc{Method::kPost, "/2.0/mlflow/logged-models", create_logged_model},
    Rpc{Method::kPost, "/2.0/mlflow/logged-models/search", search_logged_models},
    Rpc{Method::kGet, "/2.0/mlflow/logged-models/{model_id}", get_logged_model},
    Rpc{Method::kPatch, "/2.0/mlflow/logged-models/{model_id}", finalize_logged_model},
    Rpc{Method::kDelete, "/2.0/mlflow/logged-models/{model_id}", delete_logged_model},
    Rpc{Method::kPost, "/2.0/mlflow/logged-models/{model_id}/params", log_logged_model_params},
    Rpc{Method::kPatch, "/2.0/mlflow/logged-models/{model_id}/tags", set_logged_model_tags},
    Rpc{Method::kDelete, "/2.0/mlflow/logged-models/{model_id}/tags/{tag_key}",
        delete_logged_model_tag},
    Rpc{Method::kGet, "/3.0/mlflow/server-info", server_info},
    Rpc{Method::kGet, "/2.0/mlflow/radt-config", radt_config},
    Rpc{Method::kPost, "/3.0/mlflow/traces", start_trace},
    Rpc{Method::kPost, "/3.0/mlflow/traces/search", search_traces},
    Rpc{Method::kGet, "/3.0/mlflow/traces/get", get_trace},
    Rpc{Method::kGet, "/3.0/mlflow/traces/batchGet", batch_get_traces},
    Rpc{Method::kPost, "/3.0/mlflow/traces/batchGetInfos", batch_get_trace_infos},
    Rpc{Method::kPost, "/3.0/mlflow/traces/delete-traces", delete_traces},
    Rpc{Method::kGet, "/3.0/mlflow/traces/{trace_id}", get_trace_info},
    Rpc{Method::kPatch, "/3.0/mlflow/traces/{trace_id}/tags", set_trace_tag},
    Rpc{Method::kDelete, "/3.0/mlflow/traces/{trace_id}/tags", delete_trace_tag},
    Rpc{Method::kPost, "/3.0/mlflow/traces/{trace_id}/assessments", create_assessment},
    Rpc{Method::kGet, "/3.0/mlflow/traces/{trace_id}/assessments/{assessment_id}", get_assessment},
    Rpc{Method::kPatch, "/3.0/mlflow/traces/{trace_id}/assessments/{assessment_id}",
        update_assessment},
    Rpc{Method::kDelete, "/3.0/mlflow/traces/{trace_id}/assessments/{assessment_id}",
        delete_assessment},
    Rpc{Method::kPost, "/3.0/mlflow/datasets/create", create_evaluation_dataset},
    Rpc{Method::kPost, "/3.0/mlflow/datasets/search", find_no_evaluation_datasets},
    Rpc{Method::kGet, "/3.0/mlflow/datasets/search", find_no_evaluation_datasets},
    Rpc{Method::kGet, "/3.0/mlflow/datasets/{dataset_id}", get_evaluation_dataset},
    Rpc{Method::kDelete, "/3.0/mlflow/datasets/{dataset_id}", drop_from_evaluation_dataset},
    Rpc{Method::kPatch, "/3.0/mlflow/datasets/{dataset_id}/tags", set_evaluation_dataset_tags},
    Rpc{Method::kDelete, "/3.0/mlflow/datasets/{dataset_id}/tags/{key}",
        drop_from_evaluation_dataset},
    Rpc{Method::kPost, "/3.0/mlflow/datasets/{dataset_id}/records", count_evaluation_records},
    Rpc{Method::kGet, "/3.0/mlflow/datasets/{dataset_id}/records", refuse_evaluation_records},
    Rpc{Method::kDelete, "/3.0/mlflow/datasets/{dataset_id}/records", drop_from_evaluation_dataset},
    Rpc{Method::kGet, "/3.0/mlflow/datasets/{dataset_id}/experiment-ids",
        drop_from_evaluation_dataset},
    Rpc{Method::kPost, "/3.0/mlflow/datasets/{dataset_id}/add-experiments", get_evaluation_dataset},
    Rpc{Method::kPost, "/3.0/mlflow/datasets/{dataset_id}/remove-experiments",
        get_evaluation_dataset},
    Rpc{Method::kPost, "/2.0/mlflow/traces/link-to-run", link_traces_to_run},
    Rpc{Method::kPost, "/2.0/mlflow/traces", start_trace_v2},
    Rpc{Method::kGet, "/2.0/mlflow/traces", search_traces_v2},
    Rpc{Method::kPost, "/2.0/mlflow/traces/delete-traces", delete_traces},
    Rpc{Method::kPatch, "/2.0/mlflow/traces/{request_id}", end_trace_v2},
    Rpc{Method::kGet, "/2.0/mlflow/traces/{request_id}/info", get_trace_info_v2},
    Rpc{Method::kPatch, "/2.0/mlflow/traces/{request_id}/tags", set_trace_tag},
    Rpc{Method::kDelete, "/2.0/mlflow/traces/{request_id}/tags", delete_trace_tag},
};

std::string_view behind_prefix(std::string_view path) {
  for (const std::string_view prefix : kPrefixes) {
    if (path.starts_with(prefix)) return path.substr(prefix.size());
  }
  return {};
}

Answer<Json> message_of(const Request& request) {
  const bool read = request.method == Method::kGet || request.method == Method::kHead;
  if (read && (!request.query.empty() || request.body.empty()))
    return corral::mlflow::object_of(request.query);
  TRY_API(check_content_type(request));
  return corral::mlflow::parse_body(request.body);
}

Response run(const Rpc& rpc, const Request& request, Context& context) {
  if (rpc.raw != nullptr) return rpc.raw(request, context);
  Answer<Json> json = message_of(request);
  if (!json) return answer(json.error());
  for (const auto& [name, value] : request.params) json->set(name, value);
  Message in(*json);
  return rpc.stream != nullptr ? rpc.stream(in, context) : answer(rpc.call(in, context));
}

Response no_such(std::string_view method, std::string_view path, const std::string& allowed) {
  Response response = answer(
      ApiError{ErrorCode::kEndpointNotFound,
               allowed.empty()
                   ? fmt::format("{} {} is not an endpoint of this server", method, to_utf8(path))
                   : fmt::format("{} takes {}, not {}", to_utf8(path), allowed, method)});
  if (allowed.empty()) return response;
  response.status = 405;
  response.set_header("Allow", allowed);
  return response;
}

struct Found {
  const Rpc* rpc;
  Pairs params;
};

// Returns the call, or the answer with the reason why there is none.
tl::expected<Found, Response> find_rpc(const Request& request) {
  const Method wanted = request.method == Method::kHead ? Method::kGet : request.method;
  const std::string_view path = behind_prefix(request.path);
  std::string allowed;
  for (const Rpc& rpc : rpcs()) {
    Pairs params;
    const Result<bool> matches = match(rpc.path, path, params);
    if (!matches) return tl::unexpected(answer(matches.error()));
    if (!*matches) continue;
    if (rpc.method == wanted) return Found{.rpc = &rpc, .params = std::move(params)};
    allowed += (allowed.empty() ? "" : ", ") + std::string(method_name(rpc.method));
  }
  return tl::unexpected(no_such(method_name(request.method), request.path, allowed));
}

}  // namespace

std::span<const Rpc> rpcs() { return kRpcs; }

std::optional<Response> no_rpc(const Request& request) {
  auto found = find_rpc(request);
  return found ? std::nullopt : std::optional(std::move(found.error()));
}

bool takes_file(const Request& request) {
  const auto found = find_rpc(request);
  return found && (found->rpc->raw == put_artifact || found->rpc->raw == upload_artifact);
}

Response dispatch(Request request, Context& context) {
  auto found = find_rpc(request);
  if (!found) return std::move(found.error());
  request.params = std::move(found->params);
  Response response = run(*found->rpc, request, context);
  response.route = found->rpc->path;
  return response;
}

}  // namespace corral::server::mlflow
