#include "collect/foreign/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "collect/foreign/pattern.h"
#include "collect/foreign/statsd_address.h"
#include "core/limits.h"
#include "core/text.h"

namespace corral::collect::foreign {
namespace {

constexpr Nanos kShortest{std::chrono::milliseconds(10)};
constexpr Nanos kShortestScrape{std::chrono::milliseconds(100)};
constexpr Nanos kLongest{std::chrono::hours(1)};

tl::unexpected<Error> wrong(std::string_view option, std::string_view what) {
  return fail(Code::kInvalidArgument, fmt::format("{}: {}", option, what));
}

Result<> check_interval(Nanos interval, Nanos shortest) {
  if (interval < shortest || interval > kLongest) {
    return wrong(
        "interval",
        fmt::format("must be from {} ms to 1 h",
                    std::chrono::duration_cast<std::chrono::milliseconds>(shortest).count()));
  }
  return {};
}

Result<> check_prefix(const std::string& prefix) {
  if (prefix.size() > limits::kNameBytes / 2)
    return wrong("prefix", fmt::format("over {} bytes", limits::kNameBytes / 2));
  if (!is_utf8(prefix)) return wrong("prefix", "is not UTF-8");
  return {};
}

Result<> check_limits(std::uint32_t series, std::uint32_t points = 1) {
  if (points == 0) return wrong("max-points-per-s", "must be at least 1");
  if (series == 0) return wrong("max-series", "must be at least 1");
  return {};
}

Result<> check_patterns(std::string_view option, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    const auto compiled = compile_pattern(pattern);
    if (!compiled) return wrong(option, compiled.error().message);
  }
  return {};
}

Result<> check_url(std::string_view url) {
  std::string_view rest = url;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  }
  const bool blank = std::ranges::any_of(url, [](char c) { return c <= ' ' || c == '\x7f'; });
  if (rest.size() == url.size() || rest.empty() || rest.front() == '/' || blank) {
    return wrong("url", fmt::format("'{}' is not an address of an endpoint: expected e.g. "
                                    "http://127.0.0.1:9400/metrics",
                                    url));
  }
  return {};
}

// The names of a source that are recorded, and the metric of each.
template <class Source>
Result<> check_names(const Source& source) {
  TRY(check_patterns("keep", source.keep));
  TRY(check_patterns("drop", source.drop));
  for (const auto& [from, to] : source.rename) {
    if (from.empty() || to.empty() || to.size() > limits::kNameBytes || !is_utf8(to))
      return wrong("rename", fmt::format("'{}' cannot become '{}'", from, to));
  }
  return check_prefix(source.prefix);
}

template <class Source>
Result<> check_all(const std::vector<Source>& sources, std::string_view kind) {
  std::set<std::string_view> names;
  for (const Source& source : sources) {
    const std::string section = fmt::format("{}.{}", kind, source.name);
    if (source.name.empty() || source.name.size() > limits::kNameBytes / 4)
      return wrong(section, "needs a name, of at most 62 bytes");
    if (!names.insert(source.name).second) return wrong(section, "is given twice");
    if (auto good = check(source); !good) return wrong(section, good.error().message);
  }
  return {};
}

}  // namespace

Result<Format> parse_format(std::string_view text) {
  if (text == "auto") return Format::kAuto;
  if (text == "plain") return Format::kPlain;
  if (text == "json") return Format::kJson;
  if (text == "csv") return Format::kCsv;
  return fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a format: expected auto, plain, json or csv", text));
}

Result<Stream> parse_stream(std::string_view text) {
  if (text == "out") return Stream::kOut;
  if (text == "err") return Stream::kErr;
  if (text == "both") return Stream::kBoth;
  return fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a stream: expected out, err or both", text));
}

Result<metric::Owner> parse_owner(std::string_view text) {
  if (text == "run") return metric::Owner::kRun;
  if (text == "workload") return metric::Owner::kWorkload;
  return fail(Code::kInvalidArgument,
              fmt::format("'{}' is not an owner: expected run or workload", text));
}

Result<> check(const ExecSource& source) {
  const bool command = !trim(source.command).empty();
  if (command == !source.argv.empty())
    return wrong("command", command ? "is given twice, as text and as a list" : "is missing");
  const auto holds_nul = [](const std::string& text) {
    return text.find('\0') != std::string::npos;
  };
  if (holds_nul(source.command) || std::ranges::any_of(source.argv, holds_nul))
    return wrong("command", "holds a NUL byte");
  if (!source.argv.empty() && source.argv[0].empty()) return wrong("command", "is empty");
  if (source.interval != kNoDuration) TRY(check_interval(source.interval, kShortest));
  TRY(check_prefix(source.prefix));
  return check_limits(source.max_series, source.max_points_per_s);
}

Result<> check(const PrometheusSource& source) {
  TRY(check_url(source.url));
  TRY(check_interval(source.interval, kShortestScrape));
  if (source.timeout < kShortest || source.timeout > std::chrono::minutes(1))
    return wrong("timeout", "must be from 10 ms to 1 min");
  TRY(check_names(source));
  return check_limits(source.max_series);
}

Result<> check(const RegexSource& source) {
  if (source.pattern.empty()) return wrong("pattern", "is missing");
  const auto compiled = compile_pattern(source.pattern);
  if (!compiled) return wrong("pattern", compiled.error().message);
  const auto& groups = (*compiled)->NamedCapturingGroups();
  const auto has = [&](const char* name) { return groups.contains(name); };
  if (has("metric") != has("value"))
    return wrong("pattern", "the groups 'metric' and 'value' require each other");
  if (groups.empty() || (groups.size() == 1 && has("step"))) {
    return wrong("pattern",
                 "has no named group: (?P<loss>[0-9.]+) records what it matches as 'loss'");
  }
  TRY(check_prefix(source.prefix));
  return check_limits(source.max_series, source.max_points_per_s);
}

Result<> check(const StatsdSource& source) {
  const auto address = StatsdAddress::parse(source.listen);
  if (!address) return wrong("listen", address.error().message);
  TRY(check_prefix(source.prefix));
  return check_limits(source.max_series, source.max_points_per_s);
}

Result<> check(const OtlpSource& source) {
  const auto address = StatsdAddress::parse(source.listen);
  if (!address) return wrong("listen", address.error().message);
  TRY(check_names(source));
  return check_limits(source.max_series, source.max_points_per_s);
}

Result<> check(const Sources& sources) {
  TRY(check_all(sources.exec, "exec"));
  TRY(check_all(sources.prometheus, "prometheus"));
  TRY(check_all(sources.regex, "regex"));
  TRY(check_all(sources.otlp, "otlp"));
  if (sources.statsd.size() > 1) return wrong("statsd", "is given twice");
  for (const StatsdSource& source : sources.statsd) {
    if (auto good = check(source); !good) return wrong("statsd", good.error().message);
  }
  return {};
}

}  // namespace corral::collect::foreign
