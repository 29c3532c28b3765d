#include "imports/interchange.h"

#include <gtest/gtest.h>

#include "imports/test_importer.h"

namespace corral::imports {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kRun =
    R"({"run":{"identity":"one","name":"first","experiment":"exp","start_ns":5}}
{"part":"a"}
{"points":{"metric":"loss","source":"s","times_ns":[5,6,7],"steps":[1,null,3],"values":[0.5,"NaN",2]}}
{"event":{"time_ns":9,"name":"note","attributes":{"text":"hello"}}}
{"param":["lr","0.1"]}
{"tag":["k","v"]}
{"left_out":["images",3]}
{"progress":[1,2]}
{"end":{"end_ns":8,"running":false}}
)";

class InterchangeTest : public ::testing::Test {
 protected:
  // The error's message, or "".
  std::string read(std::string_view text, std::size_t piece = 1000) {
    importer = KeepingImporter();
    Interchange interchange({}, importer);
    for (std::size_t at = 0; at < text.size(); at += piece) {
      if (const auto added = interchange.add(text.substr(at, piece)); !added)
        return added.error().message;
    }
    const auto finished = interchange.finish();
    return finished ? "" : finished.error().message;
  }
  KeepingImporter importer;
};

TEST_F(InterchangeTest, ARunInPiecesOfAnySize) {
  for (const std::size_t piece : {1UL, 10UL, 10'000UL}) {
    ASSERT_EQ(read(kRun, piece), "");
    const KeptRun& run = importer.runs.at(0);
    EXPECT_EQ(run.details.name, "first");
    EXPECT_EQ(run.points, (Lines{"1 loss s 1 5 0.5", "1 loss s - 6 nan", "1 loss s 3 7 2"}));
    EXPECT_EQ(run.events, Lines{"note text=hello"});
    EXPECT_EQ(run.params.at("lr"), "0.1");
    EXPECT_EQ(run.tags.at("k"), "v");
    EXPECT_EQ(ns_of(run.ending->end), 8);
    EXPECT_EQ(importer.left_out().at("images"), 3U);
  }
}

TEST_F(InterchangeTest, ATable) {
  EXPECT_EQ(read(R"({"table":{"identity":"t","name":"points"}}
{"rows":[["step","loss"],["1","0.5"]]}
{"rows":[["2","x"]]}
{"end_table":true}
)"),
            "");
  EXPECT_EQ(importer.runs.at(0).points, Lines{"1 loss  1 0 0.5"});
  EXPECT_EQ(importer.left_out().at("cells of column 'loss' that are not numbers"), 1U);
  EXPECT_EQ(read(R"({"table":{"identity":"t","name":"points"}}
{"rows":[["metric","value"],["a","x"]]}
)"),
            "row 1, column 2: value 'x' is not a number");
}

TEST_F(InterchangeTest, ACutIsAnErrorExceptBetweenRuns) {
  const std::string text = kRun;
  for (std::size_t cut = 1; cut < text.size(); ++cut)
    EXPECT_EQ(read(text.substr(0, cut)), "the Python package ended before its last run did") << cut;
  EXPECT_EQ(read(""), "");
}

TEST_F(InterchangeTest, LinesOfOthersAreErrors) {
  EXPECT_EQ(read("{\"error\":\"it broke\"}\n"), "it broke");
  for (const char* line : {"", "x", "[]", "{}", R"({"a":1,"b":2})", R"({"part":"a"})",
                           R"({"points":{}})", R"({"end":{}})", R"({"rows":[]})", R"({"run":{}})",
                           R"({"param":["a","b"]})", R"({"left_out":["a"]})"})
    EXPECT_TRUE(read(std::string(line) + "\n").starts_with("the Python package gave ")) << line;
  const std::string begin = R"({"run":{"identity":"one"}}
{"part":"a"}
)";
  for (const char* points :
       {R"({"points":{"metric":"a","times_ns":[1],"steps":[],"values":[1]}})",
        R"({"points":{"metric":"a","times_ns":[1],"steps":[1],"values":["x"]}})",
        R"({"points":{"metric":"a","times_ns":["1"],"steps":[1],"values":[1]}})",
        R"({"points":{"metric":"","times_ns":[],"steps":[],"values":[]}})",
        R"({"run":{"identity":"b"}})"})
    EXPECT_TRUE(read(begin + points + "\n").starts_with("the Python package gave ")) << points;
}

}  // namespace
}  // namespace corral::imports
