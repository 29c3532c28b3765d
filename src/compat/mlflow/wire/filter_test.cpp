#include "compat/mlflow/wire/filter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <span>

#include "compat/mlflow/wire/test_filters.h"
#include "compat/mlflow/wire/test_print_filter.h"

namespace corral::mlflow {
namespace {

using testing::Case;
using testing::print_filter;
using testing::print_orders;

constexpr std::array kKinds = {
    SearchKind::kRuns,          SearchKind::kExperiments,  SearchKind::kRegisteredModels,
    SearchKind::kModelVersions, SearchKind::kLoggedModels, SearchKind::kTraces};

void expect_printed(const Case& each, const std::string& printed) {
  if (std::string_view(each.expected).starts_with("! ")) {
    EXPECT_TRUE(printed.starts_with(each.expected)) << each.text << "\n  gives " << printed;
  } else {
    EXPECT_EQ(printed, each.expected) << each.text;
  }
}

void check_filters(SearchKind kind, std::span<const Case> cases) {
  for (const Case& each : cases) {
    const auto parsed = parse_filter(kind, each.text);
    expect_printed(each, parsed ? print_filter(kind, *parsed) : "! " + parsed.error().message);
    if (!parsed) {
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidParameterValue) << each.text;
      continue;
    }
    const auto again = parse_filter(kind, print_filter(kind, *parsed));
    ASSERT_TRUE(again) << each.text << ": " << again.error().message;
    EXPECT_EQ(*again, *parsed) << each.text;
  }
}

void check_orders(SearchKind kind, std::span<const Case> cases) {
  for (const Case& each : cases) {
    const auto parsed = parse_order_by(kind, {each.text});
    expect_printed(each, parsed ? print_orders(kind, *parsed) : "! " + parsed.error().message);
  }
}

TEST(Filter, Corpus) {
  check_filters(SearchKind::kRuns, testing::kRunFilters);
  check_filters(SearchKind::kExperiments, testing::kExperimentFilters);
  check_filters(SearchKind::kRegisteredModels, testing::kRegisteredModelFilters);
  check_filters(SearchKind::kModelVersions, testing::kModelVersionFilters);
  check_filters(SearchKind::kLoggedModels, testing::kLoggedModelFilters);
  check_filters(SearchKind::kTraces, testing::kTraceFilters);
}

TEST(Filter, OrderCorpus) {
  check_orders(SearchKind::kRuns, testing::kRunOrders);
  check_orders(SearchKind::kExperiments, testing::kExperimentOrders);
  check_orders(SearchKind::kRegisteredModels, testing::kRegisteredModelOrders);
  check_orders(SearchKind::kModelVersions, testing::kModelVersionOrders);
  check_orders(SearchKind::kTraces, testing::kTraceOrders);
}

TEST(Filter, TellsWhatItMeans) {
  const auto parsed = parse_filter(SearchKind::kRuns,
                                   "metrics.`val loss` < 0.5 AND Created >= 7 AND run_id NOT IN "
                                   "('a', \"b\") AND tags.t IS NULL");
  ASSERT_TRUE(parsed);
  const std::vector<Comparison> expected = {
      {Entity::kMetric, "val loss", Operator::kLess, 0.5},
      {Entity::kAttribute, "start_time", Operator::kGreaterEqual, std::int64_t{7}},
      {Entity::kAttribute, "run_id", Operator::kNotIn, std::vector<std::string>{"a", "b"}},
      {Entity::kTag, "t", Operator::kIsNull, {}}};
  EXPECT_EQ(*parsed, expected);
}

TEST(Filter, LoggedModelsAreOrderedByMetricsAndAttributes) {
  const auto parsed = parse_order_by(SearchKind::kLoggedModels, {"metrics.acc", "creation_time"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ((*parsed)[0], (Order{Entity::kMetric, "acc", true}));
  EXPECT_EQ((*parsed)[1], (Order{Entity::kAttribute, "creation_timestamp", true}));
  EXPECT_FALSE(parse_order_by(SearchKind::kLoggedModels, {"params.lr"}));
}

TEST(Filter, TheSameFieldTwiceIsRefused) {
  for (const std::vector<std::string>& clauses :
       {std::vector<std::string>{"metrics.a", "metrics.a DESC"},
        {"created", "start_time"},
        {"params.a", "tags.a", "params.`a` DESC"}}) {
    const auto parsed = parse_order_by(SearchKind::kRuns, clauses);
    ASSERT_FALSE(parsed);
    EXPECT_TRUE(parsed.error().message.starts_with("`order_by` contains duplicate fields: ['"))
        << parsed.error().message;
  }
  EXPECT_TRUE(parse_order_by(SearchKind::kRuns, {"params.a", "tags.a", "metrics.a"}));
}

TEST(Filter, HasLimits) {
  std::string many = "metrics.a > 1";
  for (std::size_t i = 1; i < kMostComparisons; ++i) many += " AND metrics.a > 1";
  EXPECT_TRUE(parse_filter(SearchKind::kRuns, many));
  EXPECT_FALSE(parse_filter(SearchKind::kRuns, many + " AND metrics.a > 1"));
  const auto like = [](std::size_t length) {
    return parse_filter(SearchKind::kRuns, "params.a LIKE '" + std::string(length, '%') + "'");
  };
  EXPECT_TRUE(like(kLongestPattern));
  EXPECT_FALSE(like(kLongestPattern + 1));
}

// Tries random text from a filter's elements: an accepted one is the same when printed and read
// again, and a rejected one has a reason.
TEST(Filter, PrintedAndReadAgainIsTheSame) {
  const bool holds = rc::check([] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "metrics.", "params.", "tags.", "dataset.name", "attributes.", "metadata.", "name",
        "run_id", "start_time", "creation_time", "a", "`a b`", "\"c\"", "'d'", "`", "\"", "'", "\\",
        ".", ",", "(", ")", "('x', 'y')", " ", " = ", " != ", " > ", " <= ", " LIKE ", " ilike ",
        " IN ", " NOT IN ", " IS NULL", " IS NOT NULL", " AND ", " OR ", "1", "-2.5", "1e5",
        "9223372036854775808", "\xc3\xbc"));
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    for (const SearchKind kind : kKinds) {
      const auto parsed = parse_filter(kind, text);
      if (!parsed) RC_ASSERT(!parsed.error().message.empty());
      if (!parsed || !testing::printable(*parsed)) continue;
      const auto again = parse_filter(kind, print_filter(kind, *parsed));
      RC_ASSERT(again.has_value());
      RC_ASSERT(*again == *parsed);
    }
  });
  EXPECT_TRUE(holds);
}

// The same over comparisons that fit.
TEST(Filter, ComparisonsSurvivePrinting) {
  const bool holds = rc::check([] {
    const auto letters = rc::gen::resize(8, rc::gen::container<std::string>(rc::gen::element(
                                                'a', 'B', 'c', 'd', '.', ' ', '\'', '"', '`', '\\',
                                                '%', '_', '(', '=', '-', '\n', '0')));
    const std::string key = *letters, value = *letters;
    const Operator op = *rc::gen::element(Operator::kEqual, Operator::kNotEqual, Operator::kLike);
    const auto first = parse_filter(
        SearchKind::kRuns, print_filter(SearchKind::kRuns, {{Entity::kParam, key, op, value}}));
    // Not every text can be written: ' and " together, say.
    if (!first || first->size() != 1 || first->front().key != key || !testing::printable(*first))
      return;
    const double number = *rc::gen::arbitrary<double>();
    const std::vector<Comparison> all = {
        first->front(),
        {Entity::kMetric, key, Operator::kLess, number},
        {Entity::kAttribute, "run_id", Operator::kIn,
         *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(letters))},
    };
    if (!testing::printable(all)) return;
    const auto again = parse_filter(SearchKind::kRuns, print_filter(SearchKind::kRuns, all));
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == all);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace corral::mlflow
