// Sweeps: combinations, numbers, what is wrong. Marking them is mark_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan_file.h"

namespace corral::plan {
namespace {

using Words = std::vector<std::string>;

Plan read(const std::string& text) { return parse_sweep(text, "/", {}); }
std::string head() { return "experiment: 1\nfile: a.py\n"; }

Words complaints(const Plan& plan) {
  Words lines;
  for (const Problem& problem : plan.problems) lines.push_back(to_line(problem, "s"));
  return lines;
}
Words params(const Plan& plan) {
  Words all;
  for (const Row& row : plan.rows) {
    Words words(row.command.begin() + 1, row.command.end());
    std::string text = row.workload + ":";
    for (const std::string& word : words) text += " " + word;
    all.push_back(text);
  }
  return all;
}

TEST(Sweep, IsTheProductOfItsValues) {
  const Plan plan = read(
      head() +
      "devices: 0+1\nparameters:\n  b: {values: [1, x y]}\n  a: {values: [0.10, yes, ~, 'no']}\n");
  EXPECT_EQ(complaints(plan), Words{});
  EXPECT_EQ(params(plan),
            (Words{"000: --b 1 --a 0.10", "001: --b 1 --a True", "002: --b 1 --a None",
                   "003: --b 1 --a no", "004: --b x y --a 0.10", "005: --b x y --a True",
                   "006: --b x y --a None", "007: --b x y --a no"}));
  EXPECT_EQ(plan.rows[4].command, (Words{"a.py", "--b", "x y", "--a", "0.10"}));
  EXPECT_EQ(plan.rows[0].share.devices, (Words{"0", "1"}));
  EXPECT_EQ(workloads_of(plan.rows).size(), 8u);
}

TEST(Sweep, RandomIsTheSameOrderForASeed) {
  const std::string text =
      head() + "method: random\nparameters: {x: {values: [1, 2, 3, 4, 5, 6, 7, 8]}}\n";
  const Words one = params(read(text));
  EXPECT_EQ(one, params(read(text)));
  EXPECT_NE(one, params(read(text + "seed: 7\n")));
  Words some = params(read(text + "count: 3\n"));
  EXPECT_EQ(some, Words(one.begin(), one.begin() + 3));
  EXPECT_EQ(read(text).rows[0].workload, "000");
}

TEST(Sweep, WhatHasAStatusKeepsItsNumber) {
  // As radT writes it after a resume: numbers that are no places, numbers as Python prints them.
  const Plan plan =
      read(head() +
           "parameters: {x: {values: [0.10, 2, 3]}}\nparent: 0f4c1b8e2a7d4f60b3a9c5d2e1f07788\n"
           "status: {1: FINISHED ff (--x 0.1), 7: FAILED - (--x 3)}\n");
  EXPECT_EQ(params(plan), (Words{"001: --x 0.10", "008: --x 2", "007: --x 3"}));
  EXPECT_EQ(plan.rows[0].status, "FINISHED");
  EXPECT_EQ(plan.rows[0].run, "ff");
  EXPECT_EQ(plan.rows[1].status, "");
  EXPECT_EQ(plan.rows[2].status, "FAILED");
  EXPECT_EQ(plan.rows[2].run, "");
  EXPECT_EQ(plan.rows[0].tags, (Pairs{{"mlflow.parentRunId", "0f4c1b8e2a7d4f60b3a9c5d2e1f07788"}}));
}

TEST(Sweep, KeysDependOnWhatIsRunAlone) {
  const Plan a = read(head() + "parameters: {x: {values: [1, 2]}}\n");
  const Plan b =
      read(head() + "parameters: {x: {values: [0, 2]}}\nstatus: {9: RUNNING a (--x 2)}\n");
  EXPECT_EQ(a.rows[1].key, b.rows[1].key);
  EXPECT_NE(a.rows[0].key, b.rows[0].key);
}

TEST(Sweep, TakesCorralsColumnsAsKeys) {
  const Plan plan = read(head() +
                         "cpus: 0-1\nlimits: epochs=3\nrepeat: 2\nparams: --fixed 1\nname: n\n"
                         "parameters: {x: {values: [1]}}\n");
  EXPECT_EQ(complaints(plan), Words{});
  EXPECT_EQ(plan.rows[0].share.cpus, (std::vector{0, 1}));
  EXPECT_EQ(plan.rows[0].limits.max_epochs, 3);
  EXPECT_EQ(params(plan), Words{"000: --fixed 1 --x 1"});
  EXPECT_EQ(workloads_of(plan.rows).size(), 2u);
  EXPECT_EQ(plan.rows[0].tags, (Pairs{{"corral.sweep", "n"}}));
}

TEST(Sweep, EveryProblemWithItsPlace) {
  const Words lines = complaints(read(
      "experimnt: 1\nfile: a.py\nmethod: gird\nparameters:\n  x: 3\n  y: {values: [1, [2]]}\n"));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "s: the sweep has no key experiment");
  EXPECT_EQ(lines[1],
            "s:1:1: key 'experimnt': not a key of a sweep; it is kept and ignored; did you mean "
            "experiment?");
  EXPECT_EQ(lines[2], "s:3:9: method 'gird': no method; did you mean grid?");
  EXPECT_EQ(lines[3],
            "s:5:3: parameters 'x': has no list of values; such as {values: [0.1, 0.01]}");
  EXPECT_EQ(lines[4], "s:6:19: parameters: a value of y is not a single value");
  // All rows report it, but at one place of the file.
  EXPECT_EQ(
      complaints(read(head() + "devices: zero\nparameters: {x: {values: [1, 2, 3]}}\n")).size(),
      1u);
  EXPECT_TRUE(complaints(read(head() + "devices: zero\nparameters: {x: {values: [1]}}\n"))
                  .at(0)
                  .starts_with("s:3:10: Devices 'zero'"));
  EXPECT_TRUE(complaints(read("a: [1\n")).at(0).starts_with("s:2:1: not YAML: "));
  EXPECT_EQ(complaints(read("- 1\n")).size(), 1u);
  EXPECT_EQ(complaints(read("")).size(), 1u);
  EXPECT_FALSE(read("a: 1\n---\nb: 1\n").usable());
  EXPECT_FALSE(read(head() + "file: b.py\nparameters: {x: {values: [1]}}\n").usable());
  EXPECT_FALSE(read(head() + "parameters: {x: {values: []}}\n").usable());
}

TEST(Sweep, IsOneDocument) {
  EXPECT_EQ(complaints(read("---\n" + head() + "parameters: {x: {values: [1]}}\n...\n")), Words{});
  EXPECT_EQ(complaints(read(head() + "---\n" + head())),
            Words{"s: one sweep is one YAML document"});
  // At a place where no document can begin, yaml-cpp finds one after the other without end.
  EXPECT_EQ(complaints(read(", a")), Words{"s: one sweep is one YAML document"});
  EXPECT_EQ(complaints(read("")).size(), 1u);
}

TEST(Sweep, IsBounded) {
  std::string text = head() + "parameters:\n";
  for (int i = 0; i < 64; ++i) text += "  p" + std::to_string(i) + ": {values: [1, 2, 3, 4]}\n";
  EXPECT_EQ(complaints(read(text)), Words{"s: parameters: more than 100000 combinations"});
  EXPECT_FALSE(read(head() + "x: " + std::string(10'000, '[')).usable());
}

}  // namespace
}  // namespace corral::plan
