// GET /plans/{plan}/collocation and its siblings, over a real store.

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server {
namespace {

namespace frames = store::testing;

constexpr std::int64_t kMs = 1'000'000;
constexpr const char* kPlanId = "0123456789abcdef0123456789abcdef";
const std::string kPath = std::string("/api/corral/v1/plans/") + kPlanId + "/collocation";

class CollocationRoute : public HandlerTest {
 protected:
  struct Placed {
    std::string workload, model;
    std::int64_t start_ms = 0, step_ms = 100;
    std::string sharing = {};
    double watts = 0;  // power of the GPU; 0: there is none
    int status = 0;
    std::vector<std::int64_t> steps = std::vector<std::int64_t>(100, step_ms);  // their lengths
  };

  // Its steps, with half a second before and after them.
  RunId add(const Placed& placed) {
    const RunId run = RunId::random();
    frames::SessionWriter& writer = writers_.emplace_back();
    auto body = frames::session_body(run, "supervisor");
    body.run_name = placed.model;
    const auto [place, fresh] = workloads_.try_emplace(placed.workload);
    if (fresh) place->second = WorkloadId::random();
    body.workload = place->second;
    body.workload_name = placed.workload;
    body.machine = "m7";
    body.started = boot_time(placed.start_ms * kMs);
    codec::FactsBody facts;
    facts.facts.push_back({.kind = codec::FactKind::kTag, .key = "corral.plan", .value = kPlanId});
    if (!placed.sharing.empty())
      facts.facts.push_back(
          {.kind = codec::FactKind::kTag, .key = "corral.collocation", .value = placed.sharing});
    facts.facts.push_back({.kind = codec::FactKind::kParam, .key = "model", .value = placed.model});
    codec::PhasesBody phases;
    std::int64_t at = placed.start_ms + 500;
    for (const std::int64_t length : placed.steps) {
      phases.phases.push_back({.id = phases.phases.size() + 1,
                               .parent = 0,
                               .begin = boot_time(at * kMs),
                               .end = boot_time((at + length) * kMs),
                               .kind = codec::PhaseKind::kCompute,
                               .name = "step",
                               .type = "step",
                               .lane = "node7/4711/MainThread",
                               .links = {},
                               .attributes = {}});
      at += length;
    }
    std::vector<codec::Frame> all = {writer.frame(body), writer.frame(facts), writer.frame(phases)};
    if (placed.watts > 0) add_gpu(placed, at, writer, all);
    all.push_back(writer.frame(codec::RunEndBody{.time = boot_time((at + 500) * kMs),
                                                 .reason = codec::EndReason::kExit,
                                                 .exit_code = placed.status,
                                                 .exit_signal = {}}));
    const auto done = store_->append(all);
    EXPECT_TRUE(done && done->refusals.empty());
    return run;
  }

  static void add_gpu(const Placed& placed, std::int64_t end_ms, frames::SessionWriter& writer,
                      std::vector<codec::Frame>& all) {
    codec::SeriesDef energy = frames::series_def(1, "host.gpu.energy");
    energy.kind = metric::Kind::kCounter;
    energy.owner = metric::Owner::kHost;
    energy.source = "gpu0";
    codec::SeriesDef processes = frames::series_def(2, "run.gpu.processes");
    processes.source = "gpu0";
    std::vector<std::pair<std::int64_t, double>> joules, ones;
    for (std::int64_t ms = placed.start_ms; ms <= end_ms; ms += 500) {
      joules.emplace_back(ms * kMs, placed.watts * static_cast<double>(ms) / 1000);
      ones.emplace_back(ms * kMs, 1);
    }
    all.push_back(writer.frame(codec::SchemaBody{{energy, processes}}));
    all.push_back(writer.frame(frames::samples(1, joules)));
    all.push_back(writer.frame(frames::samples(2, ones)));
  }

  std::deque<frames::SessionWriter> writers_;
  std::map<std::string, WorkloadId> workloads_;
};

TEST_F(CollocationRoute, ComparesRunsBesideEachOtherWithTheSameAlone) {
  add({.workload = "1", .model = "small", .watts = 200});
  add({.workload = "2",
       .model = "small",
       .start_ms = 30'000,
       .step_ms = 160,
       .sharing = "mps",
       .watts = 300});
  add({.workload = "2",
       .model = "small",
       .start_ms = 32'000,
       .step_ms = 160,
       .sharing = "mps",
       .watts = 300});
  const Json found = ok(Method::kGet, kPath + "?job=params.model");
  const Json& job = found.find("jobs")->as_array()->at(0);
  EXPECT_EQ(job.get_string("what"), "small");
  EXPECT_NEAR(job.find("alone")->as_array()->at(0).find("step_s")->as_double(0), 0.1, 1e-9);
  const Json& one = found.find("configurations")->as_array()->at(0);
  EXPECT_EQ(one.get_string("sharing"), "mps");
  EXPECT_EQ(one.find("jobs")->dump(), R"(["A","A"])");
  EXPECT_NEAR(one.find("throughput")->as_double(0), 1.25, 1e-9);
  EXPECT_NEAR(one.find("turnaround")->as_double(0), 1.6, 1e-9);
  EXPECT_NEAR(one.find("speedup")->as_double(0), 22.0 / 19, 1e-9);
  // 300 W for two steps in 0.16 s; alone 20 J each.
  EXPECT_NEAR(one.find("energy")->as_double(0), 1.2, 1e-3);
  const Json& slow = one.find("slowdowns")->as_array()->at(0);
  EXPECT_NEAR(slow.find("slowdown")->as_double(0), 1.6, 1e-9);
  EXPECT_TRUE(slow.find("low")->is_null()) << "one value has no interval";
  EXPECT_EQ(found.find("missing")->dump(), "[]");
}

// A plan's cell is recorded as it was written.
TEST_F(CollocationRoute, SpellingsOfASharingAreOne) {
  std::int64_t at = 0;
  for (const char* alone : {"nan", "Naive", "-", ""}) {
    add({.workload = std::string("alone") + alone,
         .model = "small",
         .start_ms = at,
         .sharing = alone});
    at += 30'000;
  }
  for (const char* shared : {"MPS", "mps:memory=8G", "mps=100"}) {
    for (int i = 0; i < 2; ++i)
      add({.workload = shared,
           .model = "small",
           .start_ms = at,
           .step_ms = 150,
           .sharing = shared});
    at += 30'000;
  }
  for (int i = 0; i < 2; ++i)
    add({.workload = "half",
         .model = "small",
         .start_ms = at,
         .step_ms = 180,
         .sharing = "mps:threads=50;memory=8G"});
  const Json found = ok(Method::kGet, kPath + "?job=params.model");
  const Json::Array& alone = *found.find("jobs")->as_array()->at(0).find("alone")->as_array();
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0].get_int("n"), 4);
  const Json::Array& all = *found.find("configurations")->as_array();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].find("places")->dump(), R"(["",""])");
  EXPECT_EQ(all[0].get_int("cells"), 3);
  EXPECT_EQ(all[1].find("places")->dump(), R"(["mps=50","mps=50"])");
}

// The matrix of arXiv 2209.06018 (examples/studies/collocation): 618 runs in 198 workloads. Runs
// beside each other start 300 ms one after the other, and end so. Each is slowed down by its own
// factor while all of them train, and goes as fast as alone before and after that.
class CollocationMatrix : public CollocationRoute {
 protected:
  struct Member {
    std::string model;
    std::int64_t alone_ms;
    double slowdown;
  };

  void add_cell(const std::string& sharing, const std::vector<Member>& members) {
    constexpr std::int64_t kStagger = 300, kTogether = 6000;
    const std::string workload = std::to_string(++cells_);
    const auto k = static_cast<std::int64_t>(members.size());
    for (std::int64_t i = 0; i < k; ++i) {
      const Member& one = members[static_cast<std::size_t>(i)];
      Placed placed{.workload = workload, .model = one.model, .start_ms = at_ + i * kStagger};
      placed.sharing = sharing;
      placed.steps.clear();
      const std::int64_t slow = std::llround(static_cast<double>(one.alone_ms) * one.slowdown);
      const auto go = [&](std::int64_t time, std::int64_t step) {
        for (std::int64_t t = 0; t < time; t += step) placed.steps.push_back(step);
      };
      go((k - 1 - i) * kStagger, one.alone_ms);
      go(kTogether, slow);
      go(i * kStagger, one.alone_ms);
      planted_[add(placed).hex()] = one.slowdown;
    }
    at_ += 20'000;
  }
  // Different for each way of sharing, number of runs and place among them, from 1.2 to 2.5.
  static double planted(std::size_t way, std::size_t runs, std::size_t member) {
    return 1 + 0.1 * static_cast<double>(way + runs) + 0.1 * static_cast<double>(member);
  }

  std::int64_t at_ = 0;
  int cells_ = 0;
  std::map<std::string, double> planted_;  // slowdown by run
};

TEST_F(CollocationMatrix, PlantedSlowdownsAreFoundInTheWholeMatrix) {
  const std::map<std::string, std::int64_t> alone = {{"S", 20}, {"M", 30}, {"L", 50}, {"L32", 40}};
  const std::vector<std::string> ways = {"naive", "mps", "mig"};
  const std::map<std::size_t, std::string> slices = {
      {1, "7g.40gb"}, {2, "3g.20gb"}, {3, "2g.10gb"}, {7, "1g.5gb"}};
  for (const std::string experiment : {"33", "34", "35", "36"})
    for (const std::string job : {"S", "M", "L"}) {
      for (const auto& [k, slice] : slices)
        for (std::size_t way = 0; way < ways.size(); ++way) {
          std::vector<Member> members(k, {experiment + job, alone.at(job), 1});
          for (std::size_t i = 0; k > 1 && i < k; ++i) members[i].slowdown = planted(way, k, i);
          add_cell(ways[way] == "mig" ? slice : ways[way], members);
        }
      add_cell("4g.20gb", {{experiment + job, alone.at(job), 1.5}});
    }
  for (const std::vector<std::string>& mix :
       std::vector<std::vector<std::string>>{{"M", "S"},
                                             {"M", "S", "S"},
                                             {"M", "M", "S"},
                                             {"M", "S", "S", "S"},
                                             {"M", "M", "S", "S"},
                                             {"M", "M", "M", "S"},
                                             {"L32", "S"},
                                             {"L32", "S", "S"},
                                             {"L32", "S", "S", "S"},
                                             {"L32", "M"},
                                             {"L32", "M", "S"},
                                             {"L32", "M", "M"},
                                             {"L32", "M", "S", "S"},
                                             {"L32", "M", "S", "S", "S"}})
    for (std::size_t way = 0; way < ways.size(); ++way) {
      std::vector<Member> members;
      for (const std::string& job : mix)
        members.push_back({job == "L32" ? job : "33" + job, alone.at(job),
                           planted(way, mix.size(), members.size())});
      add_cell(ways[way] == "mig" ? "2g.10gb" : ways[way], members);
    }
  ASSERT_EQ(cells_, 198);
  ASSERT_EQ(planted_.size(), 618U);

  const Json found = ok(Method::kGet, kPath + "?job=params.model");
  std::map<std::string, std::string> models;
  for (const Json& job : *found.find("jobs")->as_array())
    models[job.get_string("job")] = job.get_string("what");
  std::size_t judged = 0, beside = 0;
  for (const Json& cell : *found.find("cells")->as_array()) {
    EXPECT_TRUE(cell.find("reason")->is_null()) << cell.get_string("reason");
    for (const Json& run : *cell.find("runs")->as_array()) {
      ++beside;
      if (models[run.get_string("job")] == "L32") {
        EXPECT_TRUE(run.find("slowdown")->is_null()) << "none was alone";
        continue;
      }
      ++judged;
      const double expected = planted_.at(run.get_string("id"));
      EXPECT_NEAR(run.find("slowdown")->as_double(0), expected, 0.01 * expected)
          << cell.get_string("workload");
    }
  }
  EXPECT_EQ(beside, 618U - 48) << "without those alone";
  EXPECT_EQ(judged, beside - 24);
  const std::string missing = found.find("missing")->dump();
  EXPECT_NE(missing.find("alone"), std::string::npos) << missing;
}

TEST_F(CollocationRoute, SaysWhatItCannotKnow) {
  add({.workload = "1", .model = "small"});
  add({.workload = "2", .model = "large", .start_ms = 30'000, .sharing = "1g.5gb", .status = 1});
  add({.workload = "2", .model = "small", .start_ms = 30'000, .sharing = "1g.5gb"});
  const Json found = ok(Method::kGet, kPath + "?job=params.model");
  const Json& cell = found.find("cells")->as_array()->at(0);
  EXPECT_EQ(cell.get_string("sharing"), "mig");
  EXPECT_EQ(cell.get_string("reason"), "large: it ended as failed");
  EXPECT_TRUE(cell.find("throughput")->is_null());
  EXPECT_EQ(found.find("missing")->as_array()->size(), 3U) << found.find("missing")->dump();
}

// A kept answer is not given again after a tag has changed, which is no fact of Corral's own.
TEST_F(CollocationRoute, ATagThatChangesAsksAnew) {
  add({.workload = "1", .model = "small"});
  const auto jobs = [&] {
    return ok(Method::kGet, kPath + "?job=tags.kind")
        .find("jobs")
        ->as_array()
        ->at(0)
        .get_string("what");
  };
  EXPECT_EQ(jobs(), "not known");
  const codec::FactsBody tag{{{.kind = codec::FactKind::kTag, .key = "kind", .value = "vision"}}};
  ASSERT_TRUE(store_->append(std::vector{writers_.front().frame(tag)}));
  EXPECT_EQ(jobs(), "vision");
}

TEST_F(CollocationRoute, RefusesAFieldThatNoRunHas) {
  add({.workload = "1", .model = "small"});
  EXPECT_EQ(send(Method::kGet, kPath + "?job=colour").status, 400);
  EXPECT_EQ(send(Method::kGet, "/api/corral/v1/plans/none/collocation").body.find("no route"),
            std::string::npos);
}

}  // namespace
}  // namespace corral::server
