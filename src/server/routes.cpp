#include <array>

#include "server/api/handlers.h"
#include "server/router.h"
#include "server/ui/page.h"

namespace corral::server {
namespace {

constexpr std::array kRoutes = {
    Route{Method::kGet, "/health", api::health, "whether the server answers"},
    Route{Method::kGet, "/version", api::version, "version, store and cost of the server"},
    Route{Method::kPost, "/api/corral/v1/frames", api::post_frames,
          "takes frames in; durable before the answer"},
    Route{Method::kGet, "/api/corral/v1/sessions/{session}", api::session,
          "how far a session is durable"},
    Route{Method::kGet, "/api/corral/v1/experiments", api::experiments,
          "experiments, newest first"},
    Route{Method::kGet, "/api/corral/v1/workloads", api::workloads,
          "workloads, newest first (?experiment=)"},
    Route{Method::kGet, "/api/corral/v1/runs", api::runs,
          "runs, newest first (?experiment=&workload=&status=&limit=&before=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}", api::run, "one run, whole"},
    Route{Method::kDelete, "/api/corral/v1/runs/{run}", api::remove_run,
          "removes a run (?force=&dry_run=)"},
    Route{Method::kDelete, "/api/corral/v1/experiments/{experiment}", api::remove_experiment,
          "removes an experiment with all its runs (?force=&dry_run=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/metrics", api::metrics,
          "series of a run and of its workload"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/phases", api::phases, "phases of a run"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/events", api::events, "events of a run"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/logs", api::logs,
          "output of a run (?stream=&from=&limit=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/export", api::export_points,
          "points, streamed (?metric=GLOB&format=csv|jsonl|json)"},
    Route{Method::kPost, "/api/corral/v1/points", api::points,
          "points of several runs, streamed, binary"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/latest", api::latest,
          "newest value or rate of each series (?metric=GLOB)"},
    Route{Method::kPost, "/api/corral/v1/charts", api::charts, "chart columns, binary"},
    Route{Method::kPost, "/api/corral/v1/lines", api::lines,
          "one value per pixel column: smoothed, integral, ratio, group; binary"},
    Route{Method::kPost, "/api/corral/v1/windows", api::windows,
          "statistics and quantiles of a selected window"},
    Route{Method::kGet, "/api/corral/v1/stream", api::stream, "server-sent events"},
    Route{Method::kGet, "/api/corral/v1/openapi.json", api::openapi_page, "this list"},
    Route{Method::kPost, "/api/corral/v1/stop", api::stop, "ends the server; Unix socket only"},
    // What is below /api and in no line above is an error, never the page.
    Route{Method::kGet, "/runs/{path...}", ui::page, ""},
    Route{Method::kGet, "/assets/{path...}", ui::asset, ""},
    Route{Method::kGet, "/{path...}", ui::root, ""},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

}  // namespace corral::server
