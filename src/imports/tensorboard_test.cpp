#include "imports/tensorboard.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/test_paths.h"
#include "imports/test_importer.h"

namespace corral::imports {
namespace {

namespace fs = sys::fs;

// "run: source|file source|file" of each run.
std::vector<std::string> sorted_runs(const std::vector<fs::path>& files) {
  std::vector<std::string> lines;
  for (const LogRun& run : runs_of_log("/log", files)) {
    std::string line = run.name + ":";
    for (const EventFile& file : run.files)
      line += " " + file.source + "|" + file.path.filename().string();
    lines.push_back(line);
  }
  return lines;
}
using Lines = std::vector<std::string>;

TEST(TensorBoardRuns, ADirectoryWithEventFilesIsOneRun) {
  EXPECT_EQ(sorted_runs({"/log/b", "/log/a", "/log/x/y/c"}), Lines{"log: |a |b x/y|c"});
}
TEST(TensorBoardRuns, ElseEachFirstDirectoryIsOne) {
  EXPECT_EQ(sorted_runs({"/log/one/a", "/log/one/train/b", "/log/two/train/c", "/log/two/val/d"}),
            (Lines{"one: |a train|b", "two: train|c val|d"}));
}
TEST(TensorBoardRuns, PartsOfATrainingAreOneRun) {
  EXPECT_EQ(sorted_runs({"/log/train/a", "/log/validation/b"}), Lines{"log: train|a validation|b"});
  EXPECT_EQ(sorted_runs({"/log/train/a", "/log/other/b"}), (Lines{"train: |a", "other: |b"}));
}

TEST(TensorBoardRuns, HostsAreInTheNamesOfFiles) {
  EXPECT_EQ(host_of_event_file("events.out.tfevents.1700000000.node7"), "node7");
  EXPECT_EQ(host_of_event_file("events.out.tfevents.1700000000.node7.4711.0"), "node7");
  EXPECT_EQ(host_of_event_file("events.out.tfevents.1700000000.n.lab.org.4711.0.v2"), "n.lab.org");
  EXPECT_EQ(host_of_event_file("events.out.tfevents.1700000000.10.0.0.7"), "10.0.0.7");
  EXPECT_EQ(host_of_event_file("events.out.tfevents.1700000000.10.0.0.7.4711.0"), "10.0.0.7");
  EXPECT_EQ(host_of_event_file("other"), "");
}

class TensorBoardImport : public ::testing::Test {
 protected:
  TensorBoardImport()
      : fixtures(fs::path(source_dir()) / "tests/fixtures/imports/tensorboard"),
        folder(fs::path(::testing::TempDir()) /
               ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~TensorBoardImport() override { fs::remove_all(folder); }

  const fs::path fixtures, folder;
  KeepingImporter importer;
};

TEST_F(TensorBoardImport, OneRunWithItsTrial) {
  ASSERT_TRUE(import_tensorboard(fixtures / "exp1", {}, importer));
  ASSERT_EQ(importer.runs.size(), 1U);
  const KeptRun& run = importer.runs[0];
  EXPECT_EQ(run.details.name, "exp1");
  EXPECT_EQ(run.details.host, "vm");
  EXPECT_EQ(run.parts.size(), 2U);
  EXPECT_EQ(run.points.size(), 101U);
  EXPECT_TRUE(run.points.back().starts_with("2 hp/acc trial 0 ")) << run.points.back();
  EXPECT_EQ(run.params.at("lr"), "0.1");
  EXPECT_EQ(run.params.at("amp"), "true");
  EXPECT_EQ(run.events, Lines{"note/text_summary text=hello *world* step=3"});
  EXPECT_TRUE(importer.left_out().empty());
  ASSERT_EQ(run.media.size(), 3U);
  for (const auto& [path, content] : run.media) {
    EXPECT_TRUE(path.starts_with("media/")) << path;
    EXPECT_EQ(path.ends_with(".png"), content.starts_with("\x89PNG")) << path;
    EXPECT_EQ(path.ends_with(".histogram.json"), content.starts_with("{\"edges\":[")) << path;
  }
  EXPECT_EQ(run.media.at("media/note=2Ftext_summary@3.txt"), "hello *world*");
  EXPECT_FALSE(importer.saw_damage());
}

TEST_F(TensorBoardImport, DamageKeepsWhatPrecedesIt) {
  const std::string name = "events.out.tfevents.1795794664.vm";
  std::string bytes = sys::read_file(fixtures / "exp1" / name).value();
  const std::size_t middle = bytes.size() / 4;
  bytes[middle] = static_cast<char>(bytes[middle] ^ 1);
  ASSERT_TRUE(sys::replace_file(folder / name, bytes));
  ASSERT_TRUE(import_tensorboard(folder, {}, importer));
  ASSERT_EQ(importer.runs.size(), 1U);
  EXPECT_GT(importer.runs[0].points.size(), 20U);
  EXPECT_LT(importer.runs[0].points.size(), 100U);
  EXPECT_TRUE(importer.saw_damage());
  ASSERT_EQ(importer.notes().size(), 1U);
  EXPECT_NE(importer.notes()[0].find(": the record at byte "), std::string::npos);
}

// A growing file gives the same items again and then more.
TEST_F(TensorBoardImport, AGrowingFileGivesTheSameFirst) {
  const std::string name = "events.out.tfevents.1795794664.vm";
  const std::string bytes = sys::read_file(fixtures / "exp1" / name).value();
  std::vector<std::string> before;
  std::string identity;
  for (std::size_t size = 0; size <= bytes.size(); size += 101) {
    ASSERT_TRUE(sys::replace_file(folder / name, bytes.substr(0, size)));
    KeepingImporter now;
    ASSERT_TRUE(import_tensorboard(folder, {}, now));
    EXPECT_FALSE(now.saw_damage());
    if (now.runs.empty()) continue;
    if (identity.empty()) identity = now.runs[0].details.identity;
    EXPECT_EQ(now.runs[0].details.identity, identity);
    const auto& points = now.runs[0].points;
    ASSERT_GE(points.size(), before.size());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), points.begin()));
    before = points;
  }
  EXPECT_GE(before.size(), 99U);
}

TEST_F(TensorBoardImport, ANameIsForOneRun) {
  const auto done = import_tensorboard(fixtures, {.name = "x", .experiment = {}}, importer);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace corral::imports
