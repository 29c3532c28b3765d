// Registered models, model versions and logged models, on both engines.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compat/mlflow/tables/logged_models.h"
#include "compat/mlflow/tables/registry.h"
#include "store/search/test_search.h"

namespace corral::store::tracking {
namespace {

using sql::Connection;
using sql::Reading;

class Models : public SearchTest {
 protected:
  void make(const std::string& name, const Tags& tags = {}) {
    write([&](Connection& db) -> Result<> {
      return create_registered_model(db, {name, "about " + name, tags}, utc_time(1000));
    });
  }
  VersionKey make_version(const std::string& name, const std::string& source,
                          std::int64_t now = 2000) {
    return write([&](Connection& db) -> Result<VersionKey> {
      NewModelVersion version;
      version.model = name;
      version.source = source;
      version.tags = {{"of", source}};
      return create_model_version(db, version, utc_time(now));
    });
  }
  void move(const VersionKey& key, std::string_view stage, Others others = Others::kStay) {
    write([&](Connection& db) -> Result<> {
      return move_to_stage(db, key, stage, others, utc_time(3000));
    });
  }
  RegisteredModelRow model(const std::string& name) {
    auto found = read([&](Reading& in) { return registered_model(in.db, name); });
    EXPECT_TRUE(found) << name;
    return found ? *found : RegisteredModelRow();
  }
  ModelVersionRow version(const VersionKey& key) {
    auto found = read([&](Reading& in) { return model_version(in.db, key); });
    EXPECT_TRUE(found) << key.model << ' ' << key.version;
    return found ? *found : ModelVersionRow();
  }
  std::string make_logged(const NewLoggedModel& wanted) {
    return write(
        [&](Connection& db) { return create_logged_model(db, wanted, utc_time(4'000'000)); });
  }
  LoggedModelRow logged(const std::string& id) {
    auto found = read([&](Reading& in) { return logged_model(in.db, id); });
    EXPECT_TRUE(found) << id;
    return found ? *found : LoggedModelRow();
  }
};

TEST_P(Models, AModelIsReadAsItWasWritten) {
  make("a", {{"z", "1"}, {"b", "2"}, {"z", "3"}});
  const RegisteredModelRow row = model("a");
  EXPECT_EQ(row.description, "about a");
  EXPECT_EQ(row.created, utc_time(1000));
  EXPECT_EQ(row.tags, (Tags{{"b", "2"}, {"z", "3"}}));
  EXPECT_TRUE(row.latest.empty());
  const auto again = store_->change([](Connection& db) -> Result<> {
    return create_registered_model(db, {"a", "", {}}, utc_time(1));
  });
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
}

TEST_P(Models, NumbersOfVersionsAreNotGivenTwice) {
  make("a");
  EXPECT_EQ(make_version("a", "s3://b/1").version, 1);
  const VersionKey second = make_version("a", "s3://b/2");
  write([&](Connection& db) -> Result<> { return set_alias(db, "best", second); });
  write([&](Connection& db) -> Result<> { return delete_model_version(db, second, utc_time(5)); });
  EXPECT_EQ(make_version("a", "s3://b/3").version, 3);
  EXPECT_TRUE(model("a").aliases.empty()) << "the alias goes with its version";
  EXPECT_FALSE(read([&](Reading& in) { return model_version(in.db, second); }));
  const auto lost = store_->change([](Connection& db) -> Result<> {
    NewModelVersion version;
    version.model = "nobody";
    TRY(create_model_version(db, version, utc_time(1)));
    return {};
  });
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kNotFound);
}

TEST_P(Models, RenamingTakesEverythingAlong) {
  make("a", {{"k", "v"}});
  make("taken");
  const VersionKey key = make_version("a", "s3://b/1");
  write([&](Connection& db) -> Result<> { return set_alias(db, "best", key); });
  write([&](Connection& db) -> Result<> {
    return rename_registered_model(db, "a", "c", utc_time(9000));
  });
  EXPECT_FALSE(read([&](Reading& in) { return registered_model(in.db, "a"); }));
  const RegisteredModelRow row = model("c");
  EXPECT_EQ(row.tags, (Tags{{"k", "v"}}));
  ASSERT_EQ(row.aliases.size(), 1u);
  const ModelVersionRow renamed = version({"c", 1});
  EXPECT_EQ(renamed.tags, (Tags{{"of", "s3://b/1"}}));
  EXPECT_EQ(renamed.aliases, std::vector<std::string>{"best"});
  EXPECT_EQ(renamed.updated, utc_time(9000));
  const auto onto = store_->change([](Connection& db) -> Result<> {
    return rename_registered_model(db, "c", "taken", utc_time(1));
  });
  ASSERT_FALSE(onto);
  EXPECT_EQ(onto.error().code, Code::kAlreadyExists);
}

TEST_P(Models, TheLatestOfEachStageInTheOrderOfTheFirst) {
  make("a");
  for (const char* source : {"1", "2", "3", "4"}) make_version("a", source);
  move({"a", 2}, "Staging");
  move({"a", 4}, "Production");
  const auto latest = [&](const std::vector<std::string>& stages) {
    std::vector<std::int64_t> numbers;
    for (const VersionKey& key :
         read([&](Reading& in) { return latest_versions(in.db, "a", stages); }))
      numbers.push_back(key.version);
    return numbers;
  };
  EXPECT_EQ(latest({}), (std::vector<std::int64_t>{3, 2, 4}));
  EXPECT_EQ(latest({"Production", "Staging"}), (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(latest({"Archived"}), std::vector<std::int64_t>{});
  EXPECT_EQ(model("a").latest.size(), 3u);
}

TEST_P(Models, ArchivingLeavesOtherStagesAlone) {
  make("a");
  for (const char* source : {"1", "2", "3"}) make_version("a", source);
  move({"a", 1}, "Production");
  move({"a", 2}, "Staging");
  move({"a", 3}, "Production", Others::kArchive);
  EXPECT_EQ(version({"a", 1}).stage, "Archived");
  EXPECT_EQ(version({"a", 2}).stage, "Staging");
  EXPECT_EQ(version({"a", 3}).stage, "Production");
}

TEST_P(Models, DeletingAModelTakesItsVersionsWithIt) {
  make("a");
  const VersionKey key = make_version("a", "1");
  write([](Connection& db) -> Result<> { return delete_registered_model(db, "a"); });
  EXPECT_FALSE(read([&](Reading& in) { return model_version(in.db, key); }));
  make("a");
  EXPECT_EQ(make_version("a", "2").version, 1) << "a new model begins anew";
  EXPECT_EQ(version({"a", 1}).tags, (Tags{{"of", "2"}}));
}

TEST_P(Models, ManyAreReadAtOnceInTheOrderAsked) {
  std::vector<std::string> names;
  std::vector<VersionKey> keys;
  for (int i = 0; i < 130; ++i) {
    names.push_back("model" + std::to_string((i * 7) % 130));
    make(names.back(), {{"i", std::to_string(i)}});
    keys.push_back(make_version(names.back(), std::to_string(i)));
  }
  names.insert(names.begin() + 70, "nobody");
  keys.insert(keys.begin() + 64, VersionKey{"model1", 99});
  const auto models = read([&](Reading& in) { return registered_models(in.db, names); });
  ASSERT_EQ(models.size(), 130u);
  for (int i = 0; i < 130; ++i) {
    const auto& row = models[static_cast<std::size_t>(i)];
    EXPECT_EQ(row.name, "model" + std::to_string((i * 7) % 130));
    EXPECT_EQ(row.tags, (Tags{{"i", std::to_string(i)}}));
    ASSERT_EQ(row.latest.size(), 1u);
    EXPECT_EQ(row.latest[0].source, std::to_string(i));
  }
  const auto versions = read([&](Reading& in) { return model_versions(in.db, keys); });
  ASSERT_EQ(versions.size(), 130u);
  EXPECT_EQ(versions[129].tags, (Tags{{"of", "129"}}));
}

TEST_P(Models, ALoggedModelIsReadAsItWasWritten) {
  NewLoggedModel wanted;
  wanted.experiment_location = "s3://bucket/0";
  wanted.name = "net";
  wanted.model_type = "cnn";
  wanted.run_id = "some-run";
  wanted.params = {{"lr", "0.1"}};
  wanted.tags = {{"b", "2"}, {"a", "1"}};
  const std::string id = make_logged(wanted);
  EXPECT_EQ(id.size(), 34u);
  const LoggedModelRow row = logged(id);
  EXPECT_EQ(row.artifact_uri, "s3://bucket/0/models/" + id + "/artifacts");
  EXPECT_EQ(row.status, ModelStatus::kPending);
  EXPECT_EQ(row.params, wanted.params);
  EXPECT_EQ(row.tags, (Tags{{"a", "1"}, {"b", "2"}}));
  write([&](Connection& db) -> Result<> {
    TRY(set_model_status(db, id, ModelStatus::kReady, utc_time(7)));
    TRY(set_model_tags(db, id, {{"a", "new"}}));
    EXPECT_TRUE(TRY(delete_model_tag(db, id, "b")));
    EXPECT_FALSE(TRY(delete_model_tag(db, id, "b")));
    return delete_logged_model(db, id, utc_time(8));
  });
  const LoggedModelRow after = logged(id);
  EXPECT_EQ(after.status, ModelStatus::kReady);
  EXPECT_EQ(after.lifecycle, Lifecycle::kDeleted);
  EXPECT_EQ(after.tags, (Tags{{"a", "new"}}));
}

TEST_P(Models, AParamKeepsItsValue) {
  const std::string id = make_logged({.experiment = {},
                                      .experiment_location = "x",
                                      .name = "net",
                                      .model_type = "",
                                      .run_id = "",
                                      .params = {{"lr", "0.1"}},
                                      .tags = {}});
  const auto add = [&](const Tags& params) {
    return store_->change([&](Connection& db) { return add_model_params(db, id, params); });
  };
  EXPECT_TRUE(add({{"lr", "0.1"}, {"depth", "5"}}));
  const auto changed = add({{"new", "1"}, {"lr", "0.2"}});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::kUnprocessable);
  EXPECT_EQ(logged(id).params, (Tags{{"depth", "5"}, {"lr", "0.1"}})) << "all or nothing";
}

TEST_P(Models, AMetricSentTwiceIsThereOnce) {
  const std::string id = make_logged({.experiment = {},
                                      .experiment_location = "x",
                                      .name = "net",
                                      .model_type = "",
                                      .run_id = "",
                                      .params = {},
                                      .tags = {}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<ModelMetric> metrics = {
      {id, "", "acc", 0.5, utc_time(5), 1, "", ""},
      {id, "", "acc", 0.75, utc_time(5), 1, "iris", "d1"},
      {id, "", "loss", nan, utc_time(5), 2, "", ""},
      {id, "", "loss", infinity, utc_time(6), -2, "", ""},
  };
  for (int i = 0; i < 2; ++i) {
    write([&](Connection& db) -> Result<> { return store_model_metrics(db, "run", metrics); });
  }
  const auto stored = logged(id).metrics;
  ASSERT_EQ(stored.size(), 4u);
  EXPECT_EQ(stored[0].value, 0.5);
  EXPECT_EQ(stored[1].dataset_name, "iris");
  EXPECT_EQ(stored[1].dataset_digest, "d1");
  EXPECT_TRUE(std::isnan(stored[2].value));
  EXPECT_EQ(stored[2].step, 2);
  EXPECT_EQ(stored[3].value, infinity);
  EXPECT_EQ(stored[3].run_id, "run");
  const auto lost = store_->change([](Connection& db) {
    const std::vector<ModelMetric> one = {{"m-nobody", "", "a", 1, utc_time(1), 0, "", ""}};
    return store_model_metrics(db, "run", one);
  });
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Engines, Models, both_engines(), engine_name);

}  // namespace
}  // namespace corral::store::tracking
