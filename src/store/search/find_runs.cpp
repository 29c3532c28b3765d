#include "store/search/find_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compat/mlflow/wire/times.h"
#include "core/text.h"
#include "metric/loss_name.h"
#include "store/engine/keys.h"
#include "store/engine/views.h"
#include "store/read/reads.h"
#include "store/search/search.h"

namespace corral::store::tracking {
namespace {

using Kind = RunField::Kind;
using Counts = std::unordered_map<std::string_view, std::int64_t>;

// The parts of a question that a run misses: a bit for each choice by its place, and one for the
// rest.
using Misses = std::uint64_t;
constexpr Misses kOutside = Misses{1} << 63;
constexpr Misses miss_bit(std::size_t choice) { return Misses{1} << choice; }

// ---- facets: the number of found runs per value
// The choices of the field itself.
Misses own_choices(const RunQuestion& question, const RunField& field) {
  Misses own = 0;
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    if (question.choices[i].field == field) own |= miss_bit(i);
  }
  return own;
}

Facet make_facet(RunField field, const Counts& counts, std::size_t most) {
  Facet facet{.field = std::move(field), .values = {}, .distinct = 0};
  facet.distinct = static_cast<std::int64_t>(counts.size());
  std::vector<std::pair<std::string_view, std::int64_t>> all(counts.begin(), counts.end());
  const auto before = [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  };
  const std::size_t kept = std::min(most, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), before);
  for (std::size_t i = 0; i < kept; ++i)
    facet.values.push_back({std::string(all[i].first), all[i].second});
  return facet;
}

class FacetCount {
 public:
  FacetCount(RunTable& table, const RunQuestion& question, const std::vector<Misses>& misses)
      : table_(table), question_(question), misses_(misses) {}

  Result<Facet> field(const RunField& field) {
    const auto& texts = *TRY(table_.texts(field));
    const Misses own = own_choices(question_, field);
    Counts counts;
    for (std::size_t row = 0; row < texts.size(); ++row) {
      if ((misses_[row] & ~own) == 0) ++counts[texts[row]];
    }
    return make_facet(field, counts, kMostFacetValues);
  }

  Result<std::vector<Facet>> keys(Fact kind) {
    struct Counted {
      Facet facet;
      std::int64_t runs = 0;  // runs that have the key
    };
    std::vector<Counted> all;
    for (const auto& [name, column] : *TRY(table_.facts())) {
      if (name.first != kind) continue;
      RunField field{.kind = kind == Fact::kTag ? Kind::kTag : Kind::kParam, .key = name.second};
      Counted one;
      const Counts counts = count_values(field, column, one.runs);
      if (one.runs == 0) continue;
      one.facet = make_facet(std::move(field), counts, kMostFacetValuesOfKey);
      all.push_back(std::move(one));
    }
    std::ranges::stable_sort(all, std::greater{}, &Counted::runs);
    std::vector<Facet> facets;
    facets.reserve(all.size());
    for (Counted& one : all) facets.push_back(std::move(one.facet));
    return facets;
  }

 private:
  Counts count_values(const RunField& field, const RunTable::FactColumn& column,
                      std::int64_t& runs) {
    const Misses own = own_choices(question_, field);
    Counts counts;
    for (const auto& [row, value] : column) {
      if ((misses_[row] & ~own) != 0) continue;
      ++counts[value];
      ++runs;
    }
    if (counts.empty()) return counts;
    const auto unset =
        std::ranges::count_if(misses_, [&](Misses m) { return (m & ~own) == 0; }) - runs;
    if (unset > 0) counts[""] += unset;
    return counts;
  }

  RunTable& table_;
  const RunQuestion& question_;
  const std::vector<Misses>& misses_;
};

bool cut(const std::vector<Facet>& facets) {
  return std::ranges::any_of(facets, [](const Facet& facet) {
    return facet.distinct > static_cast<std::int64_t>(facet.values.size());
  });
}

// `misses`: by row of the table.
Result<> count_facets(RunTable& table, const RunQuestion& question,
                      const std::vector<Misses>& misses, FoundRuns& found) {
  FacetCount count(table, question, misses);
  for (const RunField& field : question.facets) found.facets.push_back(TRY(count.field(field)));
  if (question.param_facets) found.params = TRY(count.keys(Fact::kParam));
  if (question.tag_facets) found.tags = TRY(count.keys(Fact::kTag));
  for (auto* keys : {&found.params, &found.tags}) {
    if (keys->size() <= kMostFacetKeys) continue;
    keys->resize(kMostFacetKeys);
    found.facets_cut = true;
  }
  found.facets_cut = found.facets_cut || cut(found.facets) || cut(found.params) || cut(found.tags);
  return {};
}

// ---- groups
void take(Spread& spread, std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return;
  ++spread.count;
  const double part = 1 / static_cast<double>(spread.count);
  spread.min = spread.count == 1 ? *value : std::min(spread.min, *value);
  spread.max = spread.count == 1 ? *value : std::max(spread.max, *value);
  // The difference of two values may be too great for a number.
  spread.mean += *value * part - spread.mean * part;
}

// The metric that says most about the training; null if none is a loss.
const sql::LatestMetric* loss_of(const std::vector<sql::LatestMetric>& metrics) {
  const sql::LatestMetric* best = nullptr;
  for (const sql::LatestMetric& one : metrics) {
    if (!metric::is_loss(one.key)) continue;
    if (best == nullptr || metric::better_loss(one.key, best->key)) best = &one;
  }
  return best;
}

// The rows of a group come one by one.
class GroupBuilder {
 public:
  GroupBuilder(std::string value, std::size_t columns) {
    group_.value = std::move(value);
    group_.values.resize(columns);
  }

  void add(const sql::RunMetrics& metrics, std::span<const RunField> columns,
           std::optional<double> duration) {
    ++group_.count;
    take(group_.duration, duration);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].kind == Kind::kMetric)
        take(group_.values[c], metric_value(metrics, columns[c]));
    }
    add_loss(*metrics);
  }

  RunGroup finish() && {
    if (mixed_) {
      group_.loss = {};
      group_.loss_metric.clear();
    }
    return std::move(group_);
  }

 private:
  void add_loss(const std::vector<sql::LatestMetric>& metrics) {
    const sql::LatestMetric* loss = loss_of(metrics);
    if (loss == nullptr) return;
    if (group_.loss_metric.empty()) group_.loss_metric = loss->key;
    mixed_ = mixed_ || group_.loss_metric != loss->key;
    if (std::isfinite(loss->value)) take(group_.loss, loss->last);
  }

  RunGroup group_;
  bool mixed_ = false;  // losses of several metrics
};

// ---- the search
using sql::Statement;

class RunFinder {
 public:
  RunFinder(Reading& reading, const RunQuestion& question)
      : reading_(reading), question_(question), table_(reading) {}

  Result<FoundRuns> run() {
    TRY(table_.read(question_.scope));
    misses_.assign(table_.rows().size(), 0);
    TRY(filter());
    TRY(find_words());
    TRY(choose());
    FoundRuns found;
    found.total = std::ranges::count(misses_, Misses{0});
    if (question_.group) TRY(rank_groups(*question_.group));
    const auto page = TRY(order());
    TRY(fill_page(page, found));
    if (question_.group && question_.paging.offset == 0) found.groups = TRY(groups());
    TRY(count_facets(table_, question_, misses_, found));
    return found;
  }

 private:
  Result<> filter();
  Result<> find_words();
  Result<std::vector<std::string>> haystacks();
  Result<> choose();
  // Sorts the values of the field that found runs have.
  Result<> rank_groups(const RunField& field);
  Result<std::vector<RunGroup>> groups();
  Result<std::vector<std::uint32_t>> order();
  Result<> fill_page(const std::vector<std::uint32_t>& page, FoundRuns& found);
  using Values = std::vector<std::vector<ColumnValue>>;
  Result<> fill_metrics(const std::vector<std::uint32_t>& page, Values& values);
  Result<> fill_facts(const std::vector<std::uint32_t>& page, Values& values);
  Result<> fill_texts(std::size_t column, const std::vector<std::uint32_t>& page, Values& values);

  sql::Reading& reading_;
  const RunQuestion& question_;
  RunTable table_;
  std::vector<Misses> misses_;                  // by row
  std::vector<std::string_view> group_values_;  // sorted
  std::vector<std::uint32_t> ranks_;            // by row: the index of its value in group_values_
};

// All experiments that the scope's runs may lie in.
Result<std::vector<ExperimentId>> experiments_in(sql::Connection& db, const RunScope& scope) {
  if (!scope.experiments.empty()) return scope.experiments;
  return sql::read_all(db.query("SELECT id FROM experiments"),
                       [](const Statement& row) { return ExperimentId{row.integer(0)}; });
}

Result<> RunFinder::filter() {
  if (question_.filter.empty()) return {};
  RunSearch search{.experiments = TRY(experiments_in(reading_.db, question_.scope)),
                   .view = View::kActive,
                   .search = {.filter = question_.filter, .orders = {}, .paging = {}}};
  search.search.paging.limit = std::numeric_limits<std::int32_t>::max();
  const auto found = TRY(search_runs(reading_, search));
  std::ranges::fill(misses_, kOutside);
  for (const std::int64_t key : found.rows) {
    if (const auto row = table_.find_row(key)) misses_[*row] = 0;
  }
  return {};
}

// The texts in which words are looked for, a line each, in lower case.
Result<std::vector<std::string>> RunFinder::haystacks() {
  std::vector<std::string> all(table_.rows().size());
  const auto add = [&](std::uint32_t row, std::string_view text) {
    if (misses_[row] == 0) all[row].append(text).push_back('\n');
  };
  for (const Kind kind :
       {Kind::kName, Kind::kHost, Kind::kCreator, Kind::kExperiment, Kind::kWorkload}) {
    const auto& texts = *TRY(table_.texts({.kind = kind, .key = ""}));
    for (std::uint32_t row = 0; row < texts.size(); ++row) add(row, texts[row]);
  }
  for (const auto& [row, command] : TRY(table_.commands())) add(row, command);
  for (const auto& [field, column] : *TRY(table_.facts())) {
    for (const auto& [row, value] : column) {
      if (misses_[row] == 0) all[row].append(field.second).push_back('=');
      add(row, value);
    }
  }
  for (std::string& text : all) text = lower_ascii(text);
  return all;
}

Result<> RunFinder::find_words() {
  if (question_.words.empty()) return {};
  std::vector<std::string> words;
  for (const std::string& word : question_.words) words.push_back(lower_ascii(word));
  const auto texts = TRY(haystacks());
  for (std::size_t row = 0; row < texts.size(); ++row) {
    if (misses_[row] != 0) continue;
    const std::string id = table_.rows()[row].id.hex();
    const bool all = std::ranges::all_of(words, [&](const std::string& word) {
      return id.starts_with(word) || texts[row].find(word) != std::string::npos;
    });
    if (!all) misses_[row] = kOutside;
  }
  return {};
}

Result<> RunFinder::choose() {
  for (std::size_t i = 0; i < question_.choices.size(); ++i) {
    const RunChoice& choice = question_.choices[i];
    const std::unordered_set<std::string_view> wanted(choice.values.begin(), choice.values.end());
    const auto& texts = *TRY(table_.texts(choice.field));
    for (std::size_t row = 0; row < texts.size(); ++row) {
      if (!wanted.contains(texts[row])) misses_[row] |= miss_bit(i);
    }
  }
  return {};
}

Result<> RunFinder::rank_groups(const RunField& field) {
  const auto& texts = *TRY(table_.texts(field));
  std::unordered_map<std::string_view, std::uint32_t> places;
  for (std::size_t row = 0; row < texts.size(); ++row) {
    if (misses_[row] == 0) places.emplace(texts[row], 0);
  }
  if (places.size() > kMostGroups) {
    return fail(Code::kTooLarge, fmt::format("there would be {} groups, at most {} are shown: "
                                             "group by another value, or filter the runs",
                                             places.size(), kMostGroups));
  }
  struct Value {
    std::string_view text;
    std::optional<double> number;
  };
  std::vector<Value> values;
  for (const auto& [text, place] : places) {
    values.push_back({text, parse_double(text)});
    auto& number = values.back().number;
    if (number && !std::isfinite(*number)) number.reset();
  }
  const bool numbers = std::ranges::all_of(
      values, [](const Value& value) { return value.text.empty() || value.number; });
  const bool down = !question_.orders.empty() && question_.orders[0].field == field &&
                    question_.orders[0].descending;
  std::ranges::sort(values, [&](const Value& a, const Value& b) {
    if (a.text.empty() != b.text.empty()) return b.text.empty();
    const Value& first = down ? b : a;
    const Value& second = down ? a : b;
    if (numbers && first.number && first.number != second.number)
      return *first.number < *second.number;
    return first.text < second.text;
  });
  for (const Value& value : values) {
    places[value.text] = static_cast<std::uint32_t>(group_values_.size());
    group_values_.push_back(value.text);
  }
  ranks_.assign(texts.size(), 0);
  for (std::size_t row = 0; row < texts.size(); ++row) {
    if (misses_[row] == 0) ranks_[row] = places[texts[row]];
  }
  return {};
}

Result<std::vector<RunGroup>> RunFinder::groups() {
  std::vector<GroupBuilder> builders;
  builders.reserve(group_values_.size());
  for (const std::string_view value : group_values_)
    builders.emplace_back(std::string(value), question_.columns.size());
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < misses_.size(); ++row) {
    if (misses_[row] == 0) rows.push_back(row);
  }
  const auto metrics = TRY(table_.metrics(rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RunTable::Row& row = table_.rows()[rows[i]];
    builders[ranks_[rows[i]]].add(metrics[i], question_.columns,
                                  mlflow::run_seconds(row.start, row.end));
  }
  std::vector<RunGroup> groups;
  groups.reserve(builders.size());
  for (GroupBuilder& one : builders) groups.push_back(std::move(one).finish());
  return groups;
}

Result<std::vector<std::uint32_t>> RunFinder::order() {
  const auto place = [](const std::string& key) {
    return static_cast<std::size_t>(parse_int(key).value_or(0));
  };
  // The order by the groups has the name behind those of the others.
  const std::size_t by_group = question_.orders.size();
  RowSearch rows(table_.rows().size(),
                 [&](const RowSearch::Field& field, const RowSearch::Kept& kept) -> Result<Column> {
                   const std::size_t at = place(field.key);
                   if (at != by_group) return table_.column(question_.orders[at].field, kept);
                   Column column;
                   for (std::uint32_t row = 0; row < ranks_.size(); ++row)
                     column.emplace_back(row, static_cast<std::int64_t>(ranks_[row]));
                   return column;
                 });
  for (std::uint32_t row = 0; row < misses_.size(); ++row) {
    if (misses_[row] != 0) rows.drop(row);
  }
  std::vector<mlflow::Order> orders;
  if (question_.group)
    orders.push_back({.entity = mlflow::Entity::kAttribute, .key = std::to_string(by_group)});
  for (std::size_t i = 0; i < question_.orders.size(); ++i)
    orders.push_back({.entity = mlflow::Entity::kAttribute,
                      .key = std::to_string(i),
                      .ascending = !question_.orders[i].descending});
  return TRY(rows.page(orders, question_.paging)).rows;
}

Result<> RunFinder::fill_page(const std::vector<std::uint32_t>& page, FoundRuns& found) {
  std::vector<std::int64_t> keys;
  keys.reserve(page.size());
  for (const std::uint32_t row : page) keys.push_back(table_.rows()[row].key);
  found.runs = TRY(sql::read_listed_runs(reading_.db, keys));
  found.values.assign(page.size(), std::vector<ColumnValue>(question_.columns.size()));
  TRY(fill_metrics(page, found.values));
  TRY(fill_facts(page, found.values));
  for (std::size_t i = 0; i < question_.columns.size(); ++i) TRY(fill_texts(i, page, found.values));
  if (!question_.details) return {};
  found.details = TRY(details(reading_.db, keys));
  found.metrics = TRY(table_.metrics(page));
  return {};
}

Result<> RunFinder::fill_metrics(const std::vector<std::uint32_t>& page, Values& values) {
  const auto& columns = question_.columns;
  if (std::ranges::none_of(columns, [](const auto& c) { return c.kind == Kind::kMetric; }))
    return {};
  const auto metrics = TRY(table_.metrics(page));
  for (std::size_t i = 0; i < page.size(); ++i) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].kind != Kind::kMetric) continue;
      if (const auto value = metric_value(metrics[i], columns[c])) values[i][c] = *value;
    }
  }
  return {};
}

// Params and tags of the page alone: a whole column of the table would be read for its sake.
Result<> RunFinder::fill_facts(const std::vector<std::uint32_t>& page, Values& values) {
  using Named = std::pair<std::int64_t, std::string_view>;
  std::map<Named, std::vector<std::size_t>> wanted;
  for (std::size_t c = 0; c < question_.columns.size(); ++c) {
    const RunField& field = question_.columns[c];
    if (field.kind != Kind::kParam && field.kind != Kind::kTag) continue;
    wanted[{static_cast<std::int64_t>(field.kind == Kind::kTag ? Fact::kTag : Fact::kParam),
            field.key}]
        .push_back(c);
  }
  if (wanted.empty()) return {};
  std::vector<std::int64_t> keys;
  std::unordered_map<std::int64_t, std::size_t> places;
  for (const std::uint32_t row : page) {
    places.emplace(table_.rows()[row].key, keys.size());
    keys.push_back(table_.rows()[row].key);
  }
  return for_rows_of<std::int64_t>(
      reading_.db,
      fmt::format("SELECT run, kind, key, value FROM {} WHERE kind IN (0, 1) AND {{}}",
                  sql::whole_facts(reading_.db)),
      "run", keys, [&](const Statement& row) {
        const std::string key = row.text(2);
        const auto found = wanted.find({row.integer(1), key});
        if (found == wanted.end()) return;
        for (const std::size_t c : found->second)
          values[places.at(row.integer(0))][c] = row.text(3);
      });
}

Result<> RunFinder::fill_texts(std::size_t column, const std::vector<std::uint32_t>& page,
                               Values& values) {
  const RunField& field = question_.columns[column];
  if (!field.is_text() || field.kind == Kind::kParam || field.kind == Kind::kTag) return {};
  const auto& texts = *TRY(table_.texts(field));
  for (std::size_t i = 0; i < page.size(); ++i) values[i][column] = texts[page[i]];
  return {};
}

}  // namespace

Result<FoundRuns> find_runs(Reading& reading, const RunQuestion& question) {
  return RunFinder(reading, question).run();
}

}  // namespace corral::store::tracking
