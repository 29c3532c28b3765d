#include "trace/trace_phases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/device_lane.h"
#include "compat/mlflow/wire/times.h"

namespace corral::trace {
namespace {

struct Made {
  Result<TraceCounts> counts;
  std::vector<codec::PhaseRecord> phases;  // without the one around all

  [[nodiscard]] const codec::PhaseRecord& named(std::string_view name) const {
    for (const codec::PhaseRecord& phase : phases)
      if (phase.name == name) return phase;
    ADD_FAILURE() << "no phase " << name;
    static const codec::PhaseRecord none;
    return none;
  }
};

std::int64_t utc_ns(std::optional<BootTime> time) {
  return time ? ns_of(mlflow::kClientAnchor.to_utc(*time)) : -1;
}

Made make_phases(std::string_view text, TraceOptions options = {}) {
  TracePhases phases(std::move(options));
  ChromeEvents events([&](const ChromeEvent& event) { phases.add(event); });
  auto read = events.read(text);
  EXPECT_TRUE(read) << read.error().message;
  const auto header = events.finish();
  EXPECT_TRUE(header);
  Made made{.counts = phases.arrange(*header), .phases = {}};
  if (!made.counts) return made;
  const auto all = phases.each([&](codec::PhaseRecord phase) -> Result<> {
    made.phases.push_back(std::move(phase));
    return {};
  });
  EXPECT_TRUE(all);
  EXPECT_EQ(made.phases.front().name, codec::kTracePhase);
  EXPECT_EQ(utc_ns(made.phases.front().begin), ns_of(made.counts->begin));
  EXPECT_EQ(utc_ns(made.phases.front().end), ns_of(made.counts->end));
  made.phases.erase(made.phases.begin());
  return made;
}

// Two kernels and a copy of one step, as CUDA's tracing describes them.
constexpr std::string_view kDeviceTrace = R"T({"schemaVersion": 1, "distributedInfo": {"rank": 1},
 "baseTimeNanoseconds": 1759395792000000123, "traceEvents": [
 {"ph":"X","cat":"user_annotation","name":"ProfilerStep#12","pid":41,"tid":42,"ts":100.001,"dur":900},
 {"ph":"X","cat":"user_annotation","name":"enumerate(DataLoader)#_Iter.__next__","pid":41,"tid":42,"ts":110,"dur":50.5},
 {"ph":"X","cat":"user_annotation","name":"## a/b ##","pid":41,"tid":42,"ts":200,"dur":100},
 {"ph":"X","cat":"user_annotation","name":"Optimizer.step#SGD.step","pid":41,"tid":42,"ts":400,"dur":10},
 {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":41,"tid":42,"ts":210,"dur":20},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":41,"tid":42,"ts":215,"dur":5,"args":{"correlation":7}},
 {"ph":"X","cat":"cuda_driver","name":"cuLaunchKernel","pid":41,"tid":42,"ts":216,"dur":3,"args":{"correlation":7}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":41,"tid":42,"ts":500,"dur":400,"args":{"correlation":9}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":41,"tid":42,"ts":300,"dur":4,"args":{"correlation":8}},
 {"ph":"X","cat":"kernel","name":"volta_sgemm","pid":0,"tid":7,"ts":220.25,"dur":30,"args":{"device":0,"stream":7,"correlation":7}},
 {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":20,"ts":260,"dur":30,"args":{"device":0,"stream":20,"correlation":99}},
 {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":320,"dur":8,"args":{"device":0,"stream":7,"correlation":8}},
 {"ph":"X","cat":"gpu_user_annotation","name":"## a/b ##","pid":0,"tid":7,"ts":220,"dur":30},
 {"ph":"s","cat":"ac2g","id":7,"name":"ac2g","pid":41,"tid":42,"ts":215},
 {"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":220,"dur":30,"args":{"device":0,"stream":7}},
 {"ph":"C","name":"memory","pid":41,"tid":42,"ts":215},
 {"ph":"i","name":"[memory]","pid":41,"tid":42,"ts":215},
 {"ph":"M","name":"process_name","pid":41,"tid":0,"args":{"name":"python"}},
 {"ph":"M","name":"thread_name","pid":41,"tid":42,"args":{"name":"thread 42 (python)"}}]})T";

TEST(TracePhases, TheLoopOfPyTorchHasTheNamesOfTheCapture) {
  const Made made = make_phases(kDeviceTrace, {.host = "node7"});
  ASSERT_TRUE(made.counts);
  const codec::PhaseRecord& step = made.named("step");
  // The base and the float microseconds, to the nanosecond.
  EXPECT_EQ(utc_ns(step.begin), 1'759'395'792'000'000'123 + 100'001);
  EXPECT_EQ(utc_ns(step.end), 1'759'395'792'000'000'123 + 1'000'001);
  EXPECT_EQ(step.lane, "node7/rank1/41/thread 42 (python)");
  EXPECT_EQ(step.attributes, (codec::Attributes{{"index", "12"}}));
  const codec::PhaseRecord& wait = made.named("data wait");
  EXPECT_EQ(wait.kind, codec::PhaseKind::kWait);
  EXPECT_EQ(wait.type, "step/data wait");
  EXPECT_EQ(wait.parent, step.id);
  EXPECT_EQ(made.named("optimizer").type, "step/optimizer");
  EXPECT_EQ(made.named("## a/b ##").type, "step/## a|b ##");
  const codec::PhaseRecord& synchronize = made.named("cudaDeviceSynchronize");
  EXPECT_EQ(std::tuple(synchronize.kind, synchronize.type),
            std::tuple(codec::PhaseKind::kWait, "step/cudaDeviceSynchronize"));
  EXPECT_EQ(made.counts->steps, 1U);
  EXPECT_EQ(made.counts->phases, 8U);
  EXPECT_EQ(made.counts->lanes, 3U);
  EXPECT_EQ(made.counts->left_out,
            (std::map<std::string, std::uint64_t>{{"annotations of devices", 1},
                                                  {"counters", 1},
                                                  {"flows", 1},
                                                  {"instants", 1},
                                                  {"marks of the profiler", 1},
                                                  {"operators", 1},
                                                  {"runtime calls", 3}}));
}

TEST(TracePhases, StreamsAreLanesAndTheirPhasesKnowTheirLaunch) {
  const Made made = make_phases(kDeviceTrace, {.host = "node7"});
  const codec::PhaseRecord& kernel = made.named("volta_sgemm");
  EXPECT_EQ(kernel.lane, "node7/rank1/GPU 0/stream 7");
  EXPECT_EQ(kernel.kind, codec::PhaseKind::kCompute);
  EXPECT_EQ(kernel.parent, 0U);
  // From the earlier of the calls that have its correlation.
  EXPECT_EQ(kernel.attributes, (codec::Attributes{{"queued_ns", "5250"}}));
  EXPECT_EQ(made.named("Memcpy HtoD").kind, codec::PhaseKind::kIo);
  const codec::PhaseRecord& reduce = made.named("ncclDevKernel_AllReduce");
  EXPECT_EQ(reduce.kind, codec::PhaseKind::kComm);
  EXPECT_TRUE(reduce.attributes.empty());  // its launch is not in the trace
}

TEST(TracePhases, ANumberThatComesAgainIsThatOfTheLastLaunchBefore) {
  const Made made = make_phases(R"([
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":10,"dur":1,"args":{"correlation":5}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":2,"tid":1,"ts":100,"dur":1,"args":{"correlation":5}},
    {"ph":"X","cat":"kernel","name":"first","pid":0,"tid":7,"ts":30,"dur":9,"args":{"device":0,"stream":7,"correlation":5}},
    {"ph":"X","cat":"kernel","name":"second","pid":0,"tid":7,"ts":130,"dur":9,"args":{"device":0,"stream":7,"correlation":5}}])");
  ASSERT_TRUE(made.counts);
  EXPECT_EQ(made.named("first").attributes, (codec::Attributes{{"queued_ns", "20000"}}));
  EXPECT_EQ(made.named("second").attributes, (codec::Attributes{{"queued_ns", "30000"}}));
}

TEST(TracePhases, OperatorsOnRequestKeepTheOtherIds) {
  const Made few = make_phases(kDeviceTrace);
  const Made all = make_phases(kDeviceTrace, {.operators = true});
  EXPECT_EQ(all.counts->phases, few.counts->phases + 1);
  EXPECT_FALSE(all.counts->left_out.contains("operators"));
  EXPECT_EQ(all.named("aten::mm").type, "step/## a|b ##/aten::mm");
  EXPECT_EQ(all.named("volta_sgemm").id, few.named("volta_sgemm").id);
}

TEST(TracePhases, BeginsAndEndsArePairedAndMissingOnesCounted) {
  const Made made = make_phases(R"([
    {"ph":"B","name":"outer","pid":1,"tid":1,"ts":10},
    {"ph":"B","name":"inner","pid":1,"tid":1,"ts":11},
    {"ph":"E","pid":1,"tid":1,"ts":12},
    {"ph":"E","pid":1,"tid":1,"ts":20},
    {"ph":"E","pid":1,"tid":1,"ts":21},
    {"ph":"B","name":"open","pid":1,"tid":2,"ts":30},
    {"ph":"b","cat":"net","id":"1","name":"get","pid":1,"tid":1,"ts":40},
    {"ph":"b","cat":"net","id":"2","name":"put","pid":1,"tid":1,"ts":41},
    {"ph":"e","cat":"net","id":"1","name":"get","pid":1,"tid":1,"ts":45},
    {"ph":"e","cat":"net","id":"2","name":"put","pid":1,"tid":9,"ts":44},
    {"ph":"e","cat":"net","id":"3","name":"lost","pid":1,"tid":9,"ts":44},
    {"ph":"X","name":"no time","pid":1,"tid":1},
    {"ph":"M","name":"process_name","pid":1,"args":{"name":"a/server"}}])");
  ASSERT_TRUE(made.counts);
  EXPECT_EQ(made.named("inner").parent, made.named("outer").id);
  EXPECT_EQ(utc_ns(made.named("inner").end), 12'000);
  EXPECT_EQ(utc_ns(made.named("outer").end), 20'000);
  EXPECT_FALSE(made.named("open").end);
  EXPECT_EQ(utc_ns(made.named("get").end), 45'000);
  EXPECT_EQ(utc_ns(made.named("put").end), 44'000);
  EXPECT_EQ(made.named("put").lane, "trace/a|server 1/asynchronous net");
  EXPECT_EQ(made.named("outer").lane, "trace/a|server 1/thread 1");
  EXPECT_EQ(made.counts->open, 1U);
  // Metadata is no event that was left out.
  EXPECT_EQ(made.counts->left_out,
            (std::map<std::string, std::uint64_t>{{"ends without a begin", 2},
                                                  {"events without a usable time", 1}}));
}

TEST(TracePhases, CrossingPhasesHaveNoParentThatDoesNotHoldThem) {
  const Made made = make_phases(R"([
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},
    {"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},
    {"ph":"X","name":"c","pid":1,"tid":1,"ts":6,"dur":2},
    {"ph":"X","name":"same","pid":1,"tid":1,"ts":0,"dur":10}])");
  EXPECT_EQ(made.named("b").parent, 0U);
  EXPECT_EQ(made.named("c").parent, made.named("b").id);
  EXPECT_EQ(made.named("same").parent, made.named("a").id);
}

TEST(TracePhases, DeepNestingKeepsPathsShort) {
  std::string text = "[";
  for (int i = 0; i < 5000; ++i)
    text += R"({"ph":"B","name":"a long name of a function","pid":1,"tid":1,"ts":)" +
            std::to_string(i) + "},";
  for (int i = 0; i < 5000; ++i)
    text += R"({"ph":"E","pid":1,"tid":1,"ts":)" + std::to_string(5000 + i) + "},";
  const Made made = make_phases(text);
  ASSERT_TRUE(made.counts);
  EXPECT_EQ(made.counts->phases, 5000U);
  EXPECT_EQ(made.counts->open, 0U);
  for (std::size_t i = 1; i < made.phases.size(); ++i) {
    ASSERT_EQ(made.phases[i].parent, made.phases[i - 1].id);
    ASSERT_LE(made.phases[i].type.size(), 900U);
  }
}

TEST(TracePhases, LimitsAndStrangeTimesAreCounted) {
  const std::string text = R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1},
    {"ph":"X","name":"b","pid":1,"tid":1,"ts":1,"dur":1},
    {"ph":"X","name":"far","pid":1,"tid":1,"ts":9223372036854775,"dur":1},
    {"ph":"X","name":"c","pid":1,"tid":1,"ts":2,"dur":-5},
    {"ph":"X","name":"d","pid":1,"tid":1,"ts":3,"dur":1}])";
  const Made all = make_phases(text);
  EXPECT_EQ(all.counts->phases, 4U);
  EXPECT_EQ(all.counts->left_out.at("events before 1965 or after 2110"), 1U);
  EXPECT_EQ(utc_ns(all.named("c").end), utc_ns(all.named("c").begin));
  const Made few = make_phases(text, {.most_phases = 2});
  EXPECT_EQ(few.counts->phases, 2U);
  EXPECT_EQ(few.counts->left_out.at("phases beyond the most"), 3U);
}

TEST(TracePhases, ATraceOfOperatorsAloneSaysSo) {
  const Made made = make_phases(
      R"([{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":1}])");
  ASSERT_FALSE(made.counts);
  EXPECT_EQ(made.counts.error().message,
            "none of the trace's 1 event became a phase; its operators do with --operators");
}

}  // namespace
}  // namespace corral::trace
