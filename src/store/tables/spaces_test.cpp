// Tests spaces, and that what lies in one is hidden from a reader of the rest, on both engines.
#include "store/tables/spaces.h"

#include <algorithm>
#include <array>
#include <string>

#include "store/engine/database.h"
#include "store/engine/views.h"
#include "store/maintain/tables.h"
#include "store/search/runs.h"
#include "store/search/test_search.h"
#include "store/tables/accounts.h"
#include "store/tables/sharing.h"
#include "store/test_frames.h"

namespace corral::store::accounts {
namespace {

class Spaces : public tracking::SearchTest {
 protected:
  Result<> change(const Change& change) { return store_->change(change); }
  Result<> add(const std::string& name, std::vector<std::string> members = {}) {
    return change([&](Writing& writing) {
      return add_space(writing,
                       {.name = name, .members = std::move(members), .created = utc_time(3)});
    });
  }
  void add_people() {
    for (const char* name : {"ada", "bob"}) {
      ASSERT_TRUE(change([&](Writing& writing) {
        return add_user(writing, {.name = name, .display = "", .created = utc_time(1)});
      }));
    }
  }
  std::vector<Space> all() {
    return read([](Reading& reading) { return spaces(reading); });
  }
  // A run with a metric of the experiment, as a supervisor would record it.
  RunId record(const std::string& experiment) {
    testing::SessionWriter writer;
    const RunId run = RunId::random();
    auto body = testing::session_body(run, "supervisor");
    body.experiment = experiment;
    const auto stored = store_->append(std::array{
        writer.frame(body), writer.frame(codec::SchemaBody{{testing::series_def(1, "loss")}}),
        writer.frame(testing::samples(1, {{2000, 0.5}, {3000, 0.25}}))});
    EXPECT_TRUE(stored && stored->refusals.empty());
    return run;
  }
  Reader without(const std::string& space) { return {*store_, Access::all_but({space})}; }
  static std::int64_t count(const Reader& reader, const std::string& table) {
    std::int64_t rows = -1;
    const auto done = reader.inspect([&](Reading& reading) -> Result<> {
      rows = TRY(reading->number("SELECT count(*) FROM " + table)).value_or(-1);
      return {};
    });
    EXPECT_TRUE(done) << table << ": " << done.error().message;
    return rows;
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, Spaces, tracking::both_engines(), tracking::engine_name);

TEST_P(Spaces, HaveMembersWhoComeAndGo) {
  add_people();
  ASSERT_TRUE(add("vision", {"bob", "ada", "bob"}));
  EXPECT_EQ(add("vision").error().code, Code::kAlreadyExists);
  EXPECT_EQ(add("speech", {"eve"}).error().code, Code::kNotFound);
  ASSERT_EQ(all().size(), 1U) << "what failed left nothing";
  EXPECT_EQ(all()[0].members, (std::vector<std::string>{"ada", "bob"}));

  ASSERT_TRUE(change([](Writing& writing) {
    return change_members(writing, {.space = "vision", .add = {"ada"}, .remove = {"bob"}});
  }));
  EXPECT_EQ(all()[0].members, std::vector<std::string>{"ada"});
  const auto unknown = change([](Writing& writing) {
    return change_members(writing, {.space = "visions", .add = {}, .remove = {}});
  });
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
  ASSERT_TRUE(change([](Writing& writing) { return delete_user(writing, "ada"); }));
  EXPECT_TRUE(all()[0].members.empty());
}

TEST_P(Spaces, ChangesAreSeenByOtherServers) {
  add_people();
  const auto version = [&] { return read([](Reading& r) { return state(r); }).version; };
  const auto before = version();
  ASSERT_TRUE(add("vision"));
  const auto made = version();
  EXPECT_NE(made, before);
  ASSERT_TRUE(change([](Writing& writing) {
    return change_members(writing, {.space = "vision", .add = {"ada"}, .remove = {}});
  }));
  const auto changed = version();
  EXPECT_NE(changed, made);
  ASSERT_TRUE(
      change([](Writing& writing) { return delete_space(writing, "vision", IfUsed::kRefuse); }));
  EXPECT_NE(version(), changed);
}

TEST_P(Spaces, WithSomethingInThemAreDeletedOnlyOnPurpose) {
  ASSERT_TRUE(add("vision"));
  record("vision/resnet");
  record("visionary");
  const auto gone = [&](IfUsed used) {
    return change([&](Writing& writing) { return delete_space(writing, "vision", used); });
  };
  const auto refused = gone(IfUsed::kRefuse);
  EXPECT_EQ(refused.error().code, Code::kUnprocessable);
  EXPECT_NE(refused.error().message.find("1 experiment,"), std::string::npos);
  EXPECT_TRUE(gone(IfUsed::kOpen));
  EXPECT_EQ(gone(IfUsed::kOpen).error().code, Code::kNotFound);
}

TEST_P(Spaces, NobodyElseReadsWhatLiesInThem) {
  const RunId ours = record("vision/resnet");
  const RunId theirs = record("speech/lstm");
  const Reader all = reader_of(*store_);
  const Reader some = without("vision");
  EXPECT_EQ(count(all, "experiments"), 3) << "with the default one";
  EXPECT_EQ(count(some, "experiments"), 2);
  for (const char* table : {"runs", "workloads", "series"}) {
    EXPECT_EQ(count(all, table), 2) << table;
    EXPECT_EQ(count(some, table), 1) << table;
  }
  EXPECT_FALSE(*some.run(ours));
  EXPECT_TRUE(*some.run(theirs));
  EXPECT_EQ(some.runs({})->total, 1);
  EXPECT_TRUE(some.find_runs(ours.hex().substr(0, 8))->empty());
  EXPECT_TRUE(some.series_of(ours)->empty());

  const auto hidden = all.series_of(ours).value();
  const auto seen = some.series_of(theirs).value();
  ASSERT_EQ(hidden.size(), 1U);
  ASSERT_EQ(seen.size(), 1U);
  const auto nothing = [](PointView&) -> Result<> { return {}; };
  for (const auto view : {&Reader::fresh_view}) {
    EXPECT_TRUE((some.*view)(std::array{seen[0].id}, nothing));
    const auto refused = (some.*view)(std::array{seen[0].id, hidden[0].id}, nothing);
    EXPECT_EQ(refused.error().code, Code::kNotFound) << "by its number";
  }
  EXPECT_FALSE(some.view(std::array{hidden[0].id}, nothing));
  EXPECT_TRUE(all.view(std::array{hidden[0].id}, nothing));

  const auto is_hidden = [&](const Reader& reader, const std::string& id) {
    bool answer = false;
    EXPECT_TRUE(reader.inspect([&](Reading& reading) -> Result<> {
      answer = TRY(is_hidden_id(reading, id));
      return {};
    }));
    return answer;
  };
  EXPECT_TRUE(is_hidden(some, ours.hex()));
  EXPECT_TRUE(is_hidden(some, own_workload_of(ours).hex()));
  EXPECT_FALSE(is_hidden(some, theirs.hex()));
  EXPECT_FALSE(is_hidden(some, RunId::random().hex())) << "what is not there is not hidden";
  EXPECT_FALSE(is_hidden(all, ours.hex()));
}

TEST_P(Spaces, ANeighbourIsToldOfWithoutItsName) {
  const RunId ours = record("vision/resnet");
  const RunId theirs = record("speech/lstm");
  for (const RunId run : {ours, theirs}) {
    ASSERT_TRUE(change([&](Writing& writing) -> Result<> {
      const auto row = TRY(tracking::run(writing, run));
      TRY(tracking::set_fact(writing, row->key, tracking::Fact::kTag, "corral.letter", "S"));
      return tracking::set_fact(writing, row->key, tracking::Fact::kTag, "corral.devices", "[0]");
    }));
  }
  std::vector<page::SharingRun> beside;
  ASSERT_TRUE(without("vision").inspect([&](Reading& reading) -> Result<> {
    const WorkloadId workload = own_workload_of(theirs);
    const auto runs = TRY(page::runs_of_workload(reading, workload));
    beside = TRY(page::neighbours_of(reading, workload, runs));
    return {};
  }));
  ASSERT_EQ(beside.size(), 1U);
  EXPECT_TRUE(beside[0].hidden);
  EXPECT_EQ(beside[0].name, "a run that you may not see");
  EXPECT_NE(beside[0].id, ours);
  EXPECT_NE(beside[0].workload, own_workload_of(ours));
  EXPECT_EQ(beside[0].host, "node7");
  EXPECT_EQ(page::tag_of(beside[0], "corral.devices"), "[0]");
  EXPECT_EQ(page::tag_of(beside[0], "corral.letter"), "");
}

TEST_P(Spaces, ReadersOfDifferentPartsShareConnections) {
  record("vision/resnet");
  record("speech/lstm");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(count(without("vision"), "runs"), 1);
    EXPECT_EQ(count({*store_, Access::all_but({"speech", "vision"})}, "runs"), 0);
    EXPECT_EQ(count(without("robots"), "runs"), 2);
  }
  EXPECT_EQ(count(reader_of(*store_), "runs"), 2);
}

// Each table is behind a view, or is listed here with the reason.
TEST(Views, StandBeforeEveryTableThatTellsOfARun) {
  constexpr std::array<std::string_view, 9> kByIdsOfSeenRows = {
      "sessions",    "session_series", "batches", "slices",      "row_groups",
      "block_times", "blocks",         "pyramid", "removed_runs"};
  // The server's api/plans.cpp looks at the experiments of plans.
  // Messages tell each user only about runs that they may see (server/core/alerts.h).
  constexpr std::array<std::string_view, 18> kOfTheStore = {
      "hosts",       "removals",      "removed_artifacts",
      "views",       "users",         "plans",
      "tokens",      "spaces",        "space_members",
      "audit",       "teams",         "team_members",
      "space_teams", "account_state", "device_codes",
      "alerts",      "alert_states",  "alert_outbox"};
  for (const maintain::Table& table : maintain::tables()) {
    const auto among = [&](const auto& names) {
      return std::ranges::find(names, table.name) != names.end();
    };
    EXPECT_TRUE(among(sql::tables_behind_views()) || among(kByIdsOfSeenRows) || among(kOfTheStore))
        << table.name;
  }
}

}  // namespace
}  // namespace corral::store::accounts
