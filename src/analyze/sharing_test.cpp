#include "analyze/sharing.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/text.h"

namespace corral::analyze {
namespace {

using store::page::SharingRun;
using Texts = std::vector<std::string>;

constexpr std::int64_t kSecond = 1'000'000'000;
UtcTime at(std::int64_t second) { return utc_time(second * kSecond); }

SharingRun run_of(std::int64_t begin, std::int64_t end, std::string devices,
                  std::string cpus = "") {
  SharingRun run;
  run.id = RunId::random();
  run.start = at(begin);
  run.end = at(end);
  run.host = "node7";
  if (!devices.empty()) run.tags.emplace_back("corral.devices", std::move(devices));
  if (!cpus.empty()) run.tags.emplace_back("corral.cpus", std::move(cpus));
  return run;
}

std::string text_of(const TimeSpan& span) {
  return fmt::format("{}-{}", ns_of(span.start) / kSecond, ns_of(span.end) / kSecond);
}
// "gpu0: 0@0-10 1@5-20 | 0+1@5-10 | alone 0-5 10-20 | idle 0"
Texts texts(const Sharing& sharing) {
  Texts all;
  for (const SharedPlace& place : sharing.places) {
    std::string text = place.device.empty() ? place.name : place.device + "/" + place.name;
    text += ":";
    for (const Stay& stay : place.stays)
      text += fmt::format(" {}@{}", stay.run, text_of(stay.time));
    text += " |";
    for (const Overlap& overlap : place.overlaps) {
      Texts runs;
      for (const std::size_t run : overlap.runs) runs.push_back(std::to_string(run));
      text += fmt::format(" {}@{}", join(runs, "+"), text_of(overlap.time));
    }
    text += " | alone";
    for (const TimeSpan& span : place.alone) text += ' ' + text_of(span);
    all.push_back(text + fmt::format(" | idle {}", place.idle.count() / kSecond));
  }
  return all;
}

constexpr const char* kGpu0 = R"([{"device":"0"}])";

TEST(Sharing, TellsWhoWasOnADeviceAndWhenRunsMet) {
  const std::vector runs = {run_of(0, 10, kGpu0), run_of(5, 20, kGpu0), run_of(25, 30, kGpu0)};
  const Sharing sharing = find_sharing(runs, 3);
  EXPECT_EQ(texts(sharing),
            (Texts{"gpu0: 0@0-10 1@5-20 2@25-30 | 0+1@5-10 | alone 0-5 10-20 25-30 | idle 5"}));
  EXPECT_EQ(sharing.places[0].shared, std::chrono::seconds(5));
  EXPECT_EQ(sharing.runs[0].with, std::vector<std::size_t>{1});
  EXPECT_EQ(sharing.runs[0].alone, (std::vector<TimeSpan>{{at(0), at(5)}}));
  EXPECT_EQ(sharing.runs[1].shared, (std::vector<TimeSpan>{{at(5), at(10)}}));
  EXPECT_TRUE(sharing.runs[2].with.empty());
}

TEST(Sharing, ARunThatFollowsAtOnceSharesNothing) {
  const std::vector runs = {run_of(0, 10, kGpu0), run_of(10, 20, kGpu0), run_of(10, 10, kGpu0)};
  EXPECT_EQ(texts(find_sharing(runs, 3)),
            (Texts{"gpu0: 0@0-10 1@10-20 2@10-10 | | alone 0-10 10-20 | idle 0"}));
}

TEST(Sharing, InstancesAreLanesBelowTheirDevice) {
  const auto instance = [](const char* name) {
    return fmt::format(R"([{{"device":"GPU-a","instance":"{}","profile":"3g.20gb"}}])", name);
  };
  std::vector runs = {run_of(0, 10, instance("MIG-x")), run_of(0, 10, instance("MIG-y"))};
  for (SharingRun& run : runs) run.uuids = {{"gpu1", "GPU-a"}, {"gpu1.mig0", "MIG-x"}};
  const Sharing sharing = find_sharing(runs, 2);
  EXPECT_EQ(texts(sharing), (Texts{"gpu1: 0@0-10 1@0-10 | 0+1@0-10 | alone | idle 0",
                                   "gpu1/MIG-y: 1@0-10 | | alone 0-10 | idle 0",
                                   "gpu1/gpu1.mig0: 0@0-10 | | alone 0-10 | idle 0"}));
  EXPECT_EQ(sharing.places[1].profile, "3g.20gb");
  EXPECT_EQ(sharing.runs[0].with, std::vector<std::size_t>{1}) << "of the device, not the instance";
}

TEST(Sharing, CpuSetsThatOverlapAreCutIntoLanes) {
  const std::vector runs = {run_of(0, 10, "", "0-3"), run_of(0, 10, "", "2-5"),
                            run_of(0, 10, "", "8")};
  const Sharing sharing = find_sharing(runs, 3);
  EXPECT_EQ(texts(sharing),
            (Texts{"0-1: 0@0-10 | | alone 0-10 | idle 0",
                   "2-3: 0@0-10 1@0-10 | 0+1@0-10 | alone | idle 0",
                   "4-5: 1@0-10 | | alone 0-10 | idle 0", "8: 2@0-10 | | alone 0-10 | idle 0"}));
  EXPECT_TRUE(sharing.runs[2].with.empty());
}

TEST(Sharing, OnlyWhereAndWhileTheWorkloadWas) {
  std::vector runs = {run_of(100, 200, kGpu0), run_of(50, 150, kGpu0),
                      run_of(100, 200, R"([{"device":"1"}])")};
  EXPECT_EQ(texts(find_sharing(runs, 1)),
            (Texts{"gpu0: 0@100-200 1@100-150 | 0+1@100-150 | alone 150-200 | idle 0"}));
  runs[1].host = "node8";
  EXPECT_EQ(texts(find_sharing(runs, 1)), (Texts{"gpu0: 0@100-200 | | alone 100-200 | idle 0"}));
}

TEST(Sharing, ARunOfAPlanWithoutDevicesIsOnItsHost) {
  std::vector runs = {run_of(0, 10, "[]"), run_of(0, 10, "no JSON"), run_of(0, 10, "")};
  EXPECT_TRUE(find_sharing(runs, 3).places.empty());
  for (SharingRun& run : runs) run.tags.emplace_back("corral.plan", "p");
  EXPECT_EQ(texts(find_sharing(runs, 3)),
            (Texts{"node7: 0@0-10 1@0-10 2@0-10 | 0+1+2@0-10 | alone | idle 0"}));
}

RC_GTEST_PROP(Sharing, EveryMomentOfAPlaceIsAloneSharedOrIdle, ()) {
  std::vector<SharingRun> runs;
  const int count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) {
    const int begin = *rc::gen::inRange(0, 40);
    runs.push_back(run_of(begin, begin + *rc::gen::inRange(0, 20), kGpu0));
  }
  const auto own = static_cast<std::size_t>(*rc::gen::inRange(1, count + 1));
  const Sharing sharing = find_sharing(runs, own);
  RC_ASSERT(sharing.places.size() == 1U);
  const SharedPlace& place = sharing.places[0];
  Nanos alone{0};
  for (const TimeSpan& span : place.alone) alone += span.length();
  RC_ASSERT(alone + place.shared + place.idle == sharing.time.length());
  // Second by second, by counting.
  for (UtcTime second = sharing.time.start; second < sharing.time.end;
       second += std::chrono::seconds(1)) {
    const auto here = std::ranges::count_if(
        runs, [&](const SharingRun& run) { return run.start <= second && second < run.end; });
    const auto holds = [&](const TimeSpan& s) { return s.start <= second && second < s.end; };
    RC_ASSERT(std::ranges::any_of(place.alone, holds) == (here == 1));
    const auto met =
        std::ranges::find_if(place.overlaps, [&](const Overlap& o) { return holds(o.time); });
    RC_ASSERT((met != place.overlaps.end()) == (here > 1));
    if (here > 1) RC_ASSERT(static_cast<std::ptrdiff_t>(met->runs.size()) == here);
  }
  for (std::size_t run = 0; run < runs.size(); ++run) {
    Nanos of_run{0};
    for (const TimeSpan& span : sharing.runs[run].alone) of_run += span.length();
    for (const TimeSpan& span : sharing.runs[run].shared) of_run += span.length();
    const Nanos whole =
        std::min(runs[run].end, sharing.time.end) - std::max(runs[run].start, sharing.time.start);
    RC_ASSERT(of_run == std::max(Nanos(0), whole));
  }
}

}  // namespace
}  // namespace corral::analyze
