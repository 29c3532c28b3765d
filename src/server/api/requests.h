// Bodies of requests, parsed. Pure; any bytes (fuzz/fuzz_request.cpp). Each parser stands in the
// file of its handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/changes.h"
#include "analyze/compare/unit_value.h"
#include "analyze/line.h"
#include "codec/frame.h"
#include "query/chart/chart.h"
#include "query/chart/xy.h"
#include "query/export/read.h"
#include "query/series/window.h"
#include "query/sparkline.h"
#include "server/api/request_fields.h"
#include "store/search/change_runs.h"
#include "store/search/find_runs.h"
#include "store/search/run_summaries.h"

namespace corral::server::api {

// ---- series
Parsed<query::ChartRequest> parse_chart_request(std::string_view text);
Parsed<analyze::LineRequest> parse_line_request(std::string_view text);
Parsed<query::XyRequest> parse_xy_request(std::string_view text);

// The mode decides the channel of each series once their kinds are known.
struct WindowQuestion {
  query::WindowRequest request;
  query::ChartMode mode = query::ChartMode::kAuto;
  std::optional<query::IntegralRule> rule = {};  // left out: backward for rates, else trapezoid
};
Parsed<WindowQuestion> parse_window_request(std::string_view text);

inline constexpr std::int64_t kMostReferencePhases = 100'000;

// Another run whose series of the same names the request's are compared with: in one of its phases,
// or at the same steps on the axis of steps.
struct ChangeReference {
  std::string run;  // as people write it
  std::string phase = {};
  std::size_t index = 0;  // counts the phases of that name from 0, by start
};
struct ChangesQuestion {
  analyze::ChangesRequest request;
  std::optional<ChangeReference> reference = {};
};
Parsed<ChangesQuestion> parse_changes_request(std::string_view text);

// ---- runs, which are as people write them
inline constexpr std::size_t kMostComparedGroups = 100;
struct CompareQuestion {
  // One of `runs`, `named` and `filter`.
  struct Group {
    std::string name;
    std::vector<std::string> runs;  // as people write them, one run each
    std::string named = {};         // all runs of a name; else a run, a workload or a filter
    std::vector<mlflow::Comparison> filter = {};
  };
  std::vector<Group> groups;
  std::string by;  // splits the runs of all groups anew by this field; empty: not
  analyze::ComparedValue value;
  std::optional<double> margin = {};
};
Parsed<CompareQuestion> parse_compare_request(std::string_view text);
struct HistoryQuestion {
  CompareQuestion of;
  std::optional<bool> less_is_better;  // a metric's
  std::optional<double> at_least, at_most;
};
Parsed<HistoryQuestion> parse_history_request(std::string_view text);
inline constexpr std::size_t kMostBaselineValues = 20;
struct DifferencesQuestion {
  CompareQuestion::Group baseline;
  std::vector<std::string> runs;  // as people write them
  std::vector<analyze::ComparedValue> values;
};
Parsed<DifferencesQuestion> parse_differences_request(std::string_view text);

inline constexpr std::size_t kMostReadRuns = 1000;
inline constexpr std::size_t kMostReadMetrics = 1000;
struct PointsRequest {
  std::vector<std::string> runs;
  query::ReadRequest read;  // without runs
};
Parsed<PointsRequest> parse_points_request(std::string_view text);

struct EpochsQuestion {
  std::vector<std::string> runs;
  std::size_t skip = 0;  // epochs of each
};
Parsed<EpochsQuestion> parse_epochs_request(std::string_view text);

// ---- many runs
inline constexpr std::size_t kMostFilterBytes = 65'536;
// The member `filter`, of MLflow's grammar, and its text.
std::string read_run_filter(RequestFields& fields, std::string_view body,
                            std::vector<mlflow::Comparison>& filter);
struct RunSearchRequest {
  store::tracking::RunQuestion question;
  // The names in the request, parallel to those of the question.
  std::vector<std::string> columns, facets;
};
Parsed<RunSearchRequest> parse_run_search(std::string_view text);

// The member `state`: active, archived or trashed.
std::optional<store::Lifecycle> read_lifecycle(RequestFields& fields);
inline constexpr std::size_t kMostChangedRuns = 1000;
struct RunChanges {
  std::vector<store::tracking::RunToChange> runs;  // each once
  bool force = false;
};
Parsed<RunChanges> parse_run_changes(std::string_view text);

inline constexpr std::size_t kMostSummaryRuns = 10'000;
enum class SummaryValue : std::uint8_t { kLast, kMean, kMin, kMax, kCount };
std::string_view summary_value_name(SummaryValue value);
std::optional<SummaryValue> parse_summary_value(std::string_view name);
// Not of kCount.
std::optional<double> summary_value(const store::tracking::MetricSummary& summary,
                                    SummaryValue value);

struct SummaryRequest {
  store::tracking::RunScope scope;  // either runs or experiments
  store::tracking::SummaryQuestion question;
  std::vector<SummaryValue> values;
};
Parsed<SummaryRequest> parse_summaries(std::string_view text);
Parsed<query::SparklineRequest> parse_sparklines(std::string_view text);

// ---- what clients other than the page send
struct SplitFrames {
  std::vector<codec::ByteView> frames;  // views of the body
  std::optional<Error> error;           // the body cannot be split from `position` on
  std::size_t position = 0;
};
SplitFrames split_frames(codec::ByteView body);

inline constexpr std::size_t kMostPlanRuns = 100'000;
// The summary of a scheduler's report about its plan, for lists, as JSON; unknown members stay in
// the document and are no error.
Parsed<std::string> parse_plan(std::string_view text);

}  // namespace corral::server::api
