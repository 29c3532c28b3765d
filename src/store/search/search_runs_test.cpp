#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "store/search/runs.h"
#include "store/search/search.h"
#include "store/search/test_search.h"

namespace corral::store::tracking {
namespace {

using mlflow::Comparison;
using mlflow::Entity;
using mlflow::Operator;
using mlflow::Order;
using mlflow::SearchKind;
using testing::samples;
using testing::series_def;
using testing::SessionWriter;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Keys = std::vector<std::int64_t>;

// A run as it was read back, and the data that was logged for it.
struct Known {
  RunRow row;
  RunDetails details;
  std::map<std::string, double> metrics;
};

class SearchRuns : public SearchTest {
 protected:
  ExperimentId new_experiment(const std::string& name) {
    return write([&](sql::Connection& db) {
      return create_experiment(db, {.name = name, .artifact_location = {}, .tags = {}},
                               utc_time(1'000'000));
    });
  }
  RunRow new_run(ExperimentId experiment, const std::string& name, std::int64_t start_ms,
                 const std::function<Result<>(sql::Connection&, const RunRow&)>& more = {}) {
    return write([&](sql::Connection& db) -> Result<RunRow> {
      NewRun made;
      made.id = RunId::random();
      made.experiment = experiment;
      made.name = name;
      made.user_id = "ann";
      made.start = utc_time(start_ms * 1'000'000);
      TRY(create_run(db, made));
      const RunRow row = *TRY(run(db, made.id));
      if (more) TRY(more(db, row));
      return *TRY(run(db, made.id));
    });
  }
  void log_metrics(const RunRow& row, const std::map<std::string, double>& metrics) {
    SessionWriter writer;
    std::vector<codec::Frame> frames = {writer.frame(testing::session_body(row.id))};
    std::uint32_t id = 0;
    for (const auto& [key, value] : metrics) {
      frames.push_back(writer.frame(codec::SchemaBody{.series = {series_def(++id, key)}}));
      frames.push_back(writer.frame(samples(id, {{2000, value}})));
    }
    const auto done = store_->append(frames);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_TRUE(done->refusals.empty());
  }
  Found<std::int64_t> search(const RunSearch& asked) {
    return read([&](sql::Reading& reading) { return search_runs(reading, asked); });
  }
  Keys found(ExperimentId experiment, std::string_view filter,
             const std::vector<std::string>& orders = {}, View view = View::kActive) {
    return search({.experiments = {experiment},
                   .view = view,
                   .search = {.filter = filter_of(SearchKind::kRuns, filter),
                              .orders = orders_of(SearchKind::kRuns, orders),
                              .paging = {}}})
        .rows;
  }
};

TEST_P(SearchRuns, ByWhatTheyAreAndHave) {
  const ExperimentId experiment = new_experiment("e");
  const RunRow a =
      new_run(experiment, "Calm-otter", 10, [](auto& db, const RunRow& row) -> Result<> {
        TRY(set_fact(db, row.key, Fact::kParam, "lr", "0.1"));
        TRY(set_fact(db, row.key, Fact::kTag, "team", "x"));
        TRY(add_input(db, row,
                      {.name = "mnist",
                       .digest = "d1",
                       .source_type = {},
                       .source = {},
                       .schema = {},
                       .profile = {},
                       .tags = {{"mlflow.data.context", "train"}}}));
        return update_run(
            db, row, {.status = ClientStatus::kFinished, .end = utc_time(20'900'000), .name = {}});
      });
  const RunRow b =
      new_run(experiment, "brave-fox", 30, [](auto& db, const RunRow& row) -> Result<> {
        TRY(set_fact(db, row.key, Fact::kParam, "lr", "0.01"));
        return set_run_lifecycle(db, row.key, Lifecycle::kDeleted, utc_time(1));
      });
  const RunRow c = new_run(experiment, "calm-yak", 20);
  log_metrics(a, {{"acc", 0.5}, {"nan", kNan}});
  log_metrics(c, {{"acc", 0.75}});

  EXPECT_EQ(found(experiment, ""), (Keys{c.key, a.key}));
  EXPECT_EQ(found(experiment, "", {}, View::kDeleted), (Keys{b.key}));
  EXPECT_EQ(found(experiment, "", {}, View::kAll), (Keys{b.key, c.key, a.key}));
  EXPECT_EQ(found(experiment, "params.lr LIKE '0.%'", {}, View::kAll), (Keys{b.key, a.key}));
  EXPECT_EQ(found(experiment, "params.lr != '0.1'", {}, View::kAll), (Keys{b.key}));
  EXPECT_EQ(found(experiment, "tags.team IS NULL"), (Keys{c.key}));
  EXPECT_EQ(found(experiment, "tags.team IS NOT NULL AND params.lr = '0.1'"), (Keys{a.key}));
  EXPECT_EQ(found(experiment, "metrics.acc > 0.5"), (Keys{c.key}));
  EXPECT_EQ(found(experiment, "metrics.acc >= 0.5", {"metrics.acc"}), (Keys{a.key, c.key}));
  EXPECT_EQ(found(experiment, "metrics.nan != 1"), (Keys{a.key}));
  EXPECT_EQ(found(experiment, "metrics.nan > -1"), Keys{});
  EXPECT_EQ(found(experiment, "status = 'FINISHED'"), (Keys{a.key}));
  EXPECT_EQ(found(experiment, "run_name LIKE 'calm%'"), (Keys{c.key}));
  EXPECT_EQ(found(experiment, "run_name ILIKE 'calm%'"), (Keys{c.key, a.key}));
  EXPECT_EQ(found(experiment, "user_id = 'ann' AND start_time = 10"), (Keys{a.key}));
  EXPECT_EQ(found(experiment, "end_time = 20"), (Keys{a.key}));
  EXPECT_EQ(found(experiment, "end_time > 0", {"end_time"}), (Keys{a.key}));
  EXPECT_EQ(found(experiment, "artifact_uri LIKE '%/" + a.id.hex() + "/artifacts'"), (Keys{a.key}));
  EXPECT_EQ(found(experiment, "run_id IN ('" + a.id.hex() + "', 'x')"), (Keys{a.key}));
  EXPECT_EQ(found(experiment, "dataset.name = 'mnist' AND dataset.digest LIKE 'd_'"),
            (Keys{a.key}));
  EXPECT_EQ(found(experiment, "dataset.context IN ('train')"), (Keys{a.key}));
  EXPECT_EQ(found(experiment, "dataset.context != 'train'"), Keys{});
  EXPECT_EQ(found(experiment, R"(params.lr = "' OR 1=1 --")"), Keys{});
}

TEST_P(SearchRuns, ManyExperimentsAndNone) {
  std::vector<ExperimentId> ids;
  Keys keys;
  for (int i = 0; i < 20; ++i) {
    ids.push_back(new_experiment("e" + std::to_string(i)));
    keys.insert(keys.begin(), new_run(ids.back(), "r", 10 + i).key);
  }
  EXPECT_EQ(search({.experiments = {}, .view = View::kAll, .search = {}}).rows, Keys{});
  EXPECT_EQ(search({.experiments = ids, .view = View::kActive, .search = {}}).rows, keys);
  EXPECT_EQ(search({.experiments = {ids[3], ids[7]}, .view = View::kActive, .search = {}}).rows,
            (Keys{keys[12], keys[16]}));
  ids.erase(ids.begin() + 5);
  keys.erase(keys.begin() + 14);
  EXPECT_EQ(search({.experiments = ids, .view = View::kActive, .search = {}}).rows, keys);
}

// ---- against a plain reading of the same rows
bool plain_like(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '%')
    return plain_like(text, pattern.substr(1)) ||
           (!text.empty() && plain_like(text.substr(1), pattern));
  if (text.empty() || (pattern[0] != '_' && pattern[0] != text[0])) return false;
  text.remove_prefix(1);
  // The rest of a character of UTF-8.
  while (pattern[0] == '_' && !text.empty() &&
         (static_cast<unsigned char>(text[0]) & 0xC0U) == 0x80U)
    text.remove_prefix(1);
  return plain_like(text, pattern.substr(1));
}
std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

bool text_matches(const std::string& text, const Comparison& c) {
  switch (c.op) {
    case Operator::kEqual:
      return text == std::get<std::string>(c.value);
    case Operator::kNotEqual:
      return text != std::get<std::string>(c.value);
    case Operator::kLike:
      return plain_like(text, std::get<std::string>(c.value));
    case Operator::kIlike:
      return plain_like(in_capitals(text), in_capitals(std::get<std::string>(c.value)));
    default:
      break;
  }
  const auto& list = std::get<std::vector<std::string>>(c.value);
  return (std::count(list.begin(), list.end(), text) > 0) == (c.op == Operator::kIn);
}

bool number_matches(double number, const Comparison& c) {
  const auto* real = std::get_if<double>(&c.value);
  const double value =
      real != nullptr ? *real : static_cast<double>(std::get<std::int64_t>(c.value));
  switch (c.op) {
    case Operator::kEqual:
      return number == value;
    case Operator::kNotEqual:
      return number != value;
    case Operator::kLess:
      return number < value;
    case Operator::kLessEqual:
      return number <= value;
    case Operator::kGreater:
      return number > value;
    default:
      return number >= value;
  }
}

const std::string* value_of(const Tags& tags, const std::string& key) {
  for (const auto& [name, value] : tags) {
    if (name == key) return &value;
  }
  return nullptr;
}

bool attribute_matches(const Known& run, const Comparison& c) {
  if (c.key == "start_time")
    return number_matches(static_cast<double>(ns_of(run.row.start) / 1'000'000), c);
  if (c.key == "end_time")
    return run.row.end && number_matches(static_cast<double>(ns_of(*run.row.end) / 1'000'000), c);
  if (c.key == "run_id") return text_matches(run.row.id.hex(), c);
  if (c.key == "run_name") return text_matches(run.row.name, c);
  const char* names[] = {"", "RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"};
  return text_matches(names[static_cast<int>(run.row.status)], c);
}

bool matches(const Known& run, const Comparison& c) {
  switch (c.entity) {
    case Entity::kAttribute:
      return attribute_matches(run, c);
    case Entity::kMetric: {
      const auto metric = run.metrics.find(c.key);
      return metric != run.metrics.end() && number_matches(metric->second, c);
    }
    case Entity::kDataset:
      return std::ranges::any_of(run.details.inputs, [&](const RunInput& input) {
        const std::string* context = value_of(input.tags, "mlflow.data.context");
        if (c.key == "context") return context != nullptr && text_matches(*context, c);
        return text_matches(c.key == "name" ? input.name : input.digest, c);
      });
    default:
      break;
  }
  const std::string* value =
      value_of(c.entity == Entity::kParam ? run.details.params : run.details.tags, c.key);
  if (c.op == Operator::kIsNull) return value == nullptr;
  if (c.op == Operator::kIsNotNull) return value != nullptr;
  return value != nullptr && text_matches(*value, c);
}

// -1, 0, 1 as `a` comes before `b`.
template <class T>
int compared(const T* a, const T* b, bool ascending) {
  if (a == nullptr || b == nullptr) return (a == nullptr ? 1 : 0) - (b == nullptr ? 1 : 0);
  const int order = *a < *b ? -1 : (*b < *a ? 1 : 0);
  return ascending ? order : -order;
}

int compared(const Known& a, const Known& b, const Order& order) {
  if (order.entity == Entity::kParam)
    return compared(value_of(a.details.params, order.key), value_of(b.details.params, order.key),
                    order.ascending);
  if (order.entity == Entity::kMetric) {
    const auto of = [&](const Known& run) {
      const auto found = run.metrics.find(order.key);
      return found == run.metrics.end() ? nullptr : &found->second;
    };
    const double *left = of(a), *right = of(b);
    const auto nan = [](const double* value) { return value != nullptr && std::isnan(*value); };
    if (nan(left) && nan(right)) return 0;
    if (nan(left)) return right == nullptr ? -1 : 1;
    if (nan(right)) return left == nullptr ? 1 : -1;
    return compared(left, right, order.ascending);
  }
  if (order.key == "start_time") return compared(&a.row.start, &b.row.start, order.ascending);
  return compared(&a.row.name, &b.row.name, order.ascending);
}

Found<std::int64_t> plainly(const std::vector<Known>& world, const RunSearch& asked) {
  std::vector<Known> kept;
  for (const Known& run : world) {
    if ((asked.view != View::kAll &&
         (asked.view == View::kDeleted) != (run.row.lifecycle == Lifecycle::kDeleted)) ||
        std::ranges::find(asked.experiments, run.row.experiment) == asked.experiments.end())
      continue;
    if (std::ranges::all_of(asked.search.filter,
                            [&](const Comparison& c) { return matches(run, c); }))
      kept.push_back(run);
  }
  std::ranges::stable_sort(kept, [&](const Known& a, const Known& b) {
    for (const Order& order : asked.search.orders) {
      if (const int decided = compared(a, b, order); decided != 0) return decided < 0;
    }
    return a.row.start != b.row.start ? a.row.start > b.row.start : a.row.id < b.row.id;
  });
  Found<std::int64_t> page;
  const Paging& paging = asked.search.paging;
  for (std::int64_t i = paging.offset; i < std::ssize(kept) && i < paging.offset + paging.limit;
       ++i)
    page.rows.push_back(kept[static_cast<std::size_t>(i)].row.key);
  page.more = paging.offset + paging.limit < std::ssize(kept);
  return page;
}

TEST_P(SearchRuns, FindsWhatAPlainReadingFinds) {
  std::mt19937 random(7);
  const auto pick = [&](const auto& of) { return of[random() % std::size(of)]; };
  const std::vector<std::string> kTexts = {"a", "A", "ab", "b%", "0.1", "", "größe"};
  const double kNumbers[] = {0, 1, -2.5, kNan, std::numeric_limits<double>::infinity()};
  const std::vector<ExperimentId> experiments = {new_experiment("one"), new_experiment("two")};
  std::vector<Known> world;
  for (int i = 0; i < 40; ++i) {
    Known known;
    known.row =
        new_run(pick(experiments), pick(kTexts), 1 + static_cast<std::int64_t>(random() % 5),
                [&](auto& db, const RunRow& row) -> Result<> {
                  for (const Fact kind : {Fact::kParam, Fact::kTag}) {
                    for (const char* key : {"a", "b c"})
                      if (random() % 2 == 0) TRY(set_fact(db, row.key, kind, key, pick(kTexts)));
                  }
                  for (auto inputs = random() % 3; inputs > 0; --inputs) {
                    RunInput input{.name = pick(kTexts),
                                   .digest = pick(kTexts),
                                   .source_type = {},
                                   .source = {},
                                   .schema = {},
                                   .profile = {},
                                   .tags = {}};
                    if (random() % 2 == 0) input.tags = {{"mlflow.data.context", "ab"}};
                    TRY(add_input(db, row, input));
                  }
                  if (random() % 2 == 0)
                    TRY(update_run(
                        db, row,
                        {.status = ClientStatus::kFailed, .end = utc_time(7'500'000), .name = {}}));
                  if (random() % 4 == 0)
                    TRY(set_run_lifecycle(db, row.key, Lifecycle::kDeleted, utc_time(1)));
                  return {};
                });
    for (const char* key : {"m", "n"}) {
      if (random() % 3 != 0) known.metrics[key] = pick(kNumbers);
    }
    if (!known.metrics.empty()) log_metrics(known.row, known.metrics);
    world.push_back(std::move(known));
  }
  for (Known& known : world) {
    known.row = *read([&](sql::Reading& reading) { return run(reading.db, known.row.id); });
    known.details = read([&](sql::Reading& reading) {
                      return details(reading.db, std::array{known.row.key});
                    }).front();
  }
  const bool holds = rc::check([&] {
    const std::vector<std::string> names = {"params.a",     "tags.`b c`",     "params.`b c`",
                                            "tags.a",       "run_name",       "status",
                                            "dataset.name", "dataset.digest", "dataset.context"};
    const std::vector<std::string> values = {" = 'a'",      " != 'ab'",      " LIKE '%b%'",
                                             " ILIKE 'a_'", " LIKE 'gr__e'", " != ''",
                                             " = 'FAILED'"};
    const std::vector<std::string> numbers = {" = 0", " != 1", " > -3", " <= 1e0", " < 3", " >= 7"};
    std::string text;
    for (int n = *rc::gen::inRange(0, 4); n > 0; --n) {
      if (!text.empty()) text += " AND ";
      switch (*rc::gen::inRange(0, 6)) {
        case 0:
          text += *rc::gen::elementOf(std::vector<std::string>{
                      "metrics.m", "metrics.n", "start_time", "end_time", "metrics.none"}) +
                  *rc::gen::elementOf(numbers);
          break;
        case 1:
          text += *rc::gen::elementOf(std::vector<std::string>{"params.a", "tags.none"}) +
                  *rc::gen::element<std::string>(" IS NULL", " IS NOT NULL");
          break;
        case 2:
          text += *rc::gen::element<std::string>("dataset.name", "dataset.context") +
                  *rc::gen::element<std::string>(" IN ('a', 'ab')", " NOT IN ('a')");
          break;
        default:
          text += *rc::gen::elementOf(names) + *rc::gen::elementOf(values);
      }
    }
    std::vector<std::string> clauses;
    for (const char* clause : {"metrics.m", "params.a", "run_name", "start_time", "metrics.n"})
      if (*rc::gen::inRange(0, 3) == 0)
        clauses.push_back(std::string(clause) + *rc::gen::element<std::string>(" DESC", ""));
    RC_LOG() << text;
    const std::vector<std::vector<ExperimentId>> scopes = {
        experiments, {experiments[0]}, {experiments[1]}};
    RunSearch asked;
    asked.experiments = *rc::gen::elementOf(scopes);
    asked.view = *rc::gen::element(View::kActive, View::kDeleted, View::kAll);
    asked.search = {.filter = filter_of(SearchKind::kRuns, text),
                    .orders = orders_of(SearchKind::kRuns, clauses),
                    .paging = {.offset = *rc::gen::element(0, 1, 5, 100),
                               .limit = *rc::gen::element(1, 3, 1000)}};
    const auto expected = plainly(world, asked);
    const auto got = search(asked);
    RC_ASSERT(got.rows == expected.rows);
    RC_ASSERT(got.more == expected.more);
  });
  EXPECT_TRUE(holds);
}

INSTANTIATE_TEST_SUITE_P(Engines, SearchRuns, both_engines(), engine_name);

}  // namespace
}  // namespace corral::store::tracking
