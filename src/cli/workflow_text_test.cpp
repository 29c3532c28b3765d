#include "cli/workflow_text.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace corral::cli {
namespace {

// As in docs/analysis.md.
constexpr const char* kWorkflow = R"({"plan": "p", "summary": "4 runs took 36 s.",
 "makespan_s": 36.0, "waiting_s": 3.0,
 "path": [{"name": "a", "outcome": "failed", "link": "first", "wait_s": 0, "seconds": 10.0},
          {"name": "b", "outcome": "finished", "link": "turn", "wait_s": 0, "seconds": 10.0},
          {"name": "a", "outcome": "finished", "link": "repeat", "wait_s": 2.0, "seconds": 8.0},
          {"name": "c", "outcome": "finished", "link": "after", "wait_s": 1.0, "seconds": 5.0}],
 "stages": [{"stage": "wait", "seconds": 3.0, "share": 0.083},
            {"stage": "unknown", "seconds": 33.0, "share": 0.917}],
 "queue": {"runs": 4, "total_s": 23.0, "mean_s": 5.75, "longest": [{"name": "a", "wait_s": 12.0}]},
 "hosts": [{"host": "node7", "seconds": 36.0, "idle_s": 3.0}],
 "runs": {"all": 4, "running": 0, "finished": 3, "failed": 1, "interrupted": 0, "repeated": 1},
 "lost_s": 10.0,
 "not_finished": [{"name": "a", "outcome": "failed", "seconds": 10.0, "repeated_by": "32"}],
 "footprint": {"runs": 4, "measured": 2, "joules": 7200.0, "co2e_g": 0.5, "with_co2e": 2,
   "costs": [{"currency": "EUR", "total": 0.33}], "with_cost": 3, "coverage": 1.0,
   "modelled": true, "failed": {"runs": 1, "measured": 1, "joules": 3600.0, "co2e_g": null,
   "costs": []}, "counted_once": ["package-0 of node7"],
   "not_measured": [{"name": "c", "reason": "gpu: none"}], "left_out": 7}})";

using Texts = std::vector<std::string>;

TEST(WorkflowText, SaysWhatTheAnswerHas) {
  const WorkflowText text = workflow_text(Json::parse(kWorkflow).value());
  EXPECT_EQ(text.summary, "4 runs took 36 s.");
  ASSERT_EQ(text.rows.size(), 4U);
  EXPECT_EQ(text.rows[0], (Texts{"a", "–", "0 s", "10 s", "failed"}));
  EXPECT_EQ(text.rows[1][1], "the run before");
  EXPECT_EQ(text.rows[2][1], "its last attempt");
  EXPECT_EQ(text.rows[3], (Texts{"c", "its After", "1 s", "5 s", "finished"}));
  EXPECT_EQ(text.lines,
            (Texts{"stages of the path: 8.3 % wait, 91.7 % unknown",
                   "queue: 5.75 s on average from ready to start; longest: 12 s (a)",
                   "node7: without a run for 3 s of 36 s",
                   "1 failed, 0 interrupted (10 s of their time), 1 repeated: a (failed, "
                   "repeated)"}));
  EXPECT_EQ(text.footprint,
            (Texts{"7.2 kJ, 0.5 g CO2e, 0.33 EUR; 2 of 4 runs, measured in 100 % of their time "
                   "(shared parts modelled)",
                   "1 of the runs failed or were interrupted, included: 3.6 kJ",
                   "2 of 4 runs have no energy: c, and 1 more (the first: gpu: none)",
                   "2 of 4 runs have no CO2e", "1 of 4 runs have no price",
                   "counted once for the runs that had it together: package-0 of node7",
                   "7 more runs are not counted"}));
}

TEST(WorkflowText, RunsThatOnlyTookTurnsAreNotListed) {
  Json found = Json::parse(kWorkflow).value();
  const Json::Array& path = *found.find("path")->as_array();
  found.set("path", Json(Json::Array{path[0], path[1]}));
  const WorkflowText text = workflow_text(found);
  EXPECT_TRUE(text.rows.empty());
  EXPECT_EQ(text.lines.front(), "stages of the path: 8.3 % wait, 91.7 % unknown");
}

TEST(WorkflowText, LongListsAreCutAndSaySo) {
  Json found = Json::parse(kWorkflow).value();
  Json::Array path(25, found.find("path")->as_array()->at(0));
  path.back() = found.find("path")->as_array()->at(3);
  found.set("path", Json(path));
  found.set("not_finished", Json(Json::Array(8, found.find("not_finished")->as_array()->at(0))));
  const WorkflowText text = workflow_text(found);
  ASSERT_EQ(text.rows.size(), 20U);
  EXPECT_EQ(text.rows.back()[0], "c") << "the newest are shown";
  EXPECT_EQ(text.lines.front(), "5 earlier runs of the path: --format json");
  EXPECT_TRUE(text.lines.back().ends_with(", and 3 more")) << text.lines.back();
}

}  // namespace
}  // namespace corral::cli
