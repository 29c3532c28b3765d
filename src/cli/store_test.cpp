// The verbs of `corral store` over a store with one run that has ended.
#include <fmt/format.h>

#include <fstream>

#include "cli/command.h"
#include "cli/test_call.h"
#include "core/json.h"
#include "server/life.h"
#include "store/open/sqlite_store.h"
#include "store/test_frames.h"

namespace corral::cli {
namespace {

namespace frames = store::testing;

class StoreTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    const auto store = store::open_sqlite_store({.directory = dir_ / "store"}).value();
    frames::SessionWriter writer;
    const auto appended = store->append(std::vector<codec::Frame>{
        writer.frame(frames::session_body(run_, "supervisor")),
        writer.frame(codec::SchemaBody{.series = {frames::series_def(1, "loss")}}),
        writer.frame(frames::samples(1, {{1000, 1}, {2000, 0.5}, {3000, 0.25}})),
        writer.frame(codec::RunEndBody{.time = boot_time(4000),
                                       .reason = codec::EndReason::kExit,
                                       .exit_code = 0,
                                       .exit_signal = {}})});
    ASSERT_TRUE(appended && appended->refusals.empty());
  }

  static Output verb(std::vector<std::string> words) { return call(store_command, words); }
  static Output at_store(std::vector<std::string> words, const std::string& store = "store") {
    words.insert(words.end(), {"--store", store});
    return verb(std::move(words));
  }

  const RunId run_ = RunId::random();
};

TEST_F(StoreTest, CheckFindsNoFault) {
  const Output text = at_store({"check"});
  EXPECT_EQ(text.status, kDone) << text.error;
  EXPECT_TRUE(holds(text.output, ": 1 runs, 1 sessions, 1 series, ")) << text.output;
  EXPECT_TRUE(text.output.ends_with("all is well\n")) << text.output;
  const auto json = Json::parse(at_store({"check", "--format", "json"}).output);
  ASSERT_TRUE(json);
  EXPECT_TRUE(*json->find("ok")->as_bool());
  EXPECT_EQ(json->find("read")->get_int("runs"), 1);
}

TEST_F(StoreTest, StatsCountPointsAndRuns) {
  const Output text = at_store({"stats"});
  EXPECT_EQ(text.status, kDone) << text.error;
  EXPECT_TRUE(holds(text.output, ", 1 runs, 1 sessions, 1 series")) << text.output;
  EXPECT_TRUE(holds(text.output, run_.hex())) << text.output;
  const auto json = Json::parse(at_store({"stats", "--format", "json"}).output);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->get_int("points"), 3);
  EXPECT_EQ(json->find("oldest_run")->get_string("name"), "calm-otter");
}

TEST_F(StoreTest, ABackupIsOneNewFileThatCanBeLoaded) {
  const Output backup = at_store({"backup", "b.corral"});
  EXPECT_EQ(backup.status, kDone) << backup.error;
  EXPECT_TRUE(holds(backup.output, "b.corral: ")) << backup.output;
  EXPECT_TRUE(holds(backup.output, " rows, verified by count and checksum of every table\n"));
  EXPECT_EQ(at_store({"check"}, "b.corral").status, kDone);
  EXPECT_TRUE(holds(at_store({"backup", "b.corral"}).error, "b.corral exists already"));
  EXPECT_TRUE(holds(at_store({"backup", "no/b.corral"}).error, "there is no directory no"));
  EXPECT_EQ(at_store({"load", "b.corral"}, "loaded").status, kDone);
  EXPECT_EQ(
      Json::parse(at_store({"stats", "--format", "json"}, "loaded").output)->get_int("points"), 3);
  EXPECT_TRUE(
      holds(at_store({"load", "store"}).error, "store is a directory, not a backup's file"));
  EXPECT_EQ(at_store({"load", "none"}).error, "corral store load: there is no backup at none\n");
  EXPECT_EQ(at_store({"gc"}, "b.corral").status, kDone) << "a single file has no lock";
}

TEST_F(StoreTest, MigrateCopiesIntoAnEmptyStore) {
  EXPECT_TRUE(holds(verb({"migrate", "store", "store"}).error, "both are the same store"));
  const Output copied = verb({"migrate", "store", "copy"});
  EXPECT_EQ(copied.status, kDone) << copied.error;
  EXPECT_TRUE(holds(copied.output, " rows  checksum ")) << copied.output;
  EXPECT_EQ(at_store({"check"}, "copy").status, kDone);
}

TEST_F(StoreTest, RebuildAndGcNeedTheStoreForThemselves) {
  const Output rebuilt = at_store({"rebuild"});
  EXPECT_EQ(rebuilt.status, kDone) << rebuilt.error;
  EXPECT_TRUE(holds(rebuilt.output, " statistics corrected\n")) << rebuilt.output;
  const Output collected = at_store({"gc"});
  EXPECT_EQ(collected.status, kDone) << collected.error;
  EXPECT_TRUE(holds(collected.output, " before, ")) << collected.output;
  const server::StoreLock lock = server::lock_store(dir_ / "store").value();
  for (const char* name : {"rebuild", "gc", "prune"}) {
    const Output refused =
        at_store(std::string(name) == "prune" ? std::vector<std::string>{name, "--keep-bytes", "0"}
                                              : std::vector<std::string>{name});
    EXPECT_EQ(refused.status, kFailed) << name;
    EXPECT_TRUE(holds(refused.error, fmt::format(" (pid {})", ::getpid()))) << refused.error;
    EXPECT_TRUE(holds(refused.error, ": end it first, ")) << refused.error;
  }
  EXPECT_EQ(at_store({"check"}).status, kDone) << "reading goes on";
}

TEST_F(StoreTest, PruneRemovesOldRuns) {
  const Output dry = at_store({"prune", "--older-than", "1d", "--dry-run"});
  EXPECT_TRUE(dry.output.starts_with(run_.hex() + "\nwould remove 1 run with 3 points, "))
      << dry.output << dry.error;
  EXPECT_TRUE(holds(at_store({"prune", "--older-than", "36500d"}).output, "removed 0 runs with 0"));
  EXPECT_TRUE(holds(at_store({"prune", "--older-than", "1d"}).output, "removed 1 run with 3"));
  EXPECT_EQ(Json::parse(at_store({"stats", "--format", "json"}).output)->get_int("runs"), 0);
  EXPECT_TRUE(holds(at_store({"prune", "--older-than", "0"}).error, "must be greater than 0"));
}

TEST_F(StoreTest, WhatIsNoStoreIsNamed) {
  EXPECT_TRUE(holds(at_store({"check"}, "none").error, "there is no store at "));
  EXPECT_TRUE(holds(at_store({"gc"}, "none").error, "there is no store at "));
  EXPECT_FALSE(std::filesystem::exists("none")) << "nothing was made";
  std::ofstream("text") << std::string(5000, 'x');
  const Output text = at_store({"check"}, "text");
  EXPECT_EQ(text.status, kFailed);
  EXPECT_EQ(text.error, "corral store check: text is not a store\n");
}

}  // namespace
}  // namespace corral::cli
