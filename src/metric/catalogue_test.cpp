#include "metric/catalogue.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>

#include "core/test_paths.h"
#include "metric/range.h"

namespace corral::metric {
namespace {

const char* kind_name(Kind kind) { return kind == Kind::kCounter ? "counter" : "gauge"; }
const char* aggregation_name(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kMean:
      return "mean";
    case Aggregation::kSum:
      return "sum";
    case Aggregation::kSharedOnce:
      return "shared once";
  }
  return "";
}

constexpr std::string_view kIntroduction =
    "# Metrics\n\n"
    "This page lists every metric that Corral measures itself. It is generated from "
    "`src/metric/catalogue.cpp`;\na test fails if the two differ, and `CORRAL_UPDATE_GOLDEN=1` "
    "rewrites it.\n\n"
    "| column | meaning |\n|---|---|\n"
    "| kind | a counter only grows and is stored as read, in its unit; charts show its rate |\n"
    "| rate | the unit of the rate. Seconds per second are cores for CPU time, else a share |\n"
    "| aggregation | \"shared once\": several runs see the same thing, which counts once for all "
    "|\n"
    "| read | 1 s: a walk over single processes, once a second. Others at the run's interval |\n"
    "| range | a value outside of it (of a counter, the value) is stored as read and reported "
    "once |\n\n"
    "A missing metric is not available, never 0; `corral doctor` says why.\n";

std::string dash_if_empty(std::string_view text) { return text.empty() ? "-" : std::string(text); }

// The unit has a column of its own.
std::string limits(const Metric& metric) {
  Metric bare = metric;
  bare.unit = "";
  return words(plausible_range(metric), bare);
}

std::string catalogue_page() {
  std::string page(kIntroduction);
  std::string_view group;
  std::string_view scope;
  for (const Metric& m : catalogue()) {
    const std::string_view its_scope = m.name.substr(0, m.name.find('.'));
    if (m.group != group || its_scope != scope) {
      group = m.group;
      scope = its_scope;
      page.append("\n## ").append(scope).append(": ").append(group);
      page +=
          "\n\n| metric | unit | rate | kind | owner | aggregation | read | range | description |\n"
          "|---|---|---|---|---|---|---|---|---|\n";
    }
    page.append("| `").append(m.name).append("` | ").append(dash_if_empty(m.unit)).append(" | ");
    page.append(dash_if_empty(m.rate_unit)).append(" | ").append(kind_name(m.kind)).append(" | ");
    page.append(owner_name(m.owner))
        .append(" | ")
        .append(aggregation_name(m.aggregation))
        .append(" | ");
    page.append(m.slow ? "1 s" : "interval").append(" | ");
    page.append(limits(m)).append(" | ").append(m.describe).append(" |\n");
  }
  return page;
}

TEST(Catalogue, FindsEveryMetricAndNothingElse) {
  for (const Metric& m : catalogue()) EXPECT_EQ(find_metric(m.name), &m) << m.name;
  EXPECT_EQ(find_metric("host.cpu"), nullptr);
  EXPECT_EQ(find_metric(""), nullptr);
  EXPECT_EQ(find_metric("zzz"), nullptr);
}

TEST(Catalogue, NamesAreLowerCaseWithTheOwnersScope) {
  for (const Metric& m : catalogue()) {
    for (const char c : m.name) {
      EXPECT_TRUE(std::islower(c) || std::isdigit(c) || c == '.' || c == '_') << m.name;
    }
    EXPECT_EQ(m.owner == Owner::kHost, m.name.starts_with("host.")) << m.name;
  }
}

TEST(Catalogue, UsesKnownGroupsAndDescribesInSentences) {
  const std::set<std::string_view> groups{"software", "cpu",      "memory",    "io",
                                          "network",  "pressure", "scheduler", "collector",
                                          "energy",   "sensors",  "gpu"};
  for (const Metric& m : catalogue()) {
    EXPECT_TRUE(groups.contains(m.group)) << m.name;
    EXPECT_TRUE(m.describe.ends_with(".")) << m.name;
    EXPECT_EQ(m.describe.find('|'), std::string_view::npos) << m.name << " breaks the page's table";
  }
}

bool possible(std::string_view metric, double value) {
  return plausible_range(*find_metric(metric)).holds(value);
}

TEST(Range, HoldsWhatCanBeAndRefusesLies) {
  EXPECT_TRUE(possible("host.gpu.sm.active", 1.0000005)) << "a driver's rounding";
  EXPECT_FALSE(possible("host.gpu.sm.active", 1.01));
  EXPECT_FALSE(possible("host.gpu.mig.sm.active", 1.4)) << "seen, kept and told";
  EXPECT_TRUE(possible("host.temperature", -39));
  EXPECT_FALSE(possible("host.temperature", 255));
  EXPECT_FALSE(possible("host.gpu.memory.used", 18446744073709551615.0));
  EXPECT_FALSE(possible("host.gpu.power", 6000));
  EXPECT_TRUE(possible("host.power.sensor", 6000)) << "a whole machine's";
  EXPECT_FALSE(possible("host.power.sensor", -1));
  EXPECT_TRUE(possible("host.cpu.busy", 1e15)) << "a counter may be anything but negative";
  EXPECT_FALSE(possible("host.cpu.busy", -1));
  EXPECT_FALSE(possible("host.load.1m", std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(possible("host.load.1m", std::numeric_limits<double>::infinity()));
}

TEST(Range, EveryMetricHasOneWithZeroAndSaysIt) {
  for (const Metric& m : catalogue()) EXPECT_TRUE(plausible_range(m).holds(0)) << m.name;
  const Metric& heat = *find_metric("host.gpu.temperature");
  EXPECT_EQ(words(plausible_range(heat), heat), "-40 to 150 °C");
  const Metric& threads = *find_metric("host.threads");
  EXPECT_EQ(words(plausible_range(threads), threads), "at least 0");
  // A name that the catalogue lost would leave its metric with its unit's range.
  for (const std::string_view exception :
       {"host.gpu.performance_state", "host.gpu.power", "host.gpu.power.instant",
        "host.gpu.power.limit", "host.power.rail", "run.gpu.busy", "run.pmu.counted_share"})
    EXPECT_NE(find_metric(exception), nullptr) << exception;
}

TEST(Catalogue, PageOfTheDocsIsUpToDate) {
  const std::string path = source_dir() + "/docs/metrics.md";
  const std::string page = catalogue_page();
  if (std::getenv("CORRAL_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << page;
  std::ifstream in(path, std::ios::binary);
  const std::string there{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(there, page) << "run this test with CORRAL_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace corral::metric
