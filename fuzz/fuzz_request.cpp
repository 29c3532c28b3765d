// Input from clients: request targets, the bodies of POST /charts, /lines, /points, /windows, /xy,
// /epochs, /changes, /compare, /runs/search, /runs/changes, /summaries and /sparklines and of PUT
// /plans/{id},
// tags about devices, and the splitting of frame bodies.
#include <cstdlib>
#include <cstring>

#include "analyze/sharing.h"
#include "core/json.h"
#include "http/request.h"
#include "server/api/requests.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void fuzz_frames(std::span<const std::uint8_t> bytes) {
  const auto split = corral::server::api::split_frames(bytes);
  std::size_t total = 0;
  for (const auto& frame : split.frames) {
    check(frame.data() == bytes.data() + total);
    total += frame.size();
    static_cast<void>(corral::codec::decode_frame(frame));
  }
  check(split.position == total);
  check(split.error.has_value() == (total != bytes.size()));
}

void check_error(const corral::server::api::RequestError& error, std::string_view text) {
  check(!error.error.message.empty() && error.position.value_or(0) <= text.size());
}

void fuzz_chart(std::string_view text) {
  const auto request = corral::server::api::parse_chart_request(text);
  if (request) {
    check(request->width >= 1 && !request->series.empty());
  } else {
    check_error(request.error(), text);
  }
  const auto lines = corral::server::api::parse_line_request(text);
  if (lines) {
    check(lines->width >= 1 && !lines->lines.empty());
    for (const auto& line : lines->lines) check(!line.series.empty());
  } else {
    check_error(lines.error(), text);
  }
  const auto points = corral::server::api::parse_points_request(text);
  if (points) {
    check(!points->runs.empty() && !points->read.metrics.empty() &&
          points->read.points.value_or(4) > 3);
  } else {
    check_error(points.error(), text);
  }
  const auto windows = corral::server::api::parse_window_request(text);
  if (windows) {
    check(windows->request.from < windows->request.to && windows->request.max_points > 0);
  } else {
    check_error(windows.error(), text);
  }
  check(corral::json_error_position(text) <= text.size());
}

void fuzz_findings(std::string_view text) {
  const auto compare = corral::server::api::parse_compare_request(text);
  if (compare) {
    check(compare->margin > 0 && compare->margin < 1 && !compare->groups.empty());
    for (const auto& group : compare->groups) check(group.runs.empty() || group.named.empty());
  } else {
    check_error(compare.error(), text);
  }
  const auto history = corral::server::api::parse_history_request(text);
  if (history) {
    check(!history->of.groups.empty());
  } else {
    check_error(history.error(), text);
  }
  const auto differences = corral::server::api::parse_differences_request(text);
  if (differences) {
    check(!differences->runs.empty() && !differences->values.empty());
  } else {
    check_error(differences.error(), text);
  }

  const auto changes = corral::server::api::parse_changes_request(text);
  if (changes) {
    const corral::analyze::ChangesRequest& request = changes->request;
    check(!request.series.empty() && request.window.from < request.window.to);
    check(request.origins.empty() || request.origins.size() == request.series.size());
    check(!changes->reference || (!changes->reference->run.empty() && request.baseline.empty()));
  } else {
    check_error(changes.error(), text);
  }
  const auto xy = corral::server::api::parse_xy_request(text);
  if (xy) {
    check(!xy->lines.empty() && xy->x.pixels >= 1 && xy->y.pixels >= 1);
    check(!xy->x.from || !xy->x.to || *xy->x.from < *xy->x.to);
  } else {
    check_error(xy.error(), text);
  }
  const auto epochs = corral::server::api::parse_epochs_request(text);
  if (epochs) {
    check(!epochs->runs.empty());
  } else {
    check_error(epochs.error(), text);
  }
}

void fuzz_runs(std::string_view text) {
  namespace api = corral::server::api;
  const auto search = api::parse_run_search(text);
  if (search) {
    const auto& question = search->question;
    check(question.columns.size() == search->columns.size() &&
          question.facets.size() == search->facets.size());
    check(question.paging.limit >= 0 && question.paging.limit <= 1000 &&
          question.paging.offset >= 0);
    check(question.choices.size() <= corral::store::tracking::kMostChoices);
    for (const auto& choice : question.choices)
      check(choice.field.is_text() && choice.field.key.find('\0') == std::string::npos);
  } else {
    check_error(search.error(), text);
  }
  const auto changed = api::parse_run_changes(text);
  if (changed) {
    check(!changed->runs.empty() && changed->runs.size() <= api::kMostChangedRuns);
    for (const auto& run : changed->runs) check(!run.change.empty());
  } else {
    check_error(changed.error(), text);
  }
  const auto summaries = api::parse_summaries(text);
  if (summaries) {
    check(summaries->scope.runs.empty() != summaries->scope.experiments.empty());
    check(!summaries->question.metrics.empty() && !summaries->values.empty());
  } else {
    check_error(summaries.error(), text);
  }
  const auto sparklines = api::parse_sparklines(text);
  if (sparklines) {
    check(sparklines->points >= 2);
  } else {
    check_error(sparklines.error(), text);
  }
}

void fuzz_plans(std::string_view text) {
  const auto plan = corral::server::api::parse_plan(text);
  if (plan) {
    const auto summary = corral::Json::parse(*plan);
    check(summary && summary->get_int("runs", -1) >= 0);
  } else {
    check_error(plan.error(), text);
  }
  // Tags are as clients wrote them.
  corral::store::page::SharingRun run;
  run.end = run.start + corral::Nanos(10);
  run.tags = {{"corral.devices", std::string(text)}, {"corral.cpus", std::string(text)}};
  const std::vector runs = {run, run};
  const corral::analyze::Sharing sharing = corral::analyze::find_sharing(runs, 1);
  for (const corral::analyze::SharedPlace& place : sharing.places) check(place.stays.size() == 2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (data[0] % 3) {
    case 0:
      fuzz_frames(bytes);
      break;
    case 1:
      fuzz_chart(text);
      fuzz_runs(text);
      fuzz_findings(text);
      fuzz_plans(text);
      break;
    default: {
      corral::http::Request request;
      static_cast<void>(corral::http::parse_target(text, request));
    }
  }
  return 0;
}
