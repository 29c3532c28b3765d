// The search language of MLflow's interface: `metrics.loss < 0.1 AND params."learning rate" = '1'`,
// and its order_by clauses. Parses text into comparisons; store/search runs them.
//
// Comparisons are joined by AND alone. Each kind of search has its own entities, attributes and
// operators (filter_grammar.h). Anything else is refused here, in MLflow's words, so that a
// Comparison needs no further checks. Attribute names are canonical: `created` is start_time, `Run
// Name` is run_name, a trace's `name` its tag mlflow.traceName, a trace's `run_id` its metadata
// mlflow.sourceRun. Text values are taken as they stand between their quotes: there is no escape.
// Names that look like a keyword or a number (`params.case`, `metrics.1`) are names here, although
// MLflow's own tokenizer refuses them. Pure, any thread, linear in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compat/mlflow/wire/error.h"

namespace corral::mlflow {

inline constexpr std::size_t kMostComparisons = 200;  // and orders
inline constexpr std::size_t kLongestPattern = 1000;  // bytes of a LIKE

enum class SearchKind : std::uint8_t {
  kRuns,
  kExperiments,
  kRegisteredModels,
  kModelVersions,
  kLoggedModels,
  kTraces,
};

enum class Entity : std::uint8_t { kAttribute, kMetric, kParam, kTag, kDataset, kMetadata };

enum class Operator : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kLike,   // % any text, _ one character; by case
  kIlike,  // the same, whatever the case
  kIn,
  kNotIn,
  kIsNull,
  kIsNotNull,
};

struct Comparison {
  // Nothing with kIsNull and kIsNotNull, a list with kIn and kNotIn. A metric's is a double; a
  // numeric attribute's is an integer, or a double where the text has a fraction.
  using Value =
      std::variant<std::monostate, std::string, std::int64_t, double, std::vector<std::string>>;

  Entity entity = Entity::kAttribute;
  std::string key;
  Operator op = Operator::kEqual;
  Value value;

  bool operator==(const Comparison&) const = default;
};

struct Order {
  Entity entity = Entity::kAttribute;
  std::string key;
  bool ascending = true;

  bool operator==(const Order&) const = default;
};

// Returns comparisons in the order of the text; none for an empty text.
Answer<std::vector<Comparison>> parse_filter(SearchKind kind, std::string_view text);
// One clause a field, `[entity.]key [ASC|DESC]`; the same field twice is refused. Logged models
// are ordered by {field_name, ascending} instead: their clauses are field names.
Answer<std::vector<Order>> parse_order_by(SearchKind kind, const std::vector<std::string>& clauses);

}  // namespace corral::mlflow
