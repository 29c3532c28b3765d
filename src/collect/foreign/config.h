// Options for sources that Corral does not know: commands, Prometheus endpoints, the run's own
// output, statsd, OTLP. Filled from corral.toml or a plan; docs/sources.md is the user's side of
// it.
//
// Plain data. check() describes the first fault of one source before anything starts; its messages
// name the option ("pattern: ..."), the caller adds the section and the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/foreign/footprint_prices.h"
#include "collect/pressure/stall_options.h"
#include "core/result.h"
#include "core/time.h"
#include "metric/catalogue.h"

namespace corral::collect::foreign {

// The format of a command's lines. kAuto: the format of the first line that is "name value [unit]",
// begins with '{', or is names separated by commas, a header of CSV.
enum class Format : std::uint8_t { kAuto, kPlain, kJson, kCsv };
enum class Stream : std::uint8_t { kOut, kErr, kBoth };

// "auto", "plain", "json", "csv" / "out", "err", "both"; kInvalidArgument names them all.
Result<Format> parse_format(std::string_view text);
Result<Stream> parse_stream(std::string_view text);
// "run" or "workload".
Result<metric::Owner> parse_owner(std::string_view text);

inline constexpr std::uint32_t kPointsPerSecond = 1000;
inline constexpr std::uint32_t kSeriesPerSource = 2000;

// [exec.NAME]
struct ExecSource {
  std::string name;
  std::string command;            // for /bin/sh -c; or:
  std::vector<std::string> argv;  // run as it is, argv[0] looked up in PATH
  Format format = Format::kAuto;
  std::string prefix;  // put before every metric's name; nothing is put between
  // JSON key or CSV column that says which device or core a line is about.
  std::string source_key = "source";
  // The interval at which it prints. No line for three of them: it hangs, and is started again. A
  // command that ends with status 0 is run again after it.
  Nanos interval = kNoDuration;
  std::uint32_t max_points_per_s = kPointsPerSecond;
  std::uint32_t max_series = kSeriesPerSource;
};

// [prometheus.NAME]
struct PrometheusSource {
  std::string name;
  std::string url;  // "http://127.0.0.1:9400/metrics"; http or https
  Nanos interval{std::chrono::seconds(1)};
  Nanos timeout{std::chrono::seconds(2)};
  // Regular expressions (RE2) over a metric's whole name. Nothing to keep: everything is kept.
  std::vector<std::string> keep;
  std::vector<std::string> drop;  // wins over keep
  // Full name -> the name it is recorded by; the others keep theirs.
  std::vector<std::pair<std::string, std::string>> rename;
  std::string prefix;  // put before every name that was not renamed
  // Labels that make the source ("gpu=0,model=opt"), in this order. None named: as few as tell the
  // endpoint's series apart.
  std::vector<std::string> labels;
  // Owner of its series: the workload's are recorded by one run of those that share a workload and
  // a host, as the host's own are.
  metric::Owner owner = metric::Owner::kRun;
  std::uint32_t max_series = kSeriesPerSource;
};

// [regex.NAME]
struct RegexSource {
  std::string name;
  // RE2, searched in each line. Named groups are metrics ("(?P<loss>[0-9.e+-]+)"), but for `step`,
  // which is the step of the others; or a group `metric` names the value in the group `value`, with
  // `unit` if there is one.
  std::string pattern;
  Stream stream = Stream::kBoth;
  std::string unit;    // unit of every metric of the pattern
  std::string prefix;  // put before every metric's name
  std::uint32_t max_points_per_s = kPointsPerSecond;
  std::uint32_t max_series = kSeriesPerSource;
};

// [statsd]; one of them at most.
struct StatsdSource {
  // "127.0.0.1:8125", "[::1]:8125", ":8125" (UDP, loopback only; port 0: any free one), or
  // "unix:/run/user/1000/statsd.sock".
  std::string listen;
  std::string prefix;
  std::uint32_t max_points_per_s = 10 * kPointsPerSecond;
  std::uint32_t max_series = kSeriesPerSource;
};

// [otlp.NAME]: OpenTelemetry's exporters of metrics send here, by HTTP.
struct OtlpSource {
  std::string name;
  // "127.0.0.1:4318" (loopback only; port 0: any free one) or "unix:/run/user/1000/otlp.sock".
  std::string listen = "127.0.0.1:0";
  // As a PrometheusSource's. Labels are attributes: the points' and their resource's.
  std::vector<std::string> keep;
  std::vector<std::string> drop;
  std::vector<std::pair<std::string, std::string>> rename;
  std::string prefix;
  std::vector<std::string> labels;
  std::uint32_t max_points_per_s = 10 * kPointsPerSecond;
  std::uint32_t max_series = kSeriesPerSource;
};

struct Sources {
  std::vector<ExecSource> exec;
  std::vector<PrometheusSource> prometheus;
  std::vector<RegexSource> regex;
  std::vector<StatsdSource> statsd;
  std::vector<OtlpSource> otlp;
  std::vector<StallOptions> pressure;      // [pressure], one at most; none: as they are by default
  std::vector<FootprintPrices> footprint;  // [footprint], one at most
  // Returns true if none is served by ForeignSources.
  [[nodiscard]] bool empty() const {
    return exec.empty() && prometheus.empty() && regex.empty() && statsd.empty();
  }
};

Result<> check(const ExecSource& source);
Result<> check(const PrometheusSource& source);
Result<> check(const RegexSource& source);
Result<> check(const StatsdSource& source);
Result<> check(const OtlpSource& source);
// Each of them, and that no name is used twice within its kind; the message starts with the
// section: "exec.power: command: ...".
Result<> check(const Sources& sources);

}  // namespace corral::collect::foreign
