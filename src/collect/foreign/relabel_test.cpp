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

TEST(Relabel, AnEndpointThatRepeatsItselfIsTakenAsItIs) {
  auto relabel = Relabel::create(PrometheusSource()).value();
  EXPECT_EQ(sources(relabel, {sample("a", {}), sample("a", {})}), (Strings{"", ""}));
}

}  // namespace
}  // namespace corral::collect::foreign
