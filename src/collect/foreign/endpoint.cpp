#include "collect/foreign/endpoint.h"
#include "collect/foreign/text.h"

#include <fmt/core.h>

#include <algorithm>

#include "sys/clock.h"

namespace corral::collect::foreign {
namespace {

constexpr std::size_t kBodyBytes = 16u << 20;
constexpr Nanos kLongestPause{std::chrono::seconds(10)};
// An endpoint whose clock is further off than this is not believed.
constexpr Nanos kClockTrust{std::chrono::minutes(10)};

struct Target {
  std::string base;
  std::string path;
};
Target split_url(const std::string& url) {
  const std::size_t host = url.find("//") + 2;
  const std::size_t path = std::min(url.find_first_of("/?", host), url.size());
  Target target{.base = url.substr(0, path), .path = url.substr(path)};
  if (target.path.empty() || target.path == "/") target.path = "/metrics";
  return target;
}

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::create(const PrometheusSource& source,
                                                   PointQueue& queue, ProblemBox& problems) {
  Relabel relabel = TRY(Relabel::create(source));
  return std::unique_ptr<Endpoint>(new Endpoint(source, std::move(relabel), queue, problems));
}

Endpoint::Endpoint(const PrometheusSource& source, Relabel relabel, PointQueue& queue,
                   ProblemBox& problems)
    : source_(source),
      path_(split_url(source.url).path),
      client_({.base_url = split_url(source.url).base, .unix_socket = {}, .token = {}}),
      relabel_(std::move(relabel)),
      // A scrape is bounded by its series and comes at its own pace.
      emitter_("prometheus." + source.name, "",
               {.series = source.max_series,
                .points_per_s = std::max<std::uint32_t>(20 * source.max_series, 1000),
                .owner = source.owner},
               queue, problems),
      pause_(source.interval) {}

Result<std::string> Endpoint::fetch(const std::atomic<bool>& cancel) {
  const sys::HttpRequest request{.path = path_,
                                 .body = {},
                                 .timeout = source_.timeout,
                                 .headers = {{"Accept", "text/plain;version=0.0.4"}},
                                 .cancel = &cancel};
  std::string body;
  bool too_large = false;
  const auto status = client_.stream(request, [&](std::string_view piece) {
    too_large = body.size() + piece.size() > kBodyBytes;
    if (!too_large) body += piece;
    return !too_large;
  });
  if (too_large)
    return fail(Code::kTooLarge, fmt::format("answers with more than {} MiB", kBodyBytes >> 20));
  if (!status) return tl::unexpected(status.error());
  if (*status != 200) return fail(Code::kUnavailable, fmt::format("answers with {}", *status));
  return body;
}

std::optional<BootTime> Endpoint::sample_time(const ExpositionSample& sample,
                                              const std::string& source, BootTime now) {
  if (!sample.time_ms) return now;
  constexpr std::int64_t kMost = 4'000'000'000'000;  // a time in this century: no overflow
  if (*sample.time_ms < 0 || *sample.time_ms > kMost) return now;
  const auto [known, fresh] =
      stamped_.try_emplace(std::string(sample.name) + '\0' + source, *sample.time_ms);
  if (!fresh && std::exchange(known->second, *sample.time_ms) == *sample.time_ms)
    return std::nullopt;
  const BootTime time =
      boot_time((Nanos(std::chrono::milliseconds(*sample.time_ms)) - utc_minus_boot_).count());
  return std::chrono::abs(time - now) <= kClockTrust ? time : now;
}

void Endpoint::emit(const ExpositionSample& sample, BootTime now) {
  const std::string source = relabel_.source(sample);
  const auto time = sample_time(sample, source, now);
  if (!time) return;
  emitter_.emit({.name = relabel_.name(sample.name),
                 .source = source,
                 .unit = sample.unit,
                 .kind = sample.kind,
                 .value = sample.value},
                *time);
}

Result<> Endpoint::record(std::string_view text, BootTime now) {
  std::vector<ExpositionSample> samples;
  const ExpositionSummary summary = read_exposition(text, [&](ExpositionSample& sample) {
    // Twice the limit, so that the excess is reported and memory stays bounded.
    if (!relabel_.name(sample.name).empty() && samples.size() < 2 * source_.max_series)
      samples.push_back(std::move(sample));
  });
  if (summary.samples == 0) {
    return fail(Code::kInvalidArgument,
                summary.bad > 0
                    ? "answers with something other than metrics: " + excerpt(summary.first_bad)
                    : "answers with no metrics");
  }
  if (summary.bad > 0)
    emitter_.trouble(Trouble::kUnread,
                     "answers with a line that is not a sample: " + excerpt(summary.first_bad));
  relabel_.choose(samples);
  report_repeated(relabel_.drop_repeated(samples));
  utc_minus_boot_ = sys::read_anchor().utc_minus_boot;
  for (const ExpositionSample& sample : samples) emit(sample, now);
  return {};
}

void Endpoint::report_repeated(const Repeated& dropped) {
  emitter_.count_dropped(dropped.twice.count + dropped.merged.count);
  if (dropped.twice.count > 0) {
    emitter_.trouble(
        Trouble::kTwice,
        fmt::format("gives '{}' several times in one answer ({} duplicate samples): the first is "
                    "recorded, the others are dropped and counted",
                    excerpt(dropped.twice.example), dropped.twice.count));
  }
  if (dropped.merged.count > 0) {
    emitter_.trouble(
        Trouble::kMerged,
        fmt::format("gives series that its labels do not distinguish here, '{}' among them: the "
                    "first of each is recorded, {} samples are dropped and counted; check labels "
                    "and rename",
                    excerpt(dropped.merged.example), dropped.merged.count));
  }
}

void Endpoint::plan(BootTime began, bool answered) {
  const BootTime now = sys::boot_now();
  if (!answered) {
    pause_ = std::min(2 * pause_, std::max(kLongestPause, source_.interval));
    due_ = now + pause_;
    return;
  }
  pause_ = source_.interval;
  if (due_ == BootTime{} || due_ > now) due_ = began;
  // On its grid; ticks that passed during a slow answer are skipped.
  due_ += source_.interval * ((now - due_) / source_.interval + 1);
}

void Endpoint::scrape(const std::atomic<bool>& cancel) {
  const BootTime began = sys::boot_now();
  auto body = fetch(cancel);
  if (cancel) return;
  const auto recorded =
      body ? record(*body, sys::boot_now()) : Result<>(tl::unexpected(body.error()));
  plan(began, recorded.has_value());
  if (recorded) {
    emitter_.recovered(Trouble::kGone, "answers again");
  } else {
    emitter_.trouble(Trouble::kGone,
                     fmt::format("not available: {}: {}", source_.url, recorded.error().message));
  }
}

}  // namespace corral::collect::foreign
