#include <array>
#include <vector>

#include "server/api/handlers.h"
#include "server/core/door.h"
#include "server/core/router.h"
#include "server/ui/page.h"

namespace corral::server {
namespace {

constexpr std::array kApi = {
    Route{Method::kGet, "/health", api::alive, "whether the server answers"},
    Route{Method::kGet, "/api/corral/v1/version", api::version,
          "version, store and cost of the server"},
    Route{Method::kGet, "/metrics", api::prometheus, "figures of the server, for Prometheus"},
    Route{Method::kPost, "/api/corral/v1/frames", api::post_frames,
          "takes frames in; durable before the answer"},
    Route{Method::kGet, "/api/corral/v1/sessions/{session}", api::session,
          "how far a session is durable"},
    Route{Method::kGet, "/api/corral/v1/experiments", api::experiments,
          "experiments, newest first"},
    Route{Method::kGet, "/api/corral/v1/workloads", api::workloads,
          "workloads, newest first (?experiment=&members=)"},
    Route{Method::kGet, "/api/corral/v1/workloads/{workload}/sharing", api::sharing,
          "who shared which device, instance, CPUs and host, when (?metric=)"},
    Route{Method::kGet, "/api/corral/v1/runs", api::runs,
          "runs, newest first (?experiment=&workload=&status=&limit=&before=)"},
    Route{Method::kPost, "/api/corral/v1/runs/search", api::search_runs,
          "runs by scope, filter, words and choices; a page with columns, and facets"},
    Route{Method::kPost, "/api/corral/v1/sparklines", api::sparklines,
          "a metric of each of many runs, in a few points"},
    Route{Method::kPost, "/api/corral/v1/summaries", api::summaries,
          "statistics of metrics of many runs"},
    Route{Method::kGet, "/api/corral/v1/experiments/{experiment}/overview", api::overview,
          "workloads of an experiment with their runs and one value of each (?metric=&of=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}", api::run, "one run, whole"},
    Route{Method::kDelete, "/api/corral/v1/runs/{run}", api::remove_run,
          "removes a run (?force=&dry_run=)"},
    Route{Method::kDelete, "/api/corral/v1/experiments/{experiment}", api::remove_experiment,
          "removes an experiment with all its runs (?force=&dry_run=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/metrics", api::metrics,
          "series of a run and of its workload"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/phases", api::phases,
          "phases of a run (?from_ns=&to_ns=&shortest_s=&limit=)"},
    Route{Method::kPost, "/api/corral/v1/phases/statistics", api::phase_statistics,
          "how often and how long phases lasted, by lane and path"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/check-trace", api::check_trace,
          "whether a run's phases are whole"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/events", api::events, "events of a run"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/health", api::health,
          "what the capture, listeners and sources of a run could and could not see"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/logs", api::logs,
          "output of a run (?stream=&limit=, and one of from=, before=, tail=, at_ns=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/logs/search", api::search_logs,
          "lines of a run's output (?text=&regex=&case=&stream=&from=&limit=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/notes", api::notes,
          "what people wrote about a run"},
    Route{Method::kPost, "/api/corral/v1/runs/{run}/notes", api::add_note, "adds a note"},
    Route{Method::kPut, "/api/corral/v1/runs/{run}/notes/{note}", api::change_note,
          "writes a note anew"},
    Route{Method::kDelete, "/api/corral/v1/runs/{run}/notes/{note}", api::delete_note,
          "removes a note"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/profile", api::profile,
          "the profile that was asked for last, and how far it is"},
    Route{Method::kPost, "/api/corral/v1/runs/{run}/profile", api::ask_profile,
          "asks a running run for a profile of its next steps"},
    Route{Method::kPut, "/api/corral/v1/runs/{run}/profile/{id}", api::tell_profile,
          "what a supervisor says about such a profile"},
    Route{Method::kPost, "/api/corral/v1/views", api::save_view,
          "keeps a state of the page under a short id"},
    Route{Method::kGet, "/api/corral/v1/views/{view}", api::view, "a state of the page"},
    Route{Method::kGet, "/api/corral/v1/boards", api::boards, "boards that people saved"},
    Route{Method::kPut, "/api/corral/v1/boards/{board}", api::save_board, "saves a board"},
    Route{Method::kDelete, "/api/corral/v1/boards/{board}", api::delete_board, "removes a board"},
    Route{Method::kGet, "/api/corral/v1/plans", api::plans,
          "plans that schedulers told of, with counts by state"},
    Route{Method::kGet, "/api/corral/v1/plans/{plan}", api::plan,
          "what a scheduler said last about a plan"},
    Route{Method::kPut, "/api/corral/v1/plans/{plan}", api::save_plan,
          "what a scheduler says about its plan"},
    Route{Method::kDelete, "/api/corral/v1/plans/{plan}", api::delete_plan, "forgets a plan"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/export", api::export_points,
          "points, streamed (?metric=GLOB&format=csv|jsonl|json|perfetto)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/artifacts", api::list_artifacts,
          "files that a run logged, a directory at a time (?path=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/artifacts/{path...}", api::get_artifact,
          "a file that a run logged (?download; Range)"},
    Route{Method::kPut, "/api/corral/v1/runs/{run}/artifacts/{path...}", api::put_artifact,
          "stores a file of a run"},
    Route{Method::kPost, "/api/corral/v1/points", api::points,
          "points of several runs, streamed, binary"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/latest", api::latest,
          "newest value or rate of each series (?metric=GLOB)"},
    Route{Method::kPost, "/api/corral/v1/charts", api::charts, "chart columns, binary"},
    Route{Method::kPost, "/api/corral/v1/lines", api::lines,
          "one value per pixel column: smoothed, integral, ratio, group, comparison; binary"},
    Route{Method::kPost, "/api/corral/v1/windows", api::windows,
          "statistics and quantiles of a selected window"},
    Route{Method::kPost, "/api/corral/v1/xy", api::xy,
          "a metric over another, reduced to a picture's pixels; binary"},
    Route{Method::kPost, "/api/corral/v1/epochs", api::epochs,
          "when the epochs of runs began and ended"},
    Route{Method::kPost, "/api/corral/v1/changes", api::changes,
          "series ranked by how much they changed in a window"},
    Route{Method::kGet, "/api/corral/v1/stream", api::stream, "server-sent events"},
    Route{Method::kGet, "/api/corral/v1/openapi.json", api::openapi_page, "this list"},
    Route{Method::kPost, "/api/corral/v1/stop", api::stop, "ends the server; Unix socket only"},
};

// Anything below /api that no table has is an error, never the page.
constexpr std::array kPage = {
    Route{Method::kGet, "/runs/{path...}", ui::page, ""},
    Route{Method::kGet, "/experiments/{path...}", ui::page, ""},
    Route{Method::kGet, "/plans/{path...}", ui::page, ""},
    Route{Method::kGet, "/board", ui::page, ""},
    Route{Method::kGet, "/summary", ui::page, ""},
    Route{Method::kGet, "/assets/{path...}", ui::asset, ""},
    Route{Method::kGet, "/{path...}", ui::root, ""},
};

}  // namespace

std::span<const Route> routes() {
  static const std::vector<Route> table = [] {
    std::vector<Route> all(kApi.begin(), kApi.end());
    const std::span<const Route> others = door::routes();
    all.insert(all.end(), others.begin(), others.end());
    all.insert(all.end(), kPage.begin(), kPage.end());
    return all;
  }();
  return table;
}

}  // namespace corral::server
