// Serves the interfaces of MLflow and radT at the server's address.
#include "server/core/door.h"

#include <algorithm>
#include <array>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/api/metric_writer.h"
#include "compat/radt/api/upload.h"
#include "compat/radt/api/views.h"

namespace corral::server::door {
namespace {

constexpr std::array kRoutes = {
    Route{Method::kGet, "/version", mlflow::mlflow_version,
          "MLflow release of the emulated interface"},
    Route{Method::kPost, "/v1/traces", mlflow::post_spans, "store OTLP spans (protobuf or JSON)"},
    Route{Method::kGet, "/get-artifact", mlflow::answered<mlflow::get_artifact>,
          "download an artifact (?run_uuid=&path=)"},
    Route{Method::kGet, "/model-versions/get-artifact",
          mlflow::answered<mlflow::get_model_version_artifact>,
          "download a file of a model version (?name=&version=&path=)"},
    Route{Method::kGet, "/fe_experiments", radt::fe_experiments,
          "radT's experiments view, as PostgREST serves it"},
    Route{Method::kGet, "/fe_runs", radt::fe_runs, "radT's runs view, as PostgREST serves it"},
    Route{Method::kGet, "/fe_metrics_available", radt::fe_metrics_available,
          "radT's view of metric names (?run_uuid=)"},
    Route{Method::kGet, "/fe_metrics", radt::fe_metrics,
          "radT's view of points, streamed (?run_uuid=in.(...)&key=eq.)"},
};

}  // namespace

std::unique_ptr<State> open(store::Store& store, const store::Reader& reader) {
  return std::make_unique<mlflow::MetricWriter>(store, reader);
}

std::span<const Route> routes() { return kRoutes; }

bool owns(std::string_view path) {
  static constexpr std::array<std::string_view, 3> kPrefixes = {"/api/2.0/", "/api/3.0/",
                                                                "/ajax-api/"};
  return std::ranges::any_of(kPrefixes, [path](auto prefix) { return path.starts_with(prefix); });
}

Response dispatch(Request request, Context& context) {
  return mlflow::dispatch(std::move(request), context);
}

std::optional<Role> role_for(const Request& request) { return mlflow::role_for(request); }

std::optional<Response> no_route(const Request& request) { return mlflow::no_rpc(request); }

Response refusal(const Request&, const Error& error) { return mlflow::answer(error); }

bool is_quick(const Request& request) {
  return request.method == Method::kPost &&
         (request.path.starts_with("/api/2.0/mlflow/runs/log-") ||
          request.path.starts_with("/ajax-api/2.0/mlflow/runs/log-"));
}

bool takes_file(const Request& request) { return mlflow::takes_file(request); }

Result<> on_artifact(Context& context, store::artifacts::ArtifactStore& store,
                     std::string_view path) {
  return mlflow::on_artifact(context, store, path);
}

Result<> check_uploads(Context& context, RunId run, std::vector<std::string>& problems) {
  return radt::check_upload(context, run, problems);
}

}  // namespace corral::server::door
