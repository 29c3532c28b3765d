#include <array>
#include <vector>

#include "server/api/handlers.h"
#include "server/api/late.h"
#include "server/core/door.h"
#include "server/core/router.h"
#include "server/ui/page.h"

namespace corral::server {
namespace {

// The route of a handler of the API. Its errors get the API's form.
template <auto Handler>
Response answer(const Request& request, Context& context) {
  return api::response_of(Handler(request, context));
}
template <auto Handler>
constexpr Route get(std::string_view pattern, std::string_view summary) {
  return {Method::kGet, pattern, answer<Handler>, summary};
}
template <auto Handler>
constexpr Route post(std::string_view pattern, std::string_view summary) {
  return {Method::kPost, pattern, answer<Handler>, summary};
}
// A POST that changes nothing.
template <auto Handler>
constexpr Route ask(std::string_view pattern, std::string_view summary) {
  return needing(Role::kReader, post<Handler>(pattern, summary));
}
template <auto Handler>
constexpr Route put(std::string_view pattern, std::string_view summary) {
  return {Method::kPut, pattern, answer<Handler>, summary};
}
template <auto Handler>
constexpr Route del(std::string_view pattern, std::string_view summary) {
  return {Method::kDelete, pattern, answer<Handler>, summary};
}

constexpr std::array kApi = {
    needing(Role::kAnyone, get<api::alive>("/health", "liveness check")),
    needing(Role::kAnyone, get<api::ready>("/ready", "whether the store takes changes")),
    get<api::version>("/api/corral/v1/version", "version, store and resource use of the server"),
    get<api::clock>("/api/corral/v1/clock", "the time that hosts compare their clocks with"),
    get<api::prometheus>("/metrics", "server metrics in Prometheus format"),
    post<api::post_frames>("/api/corral/v1/frames", "stores frames; durable before the response"),
    get<api::session>("/api/corral/v1/sessions/{session}",
                      "last durable sequence number of a session"),
    get<api::experiments>("/api/corral/v1/experiments", "experiments, newest first"),
    get<api::workloads>("/api/corral/v1/workloads",
                        "workloads, newest first (?experiment=&members=)"),
    get<api::sharing>("/api/corral/v1/workloads/{workload}/sharing",
                      "which runs shared a device, instance, CPUs or host, and when (?metric=)"),
    get<api::workflow>("/api/corral/v1/workloads/{workload}/workflow",
                       "how the runs of a workload followed each other, and their energy"),
    get<api::workflow>("/api/corral/v1/plans/{plan}/workflow",
                       "how the runs of a plan followed each other, and their energy"),
    get<api::workflow>("/api/corral/v1/experiments/{experiment}/workflow",
                       "how the runs of an experiment followed each other, and their energy"),
    get<api::collocation>("/api/corral/v1/workloads/{workload}/collocation",
                          "its runs beside each other against the same alone (?job=)"),
    get<api::collocation>("/api/corral/v1/plans/{plan}/collocation",
                          "runs of a plan beside others against the same alone (?job=)"),
    get<api::collocation>("/api/corral/v1/experiments/{experiment}/collocation",
                          "runs of an experiment beside others against the same alone (?job=)"),
    get<api::runs>("/api/corral/v1/runs",
                   "runs, newest first (?experiment=&workload=&status=&limit=&before=)"),
    ask<api::search_runs>(
        "/api/corral/v1/runs/search",
        "search runs by scope, filter, text and facets; one page with columns and facet counts"),
    get<api::clocks>("/api/corral/v1/runs/{run}/clocks",
                     "how far the clocks of the run's hosts were from the store's"),
    post<api::change_runs>("/api/corral/v1/runs/changes",
                           "rename, tag, archive, trash and restore runs, all or none"),
    ask<api::sparklines>("/api/corral/v1/sparklines",
                         "one metric of many runs, reduced to a few points each"),
    ask<api::summaries>("/api/corral/v1/summaries", "metric statistics of many runs"),
    get<api::overview>(
        "/api/corral/v1/experiments/{experiment}/overview",
        "workloads of an experiment with their runs and one value per run (?metric=&of=)"),
    get<api::run>("/api/corral/v1/runs/{run}", "a run with params, tags and host information"),
    needing(Role::kOwner,
            del<api::remove_run>("/api/corral/v1/runs/{run}", "delete a run (?force=&dry_run=)")),
    needing(Role::kOwner,
            del<api::remove_experiment>("/api/corral/v1/experiments/{experiment}",
                                        "delete an experiment and its runs (?force=&dry_run=)")),
    get<api::metrics>("/api/corral/v1/runs/{run}/metrics",
                      "series of a run, its workload and its host"),
    get<api::phases>("/api/corral/v1/runs/{run}/phases",
                     "phases of a run (?from_ns=&to_ns=&shortest_s=&limit=)"),
    ask<api::phase_statistics>("/api/corral/v1/phases/statistics",
                               "phase counts and durations by lane and path"),
    get<api::check_trace>("/api/corral/v1/runs/{run}/check-trace",
                          "check that a run's phases are complete and consistent"),
    get<api::events>("/api/corral/v1/runs/{run}/events", "events of a run"),
    get<api::health>("/api/corral/v1/runs/{run}/health",
                     "state of a run's capture, listeners and sources"),
    get<api::explain>("/api/corral/v1/runs/{run}/explain",
                      "where the time of a run went (?from_ns=&to_ns=&lane=)"),
    get<api::interest>("/api/corral/v1/runs/{run}/interest",
                       "what of a run is worth looking at: regions, and series by interest "
                       "(?from_ns=&to_ns=)"),
    get<api::footprint>("/api/corral/v1/runs/{run}/footprint",
                        "energy of a run, and its use of its devices (?from_ns=&to_ns=)"),
    get<api::attribution>("/api/corral/v1/runs/{run}/attribution",
                          "how much of a metric each type of phases used "
                          "(?metric=&source=&from_ns=&to_ns=&lane=)"),
    get<api::logs>("/api/corral/v1/runs/{run}/logs",
                   "output of a run (?stream=&limit=, and one of from=, before=, tail=, at_ns=)"),
    get<api::search_logs>("/api/corral/v1/runs/{run}/logs/search",
                          "search a run's output (?text=&regex=&case=&stream=&from=&limit=)"),
    get<api::notes>("/api/corral/v1/runs/{run}/notes", "notes on a run"),
    post<api::add_note>("/api/corral/v1/runs/{run}/notes", "add a note"),
    put<api::change_note>("/api/corral/v1/runs/{run}/notes/{note}", "replace a note"),
    del<api::delete_note>("/api/corral/v1/runs/{run}/notes/{note}", "delete a note"),
    get<api::profile>("/api/corral/v1/runs/{run}/profile",
                      "the latest requested profile and its progress"),
    post<api::request_profile>("/api/corral/v1/runs/{run}/profile",
                               "request a profile of a running run's next steps"),
    put<api::report_profile>("/api/corral/v1/runs/{run}/profile/{id}",
                             "update a profile's progress (sent by supervisors)"),
    // A reader shares what is on the screen by it.
    needing(Role::kReader,
            post<api::save_view>("/api/corral/v1/views", "save a page view under a short id")),
    get<api::view>("/api/corral/v1/views/{view}", "a saved page view"),
    get<api::boards>("/api/corral/v1/boards", "saved boards"),
    put<api::save_board>("/api/corral/v1/boards/{board}", "save a board"),
    del<api::delete_board>("/api/corral/v1/boards/{board}", "delete a board"),
    get<api::lists>("/api/corral/v1/lists", "saved lists of runs"),
    put<api::save_list>("/api/corral/v1/lists/{list}", "save a list of runs"),
    del<api::delete_list>("/api/corral/v1/lists/{list}", "delete a saved list of runs"),
    get<api::reports>("/api/corral/v1/reports", "reports"),
    put<api::save_report>("/api/corral/v1/reports/{report}", "save a report"),
    del<api::delete_report>("/api/corral/v1/reports/{report}", "delete a report"),
    get<api::plans>("/api/corral/v1/plans",
                    "plans that schedulers reported, with run counts by state"),
    get<api::plan>("/api/corral/v1/plans/{plan}", "the latest report on a plan"),
    put<api::save_plan>("/api/corral/v1/plans/{plan}", "report on a plan (sent by schedulers)"),
    del<api::delete_plan>("/api/corral/v1/plans/{plan}", "delete a plan's report"),
    get<api::export_points>(
        "/api/corral/v1/runs/{run}/export",
        "export points, streamed (?metric=GLOB&format=csv|jsonl|json|perfetto)"),
    get<api::list_artifacts>("/api/corral/v1/runs/{run}/artifacts",
                             "list one directory of a run's artifacts (?path=)"),
    get<api::get_artifact>("/api/corral/v1/runs/{run}/artifacts/{path...}",
                           "download an artifact (?download; Range)"),
    put<api::put_artifact>("/api/corral/v1/runs/{run}/artifacts/{path...}", "store an artifact"),
    get<api::media>("/api/corral/v1/runs/{run}/media",
                    "images, audio, video, texts, tables and histograms by name and step "
                    "(?name=&from_step=&to_step=)"),
    ask<api::points>("/api/corral/v1/points", "points of several runs; streamed, binary"),
    ask<api::remote_read>("/prom/api/v1/read", "points, as Prometheus' remote read asks for them"),
    get<api::latest>("/api/corral/v1/runs/{run}/latest",
                     "latest value or rate of each series (?metric=GLOB)"),
    ask<api::charts>("/api/corral/v1/charts", "chart columns, binary"),
    ask<api::lines>(
        "/api/corral/v1/lines",
        "one value per pixel column: smoothed, integral, ratio, group, comparison; binary"),
    ask<api::windows>("/api/corral/v1/windows", "statistics and quantiles of a time window"),
    ask<api::xy>("/api/corral/v1/xy", "one metric over another, reduced to pixels; binary"),
    ask<api::epochs>("/api/corral/v1/epochs", "start and end of each epoch of runs"),
    ask<api::changes>("/api/corral/v1/changes",
                      "series ranked by how much they changed in a window"),
    ask<api::compare>("/api/corral/v1/compare", "groups of runs compared with the first one"),
    ask<api::history>("/api/corral/v1/history",
                      "how a value of groups of runs changed from run to run"),
    ask<api::differences>("/api/corral/v1/differences",
                          "values of runs, and their ratios to those of a baseline"),
    get<api::me>("/api/corral/v1/me", "whose request it is, and their role"),
    needing(Role::kAnyone,
            post<api::sign_in>("/api/corral/v1/sign-in", "keep a token in this browser")),
    needing(Role::kAnyone,
            get<api::ways_to_sign_in>("/api/corral/v1/sign-in", "where people can sign in")),
    needing(Role::kAnyone,
            get<api::go_to_provider>("/auth/login", "sign in at the provider (?to=)")),
    needing(Role::kAnyone, get<api::back_from_provider>("/auth/callback",
                                                        "back from the provider (?code=&state=)")),
    needing(Role::kReader, post<api::make_code>("/api/corral/v1/codes",
                                                "a code by which a browser signs in, once")),
    needing(Role::kAnyone,
            post<api::sign_out>("/api/corral/v1/sign-out", "forget the token of this browser")),
    needing(Role::kAdmin, get<api::users>("/api/corral/v1/users", "users of the store")),
    needing(Role::kAdmin, post<api::add_user>("/api/corral/v1/users", "add a user")),
    needing(Role::kAdmin, put<api::change_user>("/api/corral/v1/users/{user}", "change a user")),
    needing(Role::kAdmin,
            del<api::delete_user>("/api/corral/v1/users/{user}", "delete a user and their tokens")),
    get<api::spaces>("/api/corral/v1/spaces", "your spaces; for admins all of them"),
    needing(Role::kAdmin, post<api::add_space>("/api/corral/v1/spaces", "add a space")),
    needing(Role::kAdmin, put<api::change_space>("/api/corral/v1/spaces/{space}",
                                                 "let users into a space, and out of it")),
    needing(Role::kAdmin,
            del<api::delete_space>("/api/corral/v1/spaces/{space}",
                                   "delete a space, which hides nothing then (?open=)")),
    get<api::teams>("/api/corral/v1/teams", "your teams; for admins all of them"),
    needing(Role::kAdmin, post<api::add_team>("/api/corral/v1/teams", "add a team")),
    needing(Role::kAdmin, put<api::change_team>("/api/corral/v1/teams/{team}",
                                                "let users into a team, and out of it")),
    needing(Role::kAdmin, del<api::delete_team>("/api/corral/v1/teams/{team}", "delete a team")),
    get<api::list_alerts>("/api/corral/v1/alerts", "your alerts; for admins all of them"),
    post<api::add_alert>("/api/corral/v1/alerts", "be told about runs"),
    needing(Role::kReader,
            del<api::delete_alert>("/api/corral/v1/alerts/{alert}", "delete an alert")),
    post<api::test_alert>("/api/corral/v1/alerts/{alert}/test", "send a message as a test"),
    needing(Role::kAnyone, post<api::ask_device>("/api/corral/v1/device-codes",
                                                 "ask, as a program, to act for a user")),
    get<api::asking_device>("/api/corral/v1/device-codes/{code}", "a program that asks"),
    needing(Role::kReader, put<api::answer_device>("/api/corral/v1/device-codes/{code}",
                                                   "let that program act for you, or refuse it")),
    needing(Role::kAnyone, post<api::device_token>("/api/corral/v1/device-tokens",
                                                   "the answer to a program that asked")),
    get<api::tokens>("/api/corral/v1/tokens", "your access tokens; for admins those of all users"),
    needing(Role::kReader,
            post<api::add_token>("/api/corral/v1/tokens",
                                 "make an access token of yours; admins: of any user")),
    needing(Role::kReader, del<api::revoke_token>("/api/corral/v1/tokens/{token}",
                                                  "revoke a token of yours; admins: of any user")),
    needing(Role::kAdmin, get<api::audit>("/api/corral/v1/audit",
                                          "who did what, newest first "
                                          "(?user=&from_ns=&to_ns=&limit=&before=)")),
    get<api::stream>("/api/corral/v1/stream", "server-sent events"),
    get<api::openapi_page>("/api/corral/v1/openapi.json", "these routes as an OpenAPI document"),
    needing(Role::kAdmin,
            post<api::stop>("/api/corral/v1/stop", "stop the server (Unix socket only)")),
};

// The page's own files hold nothing of the store. A path below /api that is in no table is an
// error; it never shows the page.
constexpr Route file(std::string_view pattern, Handle handle) {
  return {Method::kGet, pattern, handle, "", Role::kAnyone};
}
constexpr std::array kPage = {
    file("/runs/{path...}", ui::page),  file("/experiments/{path...}", ui::page),
    file("/plans/{path...}", ui::page), file("/reports/{path...}", ui::page),
    file("/board", ui::page),           file("/summary", ui::page),
    file("/compare", ui::page),         file("/history", ui::page),
    file("/collocation", ui::page),     file("/docs", ui::page),
    file("/people", ui::page),          file("/device", ui::page),
    file("/docs/{path...}", ui::page),  file("/assets/{path...}", ui::asset),
    file("/{path...}", ui::root),
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
