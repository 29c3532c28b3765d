#include "collect/foreign/relabel.h"

#include <gtest/gtest.h>

namespace corral::collect::foreign {
namespace {

using Strings = std::vector<std::string>;

PrometheusSource source_with(Strings keep, Strings drop = {}) {
  PrometheusSource source;
  source.keep = std::move(keep);
  source.drop = std::move(drop);
  return source;
}

// Name and labels of a sample.
ExpositionSample sample(std::string_view name, std::vector<Label> labels) {
  ExpositionSample s;
  s.name = name;
  s.labels = std::move(labels);
  return s;
}

Strings sources(Relabel& relabel, const std::vector<ExpositionSample>& samples) {
  relabel.choose(samples);
  Strings all;
  for (const auto& s : samples) all.push_back(relabel.source(s));
  return all;
}

TEST(Relabel, KeepsDropsAndRenames) {
  PrometheusSource source = source_with({"DCGM_.*", "up"}, {".*_CLOCK"});
  source.rename = {{"DCGM_FI_DEV_POWER_USAGE", "power"}};
  source.prefix = "gpu/";
  auto relabel = Relabel::create(source).value();
  EXPECT_EQ(relabel.name("DCGM_FI_DEV_POWER_USAGE"), "power");
  EXPECT_EQ(relabel.name("DCGM_FI_DEV_GPU_TEMP"), "gpu/DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(relabel.name("DCGM_FI_DEV_SM_CLOCK"), "");
  EXPECT_EQ(relabel.name("upper"), "") << "a pattern is of the whole name";
  EXPECT_EQ(relabel.name("up"), "gpu/up");
}

TEST(Relabel, WithoutPatternsEverythingIsKept) {
  auto relabel = Relabel::create(PrometheusSource()).value();
  EXPECT_EQ(relabel.name("anything"), "anything");
}

TEST(Relabel, ChoosesAsFewLabelsAsTellSeriesApart) {
  auto relabel = Relabel::create(PrometheusSource()).value();
  const auto gpu = [](const char* n, const char* uuid, const char* device) {
    return std::vector<Label>{
        {"gpu", n}, {"UUID", uuid}, {"device", device}, {"modelName", "A100"}, {"Hostname", "a"}};
  };
  EXPECT_EQ(sources(relabel, {sample("temp", gpu("0", "GPU-604ac76c", "nvidia0")),
                              sample("temp", gpu("1", "GPU-ad5b2f11", "nvidia1")),
                              sample("power", gpu("0", "GPU-604ac76c", "nvidia0"))}),
            (Strings{"gpu=0", "gpu=1", "gpu=0"}));
}

TEST(Relabel, OneSeriesPerNameNeedsNoSource) {
  auto relabel = Relabel::create(PrometheusSource()).value();
  EXPECT_EQ(sources(relabel, {sample("a", {{"model", "opt"}}), sample("b", {{"model", "opt"}})}),
            (Strings{"", ""}));
}

TEST(Relabel, ALabelThatIsNeededLaterJoinsThoseInUse) {
  auto relabel = Relabel::create(PrometheusSource()).value();
  const std::vector<ExpositionSample> first{sample("a", {{"gpu", "0"}, {"x", "1"}}),
                                            sample("a", {{"gpu", "1"}, {"x", "1"}})};
  EXPECT_EQ(sources(relabel, first), (Strings{"gpu=0", "gpu=1"}));
  EXPECT_EQ(sources(relabel, {sample("a", {{"gpu", "0"}, {"x", "1"}}),
                              sample("a", {{"gpu", "0"}, {"x", "2"}})}),
            (Strings{"x=1,gpu=0", "x=2,gpu=0"}));
  EXPECT_EQ(sources(relabel, first), (Strings{"x=1,gpu=0", "x=1,gpu=1"}));
}

TEST(Relabel, LabelsThatWereNamedAreTakenInTheirOrder) {
  PrometheusSource source;
  source.labels = {"model", "gpu", "none"};
  auto relabel = Relabel::create(source).value();
  EXPECT_EQ(sources(relabel, {sample("a", {{"gpu", "0"}, {"model", "opt"}, {"x", "1"}}),
                              sample("a", {{"gpu", "1"}, {"x", "2"}})}),
            (Strings{"model=opt,gpu=0", "gpu=1"}));
}

TEST(Relabel, ADuplicateDoesNotMergeOtherSeries) {
  auto relabel = Relabel::create(PrometheusSource()).value();
  std::vector<ExpositionSample> samples{sample("c", {{"a", "1"}}), sample("c", {{"a", "1"}}),
                                        sample("g", {{"q", "x"}}), sample("g", {{"q", "y"}})};
  samples[1].value = 9;
  EXPECT_EQ(sources(relabel, samples), (Strings{"", "", "q=x", "q=y"}));
  const Repeated dropped = relabel.drop_repeated(samples);
  EXPECT_EQ(dropped.twice.count, 1u);
  EXPECT_EQ(dropped.twice.example, "c");
  EXPECT_EQ(dropped.merged.count, 0u);
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].value, 0) << "the first is kept";
}

TEST(Relabel, SamplesOfOneSeriesAtOtherTimesAreNoDuplicates) {
  auto relabel = Relabel::create(PrometheusSource()).value();
  std::vector<ExpositionSample> samples(3, sample("a", {{"x", "1"}}));
  samples[0].time_ms = samples[2].time_ms = 1000;
  samples[1].time_ms = 2000;
  EXPECT_EQ(sources(relabel, samples), (Strings{"", "", ""}));
  EXPECT_EQ(relabel.drop_repeated(samples).twice.count, 1u);
  EXPECT_EQ(samples.size(), 2u);
}

TEST(Relabel, AnOrderOfLabelsAndAnEmptyOneMakeNoOtherSeries) {
  auto relabel = Relabel::create(PrometheusSource()).value();
  std::vector<ExpositionSample> samples{sample("a", {{"x", "1"}, {"y", "2"}}),
                                        sample("a", {{"y", "2"}, {"z", ""}, {"x", "1"}})};
  EXPECT_EQ(sources(relabel, samples), (Strings{"", ""}));
  EXPECT_EQ(relabel.drop_repeated(samples).twice.count, 1u);
}

TEST(Relabel, ValuesThatHoldCommasDoNotMergeSeries) {
  auto relabel = Relabel::create(PrometheusSource()).value();
  std::vector<ExpositionSample> samples{sample("a", {{"x", "1,y=2"}}),
                                        sample("a", {{"x", "1"}, {"y", "2"}})};
  EXPECT_EQ(sources(relabel, samples), (Strings{"", "y=2"}));
  EXPECT_EQ(relabel.drop_repeated(samples).merged.count, 0u);
}

// Neither labels that were named nor a rename make one series of two without a word.
TEST(Relabel, SeriesThatCannotBeToldApartAreNotMerged) {
  PrometheusSource source;
  source.labels = {"model"};
  auto named = Relabel::create(source).value();
  std::vector<ExpositionSample> samples{sample("a", {{"model", "opt"}, {"gpu", "0"}}),
                                        sample("a", {{"model", "opt"}, {"gpu", "1"}})};
  sources(named, samples);
  EXPECT_EQ(named.drop_repeated(samples).merged.count, 1u);
  EXPECT_EQ(samples.size(), 1u);

  source = {};
  source.rename = {{"a", "x"}, {"b", "x"}};
  auto renamed = Relabel::create(source).value();
  samples = {sample("a", {}), sample("b", {})};
  EXPECT_EQ(sources(renamed, samples), (Strings{"", ""}));
  EXPECT_EQ(renamed.drop_repeated(samples).merged.count, 1u);
}

}  // namespace
}  // namespace corral::collect::foreign
