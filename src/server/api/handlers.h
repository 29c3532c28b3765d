// The handlers of the native API, one per route of routes.cpp; docs/api.md lists parameters and
// answers. A handler stands in the file of its name, or of its resource.
//
// Plain synchronous functions on the transport's handler pool; they know no socket and no SQL. The
// transport catches exceptions.
#pragma once

#include "server/api/request_fields.h"
#include "server/core/context.h"
#include "server/core/http_types.h"

namespace corral::server::api {

// A response, or an error that becomes one (error_response).
using Answer = Parsed<Response>;
using Handler = Answer(const Request& request, Context& context);

Handler alive, ready, version, prometheus, openapi_page, stream, stop;  // server.cpp
Handler clock, clocks;                                                  // clocks.cpp
Handler post_frames, session;                                           // frames.cpp
Handler experiments, overview;                                          // experiments.cpp
Handler workloads, sharing;
Handler runs, run, search_runs;  // runs.cpp
Handler change_runs;
Handler remove_run, remove_experiment;  // remove.cpp
Handler summaries, sparklines;
Handler metrics, latest;                        // metrics.cpp
Handler phases, phase_statistics, check_trace;  // phases.cpp
Handler epochs, events, health, explain, interest, footprint, attribution, workflow;
Handler collocation;
Handler logs, search_logs;                           // logs.cpp
Handler notes, add_note, change_note, delete_note;   // notes.cpp
Handler save_view, view;                             // views.cpp
Handler boards, save_board, delete_board;            // boards.cpp
Handler lists, save_list, delete_list;               // boards.cpp
Handler reports, save_report, delete_report;         // boards.cpp
Handler plans, plan, save_plan, delete_plan;         // plans.cpp
Handler profile, request_profile, report_profile;    // profiles.cpp
Handler list_artifacts, get_artifact, put_artifact;  // artifacts.cpp
Handler media;
Handler sign_in, sign_out, ways_to_sign_in, go_to_provider, back_from_provider;  // sign_in.cpp
Handler me, make_code;                                                           // accounts.cpp
Handler users, add_user, change_user, delete_user;                               // accounts.cpp
Handler tokens, add_token, revoke_token, audit;                                  // accounts.cpp
Handler spaces, add_space, change_space, delete_space;                           // accounts.cpp
Handler teams, add_team, change_team, delete_team;                               // accounts.cpp
Handler list_alerts, add_alert, delete_alert, test_alert;                        // alerts.cpp
Handler ask_device, asking_device, answer_device, device_token;                  // accounts.cpp
Handler points, export_points, remote_read;                                      // points.cpp
Handler charts, lines, xy, windows, changes;
Handler compare, history, differences;  // compare.cpp

}  // namespace corral::server::api
