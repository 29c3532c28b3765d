// The search behind the page's list of runs: scope, filter, words, choices, order, a page of rows
// with columns, and facets.
//
// A run is found when it lies in the scope, the filter (of MLflow's grammar) holds, every word
// occurs in it, and each choice names its value. Choices are OR inside, AND between; the counts of
// a facet ignore the choices of its own field, so that they show the alternatives. Over a
// connection's snapshot, in memory by column (run_table.h): only metrics are cached between two
// calls. Any thread, each with its own Reading.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compat/mlflow/wire/filter.h"
#include "core/result.h"
#include "store/model/records.h"
#include "store/model/transaction.h"
#include "store/search/run_table.h"
#include "store/search/search_rows.h"

namespace corral::store::tracking {

inline constexpr std::size_t kMostChoices = 60;
inline constexpr std::size_t kMostFacetKeys = 100;        // params or tags
inline constexpr std::size_t kMostFacetValues = 100;      // per field
inline constexpr std::size_t kMostFacetValuesOfKey = 20;  // per param or tag
inline constexpr std::size_t kMostGroups = 10'000;

struct RunChoice {
  RunField field;                   // a text
  std::vector<std::string> values;  // "": not set
};
struct RunOrder {
  RunField field;
  bool descending = false;
};
struct RunQuestion {
  RunScope scope;
  std::vector<mlflow::Comparison> filter;
  // Each occurs, whatever the case of A to Z, in the name, experiment, workload, host, creator,
  // command, or a param or tag as "key=value", or begins the id.
  std::vector<std::string> words;
  std::vector<RunChoice> choices;  // at most kMostChoices
  // In both directions, NaN comes after all numbers, and then runs without a value. Ties: the
  // newest run first, then by id, descending.
  std::vector<RunOrder> orders;
  // A text. Runs with the same value stand together, in the order of the values, before all other
  // orders; descending if the first of `orders` orders by the same field so.
  std::optional<RunField> group;
  std::vector<RunField> columns;
  bool details = false;          // params, tags and metrics of each run
  std::vector<RunField> facets;  // texts
  bool param_facets = false, tag_facets = false;
  Paging paging;
};

struct Facet {
  struct Value {
    std::string value;  // "": not set
    std::int64_t count = 0;
    bool operator==(const Value&) const = default;
  };
  RunField field;
  std::vector<Value> values;  // most frequent first, then by value
  std::int64_t distinct = 0;  // values before the list was cut
};

// Statistics of finite values.
struct Spread {
  std::int64_t count = 0;
  double min = 0, max = 0, mean = 0;
};
// The runs of all pages that have the same value of the question's `group`.
struct RunGroup {
  std::string value;  // "": not set
  std::int64_t count = 0;
  std::vector<Spread> values;  // in the order of the columns; empty but for metrics
  Spread duration;             // seconds
  // The runs' losses, if all of them are of the same metric.
  Spread loss;
  std::string loss_metric;
};

using ColumnValue = std::variant<std::monostate, double, std::string>;
struct FoundRuns {
  std::vector<Run> runs;                         // without facts but the command
  std::vector<std::vector<ColumnValue>> values;  // beside each run, in the order of the columns
  // Beside each run, if asked for.
  std::vector<RunDetails> details;
  std::vector<sql::RunMetrics> metrics;
  std::int64_t total = 0;           // runs on all pages
  std::vector<RunGroup> groups;     // in the order of the runs; on the first page alone
  std::vector<Facet> facets;        // in the order asked for; then by key
  std::vector<Facet> params, tags;  // those of the most runs first
  bool facets_cut = false;          // values or keys were left out
};

// kTooLarge: there are more than kMostGroups groups.
Result<FoundRuns> find_runs(Reading& reading, const RunQuestion& question);

}  // namespace corral::store::tracking
