#include "spool/journal.h"

#include <algorithm>
#include <iterator>

#include "core/limits.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::spool {
namespace {

constexpr std::ptrdiff_t kSeriesInFrame = 512;

}  // namespace

Journal::Journal(FrameLogWriter writer)
    : state_(std::make_unique<Guarded<State>>(State{.writer = std::move(writer),
                                                    .description = {},
                                                    .undeclared = {},
                                                    .dropped = 0,
                                                    .told = 0,
                                                    .reason = {}})) {}

Result<Journal> Journal::open(const RunDirectory& directory, std::int64_t limit) {
  return open(directory.files(), directory.manifest().session, limit);
}
Result<Journal> Journal::open(sys::PrivateDirectory directory, SessionId session,
                              std::int64_t limit) {
  return Journal(TRY(FrameLogWriter::open(std::move(directory), session, limit)));
}

bool Journal::put(State& state, const codec::Bytes& frame) {
  const auto written = state.writer.append(frame);
  if (!written) state.reason = written.error().message;
  return written.has_value();
}

bool Journal::prepare(State& state) {
  if (state.writer.next() == 1 && state.description &&
      !put(state, codec::encode(state.writer.header(), *state.description)))
    return false;
  // A part at a time, each of which fits into a frame.
  std::vector<codec::SeriesDef>& rest = state.undeclared;
  while (!rest.empty()) {
    const auto end = rest.begin() + std::min<std::ptrdiff_t>(kSeriesInFrame, std::ssize(rest));
    const codec::SchemaBody schema{{rest.begin(), end}};
    if (!put(state, codec::encode(state.writer.header(), schema))) return false;
    rest.erase(rest.begin(), end);
  }
  return true;
}

template <class Encode>
bool Journal::append(State& state, const Encode& encode) {
  if (!prepare(state) || !put(state, encode(state.writer.header()))) {
    ++state.dropped;
    return false;
  }
  if (state.told == state.dropped) return true;
  // The numbers count on, so the drop itself must be on record.
  const codec::FactsBody facts{
      {{.kind = codec::FactKind::kDrop, .key = "frames", .value = std::to_string(state.dropped)}}};
  if (put(state, codec::encode(state.writer.header(), facts))) state.told = state.dropped;
  return true;
}

template <class Body>
void Journal::write(const Body& body) {
  state_->with([&](State& state) {
    append(state, [&](const codec::FrameHeader& header) { return codec::encode(header, body); });
  });
}

void Journal::describe(const codec::SessionBody& session) {
  state_->with([&](State& state) {
    state.description = session;
    if (state.writer.next() == 1) put(state, codec::encode(state.writer.header(), session));
  });
}

void Journal::facts(std::vector<codec::Fact> facts) {
  if (!facts.empty()) write(codec::FactsBody{std::move(facts)});
}

void Journal::event(std::string name, codec::Attributes attributes) {
  codec::EventsBody body;
  name = to_utf8(name);
  if (name.size() > limits::kNameBytes)
    name.resize(utf8_prefix(std::string_view(name).substr(0, limits::kNameBytes)));
  body.events.push_back({.time = sys::boot_now(),
                         .name = std::move(name),
                         .origin = "corral",
                         .attributes = std::move(attributes)});
  write(body);
}

void Journal::health(std::span<const codec::Health> health, BootTime at) {
  codec::EventsBody body;
  for (const codec::Health& part : health) body.events.push_back(codec::health_event(at, part));
  if (!body.events.empty()) write(body);
}

void Journal::log(const codec::LogBody& body) { write(body); }
void Journal::run_end(const codec::RunEndBody& body) { write(body); }

void Journal::bundle(const codec::Bundle& bundle) {
  if (bundle.empty()) return;
  state_->with([&](State& state) {
    if (append(state, [&](const codec::FrameHeader& header) { return bundle.finish(header); }))
      return;
    const auto declared = bundle.declared();
    state.undeclared.insert(state.undeclared.end(), declared.begin(), declared.end());
  });
}

std::uint64_t Journal::dropped() const {
  return state_->with([](const State& state) { return state.dropped; });
}
std::string Journal::drop_reason() const {
  return state_->with([](const State& state) { return state.reason; });
}
std::uint64_t Journal::bytes_written() const {
  return state_->with([](const State& state) { return state.writer.bytes_written(); });
}

codec::SessionBody session_body(const Manifest& manifest) {
  return {.run = manifest.run,
          .workload = manifest.workload,
          .experiment = manifest.experiment,
          .workload_name = manifest.workload_name,
          .run_name = manifest.run_name,
          .host = manifest.host,
          .machine = manifest.machine,
          .role = "supervisor",
          .pid = manifest.supervisor.pid,
          .rank = manifest.member ? manifest.member->rank : std::nullopt,
          .boot_id = manifest.supervisor.boot_id,
          .anchor = manifest.anchor,
          .started = manifest.started,
          .attempt = manifest.member ? std::optional(manifest.member->attempt) : std::nullopt};
}

}  // namespace corral::spool
