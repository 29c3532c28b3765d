#include "cli/config_text.h"

#include <gtest/gtest.h>

namespace corral::cli {
namespace {

namespace foreign = collect::foreign;
using Texts = std::vector<std::string>;

// ---- values
TEST(TomlValue, TakesTextsWordsAndArrays) {
  const auto one = [](std::string_view text) { return parse_toml_value(text).value().items.at(0); };
  EXPECT_EQ(one(R"( "a b # c" # comment)"), "a b # c");
  EXPECT_EQ(one(R"('\d+ "x" #')"), R"(\d+ "x" #)");
  EXPECT_EQ(one(R"("say \"hi\"\\\n\t")"), "say \"hi\"\\\n\t");
  EXPECT_EQ(one("1s  # comment"), "1s");
  EXPECT_EQ(one("\"\""), "");
  EXPECT_EQ(parse_toml_value("[]").value().items, Texts{});
  EXPECT_EQ(parse_toml_value("[\"a\", 'b', 3]").value().items, (Texts{"a", "b", "3"}));
  EXPECT_EQ(parse_toml_value("[ # first\n \"a\", # second\n 'b',\n]").value().items,
            (Texts{"a", "b"}));
}

TEST(TomlValue, RefusesWhatIsNone) {
  for (const char* text :
       {"", "  # only a comment", "\"open", "'open", "\"a\" b", "[\"a\"", "[[]]", "[\"a\" \"b\"]",
        "{a = 1}", R"("\d")", "a b", "\"line\nbreak\"", "]", "[,]", "\"ends with \\"})
    EXPECT_FALSE(parse_toml_value(text)) << text;
}

TEST(TomlValue, KnowsWhenAnArrayGoesOn) {
  EXPECT_TRUE(is_open_array("[\"a\","));
  EXPECT_TRUE(is_open_array("[ # ]"));
  EXPECT_FALSE(is_open_array("[\"a\"]"));
  EXPECT_FALSE(is_open_array("[\"a"));
  EXPECT_FALSE(is_open_array("\"[\""));
  EXPECT_FALSE(is_open_array(""));
}

// ---- sections
foreign::Sources good(std::string_view text) {
  auto sources = read_sources(text, "corral.toml");
  EXPECT_TRUE(sources) << sources.error().message;
  return sources ? *sources : foreign::Sources{};
}
std::string error_of(std::string_view text) {
  const auto sources = read_sources(text, "corral.toml");
  EXPECT_FALSE(sources);
  return sources ? "" : sources.error().message;
}

TEST(SourceSections, ReadsEveryOptionOfEveryKind) {
  const foreign::Sources sources = good(R"(
experiment = "x"
[run]
interval = "1s"
[exec.power]
command = "meter --every 1 # not a comment"
format = "json"
prefix = "meter."
interval = "2s"
max-points-per-s = 50
max-series = 7
[exec.other]
command = ["sh", "-c", "echo a 1"]
[prometheus.gpu]
url = "http://127.0.0.1:9400/metrics"
interval = "500ms"
timeout = "1s"
keep = ['DCGM_.*',
        'vllm:.*']
drop = ['.*_bucket']
rename = ["DCGM_FI_DEV_POWER_USAGE = gpu.power", 'a=b']
prefix = "dcgm."
labels = ["gpu"]
owner = "workload"
[regex.loss]
pattern = 'loss: (?P<loss>[0-9.]+)'
stream = "out"
unit = "nat"
[statsd]
listen = "127.0.0.1:8125"
prefix = "app."
[otlp.app]
listen = "127.0.0.1:4318"
drop = ["process_.*"]
labels = ["rank"]
max-points-per-s = 9
[pressure]
resources = ["io"]
stall = "300ms"
window = "2s"
[footprint]
pue = 1.25
intensity-g-per-kwh = 381
intensity-source = "grid operator"
intensity-year = 2024
price-per-kwh = 0.3
price-per-hour = "2.5"
currency = "EUR"
)");
  ASSERT_EQ(sources.exec.size(), 2u);
  const auto& power = sources.exec[0];
  EXPECT_EQ(power.name, "power");
  EXPECT_EQ(power.command, "meter --every 1 # not a comment");
  EXPECT_EQ(power.format, foreign::Format::kJson);
  EXPECT_EQ(power.prefix, "meter.");
  EXPECT_EQ(power.interval, std::chrono::seconds(2));
  EXPECT_EQ(power.max_points_per_s, 50u);
  EXPECT_EQ(power.max_series, 7u);
  EXPECT_EQ(sources.exec[1].argv, (Texts{"sh", "-c", "echo a 1"}));
  const auto& gpu = sources.prometheus.at(0);
  EXPECT_EQ(gpu.url, "http://127.0.0.1:9400/metrics");
  EXPECT_EQ(gpu.interval, std::chrono::milliseconds(500));
  EXPECT_EQ(gpu.timeout, std::chrono::seconds(1));
  EXPECT_EQ(gpu.keep, (Texts{"DCGM_.*", "vllm:.*"}));
  EXPECT_EQ(gpu.drop, Texts{".*_bucket"});
  EXPECT_EQ(gpu.rename.at(0),
            (std::pair<std::string, std::string>("DCGM_FI_DEV_POWER_USAGE", "gpu.power")));
  EXPECT_EQ(gpu.labels, Texts{"gpu"});
  EXPECT_EQ(gpu.owner, metric::Owner::kWorkload);
  const auto& loss = sources.regex.at(0);
  EXPECT_EQ(loss.pattern, "loss: (?P<loss>[0-9.]+)");
  EXPECT_EQ(loss.stream, foreign::Stream::kOut);
  EXPECT_EQ(loss.unit, "nat");
  EXPECT_EQ(sources.statsd.at(0).listen, "127.0.0.1:8125");
  EXPECT_EQ(sources.statsd.at(0).prefix, "app.");
  const auto& otlp = sources.otlp.at(0);
  EXPECT_EQ(otlp.name, "app");
  EXPECT_EQ(otlp.listen, "127.0.0.1:4318");
  EXPECT_EQ(otlp.drop, Texts{"process_.*"});
  EXPECT_EQ(otlp.labels, Texts{"rank"});
  EXPECT_EQ(otlp.max_points_per_s, 9u);
  EXPECT_EQ(sources.pressure.at(0).resources, Texts{"io"});
  EXPECT_EQ(sources.pressure.at(0).stall, std::chrono::milliseconds(300));
  EXPECT_EQ(sources.pressure.at(0).window, std::chrono::seconds(2));
  const auto& prices = sources.footprint.at(0);
  EXPECT_EQ(prices.pue, 1.25);
  EXPECT_EQ(prices.intensity, 381);
  EXPECT_EQ(prices.intensity_source, "grid operator");
  EXPECT_EQ(prices.intensity_year, 2024);
  EXPECT_EQ(prices.per_kwh, 0.3);
  EXPECT_EQ(prices.per_hour, 2.5);
  EXPECT_EQ(prices.currency, "EUR");
  EXPECT_TRUE(price_facts(prices).size() == 7);
}

TEST(SourceSections, AFileWithoutThemHasNoSources) {
  EXPECT_TRUE(good("").empty());
  EXPECT_TRUE(good("experiment = \"x\"\n[run]\nnonsense here\n").empty()) << "another reader's";
}

TEST(SourceSections, AMistakeIsNamedWithItsLineAndTheNearestWord) {
  const std::string head = "[run]\ninterval = \"1s\"\n";
  EXPECT_EQ(error_of(head + "[exec.power]\ncomand = \"x\"\n"),
            "corral.toml:4: [exec.power] has no option 'comand'; did you mean 'command'?");
  EXPECT_EQ(error_of(head + "[exce.power]\ncommand = \"x\"\n"),
            "corral.toml:3: unknown source [exce.power]; did you mean 'exec'?");
  EXPECT_EQ(error_of("[exec]\ncommand = \"x\"\n"),
            "corral.toml:1: [exec] needs a name: [exec.NAME]");
  EXPECT_EQ(error_of("[footprint]\npue = 0.9\n"),
            "corral.toml:1: [footprint] pue: must be at least 1, and at most 100");
  EXPECT_EQ(error_of("[footprint]\nintensity-g-per-kwh = 400\nintensity-source = 'x'\n"),
            "corral.toml:1: [footprint] intensity-year: missing; name the year of the intensity");
  EXPECT_EQ(error_of("[footprint]\nprice-per-kwh = 1\n"),
            "corral.toml:1: [footprint] currency: missing, e.g. EUR");
  EXPECT_EQ(error_of("[footprint]\npue = 'much'\n"),
            "corral.toml:2: [footprint] pue: expected a number");
  EXPECT_EQ(error_of("[statsd.x]\n").find("corral.toml:1: [statsd.x] is [statsd], once"), 0u);
  EXPECT_EQ(error_of("[pressure]\nstall = '2s'\n"),
            "corral.toml:1: [pressure] stall: must be from 1 ms to the window");
  EXPECT_EQ(error_of("[otlp.a]\nlisten = '0.0.0.0:4318'\n")
                .find("corral.toml:1: [otlp.a] listen: '0.0.0.0:4318' is not on the loopback"),
            0u);
  EXPECT_EQ(error_of("[prometheus.x]\nowner = 'me'\n"),
            "corral.toml:2: [prometheus.x] owner: 'me' is not an owner: expected run or workload");
  const std::string loss = "[regex.loss]\npattern = '(?P<loss>.*)'\n";
  EXPECT_EQ(error_of(loss + loss), "corral.toml:3: [regex.loss] is there twice");
  EXPECT_EQ(error_of(loss + "pattern = 'x'\n"),
            "corral.toml:3: [regex.loss] pattern is there twice");
  EXPECT_EQ(error_of(loss + "pattern\n"),
            "corral.toml:3: 'pattern' is neither [section] nor option = value");
  EXPECT_EQ(error_of(loss + "unit = \"open\n").find("corral.toml:3: [regex.loss] unit has a quote"),
            0u);
  EXPECT_EQ(error_of(loss + "stream = 'sideways'\n").find("corral.toml:3: [regex.loss] stream: "),
            0u);
  EXPECT_EQ(error_of(loss + "max-series = 'many'\n"),
            "corral.toml:3: [regex.loss] max-series: expected a whole number");
  EXPECT_EQ(error_of("[prometheus.x]\ninterval = 'soon'\n")
                .find("corral.toml:2: [prometheus.x] interval: "),
            0u);
}

TEST(SourceSections, ASourceThatCannotWorkIsNamedWithItsSection) {
  EXPECT_EQ(error_of("[regex.loss]\n\npattern = '(?P<loss>'\n")
                .find("corral.toml:1: [regex.loss] pattern: "),
            0u);
  EXPECT_EQ(error_of("\n[exec.nothing]\n").find("corral.toml:2: [exec.nothing] command: "), 0u);
}

TEST(SourceSections, TheRestKeepsItsLines) {
  EXPECT_EQ(without_sources("a = 1\n[exec.x]\ncommand = 'rm # -rf'\n[run]\nb = 2"),
            "a = 1\n\n\n[run]\nb = 2\n");
  EXPECT_EQ(without_sources(""), "\n");
}

}  // namespace
}  // namespace corral::cli
