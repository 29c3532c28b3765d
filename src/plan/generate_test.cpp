#include "plan/generate.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/test_paths.h"
#include "core/text.h"
#include "plan/generate_spec.h"

namespace corral::plan {
namespace {

Generated from(std::string_view yaml, std::optional<std::uint64_t> seed = {}) {
  return generate(yaml, {.name = "matrix.yaml", .seed = seed, .drawn = 42});
}

std::vector<std::string> lines_of(const std::string& csv) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(csv, '\n'))
    if (!line.empty()) lines.emplace_back(line);
  return lines;
}

std::string said(const Generated& plan) {
  std::string text;
  for (const Problem& problem : plan.problems) text += to_line(problem, "m.yaml") + "\n";
  return text;
}

// ---- the published study

struct Study {
  std::string csv = "Experiment,Workload,Status,Run,Devices,Collocation,File,Listeners,Params\n";
  int runs = 0, workloads = 0;
  void run(int experiment, int workload, const std::string& place, const std::string& params) {
    csv += fmt::format("{},{},,,{},timm/train.py,smi+top+dcgmi,{}\n", experiment, workload, place,
                       params);
    ++runs;
  }
};
struct Job {
  std::string model, data, slice;
  int batch;
  [[nodiscard]] std::string params() const {
    return fmt::format("--model {} --data-dir /raid/datasets/{}/ --warmup-epochs 0 --batch-size {}",
                       model, data, batch);
  }
};

void equal_jobs(Study& study, int experiment, const std::string& model, int batch) {
  int workload = 0;
  for (const auto& [own, data] : std::vector<std::pair<std::string, std::string>>{
           {"resnet26", "cifar10"}, {"resnet50", "imagenet64_images"}, {"resnet152", "imagenet"}}) {
    const Job job{model.empty() ? own : model, data, "", batch};
    for (const auto& [k, places] : std::vector<std::pair<int, std::vector<std::string>>>{
             {1, {"0,-", "2,7g.40gb", "2,4g.20gb", "0,MPS"}},
             {2, {"0,-", "2,3g.20gb", "0,MPS"}},
             {3, {"0,-", "2,2g.10gb", "0,MPS"}},
             {7, {"0,-", "2,1g.5gb", "0,MPS"}}}) {
      for (const std::string& place : places) {
        ++workload;
        for (int i = 0; i < k; ++i) study.run(experiment, workload, place, job.params());
      }
    }
  }
  study.workloads += workload;
}

void mixed_jobs(Study& study) {
  const std::vector<Job> sizes{{"resnet152", "imagenet", "4g.20gb", 32},
                               {"resnet50", "imagenet64_images", "2g.10gb", 128},
                               {"resnet26", "cifar10", "1g.5gb", 128}};
  // Number of the mix -> how many of L, M, S.
  const std::map<int, std::array<int, 3>> mixes{
      {11, {0, 1, 1}}, {12, {0, 1, 2}}, {13, {0, 2, 1}}, {14, {0, 1, 3}}, {15, {0, 2, 2}},
      {16, {0, 3, 1}}, {21, {1, 0, 1}}, {22, {1, 0, 2}}, {24, {1, 0, 3}}, {31, {1, 1, 0}},
      {32, {1, 1, 1}}, {33, {1, 2, 0}}, {34, {1, 1, 2}}, {35, {1, 1, 3}}};
  for (const auto& [number, counts] : mixes) {
    for (int way = 0; way < 3; ++way) {
      ++study.workloads;
      for (std::size_t size = 0; size < 3; ++size) {
        const std::string place = way == 0 ? "0,-" : way == 1 ? "0,MPS" : "2," + sizes[size].slice;
        for (int i = 0; i < counts.at(size); ++i)
          study.run(37, number * 10 + way, place, sizes[size].params());
      }
    }
  }
}

TEST(Generate, ThePublishedStudyToTheByte) {
  Study study;
  equal_jobs(study, 33, "", 128);
  equal_jobs(study, 34, "", 32);
  equal_jobs(study, 35, "cait_xxs24_224", 128);
  equal_jobs(study, 36, "efficientnetv2_s", 128);
  mixed_jobs(study);
  ASSERT_EQ(study.runs, 618);
  ASSERT_EQ(study.workloads, 198);
  ASSERT_EQ(study.csv.size(), 84119U);  // as its authors published it

  std::ifstream file(source_dir() + "/examples/studies/collocation/published.yaml");
  std::ostringstream yaml;
  yaml << file.rdbuf();
  EXPECT_LE(std::ranges::count(yaml.str(), '\n'), 40);
  const Generated plan = from(yaml.str());
  EXPECT_EQ(said(plan), "");
  EXPECT_EQ(plan.runs, 618U);
  EXPECT_EQ(plan.workloads, 198U);
  EXPECT_EQ(plan.csv, study.csv);
}

// ---- small matrices

constexpr std::string_view kSmall = R"(
row: {File: train.py, Params: "--model {model} --batch {batch}"}
jobs:
  S: {model: small, slice: 1g.5gb}
  L: {model: large, slice: 2g.10gb}
sharing:
  alone: {Devices: 0, Collocation: "-"}
  mig: {Devices: 1, Collocation: "{slice}"}
)";

std::string small(std::string_view rest) { return std::string(kSmall) + std::string(rest); }

TEST(Generate, AProductOfAxesJobsCopiesAndSharing) {
  const auto plan = from(small(R"(
experiments:
  bench: {jobs: [S, S+L], batch: [8, 16], k: [1, 2], sharing: alone}
)"));
  ASSERT_EQ(said(plan), "");
  EXPECT_EQ(plan.workloads, 8U);
  EXPECT_EQ(plan.runs, 2U * (1 + 2 + 2 + 4));
  const auto lines = lines_of(plan.csv);
  EXPECT_EQ(lines[0], "Experiment,Workload,Status,Run,Devices,Collocation,File,Params");
  EXPECT_EQ(lines[1], "bench,1,,,0,-,train.py,--model small --batch 8");
  EXPECT_EQ(lines[2], "bench,2,,,0,-,train.py,--model small --batch 8");
  EXPECT_EQ(lines[4], "bench,3,,,0,-,train.py,--model small --batch 8");
  EXPECT_EQ(lines[5], "bench,3,,,0,-,train.py,--model large --batch 8");
  EXPECT_EQ(lines[10], "bench,5,,,0,-,train.py,--model small --batch 16");
}

TEST(Generate, AnAxisThatChangesNothingMakesNoCells) {
  const auto plan = from(small(R"(
experiments:
  bench: {jobs: S, batch: 8, slice: [1g.5gb, 2g.10gb], sharing: [alone, mig]}
)"));
  ASSERT_EQ(said(plan), "");
  EXPECT_EQ(plan.workloads, 3U);
}

TEST(Generate, BaselinesAndJobsAloneOnTheirSlice) {
  const auto plan = from(small(R"(
experiments:
  bench: {jobs: [S+L, S], batch: 8, slice: 3g.20gb, sharing: [alone, mig], baselines: alone, slices: true}
)"));
  ASSERT_EQ(said(plan), "");
  const auto lines = lines_of(plan.csv);
  std::multiset<std::string> rows(lines.begin() + 1, lines.end());
  EXPECT_EQ(lines[0], "Experiment,Workload,Status,Run,Devices,Collocation,File,Params,Baseline");
  EXPECT_EQ(plan.runs, 2U + 2 + 1 + 1 + 1 + 1);
  EXPECT_EQ(rows.count("bench,3,,,0,-,train.py,--model small --batch 8,yes"), 1U)
      << "a cell that is there is marked";
  EXPECT_EQ(rows.count("bench,5,,,0,-,train.py,--model large --batch 8,yes"), 1U);
  EXPECT_EQ(rows.count("bench,6,,,1,3g.20gb,train.py,--model large --batch 8,"), 1U) << plan.csv;
}

TEST(Generate, EachBlockHoldsEachCellOnceInAnOrderOfItsOwn) {
  const std::string yaml = small(R"(
order: random
repeats: 3
seed: 7
experiments:
  bench: {jobs: [S, L], batch: [1, 2, 4, 8, 16], sharing: alone}
)");
  const auto plan = from(yaml);
  ASSERT_EQ(said(plan), "");
  const auto lines = lines_of(plan.csv);
  EXPECT_EQ(lines[0],
            "# From matrix.yaml: 30 runs in 30 workloads, 3 blocks in random order, seed 7");
  ASSERT_EQ(lines.size(), 2U + 30);
  std::vector<std::vector<std::string>> orders;
  for (int block = 1; block <= 3; ++block) {
    std::vector<std::string> order;
    for (int i = 0; i < 10; ++i) {
      const auto cells = split(lines.at(2 + static_cast<std::size_t>((block - 1) * 10 + i)), ',');
      const auto name = split(cells[1], '#');
      EXPECT_EQ(name[1], std::to_string(block));
      order.emplace_back(name[0]);
    }
    EXPECT_EQ(std::set<std::string>(order.begin(), order.end()).size(), 10U);
    orders.push_back(order);
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
  EXPECT_EQ(from(yaml).csv, plan.csv);
  EXPECT_NE(from(yaml, 8).csv, plan.csv);
  EXPECT_EQ(from(yaml, 8).seed, 8U) << "the flag is stronger";
}

TEST(Generate, ARandomOrderWithoutASeedSaysTheDrawnOne) {
  const auto plan =
      from(small("order: random\nexperiments:\n  e: {jobs: S, batch: 1, sharing: alone}\n"));
  ASSERT_EQ(said(plan), "");
  EXPECT_TRUE(lines_of(plan.csv)[0].ends_with("seed 42"));
}

TEST(Generate, CellsAreQuotedWhereTheyMustBe) {
  const auto plan = from(R"(
row: {File: train.py, Params: '--name "a,b" {{x}}'}
jobs: {S: {}}
experiments: {"#1": {jobs: S}}
)");
  ASSERT_EQ(said(plan), "");
  EXPECT_EQ(lines_of(plan.csv)[1], R"("#1",1,,,,,train.py,"--name ""a,b"" {x}")");
}

// ---- what is wrong

TEST(Generate, EveryMistakeAtOnceWithLineAndNearestSpelling) {
  const auto plan = from(R"(row: {Fille: train.py, Params: "--batch {batch}"}
jobs:
  S: {batch: 8}
sharing:
  alone: {Devices: 0, Colocation: "-"}
  mps: {Status: x}
oder: random
repeats: 0
experiments:
  one: {jobs: [T, 3S+X, 100S], sharing: alon}
  two: {sharing: alone}
)");
  const std::string text = said(plan);
  for (const auto* line : {
           "m.yaml:1:7: Fille: is not a column of a plan; did you mean File?",
           "m.yaml:5:23: Colocation: is not a column of a plan; did you mean Collocation?",
           "m.yaml:6:9: Status: is written by `corral run`",
           "m.yaml:7:1: oder: is not a word of a specification; did you mean order?",
           "repeats '0': must be a number from 1 to 1000",
           "jobs 'T': 'T' is not a job; there are S",
           "jobs '3S+X': 'X' is not a job; there are S",
           "jobs '100S': from 1 to 64 of a job run together",
           "sharing 'alon': is not among the ways of `sharing`; did you mean alone?",
           "m.yaml:11:3: jobs 'two': is missing: name the jobs of the experiment",
       })
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n in\n" << text;
  EXPECT_EQ(plan.csv, "");
}

TEST(Generate, ValuesThatNobodyUsesAndNamesThatNobodyGives) {
  const auto plan = from(R"(row: {File: train.py, Params: "--batch {batch} {", Name: "{jobb}"}
jobs:
  S: {bacth: 8, batch: 4}
experiments: {e: {jobs: S}}
)");
  const std::string text = said(plan);
  EXPECT_NE(text.find("Params: has a single {"), std::string::npos) << text;
  EXPECT_NE(text.find("no value for {jobb}; did you mean job?"), std::string::npos) << text;
  const auto unused = from(R"(row: {File: train.py, Params: "--batch {batch}"}
jobs:
  S: {bacth: 8, batch: 4}
experiments: {e: {jobs: S}}
)");
  EXPECT_EQ(said(unused), "m.yaml:3:14: bacth: is not used by any column; did you mean batch?\n");
  const auto missing = from(R"(row: {File: train.py, Params: "--batch {batch}"}
jobs: {S: {batch: 1}, L: {}}
experiments: {e: {jobs: [S, L]}}
)");
  EXPECT_EQ(said(missing), "m.yaml:1:31: Params: job 'L' of experiment 'e' has no value 'batch'\n");
}

TEST(Generate, WhatIsNoSpecification) {
  for (const auto* yaml : {"", "[1, 2]", "just text", "jobs: [", "experiments: {e: 1}",
                           "jobs: {S: {}}\nexperiments: {e: {jobs: S}}"}) {
    const auto plan = from(yaml);
    EXPECT_FALSE(plan.problems.empty()) << yaml;
    EXPECT_EQ(plan.csv, "");
  }
}

TEST(Generate, AMatrixTooLargeIsSaidNotMade) {
  std::string axes;
  for (int axis = 0; axis < 7; ++axis)
    axes += fmt::format(", a{}: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", axis);
  const auto plan =
      from(fmt::format("row: {{File: t.py, Params: '{{a0}}{{a1}}{{a2}}{{a3}}{{a4}}{{a5}}{{a6}}'}}\n"
                       "jobs: {{S: {{}}}}\nexperiments: {{e: {{jobs: S{}}}}}\n",
                       axes));
  EXPECT_NE(said(plan).find("more than 100000 runs"), std::string::npos) << said(plan);
}

}  // namespace
}  // namespace corral::plan
