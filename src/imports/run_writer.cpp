#include "imports/run_writer.h"

#include <fmt/core.h>

#include <algorithm>

#include "compat/mlflow/wire/phases_of_spans.h"
#include "compat/mlflow/wire/times.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/media_name.h"
#include "core/sha256.h"
#include "core/text.h"

namespace corral::imports {
namespace {

// A frame is sent when its content has about this size.
constexpr std::size_t kFrameContent = 512U << 10U;
constexpr std::size_t kPointBytes = 32;
// Each has at most limits::kFactBytes.
constexpr std::size_t kFactsPerFrame = 100;
// Part of every id: a new number, for readers that give other items, imports everything anew.
constexpr std::string_view kVersion = "1";

constexpr const char* kRemembered = "import.state";

SessionId run_session(RunId run) { return derived_id<SessionId>("import of run", run.hex()); }

Result<OwnRun> own_run(Store& store, const std::string& identity) {
  return find_own_run(store.transport, fmt::format("an import, {}", kVersion), identity,
                      run_session, store.has_run);
}

}  // namespace

Result<std::unique_ptr<RunWriter>> RunWriter::open(Store& store, const RunDetails& run) {
  const OwnRun own = TRY(own_run(store, run.identity));
  std::unique_ptr<RunWriter> writer(new RunWriter(store, run, own));
  writer->run_.name = writer->fit(run.name, limits::kNameBytes);
  writer->run_.experiment = writer->fit(run.experiment, limits::kNameBytes);
  writer->run_.host = writer->fit(run.host, limits::kNameBytes);
  return writer;
}

Result<> RunWriter::make_run() {
  if (made_) return {};
  if (!known_) {
    FrameSender sender(store_.transport, run_session(id_), 0);
    TRY(sender.add(session_body()));
    TRY(sender.flush());
    ++store_.counts.new_runs;
  }
  ++store_.counts.runs;
  made_ = true;
  return {};
}

Result<std::optional<std::string>> RunWriter::remembered(Store& store,
                                                         const std::string& identity) {
  const OwnRun own = TRY(own_run(store, identity));
  if (!own.known) return std::nullopt;
  const auto json = Json::parse(TRY(store.info_of(own.id, kRemembered)));
  const std::string* text = json ? json->as_string() : nullptr;
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

codec::SessionBody RunWriter::session_body() const {
  codec::SessionBody body;
  body.run = id_;
  body.workload = own_workload_of(id_);
  body.experiment = run_.experiment.empty() ? "default" : run_.experiment;
  body.run_name = run_.name;
  body.host = run_.host;
  body.role = "import";
  body.boot_id = "client";
  body.anchor = mlflow::kClientAnchor;
  body.started = mlflow::phase_time(ns_of(run_.start));
  return body;
}

Result<> RunWriter::part(std::string_view name) {
  TRY(flush());
  const auto session = derived_id<SessionId>(fmt::format("part of run {}", id_.hex()), name);
  const std::uint64_t durable = TRY(store_.transport.durable_seq(session));
  part_.emplace(Part{.sender = FrameSender(store_.transport, session, durable),
                     .durable = durable,
                     .sent = std::max<std::uint64_t>(durable, 1),
                     .last = 1,
                     .series = {}});
  return durable == 0 ? part_->sender.add(session_body()) : Result<>();
}

std::uint32_t RunWriter::series_of(const Point& point) {
  key_.assign(point.metric).append(1, '\0').append(point.source);
  const auto next = static_cast<std::uint32_t>(part_->series.size() + 1);
  const auto [known, fresh] = part_->series.try_emplace(key_, next);
  // One that an item of the store declared is in the store, too.
  if (!fresh || part_->last < part_->durable) return known->second;
  schema_.series.push_back({.id = next,
                            .owner = metric::Owner::kRun,
                            .kind = metric::Kind::kGauge,
                            .aggregation = metric::Aggregation::kMean,
                            .name = fit_name(point.metric),
                            .source = fit_name(point.source),
                            .unit = {}});
  bytes_ += 2 * (point.metric.size() + point.source.size());
  return next;
}

bool RunWriter::take_item() { return ++part_->last > part_->durable; }

Result<> RunWriter::after_item(std::size_t bytes) {
  bytes_ += bytes;
  return bytes_ < kFrameContent ? Result<>() : send_frame();
}

Result<> RunWriter::point(const Point& point) {
  CORRAL_ASSERT(part_.has_value());
  TRY(make_run());
  const std::uint32_t series = series_of(point);
  if (series > limits::kSeriesPerSession)
    return fail(Code::kTooLarge,
                fmt::format("{} has more than {} series", run_.name, limits::kSeriesPerSession));
  ++store_.counts.points;
  if (!take_item()) return {};
  ++store_.counts.new_points;
  Track& track = tracks_[{point.step.has_value(), series}];
  track.times.push_back(boot_time_of(point.time));
  if (point.step) track.steps.push_back(*point.step);
  track.values.push_back(point.value);
  return after_item(kPointBytes);
}

Result<> RunWriter::event(const TextEvent& event) {
  CORRAL_ASSERT(part_.has_value());
  TRY(make_run());
  ++store_.counts.events;
  if (!take_item()) return {};
  ++store_.counts.new_events;
  mlflow::SpanAttributes attributes;
  std::size_t bytes = kPointBytes;
  for (const auto& [key, value] : event.attributes) {
    attributes.emplace_back(std::string(key), fit(value, limits::kValueBytes - 2));
    bytes += value.size();
  }
  events_.events.push_back({.time = boot_time_of(event.time),
                            .name = fit_name(event.name),
                            .origin = "user",
                            .attributes = mlflow::phase_attributes(attributes)});
  return after_item(std::min(bytes, 2 * limits::kValueBytes));
}

// Asks once; none where the server does not say.
const std::set<std::string>& RunWriter::media_of_server() {
  if (media_) return *media_;
  media_.emplace();
  const auto reply = store_.transport.http()->send(
      {.method = "GET",
       .path = fmt::format("/api/corral/v1/runs/{}/artifacts?path={}", id_.hex(), kMediaFolder),
       .body = {},
       .content_type = {}});
  if (!reply || reply->status != 200) return *media_;
  const auto json = Json::parse(reply->body);
  const Json* entries = json ? json->find("entries") : nullptr;
  const Json::Array* all = entries != nullptr ? entries->as_array() : nullptr;
  if (all == nullptr) return *media_;
  for (const Json& entry : *all)
    media_->insert(fmt::format("{}/{}", kMediaFolder, entry.get_string("name")));
  return *media_;
}

// A file before an item that the store has is there, unless the server refused it, or an earlier
// import left such files out.
Result<> RunWriter::medium(std::string_view path, std::string_view content) {
  CORRAL_ASSERT(part_.has_value());
  TRY(make_run());
  ++store_.counts.media;
  sys::HttpClient* const server = store_.transport.http();
  if (server == nullptr) return {};
  if (part_->last < part_->durable && media_of_server().contains(std::string(path))) return {};
  const std::size_t name = path.rfind('/') + 1;
  const sys::HttpReply reply = TRY(
      server->send({.method = "PUT",
                    .path = fmt::format("/api/corral/v1/runs/{}/artifacts/{}{}", id_.hex(),
                                        path.substr(0, name), sys::url_encode(path.substr(name))),
                    .body = content,
                    .content_type = "application/octet-stream"}));
  if (reply.status >= 200 && reply.status < 300) {
    ++store_.counts.sent_media;
    return {};
  }
  // Without a place for files, or with a name that it does not take.
  if ((reply.status >= 400 && reply.status < 500) || reply.status == 501) {
    ++store_.counts.refused_media;
    return {};
  }
  return fail(Code::kUnavailable, fmt::format("{}: the server answered {}", path, reply.status));
}

codec::SamplesBody RunWriter::take_samples() {
  using Rows = std::tuple<bool, std::vector<BootTime>, std::vector<std::int64_t>>;
  // Series of the same rows, like the columns of a table, share a group, which has the times once.
  std::map<Rows, codec::SampleGroup> groups;
  for (auto& [key, track] : std::exchange(tracks_, {})) {
    const auto [at, fresh] =
        groups.try_emplace({key.first, std::move(track.times), std::move(track.steps)});
    codec::SampleGroup& group = at->second;
    if (fresh) {
      group.times = std::get<1>(at->first);
      group.steps = std::get<2>(at->first);
    }
    group.columns.push_back(
        {.series = key.second, .present = {}, .values = std::move(track.values)});
  }
  codec::SamplesBody body;
  for (auto& [rows, group] : groups) body.groups.push_back(std::move(group));
  return body;
}

Result<> RunWriter::send_frame() {
  bytes_ = 0;
  if (part_->last <= part_->sent) return {};
  codec::Bundle bundle;
  bundle.add(std::exchange(schema_, {}));
  bundle.add(take_samples());
  bundle.add(std::exchange(events_, {}));
  const std::uint64_t numbers = part_->last - part_->sent;
  part_->sent = part_->last;
  return part_->sender.add(bundle, numbers);
}

Result<> RunWriter::flush() {
  if (!part_ || !made_) return {};
  TRY(send_frame());
  return part_->sender.flush();
}

void RunWriter::param(std::string_view key, std::string_view value) {
  facts_[{codec::FactKind::kParam, fit_name(key)}] = fit(value, limits::kFactBytes);
}
void RunWriter::tag(std::string_view key, std::string_view value) {
  facts_[{codec::FactKind::kTag, fit_name(key)}] = fit(value, limits::kFactBytes);
}

void RunWriter::remember(std::string_view text) {
  facts_[{codec::FactKind::kInfo, kRemembered}] = Json(std::string(text)).dump();
}

Result<> RunWriter::finish(const RunEnding& ending) {
  TRY(flush());
  for (const auto& [key, value] : facts_) {
    if (key.first == codec::FactKind::kParam) ++store_.counts.params;
    if (key.first == codec::FactKind::kTag) ++store_.counts.tags;
  }
  const bool described = std::ranges::any_of(
      facts_, [](const auto& fact) { return fact.first.first != codec::FactKind::kInfo; });
  if (!made_ && !described) {
    ++store_.counts.empty_runs;
    return {};
  }
  TRY(make_run());
  return send_facts(ending);
}

Result<> RunWriter::send_facts(const RunEnding& ending) {
  Sha256Stream hash;
  const auto add = [&](std::string_view text) {
    hash.add(fmt::format("{} {} ", text.size(), text));
  };
  for (const auto& [key, value] : facts_) {
    add(std::to_string(static_cast<int>(key.first)));
    add(key.second);
    add(value);
  }
  const UtcTime start = ending.start.value_or(run_.start);
  add(fmt::format("{} {} {} {}", ns_of(start), ns_of(ending.end), ending.running,
                  ending.exit_code ? std::to_string(*ending.exit_code) : "unknown"));
  const auto session =
      derived_id<SessionId>(fmt::format("facts of run {}", id_.hex()), hex(hash.finish()));
  // They are one request or a few, the last of which the store may lack: then all are sent again,
  // under numbers that follow.
  const std::uint64_t durable = TRY(store_.transport.durable_seq(session));
  const std::uint64_t frames =
      1 + (facts_.size() + kFactsPerFrame - 1) / kFactsPerFrame + 1 + (ending.running ? 0U : 1U);
  if (durable >= frames) return {};
  FrameSender sender(store_.transport, session, durable);
  if (durable == 0) TRY(sender.add(session_body()));
  codec::FactsBody facts;
  for (const auto& [key, value] : facts_) {
    facts.facts.push_back({.kind = key.first, .key = key.second, .value = value});
    if (facts.facts.size() == kFactsPerFrame) TRY(sender.add(std::exchange(facts, {})));
  }
  if (!facts.facts.empty()) TRY(sender.add(facts));
  codec::EventsBody begin;
  begin.events.push_back({.time = boot_time_of(start),
                          .name = std::string(codec::kRunBegan),
                          .origin = "corral",
                          .attributes = {}});
  TRY(sender.add(begin));
  if (!ending.running) {
    codec::RunEndBody end;
    end.time = boot_time_of(ending.end);
    end.reason = ending.exit_code ? codec::EndReason::kExit : codec::EndReason::kUnknown;
    end.exit_code = ending.exit_code;
    TRY(sender.add(end));
  }
  return sender.flush();
}

BootTime RunWriter::boot_time_of(UtcTime time) {
  const BootTime fitting = mlflow::phase_time(ns_of(time));
  if (mlflow::kClientAnchor.to_utc(fitting) != time) ++store_.counts.moved_times;
  return fitting;
}

std::string RunWriter::fit(std::string_view text, std::size_t bytes) {
  std::string fitting = mlflow::phase_text(text, bytes);
  if (text.size() > bytes) ++store_.counts.cut_texts;
  return fitting;
}

// A name that is cut ends with a digest of the whole, so that no two become one.
std::string RunWriter::fit_name(std::string_view name) {
  if (name.size() <= limits::kNameBytes) return fit(name, limits::kNameBytes);
  const std::string end = "~" + hex(sha256(name), 4);
  return fit(name, limits::kNameBytes - end.size()) + end;
}

}  // namespace corral::imports
