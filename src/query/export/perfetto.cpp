#include "query/export/perfetto.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codec/protobuf.h"
#include "core/json.h"
#include "core/time.h"
#include "metric/foreign.h"
#include "query/export/lane_stacks.h"
#include "query/series/points.h"

namespace corral::query {
namespace {

// ---- packets: TracePacket of protos/perfetto/trace, with the few messages in it that Corral needs
namespace perfetto {

// Uuids of tracks: the process, then one by one.
constexpr std::uint64_t kProcessTrack = 1;

struct Track {
  std::uint64_t uuid = 0;
  std::int64_t thread = 0;  // threads of a process are ordered by it
  std::string_view name;
};

using codec::ProtoWriter;

// Fields of the messages.
constexpr std::uint32_t kPacket = 1;  // a field of Trace
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kTrackDescriptor = 60;
constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5,
                        kCounterOf = 8;
constexpr std::uint32_t kProcessPid = 1, kProcessName = 6;
constexpr std::uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
constexpr std::uint32_t kUnitName = 6;
constexpr std::uint32_t kAnnotations = 4, kType = 9, kTrack = 11, kCategories = 22, kEventName = 23,
                        kDoubleValue = 44, kFlows = 47;
constexpr std::uint32_t kArgBool = 2, kArgInt = 4, kArgDouble = 5, kArgText = 6, kArgName = 10,
                        kArgEntries = 11, kArgItems = 12;

enum class EventType : std::uint8_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
constexpr std::uint64_t kOnlySequence = 1;
constexpr std::uint64_t kPid = 1;

void put_packet(std::string& out, const ProtoWriter& packet) {
  ProtoWriter trace;
  trace.message(kPacket, packet);
  out += trace.text();
}

void put_event(std::string& out, std::int64_t time_ns, const ProtoWriter& event) {
  ProtoWriter packet;
  packet.number(kTimestamp, static_cast<std::uint64_t>(time_ns));
  packet.number(kSequence, kOnlySequence).message(kTrackEvent, event);
  put_packet(out, packet);
}

void put_descriptor(std::string& out, const ProtoWriter& descriptor) {
  ProtoWriter packet;
  packet.message(kTrackDescriptor, descriptor);
  put_packet(out, packet);
}

ProtoWriter make_event(EventType type, std::uint64_t track) {
  ProtoWriter event;
  event.number(kType, static_cast<std::uint64_t>(type)).number(kTrack, track);
  return event;
}

// An argument without its name.
ProtoWriter argument(const Json& value) {
  ProtoWriter out;
  if (const auto* text = value.as_string()) {
    out.bytes(kArgText, *text);
  } else if (const auto* flag = value.as_bool()) {
    out.number(kArgBool, *flag ? 1 : 0);
  } else if (const auto* number = value.as_int()) {
    out.number(kArgInt, static_cast<std::uint64_t>(*number));
  } else if (value.is_double()) {
    out.real(kArgDouble, value.as_double(0));
  } else if (const auto* array = value.as_array()) {
    for (const Json& item : *array) out.message(kArgItems, argument(item));
  } else if (const auto* object = value.as_object()) {
    for (const auto& [name, item] : *object) {
      ProtoWriter entry = argument(item);
      entry.bytes(kArgName, name);
      out.message(kArgEntries, entry);
    }
  } else {
    out.bytes(kArgText, "null");
  }
  return out;
}

void put_arguments(ProtoWriter& event, const codec::Attributes& attributes) {
  for (const auto& [name, text] : attributes) {
    const auto value = Json::parse(text);
    ProtoWriter annotation = argument(value ? *value : Json(text));
    annotation.bytes(kArgName, name);
    event.message(kAnnotations, annotation);
  }
}

void put_process(std::string& out, std::string_view name) {
  ProtoWriter process;
  process.number(kProcessPid, kPid).bytes(kProcessName, name);
  ProtoWriter descriptor;
  descriptor.number(kUuid, kProcessTrack).message(kProcess, process);
  put_descriptor(out, descriptor);
}

void put_thread_track(std::string& out, const Track& track) {
  ProtoWriter thread;
  thread.number(kThreadPid, kPid).number(kThreadTid, static_cast<std::uint64_t>(track.thread));
  thread.bytes(kThreadName, track.name);
  ProtoWriter descriptor;
  descriptor.number(kUuid, track.uuid).bytes(kName, track.name).message(kThread, thread);
  put_descriptor(out, descriptor);
}

void put_counter_track(std::string& out, const Track& track, std::string_view unit) {
  ProtoWriter counter;
  if (!unit.empty()) counter.bytes(kUnitName, unit);
  ProtoWriter descriptor;
  descriptor.number(kUuid, track.uuid).number(kParent, kProcessTrack).bytes(kName, track.name);
  descriptor.message(kCounterOf, counter);
  put_descriptor(out, descriptor);
}

void put_counter(std::string& out, std::uint64_t track, std::int64_t time_ns, double value) {
  ProtoWriter event = make_event(EventType::kCounter, track);
  event.real(kDoubleValue, value);
  put_event(out, time_ns, event);
}

void put_instant(std::string& out, std::uint64_t track, const store::StoredEvent& stored) {
  ProtoWriter event = make_event(EventType::kInstant, track);
  event.bytes(kEventName, stored.name).bytes(kCategories, stored.origin);
  put_arguments(event, stored.attributes);
  put_event(out, ns_of(stored.time), event);
}

// A begin, and an end where the phase has one.
void put_slice(std::string& out, std::uint64_t track, const store::Phase& phase,
               std::span<const std::uint64_t> flows) {
  ProtoWriter begin = make_event(EventType::kBegin, track);
  begin.bytes(kEventName, phase.name);
  if (!phase.type.empty()) begin.bytes(kCategories, phase.type);
  for (const std::uint64_t flow : flows) begin.fixed(kFlows, flow);
  put_arguments(begin, phase.attributes);
  put_event(out, ns_of(*phase.start), begin);
  if (phase.end) put_event(out, ns_of(*phase.end), make_event(EventType::kEnd, track));
}

}  // namespace perfetto

// ---- the trace

constexpr std::size_t kPageRows = 4096;
// The number of arrows' ends that are remembered: beyond it, slices have no arrows.
constexpr std::size_t kMostLinked = 2'000'000;

std::int64_t phase_end(const store::Phase& phase) {
  return phase.end ? ns_of(*phase.end) : LaneStacks::kOpen;
}

// Sessions are few, ids mostly small or random: their mixture names an arrow.
std::uint64_t flow_id(std::int64_t session, std::uint64_t id) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
  return id ^ (static_cast<std::uint64_t>(session) * kGolden);
}

// The low 63 bits of a UUID, as radT's own export has them.
std::optional<std::uint64_t> parse_flow_id(std::string_view json_text) {
  std::string hex;
  for (const char c : json_text) {
    if (c != '"' && c != '-') hex += c;
  }
  constexpr std::size_t kDigits = 32;
  if (hex.size() != kDigits) return std::nullopt;
  std::uint64_t low = 0;
  const auto read = std::from_chars(hex.data() + kDigits / 2, hex.data() + kDigits, low, 16);
  if (read.ptr != hex.data() + kDigits) return std::nullopt;
  return low & (~std::uint64_t{0} >> 1);
}

class Trace {
 public:
  [[nodiscard]] bool full() const { return out_.size() >= kPartBytes; }
  std::string drain() { return std::exchange(out_, {}); }

  void phase(const store::Phase& phase) {
    Lane& lane = lanes_[phase.lane];
    const std::size_t place = lane.stacks.place(ns_of(*phase.start), phase_end(phase));
    while (lane.tracks.size() <= place) open_track(phase.lane, lane);
    flows_.clear();
    add_flows(phase);
    perfetto::put_slice(out_, lane.tracks[place], phase, flows_);
  }
  void event(const store::StoredEvent& event) {
    if (events_ == 0) {
      events_ = next_++;
      perfetto::put_thread_track(out_, {.uuid = events_, .thread = threads_++, .name = "events"});
    }
    perfetto::put_instant(out_, events_, event);
  }
  std::uint64_t counter(const store::Series& series) {
    const std::uint64_t uuid = next_++;
    const std::string name =
        series.source.empty() ? series.name : fmt::format("{} {}", series.name, series.source);
    perfetto::put_counter_track(out_, {.uuid = uuid, .thread = 0, .name = name}, series.unit);
    return uuid;
  }
  void value(std::uint64_t track, std::int64_t time, double value) {
    perfetto::put_counter(out_, track, time, value);
  }
  void begin(std::string_view run,
             const std::vector<std::pair<std::int64_t, std::uint64_t>>& linked) {
    perfetto::put_process(out_, run);
    for (const auto& [session, id] : linked) linked_.insert(flow_id(session, id));
  }

 private:
  struct Lane {
    LaneStacks stacks;
    std::vector<std::uint64_t> tracks;
  };

  void open_track(const std::string& name, Lane& lane) {
    const std::uint64_t uuid = next_++;
    lane.tracks.push_back(uuid);
    const std::string label = name.empty() ? "phases" : name;
    perfetto::put_thread_track(out_, {.uuid = uuid, .thread = threads_++, .name = label});
  }

  // radT's flow ids say more than links, which are made of them.
  void add_flows(const store::Phase& phase) {
    bool flows = false;
    for (const auto& [key, value] : phase.attributes) {
      if (key != "in_flow_id" && key != "out_flow_id") continue;
      flows = true;
      if (const auto flow = parse_flow_id(value)) flows_.push_back(*flow);
    }
    if (flows) return;
    if (const auto own = flow_id(phase.session, phase.id); linked_.contains(own))
      flows_.push_back(own);
    for (const std::uint64_t link : phase.links) {
      if (const auto flow = flow_id(phase.session, link); linked_.contains(flow))
        flows_.push_back(flow);
    }
  }

  std::string out_;
  std::map<std::string, Lane, std::less<>> lanes_;
  std::unordered_set<std::uint64_t> linked_;
  std::vector<std::uint64_t> flows_;
  std::uint64_t next_ = perfetto::kProcessTrack + 1;
  std::uint64_t events_ = 0;
  std::int64_t threads_ = 1;
};

class Counters final : public PointTaker {
 public:
  Counters(Trace& trace, std::unordered_map<SeriesId, std::uint64_t> tracks)
      : trace_(trace), tracks_(std::move(tracks)) {}
  void points(const PointBatch& batch) override {
    const std::uint64_t track = tracks_.at(batch.series);
    for (std::size_t i = 0; i < batch.values.size(); ++i)
      trace_.value(track, batch.times[i], batch.values[i]);
  }
  void gap(const PointGap& /*gap*/) override {}
  [[nodiscard]] bool full() const override { return trace_.full(); }

 private:
  Trace& trace_;
  std::unordered_map<SeriesId, std::uint64_t> tracks_;
};

// Returns the next phases in the order that LaneStacks needs; empty at the end.
Result<std::vector<store::Phase>> next_phases(const store::Reader& store, RunId run,
                                              std::optional<store::PhasePlace>& place) {
  auto page = TRY(store.phases_after(run, place, kPageRows));
  if (page.empty()) return page;
  place = {*page.back().start, page.back().session, page.back().id};
  for (store::Phase& phase : page) {
    if (phase.end) phase.end = std::max(*phase.end, *phase.start);
  }
  std::ranges::stable_sort(page, [](const store::Phase& a, const store::Phase& b) {
    return *a.start != *b.start ? *a.start < *b.start : phase_end(a) > phase_end(b);
  });
  return page;
}

// Begins, then phases page by page, then events, then counters.
class TraceExport {
 public:
  TraceExport(const store::Reader& store, PerfettoRequest request)
      : store_(store), request_(std::move(request)) {}

  Result<bool> next(std::string& out) {
    if (!begun_) TRY(begin());
    const bool more = phases_left_ ? TRY(phases()) : TRY(rest());
    if (!more) TRY(check_not_removed(store_, request_.run));
    out += trace_.drain();
    return more;
  }

 private:
  Result<> begin() {
    const auto run = TRY(store_.run(request_.run));
    if (!run) return fail(Code::kNotFound, "there is no run " + request_.run.hex());
    trace_.begin(run->name.empty() ? request_.run.hex() : run->name,
                 TRY(store_.linked_phases(request_.run, kMostLinked)));
    begun_ = true;
    return {};
  }
  Result<bool> phases() {
    const auto page = TRY(next_phases(store_, request_.run, place_));
    for (const store::Phase& phase : page) trace_.phase(phase);
    if (!page.empty()) return true;
    phases_left_ = false;
    events_ = TRY(store_.events(request_.run));
    return true;
  }
  Result<bool> rest() {
    for (; next_event_ < events_.size() && !trace_.full(); ++next_event_)
      trace_.event(events_[next_event_]);
    if (next_event_ < events_.size()) return true;
    if (!counters_) TRY(open_counters());
    return walk_->next(*counters_);
  }
  Result<> open_counters() {
    PointQuery points;
    std::unordered_map<SeriesId, std::uint64_t> tracks;
    for (const store::Series& series : TRY(store_.series_of(request_.run))) {
      if (!metric::name_matches(request_.metric, series.name)) continue;
      points.series.push_back(series.id);
      tracks.emplace(series.id, trace_.counter(series));
    }
    walk_.emplace(store_, std::move(points));
    counters_.emplace(trace_, std::move(tracks));
    return {};
  }

  store::Reader store_;
  const PerfettoRequest request_;
  Trace trace_;
  bool begun_ = false;
  bool phases_left_ = true;
  std::optional<store::PhasePlace> place_;
  std::vector<store::StoredEvent> events_;
  std::size_t next_event_ = 0;
  std::optional<Counters> counters_;
  std::optional<PointWalk> walk_;
};

}  // namespace

PartStream export_trace(const store::Reader& store, PerfettoRequest request) {
  return [trace = std::make_shared<TraceExport>(store, std::move(request))](std::string& text) {
    return trace->next(text);
  };
}

Result<> walk_phases(const store::Reader& store, RunId run,
                     const std::function<bool(const store::Phase&)>& visit) {
  std::optional<store::PhasePlace> place;
  for (;;) {
    const auto page = TRY(next_phases(store, run, place));
    if (page.empty()) return {};
    for (const store::Phase& phase : page) {
      if (!visit(phase)) return {};
    }
  }
}

}  // namespace corral::query
