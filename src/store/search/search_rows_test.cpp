#include "store/search/search_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace corral::store::tracking {
namespace {

using mlflow::Comparison;
using mlflow::Entity;
using mlflow::Operator;
using mlflow::Order;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Like, Corpus) {
  struct Case {
    const char *text, *pattern;
    bool exact, any_case;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"", "", true, true},           {"", "%", true, true},
           {"", "_", false, false},        {"a", "", false, false},
           {"abc", "abc", true, true},     {"ABC", "abc", false, true},
           {"abc", "a%", true, true},      {"abc", "%C", false, true},
           {"abc", "%b%", true, true},     {"abc", "a_c", true, true},
           {"abc", "a_", false, false},    {"abc", "____", false, false},
           {"größe", "gr__e", true, true}, {"größe", "gr_e", false, false},
           {"\xc3\xbc", "_", true, true},  {"100%", "100%", true, true},
           {"100x", "100%", true, true},   {"a%b", "a%b", true, true},
           {"a\\b", "a\\b", true, true},   {"a\\%", "a\\%", true, true},
           {"aXbXc", "a%X%c", true, true}, {"aab", "%ab", true, true},
           {"aaab", "a%aab", true, true},  {"abab", "%ab%ab%ab", false, false}}) {
    EXPECT_EQ(like(each.text, each.pattern, true), each.exact) << each.text << " " << each.pattern;
    EXPECT_EQ(like(each.text, each.pattern, false), each.any_case)
        << each.text << " " << each.pattern;
  }
}

bool plain_like(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '%')
    return plain_like(text, pattern.substr(1)) ||
           (!text.empty() && plain_like(text.substr(1), pattern));
  return !text.empty() && (pattern[0] == '_' || pattern[0] == text[0]) &&
         plain_like(text.substr(1), pattern.substr(1));
}

TEST(Like, IsWhatItsRulesSay) {
  const bool holds = rc::check([] {
    const auto letters = [](auto... of) {
      return *rc::gen::resize(10, rc::gen::container<std::string>(rc::gen::element(of...)));
    };
    const std::string text = letters('a', 'b', '%', '_'),
                      pattern = letters('a', 'b', '%', '_', '%');
    RC_ASSERT(like(text, pattern, true) == plain_like(text, pattern));
  });
  EXPECT_TRUE(holds);
}

TEST(Like, StaysQuickWithManyWildcards) {
  std::string pattern;
  for (int i = 0; i < 300; ++i) pattern += "%a";
  EXPECT_FALSE(like(std::string(8000, 'a'), pattern + "b", true));
}

struct Rows {
  explicit Rows(std::map<std::string, Column> columns, std::size_t count)
      : columns_(std::move(columns)),
        search_(count, [this](const RowSearch::Field& field, const RowSearch::Kept&) {
          return Result<Column>(columns_.at(field.key));
        }) {}
  std::vector<std::uint32_t> found(const std::vector<Comparison>& filter,
                                   const std::vector<Order>& orders = {}, Paging paging = {}) {
    EXPECT_TRUE(search_.keep(filter));
    auto page = search_.page(orders, paging);
    EXPECT_TRUE(page);
    more = page->more;
    return page->rows;
  }
  bool more = false;

 private:
  std::map<std::string, Column> columns_;
  RowSearch search_;
};

using Found = std::vector<std::uint32_t>;

Found numbers(Operator op, Comparison::Value value) {
  Column column;
  column.emplace_back(0u, 1.0);
  column.emplace_back(1u, kNan);
  column.emplace_back(3u, kInfinity);
  column.emplace_back(4u, std::int64_t{2});
  return Rows({{"x", column}}, 5).found({{Entity::kMetric, "x", op, std::move(value)}});
}

TEST(RowSearch, NanDiffersFromAllAndNullMatchesNothing) {
  EXPECT_EQ(numbers(Operator::kNotEqual, 1.0), (Found{1, 3, 4}));
  EXPECT_EQ(numbers(Operator::kEqual, 1.0), (Found{0}));
  EXPECT_EQ(numbers(Operator::kGreater, -1.0), (Found{0, 3, 4}));
  EXPECT_EQ(numbers(Operator::kLessEqual, 2.0), (Found{0, 4}));
  EXPECT_EQ(numbers(Operator::kLess, std::int64_t{2}), (Found{0}));
  EXPECT_EQ(numbers(Operator::kGreaterEqual, std::int64_t{2}), (Found{3, 4}));
}

Found texts(Operator op, Comparison::Value value) {
  Column column;  // row 1 has two, row 3 none
  column.emplace_back(0u, std::string("cat"));
  column.emplace_back(1u, std::string("dog"));
  column.emplace_back(1u, std::string("Cat"));
  column.emplace_back(2u, std::string());
  return Rows({{"x", column}}, 4).found({{Entity::kDataset, "x", op, std::move(value)}});
}

TEST(RowSearch, TextsAreComparedOneByOne) {
  using List = std::vector<std::string>;
  EXPECT_EQ(texts(Operator::kEqual, "dog"), (Found{1}));
  EXPECT_EQ(texts(Operator::kNotEqual, "dog"), (Found{0, 1, 2}));
  EXPECT_EQ(texts(Operator::kLike, "c%"), (Found{0}));
  EXPECT_EQ(texts(Operator::kIlike, "c%"), (Found{0, 1}));
  EXPECT_EQ(texts(Operator::kIn, List{"cat", "dog"}), (Found{0, 1}));
  EXPECT_EQ(texts(Operator::kNotIn, List{"cat", "dog", "Cat"}), (Found{2}));
  EXPECT_EQ(texts(Operator::kIsNull, {}), (Found{3}));
  EXPECT_EQ(texts(Operator::kIsNotNull, {}), (Found{0, 1, 2}));
}

TEST(RowSearch, NullsComeLastAndNanBeforeThem) {
  Column column;
  column.emplace_back(0u, 2.0);
  column.emplace_back(2u, kNan);
  column.emplace_back(3u, -kInfinity);
  column.emplace_back(4u, 2.0);
  column.emplace_back(5u, kInfinity);
  const auto by = [&](bool ascending) {
    return Rows({{"x", column}}, 6).found({}, {{Entity::kMetric, "x", ascending}});
  };
  EXPECT_EQ(by(true), (Found{3, 0, 4, 5, 2, 1}));
  EXPECT_EQ(by(false), (Found{5, 0, 4, 3, 2, 1}));
}

TEST(RowSearch, LaterOrdersDecideWhatEarlierLeaveOpen) {
  Column a, b;
  for (std::uint32_t row = 0; row < 6; ++row) {
    a.emplace_back(row, std::string(row % 2 == 0 ? "x" : "y"));
    b.emplace_back(row, static_cast<std::int64_t>(row / 2));
  }
  EXPECT_EQ(Rows({{"a", a}, {"b", b}}, 6)
                .found({}, {{Entity::kTag, "a", false}, {Entity::kAttribute, "b", true}}),
            (Found{1, 3, 5, 0, 2, 4}));
}

TEST(RowSearch, Pages) {
  const auto page = [&](std::int64_t offset, std::int64_t limit) {
    Rows rows({}, 5);
    Found found = rows.found({}, {}, {offset, limit});
    return std::pair(found, rows.more);
  };
  EXPECT_EQ(page(0, 2), std::pair(Found({0, 1}), true));
  EXPECT_EQ(page(3, 2), std::pair(Found({3, 4}), false));
  EXPECT_EQ(page(4, 9), std::pair(Found({4}), false));
  EXPECT_EQ(page(5, 1), std::pair(Found({}), false));
  EXPECT_EQ(page(INT64_MAX, INT64_MAX), std::pair(Found({}), false));
}

}  // namespace
}  // namespace corral::store::tracking
