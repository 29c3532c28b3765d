#include "analyze/explain/bottleneck.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace corral::analyze {
namespace {

using codec::PhaseKind;

constexpr double kTrainer = 4711;

LaneLeaves lane_of(std::vector<Leaf> leaves, std::string name = "node7/4711/MainThread") {
  LaneLeaves lane;
  lane.lane = std::move(name);
  lane.trains = true;
  lane.steps = 100;
  lane.leaves = std::move(leaves);
  return lane;
}
Leaf leaf(std::string type, double share, PhaseKind kind = PhaseKind::kCompute) {
  const std::string name = type.substr(type.rfind('/') + 1);
  return {.type = std::move(type),
          .name = name,
          .kind = kind,
          .total = Nanos(static_cast<std::int64_t>(share * 1e9))};
}
// Steps with data waits of this share.
std::vector<LaneLeaves> waiting(double share) {
  return {lane_of(
      {leaf("epoch/step", 1 - share), leaf("epoch/step/data wait", share, PhaseKind::kWait)})};
}

// Metrics of a machine with four CPUs where a training thread computes half of the time, and
// nothing else happens.
class Metrics {
 public:
  Metrics() {
    for (const char* quiet :
         {"cgroup.memory.limit_hits", "cgroup.memory.major_faults", "cgroup.pressure.memory.some",
          "host.paging.swap_in", "host.cpu.steal", "run.memory.major_faults",
          "run.io.read_block_bytes", "run.io.write_block_bytes"})
      set(quiet, 0);
    set("cgroup.cpu.used", 0.5).set("cgroup.memory.used", 1e9);
    set("host.cpu.busy", 0.6).set("run.cpu.used", 0.5);
    for (const char* cpu : {"cpu0", "cpu1", "cpu2", "cpu3"}) set("host.cpu.core.busy", 0.15, cpu);
    thread("1", kTrainer, kTrainer, 0.5);
  }
  Metrics& set(const std::string& metric, double mean, const std::string& source = "") {
    return set(metric, mean, source, mean, mean);
  }
  Metrics& set(const std::string& metric, double mean, const std::string& source, double least,
               double most) {
    means_[{metric, source}] = {.metric = metric,
                                .source = source,
                                .unit = "",
                                .mean = mean,
                                .least = least,
                                .most = most,
                                .points = 100};
    return *this;
  }
  Metrics& thread(const std::string& place, double process, double id, double cpu) {
    for (const char* wait : {"run_delay", "waited.lock", "waited.file"})
      set(std::string("run.thread.") + wait, 0, place);
    set("run.thread.process", process, place).set("run.thread.id", id, place);
    return set("run.thread.cpu", cpu, place);
  }
  Metrics& without(const std::string& prefix) {
    std::erase_if(means_, [&](const auto& one) { return one.first.first.starts_with(prefix); });
    return *this;
  }
  [[nodiscard]] RunData data() const {
    std::vector<MetricMean> all;
    for (const auto& [key, mean] : means_) all.push_back(mean);
    return RunData(std::move(all), {{"run.thread", "no permission"}});
  }

 private:
  std::map<std::pair<std::string, std::string>, MetricMean> means_;
};

Bottleneck judge(const std::vector<LaneLeaves>& lanes, const Metrics& metrics,
                 const GivenToRun& given = {.cpus = {0, 1, 2, 3}}) {
  return find_bottleneck(lanes, metrics.data(), given).value();
}
Bottleneck judge_seen(const std::vector<LaneLeaves>& lanes, const Metrics& metrics,
                      const SeenUse& seen) {
  return find_bottleneck(lanes, metrics.data(), {.cpus = {0, 1, 2, 3}}, seen).value();
}
// Steps that hardly wait.
Bottleneck judge(const Metrics& metrics) { return judge(waiting(0.01), metrics); }

std::vector<std::string> metrics_of(const Bottleneck& found) {
  std::vector<std::string> names;
  for (const MetricMean& mean : found.evidence) names.push_back(mean.metric);
  return names;
}

TEST(BottleneckPart, IsTheGreatestOfAFifthOrMore) {
  EXPECT_EQ(judge(waiting(0.19), Metrics()).part, BoundPart::kWork);
  const Bottleneck found = judge(waiting(0.21), Metrics());
  EXPECT_EQ(found.part, BoundPart::kWait);
  EXPECT_EQ(found.phase, "data wait");
  EXPECT_NEAR(found.share, 0.21, 1e-6);
  EXPECT_EQ(found.text,
            "21 % of the steady part is data wait; nothing that was measured says why.");
  const std::vector<LaneLeaves> many = {lane_of(
      {leaf("epoch/step", 0.3), leaf("epoch/step/data wait", 0.2, PhaseKind::kWait),
       leaf("epoch/evaluation", 0.1), leaf("epoch/evaluation/data wait", 0.15, PhaseKind::kWait),
       leaf("epoch/checkpoint", 0.21, PhaseKind::kIo)})};
  EXPECT_EQ(judge(many, Metrics()).part, BoundPart::kEvaluation);
  EXPECT_EQ(judge(many, Metrics()).phase, "evaluation");
}

TEST(BottleneckPart, IsAMeanOverRanks) {
  std::vector<LaneLeaves> ranks = waiting(0.5);
  ranks.push_back(lane_of({leaf("epoch/step", 1)}, "node7/rank1/4712/MainThread"));
  EXPECT_NEAR(judge(ranks, Metrics()).share, 0.25, 1e-6);
  ranks.back().trains = false;
  EXPECT_NEAR(judge(ranks, Metrics()).share, 0.5, 1e-6);
  ranks.front().trains = false;
  EXPECT_FALSE(find_bottleneck(ranks, RunData(), {}));
}

TEST(BottleneckPart, OfRanksSaysNothingOfResources) {
  const Bottleneck found = judge(
      {lane_of({leaf("epoch/step", 0.5), leaf("epoch/step/all_reduce", 0.5, PhaseKind::kComm)})},
      Metrics().set("run.cpu.used", 4));
  EXPECT_EQ(found.part, BoundPart::kRanks);
  EXPECT_EQ(found.resource, Resource::kUnknown);
  EXPECT_EQ(found.text, "50 % of the steady part is all_reduce.");
}

TEST(BottleneckResource, IsUnknownWhereNothingIsExhausted) {
  const Bottleneck found = judge(Metrics());
  EXPECT_EQ(found.resource, Resource::kUnknown);
  EXPECT_EQ(found.text, "Nothing that was measured bounds the steps.");
  EXPECT_TRUE(found.evidence.empty());
  EXPECT_TRUE(found.unproven.empty());
}

TEST(BottleneckResource, IsTheQuotaThatStopsThreads) {
  Metrics metrics;
  metrics.set("cgroup.cpu.periods", 10)
      .set("cgroup.cpu.limit", 0.5)
      .thread("1", kTrainer, kTrainer, 0.49);
  metrics.set("cgroup.cpu.throttled_periods", 8).set("cgroup.cpu.throttled", 0.5);
  metrics.set("run.thread.run_delay", 0.5, "1");
  const Bottleneck found = judge(metrics);
  EXPECT_EQ(found.resource, Resource::kCpuQuota);
  EXPECT_EQ(found.text,
            "The steps are bound by CPU quota: the CPU quota of 0.5 CPUs stopped its threads in 80 "
            "% of the periods.");
  EXPECT_NE(judge(metrics.set("cgroup.cpu.throttled_periods", 1)).resource, Resource::kCpuQuota);
}

TEST(BottleneckResource, IsTheMemoryLimitThatIsReachedAllTheTime) {
  Metrics metrics;
  metrics.set("cgroup.memory.limit_hits", 40);
  EXPECT_EQ(judge(metrics).resource, Resource::kUnknown) << "the page cache always fills it";
  EXPECT_EQ(judge(metrics.set("cgroup.pressure.memory.some", 0.3)).resource,
            Resource::kMemoryLimit);
}

// The limit may be one of a group above, which counts its own hits.
TEST(BottleneckResource, IsTheMemoryLimitThatIsFull) {
  Metrics metrics;
  metrics.set("cgroup.memory.limit", 256 << 20).set("cgroup.pressure.memory.some", 0.3);
  EXPECT_EQ(judge(metrics.set("cgroup.memory.used", 200 << 20)).resource, Resource::kUnknown);
  const Bottleneck found = judge(metrics.set("cgroup.memory.used", 250 << 20));
  EXPECT_EQ(found.resource, Resource::kMemoryLimit);
  EXPECT_EQ(found.text,
            "The steps are bound by memory limit: its control group was at its memory limit of 256 "
            "MiB, and waited for memory 30 % of the time.");
  metrics.without("cgroup.pressure").set("cgroup.memory.major_faults", 100);
  const Bottleneck blind = judge(metrics);
  EXPECT_EQ(blind.resource, Resource::kUnknown);
  ASSERT_EQ(blind.unproven.size(), 1U);
  EXPECT_EQ(blind.unproven[0].metric, "cgroup.memory.anonymous");
  EXPECT_EQ(judge(metrics.set("cgroup.memory.anonymous", 50 << 20)).resource, Resource::kUnknown)
      << "page cache fills every limit";
  EXPECT_EQ(judge(metrics.set("cgroup.memory.anonymous", 150 << 20)).resource,
            Resource::kMemoryLimit);
}

TEST(BottleneckResource, IsSwapThatItsOwnFaultsReadBack) {
  Metrics metrics;
  EXPECT_EQ(judge(metrics.set("host.paging.swap_in", 5e7)).resource, Resource::kUnknown)
      << "another program's";
  EXPECT_EQ(judge(metrics.set("run.memory.major_faults", 900)).resource, Resource::kSwap);
}

TEST(BottleneckResource, IsStorageThatTheReaderWaitsFor) {
  Metrics metrics;
  metrics.set("run.thread.waited.file", 0.35, "1");
  EXPECT_EQ(judge(waiting(0.4), metrics).resource, Resource::kUnknown) << "nothing was read";
  metrics.set("run.io.read_block_bytes", 16 << 20).set("host.disk.busy", 0.98, "sda");
  const Bottleneck found = judge(waiting(0.4), metrics);
  EXPECT_EQ(found.resource, Resource::kDisk);
  EXPECT_EQ(found.text,
            "40 % of the steady part is data wait: the training thread waited for storage 35 % of "
            "the time, at 16 MiB/s, with sda busy 98 % of the time.");
  EXPECT_EQ(judge(waiting(0.8), metrics).resource, Resource::kUnknown) << "less than half of it";
  metrics.thread("2", 5000, 5000, 0.1).set("run.thread.waited.file", 0, "1");
  EXPECT_EQ(judge(waiting(0.4), metrics).resource, Resource::kUnknown);
  EXPECT_EQ(judge(waiting(0.4), metrics.set("run.thread.waited.file", 0.9, "2")).resource,
            Resource::kDisk)
      << "its worker does";
  const Bottleneck blind = judge(waiting(0.4), metrics.without("run.thread.waited"));
  EXPECT_EQ(blind.resource, Resource::kUnknown);
  ASSERT_EQ(blind.unproven.size(), 1U);
  EXPECT_EQ(blind.unproven[0].metric, "run.thread.waited.file");
}

TEST(BottleneckResource, IsTheHypervisorsOtherMachine) {
  EXPECT_EQ(judge(Metrics().set("host.cpu.steal", 0.3)).resource, Resource::kSteal);
  EXPECT_EQ(judge(Metrics().set("host.cpu.steal", 0.05)).resource, Resource::kUnknown);
}

TEST(BottleneckResource, IsOtherProgramsOnlyWhereTheyUseItsCpus) {
  Metrics metrics;
  metrics.set("run.thread.run_delay", 0.4, "1").set("host.cpu.busy", 40);
  EXPECT_EQ(judge(metrics).resource, Resource::kUnknown) << "they are on other CPUs";
  EXPECT_EQ(judge(metrics.set("host.cpu.core.busy", 0.9, "cpu2")).resource,
            Resource::kOtherPrograms);
  const Bottleneck blind = judge(metrics.without("host.cpu.core"));
  EXPECT_EQ(blind.resource, Resource::kUnknown);
  ASSERT_EQ(blind.unproven.size(), 1U);
  EXPECT_EQ(blind.unproven[0].resource, Resource::kOtherPrograms);
  EXPECT_EQ(blind.unproven[0].metric, "host.cpu.core.busy");
}

// The step needs a CPU while the wait is for something else.
TEST(BottleneckResource, OfAWaitIsNotWhatTheRestOfTheStepNeeds) {
  Metrics metrics;
  metrics.set("run.thread.run_delay", 0.2, "1").set("host.cpu.core.busy", 1, "cpu2");
  EXPECT_EQ(judge(metrics).resource, Resource::kOtherPrograms);
  EXPECT_EQ(judge(waiting(0.4), metrics).resource, Resource::kUnknown);
  EXPECT_EQ(judge(waiting(0.25), metrics.set("run.cpu.used", 3.9)).resource, Resource::kUnknown);
  metrics.set("cgroup.cpu.periods", 10).set("cgroup.cpu.throttled_periods", 2);
  metrics.set("cgroup.cpu.throttled", 1);
  EXPECT_EQ(judge(waiting(0.4), metrics).resource, Resource::kUnknown);
  EXPECT_EQ(judge(metrics).resource, Resource::kCpuQuota);
}

TEST(BottleneckResource, IsAGpuByItsCoresNotByItsUtilization) {
  Metrics metrics;
  metrics.set("host.gpu.busy", 0.99, "gpu0").set("run.gpu.processes", 1, "gpu0");
  const Bottleneck blind = judge(metrics);
  EXPECT_EQ(blind.resource, Resource::kUnknown);
  ASSERT_EQ(blind.unproven.size(), 1U);
  EXPECT_EQ(blind.unproven[0].metric, "host.gpu.sm.active");
  metrics.set("host.gpu.dram.active", 0.1, "gpu0");
  EXPECT_EQ(judge(metrics.set("host.gpu.sm.active", 0.1, "gpu0")).resource, Resource::kUnknown);
  EXPECT_EQ(judge(metrics.set("host.gpu.sm.active", 0.95, "gpu0")).resource, Resource::kGpuCores);
  EXPECT_EQ(judge(metrics.set("host.gpu.dram.active", 0.8, "gpu0")).resource, Resource::kGpuMemory);
  EXPECT_EQ(judge(metrics.set("host.gpu.throttle.power", 0.9, "gpu0")).resource,
            Resource::kGpuClocks);
  metrics.set("run.gpu.processes", 0, "gpu0").set("run.gpu.processes", 1, "gpu1");
  metrics.set("host.gpu.sm.active", 0.1, "gpu1").set("host.gpu.dram.active", 0.1, "gpu1");
  EXPECT_EQ(judge(metrics).resource, Resource::kUnknown) << "another run's device";
  EXPECT_EQ(judge(metrics.without("run.gpu")).resource, Resource::kUnknown) << "it uses none";
}

TEST(BottleneckPart, OfAHostThatWaitsBesideABusyGpuIsTheWork) {
  Metrics metrics;
  metrics.set("run.gpu.processes", 1, "gpu0").set("host.gpu.sm.active", 0.95, "gpu0");
  metrics.set("host.gpu.dram.active", 0.1, "gpu0");
  const Bottleneck found = judge(waiting(0.4), metrics);
  EXPECT_EQ(found.part, BoundPart::kWork);
  EXPECT_EQ(
      found.text,
      "The steps are bound by GPU cores: the SMs of gpu0 were active 95 % of the time; waits, "
      "40 % of the time, are perhaps hidden behind the GPU.");
  EXPECT_EQ(judge(waiting(0.4), metrics.set("host.gpu.sm.active", 0.5, "gpu0")).part,
            BoundPart::kWait);
}

TEST(BottleneckResource, IsThreadsInTurnWhereTheyWaitForEachOther) {
  Metrics metrics;
  metrics.set("run.thread.waited.lock", 0.5, "1");
  EXPECT_EQ(judge(metrics).resource, Resource::kUnknown) << "a pool that it waits for";
  metrics.thread("2", kTrainer, 4712, 0.5).set("run.thread.waited.lock", 0.45, "2");
  const Bottleneck found = judge(metrics);
  EXPECT_EQ(found.resource, Resource::kTurns);
  EXPECT_EQ(metrics_of(found),
            (std::vector<std::string>{"run.thread.waited.lock", "run.thread.cpu",
                                      "run.thread.waited.lock", "run.thread.cpu"}));
  // The classes of waits are sampled: fewer samples than the time without a CPU still tell.
  Metrics sampled(metrics);
  sampled.set("run.thread.waited.lock", 0.15, "1");
  EXPECT_EQ(judge(sampled).resource, Resource::kTurns);
  sampled.set("run.thread.waited.pipe", 0.2, "1");
  EXPECT_EQ(judge(sampled).resource, Resource::kUnknown) << "mostly for something else";
  EXPECT_EQ(judge(Metrics(metrics).set("run.gpu.processes", 1, "gpu0")).resource,
            Resource::kUnknown)
      << "one starts the GPU's work for the other";
  metrics.thread("2", 5000, 4712, 0.5).set("run.thread.waited.lock", 0.45, "2");
  EXPECT_EQ(judge(metrics).resource, Resource::kUnknown) << "another process's";
}

TEST(BottleneckResource, IsTheLoadersWhereTheyComputeAllTheTime) {
  Metrics metrics;
  metrics.thread("1", kTrainer, kTrainer, 0.4).thread("2", 5000, 5000, 0.97);
  metrics.set("run.cpu.used", 1.4);
  Bottleneck found = judge(waiting(0.5), metrics);
  EXPECT_EQ(found.resource, Resource::kLoaders);
  EXPECT_EQ(found.hint, "Start more workers: 2.6 of 4 CPUs were free.");
  EXPECT_TRUE(judge(waiting(0.5), metrics, {}).hint.starts_with("Start more workers if"));
  for (const char* cpu : {"cpu0", "cpu1", "cpu2", "cpu3"})
    metrics.set("host.cpu.core.busy", 0.95, cpu);
  found = judge(waiting(0.5), metrics);
  EXPECT_EQ(found.resource, Resource::kLoaders);
  EXPECT_TRUE(found.hint.starts_with("Make the transforms cheaper")) << found.hint;
  metrics.thread("2", 5000, 5000, 0.3);
  EXPECT_EQ(judge(waiting(0.5), metrics).resource, Resource::kUnknown);
  EXPECT_EQ(judge(Metrics().thread("2", 5000, 5000, 0.97)).resource, Resource::kUnknown)
      << "nothing waits for them";
}

// Rank 1's place went from one thread of it to another.
TEST(BottleneckResource, OfARankThatWaitsIsNotAnotherRanksWork) {
  std::vector<LaneLeaves> ranks = waiting(0.5);
  ranks.push_back(lane_of({leaf("epoch/step", 1)}, "node7/rank1/4712/MainThread"));
  Metrics metrics;
  metrics.thread("2", 4712, 4712, 0.97).set("run.thread.id", 4800, "2", 4712, 4900);
  EXPECT_EQ(judge(ranks, metrics).part, BoundPart::kWait);
  EXPECT_EQ(judge(ranks, metrics).resource, Resource::kUnknown);
  metrics.set("run.thread.process", 4800, "2", 4712, 5000);
  EXPECT_EQ(judge(ranks, metrics).resource, Resource::kUnknown);
}

// A loader without workers works in the training thread.
TEST(BottleneckResource, IsTheThreadThatLoadsItsDataItself) {
  Metrics metrics;
  metrics.thread("1", kTrainer, kTrainer, 0.98).set("run.cpu.used", 1);
  const Bottleneck found = judge(waiting(0.5), metrics);
  EXPECT_EQ(found.resource, Resource::kOneThread);
  EXPECT_NE(found.hint.find("num_workers"), std::string::npos);
}

TEST(BottleneckResource, IsAllCpusOrOneThread) {
  Metrics metrics;
  metrics.thread("1", kTrainer, kTrainer, 0.97);
  EXPECT_EQ(judge(metrics.set("run.cpu.used", 3.8)).resource, Resource::kCpus);
  EXPECT_EQ(judge(metrics.set("run.cpu.used", 1)).resource, Resource::kOneThread);
  EXPECT_EQ(judge(waiting(0), metrics, {.cpus = {2}}).resource, Resource::kCpus);
  EXPECT_EQ(judge(metrics.set("cgroup.cpu.limit", 1)).resource, Resource::kCpus)
      << "a quota of one CPU";
}

TEST(BottleneckResource, IsUnknownWithoutItsCounters) {
  Metrics metrics;
  metrics.thread("1", kTrainer, kTrainer, 0.97).set("run.cpu.used", 1).without("run.thread.");
  const Bottleneck found = judge(metrics);
  EXPECT_EQ(found.resource, Resource::kUnknown);
  const auto last = std::ranges::find(found.unproven, Resource::kOneThread, &Unproven::resource);
  ASSERT_NE(last, found.unproven.end());
  EXPECT_EQ(last->reason, "no permission");
}

// As in a container, where the lane has the process id inside.
TEST(BottleneckResource, OfAnUnknownThreadIsUnproven) {
  Metrics metrics;
  metrics.thread("1", 90'000, 90'000, 0.97);
  const Bottleneck found = judge(waiting(0.5), metrics);
  EXPECT_EQ(found.resource, Resource::kUnknown);
  std::vector<Resource> unproven;
  for (const Unproven& one : found.unproven) unproven.push_back(one.resource);
  EXPECT_EQ(unproven,
            (std::vector{Resource::kDisk, Resource::kOtherPrograms, Resource::kOneThread}));
}

TEST(BottleneckResource, OfAPlaceThatSeveralThreadsHadIsNotTheTrainers) {
  Metrics metrics;
  metrics.thread("1", kTrainer, kTrainer, 0.97);
  metrics.set("run.thread.process", 4900, "1", kTrainer, 5100);
  EXPECT_EQ(judge(metrics).resource, Resource::kUnknown);
}

// ---- beside a GPU

// gpu0 is the run's, and used by nobody else.
Metrics with_gpu(double cores) {
  Metrics metrics;
  metrics.set("run.gpu.processes", 1, "gpu0").set("host.gpu.sm.active", cores, "gpu0");
  metrics.set("host.gpu.dram.active", 0.1, "gpu0").set("host.gpu.pcie.rx_rate", 1e6, "gpu0");
  return metrics.set("host.gpu.busy", 0.9, "gpu0").set("run.gpu.busy", 0.9, "gpu0");
}
PartUse use_of(std::string metric, double idle, std::string reason = "") {
  return {.metric = std::move(metric),
          .source = "gpu0",
          .mean = 1 - idle,
          .idle = idle,
          .samples = 50,
          .reason = std::move(reason)};
}

TEST(BottleneckPart, OfAWaitBesideAGpuIsItsIdleTime) {
  const Metrics metrics = with_gpu(0.4);
  const Bottleneck idle =
      judge_seen(waiting(0.4), metrics, {.in_part = {use_of("host.gpu.sm.active", 0.9)}});
  EXPECT_EQ(idle.part, BoundPart::kWait);
  EXPECT_EQ(idle.text,
            "40 % of the steady part is data wait; nothing that was measured says why; the GPU "
            "idled in 90 % of what was seen of it.");
  EXPECT_DOUBLE_EQ(idle.evidence[0].mean, 0.1) << "within the waits";
  EXPECT_EQ(idle.evidence[0].points, 50U);
  EXPECT_EQ(metrics_of(idle), std::vector<std::string>{"host.gpu.sm.active"});
  EXPECT_TRUE(idle.unproven.empty());
  const Bottleneck busy =
      judge_seen(waiting(0.4), metrics, {.in_part = {use_of("host.gpu.sm.active", 0.4)}});
  EXPECT_EQ(busy.part, BoundPart::kWork) << "it idled for 16 % of the time";
  EXPECT_EQ(busy.text,
            "Nothing that was measured bounds the steps; waits take 40 % of the time, but the GPU "
            "idled in 40 % of what was seen of them.");
  const std::vector<LaneLeaves> also_io = {
      lane_of({leaf("step", 0.35), leaf("data wait", 0.4, PhaseKind::kWait),
               leaf("checkpoint", 0.25, PhaseKind::kIo)})};
  EXPECT_EQ(judge_seen(also_io, metrics, {.in_part = {use_of("host.gpu.sm.active", 0.4)}}).part,
            BoundPart::kIo)
      << "the next part that takes a fifth";
  EXPECT_EQ(
      judge_seen(waiting(0.4), with_gpu(0.9), {.in_part = {use_of("host.gpu.sm.active", 0.9)}})
          .part,
      BoundPart::kWait)
      << "samples of the waits say more than the mean";
  EXPECT_EQ(judge_seen(waiting(0.4), metrics,
                       {.in_part = {use_of("host.gpu.sm.active", 0.9), use_of("", 0.1)}})
                .part,
            BoundPart::kWork)
      << "a trace says more than samples";
}

TEST(BottleneckPart, OfAWaitIsPerhapsHiddenWhereTheGpuIsNotKnown) {
  const std::string reason = "it was sampled every 1 s, too seldom for phases of 60 ms";
  const SeenUse coarse{.in_part = {use_of("host.gpu.sm.active", 0, reason)}};
  const Bottleneck found = judge_seen(waiting(0.4), with_gpu(0.4), coarse);
  EXPECT_EQ(found.part, BoundPart::kWait);
  EXPECT_EQ(found.text,
            "40 % of the steady part is data wait; nothing that was measured says why; it is "
            "perhaps hidden behind the GPU.");
  ASSERT_EQ(found.unproven.size(), 1U);
  EXPECT_EQ(found.unproven[0].metric, "host.gpu.sm.active");
  EXPECT_EQ(found.unproven[0].reason, reason);
  EXPECT_EQ(judge_seen(waiting(0.4), with_gpu(0.04), coarse).text,
            "40 % of the steady part is data wait; nothing that was measured says why.")
      << "it idles all the time";
  EXPECT_EQ(judge_seen(waiting(0.4), with_gpu(0.9), coarse).part, BoundPart::kWork);
  EXPECT_NE(judge(waiting(0.4), with_gpu(0.4).without("host.gpu.sm")).text.find("perhaps hidden"),
            std::string::npos);
  EXPECT_EQ(
      judge_seen(waiting(0.4), with_gpu(0.4).set("run.gpu.processes", 0, "gpu0"), coarse).text,
      "40 % of the steady part is data wait; nothing that was measured says why.")
      << "another program's GPU";
}

// Samples do not say why it idles: the thread may launch, or compute something of its own.
TEST(BottleneckResource, OfOneThreadNamesAGpuWithoutWork) {
  Metrics metrics = with_gpu(0.08).thread("1", kTrainer, kTrainer, 0.97);
  metrics.set("run.cpu.used", 1).set("host.gpu.graphics.active", 0.35, "gpu0");
  const Bottleneck found = judge(metrics);
  EXPECT_EQ(found.resource, Resource::kOneThread);
  EXPECT_EQ(found.text,
            "The steps are bound by one thread: the training thread computes all the time, with "
            "0.97 CPUs, while gpu0 had no work 65 % of the time, and its SMs were active 8 %.");
  EXPECT_NE(found.hint.find("CUDA graphs"), std::string::npos);
  EXPECT_EQ(metrics_of(found),
            (std::vector<std::string>{"run.thread.cpu", "run.cpu.used", "host.gpu.sm.active",
                                      "host.gpu.graphics.active"}));
  const Bottleneck none = judge(Metrics(metrics).without("run.gpu"));
  EXPECT_EQ(none.resource, Resource::kOneThread);
  EXPECT_EQ(none.text.find("no work"), std::string::npos);
}

// A thread that waits for its GPU in a loop looks as if it computed.
TEST(BottleneckResource, IsNotTheThreadThatWaitsForAGpuThatWorks) {
  Metrics metrics = with_gpu(0.08).thread("1", kTrainer, kTrainer, 0.97);
  metrics.set("run.cpu.used", 1).set("host.gpu.graphics.active", 0.35, "gpu0");
  for (Metrics other : {Metrics(metrics).set("host.gpu.graphics.active", 0.95, "gpu0"),
                        Metrics(metrics).set("host.gpu.sm.active", 0.6, "gpu0")})
    EXPECT_EQ(judge(other).resource, Resource::kUnknown);
  // A GPU before Hopper, without DCGM.
  Metrics older = Metrics(metrics).without("host.gpu.");
  EXPECT_EQ(judge(older).resource, Resource::kUnknown);
  EXPECT_EQ(judge(older).unproven.back().resource, Resource::kOneThread);
  EXPECT_EQ(judge(older.set("host.gpu.busy", 1, "gpu0")).resource, Resource::kUnknown);
  EXPECT_EQ(judge(older.set("host.gpu.busy", 0.4, "gpu0")).resource, Resource::kOneThread);
}

// PyTorch's backward pass: as an H100 showed it.
TEST(BottleneckResource, IsOneThreadThatTwoTakeInTurn) {
  Metrics metrics = with_gpu(0.002).thread("1", kTrainer, kTrainer, 0.49);
  metrics.thread("19", kTrainer, kTrainer + 19, 0.49);
  metrics.set("run.cpu.used", 1).set("host.gpu.graphics.active", 0.17, "gpu0");
  metrics.set("run.thread.waited.lock", 0.4, "1").set("run.thread.waited.lock", 0.4, "19");
  EXPECT_EQ(judge(metrics).text,
            "The steps are bound by one thread: the training thread, in turn with another of its "
            "process, computes all the time, with 0.98 CPUs, while gpu0 had no work 83 % of the "
            "time, and its SMs were active 0 %.");
  Metrics other = metrics;
  EXPECT_EQ(judge(other.set("run.thread.waited.lock", 0, "19")).resource, Resource::kUnknown)
      << "it does not wait for the training thread";
  EXPECT_EQ(judge(metrics.thread("19", kTrainer, kTrainer + 19, 0.9)).resource, Resource::kUnknown)
      << "at the same time";
}

// Copies that take turns with kernels, as an H100 showed them.
TEST(BottleneckResource, IsPcieThatIsBusierThanTheCores) {
  const auto with = [](double cores, double received, double graphics = 0.31) {
    Metrics metrics = with_gpu(cores).thread("1", kTrainer, kTrainer, 0.96);
    metrics.set("run.cpu.used", 1).set("host.gpu.graphics.active", graphics, "gpu0");
    metrics.set("host.gpu.pcie.rx_rate", received, "gpu0");
    return judge(waiting(0.01), metrics, {.cpus = {0, 1, 2, 3}, .links = {{"gpu0", 63e9}}});
  };
  EXPECT_EQ(with(0.29, 38e9).resource, Resource::kPcie);
  EXPECT_NE(with(0.65, 38e9).resource, Resource::kPcie) << "the cores are busier";
  const Bottleneck less = with(0.29, 28e9);
  EXPECT_EQ(less.resource, Resource::kOneThread) << "less than half of its speed";
  EXPECT_NE(less.text.find("no work 25 % of the time"), std::string::npos) << less.text;
  EXPECT_NE(with(0.29, 43e9, 0.6).resource, Resource::kPcie) << "at the same time as kernels";
}

TEST(BottleneckResource, IsTheLaunchesThatATraceShows) {
  const Metrics metrics = Metrics().thread("1", kTrainer, kTrainer, 0.97).set("run.cpu.used", 1);
  DeviceTime device;
  device.device = "node7/GPU 0";
  device.busy = Nanos(600);
  device.host_wait = Nanos(300);
  device.other = Nanos(100);
  EXPECT_EQ(judge_seen(waiting(0.01), metrics, {.devices = {device}}).text,
            "The steps are bound by launches: node7/GPU 0 waited for the host's next launch 30 % "
            "of its traced time, while the training thread computed with 0.97 CPUs.");
  const Metrics busy = with_gpu(0.75).thread("1", kTrainer, kTrainer, 0.97).set("run.cpu.used", 1);
  EXPECT_EQ(judge_seen(waiting(0.01), busy, {.devices = {device}}).resource, Resource::kUnknown)
      << "it works in all of the time, and waited in the few steps that were traced";
  device.host_wait = Nanos(150);
  EXPECT_EQ(judge_seen(waiting(0.01), metrics, {.devices = {device}}).resource,
            Resource::kOneThread);
  device.host_wait = Nanos(300);
  device.other = Nanos(400);
  EXPECT_EQ(judge_seen(waiting(0.01), metrics, {.devices = {device}}).resource,
            Resource::kOneThread)
      << "most of its idle time has another cause";
  const DeviceTime empty;
  EXPECT_EQ(judge_seen(waiting(0.01), metrics, {.devices = {empty}}).resource,
            Resource::kOneThread);
}

TEST(BottleneckResource, IsOtherProgramsOnTheGpu) {
  Metrics metrics = with_gpu(0.95);
  EXPECT_EQ(judge(metrics).resource, Resource::kGpuCores);
  const Bottleneck found = judge(metrics.set("run.gpu.busy", 0.45, "gpu0"));
  EXPECT_EQ(found.resource, Resource::kOthersOnGpu);
  EXPECT_EQ(found.text,
            "The steps are bound by other programs on the GPU: gpu0 worked 90 % of the time, 50 % "
            "of it for other programs.");
  EXPECT_EQ(judge(Metrics(metrics).set("host.gpu.sm.active", 0.3, "gpu0")).resource,
            Resource::kUnknown)
      << "it has room for both";
  const Bottleneck blind = judge(metrics.without("run.gpu.busy"));
  EXPECT_EQ(blind.resource, Resource::kGpuCores);
  ASSERT_EQ(blind.unproven.size(), 1U);
  EXPECT_EQ(blind.unproven[0].resource, Resource::kOthersOnGpu);
}

TEST(BottleneckResource, IsAPcieLinkOnlyOfAKnownSpeed) {
  const Metrics metrics = with_gpu(0.3).set("host.gpu.pcie.rx_rate", 12e9, "gpu0");
  const GivenToRun given{.cpus = {0, 1, 2, 3}, .links = {{"gpu0", 15.76e9}}};
  const Bottleneck found = judge(waiting(0.01), metrics, given);
  EXPECT_EQ(found.resource, Resource::kPcie);
  EXPECT_EQ(found.text,
            "The steps are bound by PCIe: gpu0 received 11.18 GiB/s, 76 % of its PCIe link's "
            "speed.");
  const GivenToRun faster{.cpus = {0, 1, 2, 3}, .links = {{"gpu0", 31.5e9}}};
  EXPECT_EQ(judge(waiting(0.01), metrics, faster).resource, Resource::kUnknown);
  const Bottleneck blind = judge(metrics);
  EXPECT_EQ(blind.resource, Resource::kUnknown);
  ASSERT_EQ(blind.unproven.size(), 1U);
  EXPECT_EQ(blind.unproven[0].resource, Resource::kPcie);
  EXPECT_EQ(blind.unproven[0].metric, "device.gpu0.pcie_bytes_per_second");
}

TEST(BottleneckResource, IsNeverNvlinkWhoseSpeedIsNotRecorded) {
  const Metrics metrics = with_gpu(0.3).set("host.gpu.nvlink.tx", 2e11, "gpu0");
  const Bottleneck found = judge(metrics);
  EXPECT_EQ(found.resource, Resource::kUnknown);
  ASSERT_EQ(found.unproven.size(), 1U);
  EXPECT_EQ(found.unproven[0].resource, Resource::kNvlink);
}

// ---- network

// Two ranks, the second one on another host.
std::vector<LaneLeaves> calling(double share) {
  std::vector<LaneLeaves> ranks(2,
                                lane_of({leaf("epoch/step", 1 - share),
                                         leaf("epoch/step/all_reduce", share, PhaseKind::kComm)}));
  ranks[1].lane = "node8/rank1/9/MainThread";
  return ranks;
}

TEST(BottleneckResource, OfRanksIsASaturatedNetwork) {
  Metrics metrics;
  metrics.set("host.net.rx", 1e8, "eth0").set("host.net.tx", 1.1e8, "eth0");
  metrics.set("host.net.rx", 5e9, "lo").set("host.net.tx", 5e9, "lo");
  const GivenToRun given{.cpus = {0, 1, 2, 3}, .links = {{"eth0", 1.25e8}}};
  const Bottleneck found = judge(calling(0.6), metrics, given);
  EXPECT_EQ(found.resource, Resource::kNetwork);
  EXPECT_EQ(found.text,
            "60 % of the steady part is all_reduce: eth0 sent 104.9 MiB/s, 88 % of its link's "
            "speed.");
  EXPECT_EQ(metrics_of(found), std::vector<std::string>{"host.net.tx"});
  const GivenToRun faster{.cpus = {0, 1, 2, 3}, .links = {{"eth0", 1.25e9}}};
  EXPECT_EQ(judge(calling(0.6), metrics, faster).resource, Resource::kUnknown);
  EXPECT_TRUE(judge(calling(0.6), metrics, faster).unproven.empty());
  PartUse in_calls{
      .metric = "host.net.tx", .source = "eth0", .mean = 1e9, .samples = 9, .reason = {}};
  const auto all_in_calls =
      find_bottleneck(calling(0.6), metrics.data(), faster, {.in_part = {in_calls}});
  EXPECT_EQ(all_in_calls->resource, Resource::kNetwork);
  EXPECT_DOUBLE_EQ(all_in_calls->evidence.at(0).mean, 1e9) << "what decided it";
  // As long as the GPU hides the waits, what the network did in them says nothing of the calls.
  const std::vector<LaneLeaves> waits_too = {
      lane_of({leaf("step", 0.35), leaf("data wait", 0.4, PhaseKind::kWait),
               leaf("all_reduce", 0.25, PhaseKind::kComm)}),
      calling(0.6)[1]};
  Metrics beside_gpu = with_gpu(0.9);
  beside_gpu.set("host.net.rx", 1e8, "eth0").set("host.net.tx", 1.1e8, "eth0");
  PartUse in_waits = in_calls;
  in_waits.mean = 1e6;
  const auto called = find_bottleneck(waits_too, beside_gpu.data(), given, {.in_part = {in_waits}});
  EXPECT_EQ(called->part, BoundPart::kRanks);
  EXPECT_EQ(called->resource, Resource::kNetwork);
  std::vector<LaneLeaves> one_host = calling(0.6);
  one_host[1].lane = "node7/rank1/9/MainThread";
  EXPECT_EQ(judge(one_host, metrics, given).resource, Resource::kUnknown)
      << "another program's traffic";
  const Bottleneck blind = judge(calling(0.6), metrics);
  EXPECT_EQ(blind.resource, Resource::kUnknown);
  ASSERT_EQ(blind.unproven.size(), 1U);
  EXPECT_EQ(blind.unproven[0].metric, "device.eth0.link_bytes_per_second");
}

TEST(BottleneckResource, OfAWaitIsANetworkThatItsLoaderReads) {
  Metrics metrics;
  metrics.set("host.net.rx", 1.1e8, "eth0").thread("2", 5000, 5000, 0.15);
  const GivenToRun given{.cpus = {0, 1, 2, 3}, .links = {{"eth0", 1.25e8}}};
  EXPECT_EQ(judge(waiting(0.5), metrics, given).resource, Resource::kUnknown)
      << "nothing waits for it";
  metrics.set("run.thread.waited.pipe", 0.7, "2");
  const Bottleneck found = judge(waiting(0.5), metrics, given);
  EXPECT_EQ(found.resource, Resource::kNetwork);
  EXPECT_EQ(found.text,
            "50 % of the steady part is data wait: a loader waited for pipes or sockets 70 % of "
            "the time, while eth0 received 104.9 MiB/s, 88 % of its link's speed.");
  EXPECT_TRUE(judge(waiting(0.5), metrics.set("host.net.rx", 1e5, "eth0")).unproven.empty())
      << "hardly any traffic";
}

TEST(BottleneckParts, AreReadOnlyWhereTheyCount) {
  const GivenToRun given{.links = {{"eth0", 1.25e8}}};
  const RunData data = with_gpu(0.4).set("host.net.rx", 1e8, "eth0").data();
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(part_metrics(BoundPart::kWait, data, given),
            (Names{"host.gpu.sm.active", "host.net.rx"}));
  EXPECT_EQ(part_metrics(BoundPart::kRanks, data, given), Names{"host.net.rx"});
  EXPECT_TRUE(part_metrics(BoundPart::kWork, data, given).empty());
  EXPECT_TRUE(part_metrics(BoundPart::kWait, Metrics().data(), given).empty());
}

// ---- Corral itself

TEST(BottleneckResource, IsTheCollectorWhereItTakesCpusOfWhichNoneIsFree) {
  Metrics metrics;
  metrics.set("run.cpu.used", 2.9).set("corral.supervisor.cpu", 0.5);
  for (const char* cpu : {"cpu0", "cpu1", "cpu2", "cpu3"})
    metrics.set("host.cpu.core.busy", 0.95, cpu);
  const Bottleneck found = judge(metrics);
  EXPECT_EQ(found.resource, Resource::kCollector);
  EXPECT_EQ(found.text,
            "The steps are bound by collector: Corral itself used 0.50 CPUs, while none of the 4 "
            "CPUs that it may use was free.");
  EXPECT_EQ(judge(Metrics(metrics).set("corral.supervisor.cpu", 0.1)).resource, Resource::kUnknown);
  EXPECT_EQ(judge(Metrics(metrics).set("host.cpu.core.busy", 0.1, "cpu3")).resource,
            Resource::kUnknown)
      << "a CPU is free";
  EXPECT_EQ(judge(Metrics(metrics).set("run.cpu.used", 3.6)).resource, Resource::kCpus)
      << "it runs elsewhere";
  EXPECT_EQ(judge(Metrics(metrics).set("run.cpu.used", 1.9)).resource, Resource::kUnknown)
      << "other programs used more than Corral";
  const Bottleneck blind = judge(metrics.without("corral."));
  ASSERT_EQ(blind.unproven.size(), 1U);
  EXPECT_EQ(blind.unproven[0].metric, "corral.supervisor.cpu");
}

TEST(BottleneckNames, AreOneForEachResource) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Resource::kOneThread); ++i)
    names.push_back(resource_name(static_cast<Resource>(i)));
  EXPECT_EQ(names.front(), "unknown");
  EXPECT_EQ(resource_name(Resource::kNetwork), "network");
  EXPECT_EQ(resource_name(Resource::kOthersOnGpu), "other programs on the GPU");
  EXPECT_EQ(resource_name(Resource::kLaunches), "launches");
  EXPECT_EQ(names.back(), "one thread");
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

TEST(BottleneckText, SaysThatTheRunWasNotSteady) {
  const Bottleneck found = judge(waiting(0.5), Metrics(), {.cpus = {0, 1, 2, 3}, .steady = false});
  EXPECT_EQ(found.text,
            "50 % of the steps' time is data wait; nothing that was measured says why (the run was "
            "not steady).");
}

}  // namespace
}  // namespace corral::analyze
