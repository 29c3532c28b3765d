#include "query/perfetto.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "metric/foreign.h"
#include "query/lane_stacks.h"
#include "query/perfetto_packets.h"
#include "query/points.h"

namespace corral::query {
namespace {

constexpr std::size_t kPageRows = 4096;
constexpr std::size_t kPieceBytes = 64u << 10;
// Of arrows' ends that are remembered: beyond, slices have no more arrows.
constexpr std::size_t kMostLinked = 2'000'000;

std::int64_t end_of(const store::Phase& phase) {
  return phase.end ? ns_of(*phase.end) : LaneStacks::kOpen;
}

// Sessions are few, ids mostly small or random: their mixture names an arrow.
std::uint64_t flow_of(std::int64_t session, std::uint64_t id) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
  return id ^ (static_cast<std::uint64_t>(session) * kGolden);
}

// The low 63 bits of a UUID, as radT's own export has them.
std::optional<std::uint64_t> flow_of_uuid(std::string_view json_text) {
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
  explicit Trace(const ExportSink& sink) : sink_(sink) {}

  // False: no more is wanted.
  bool phase(const store::Phase& phase) {
    Lane& lane = lanes_[phase.lane];
    const std::size_t place = lane.stacks.place(ns_of(*phase.start), end_of(phase));
    while (lane.tracks.size() <= place) open_track(phase.lane, lane);
    flows_.clear();
    add_flows(phase);
    perfetto::put_slice(out_, lane.tracks[place], phase, flows_);
    return flush_when_full();
  }
  bool event(const store::StoredEvent& event) {
    if (events_ == 0) {
      events_ = next_++;
      perfetto::put_thread_track(out_, {.uuid = events_, .thread = threads_++, .name = "events"});
    }
    perfetto::put_instant(out_, events_, event);
    return flush_when_full();
  }
  std::uint64_t counter(const store::Series& series) {
    const std::uint64_t uuid = next_++;
    const std::string name =
        series.source.empty() ? series.name : fmt::format("{} {}", series.name, series.source);
    perfetto::put_counter_track(out_, {.uuid = uuid, .thread = 0, .name = name}, series.unit);
    return uuid;
  }
  bool value(std::uint64_t track, std::int64_t time, double value) {
    perfetto::put_counter(out_, track, time, value);
    return flush_when_full();
  }
  void begin(std::string_view run,
             const std::vector<std::pair<std::int64_t, std::uint64_t>>& linked) {
    perfetto::put_process(out_, run);
    for (const auto& [session, id] : linked) linked_.insert(flow_of(session, id));
  }
  void end() {
    if (!out_.empty()) flush();
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
      if (const auto flow = flow_of_uuid(value)) flows_.push_back(*flow);
    }
    if (flows) return;
    if (const auto own = flow_of(phase.session, phase.id); linked_.contains(own))
      flows_.push_back(own);
    for (const std::uint64_t link : phase.links) {
      if (const auto flow = flow_of(phase.session, link); linked_.contains(flow))
        flows_.push_back(flow);
    }
  }

  bool flush_when_full() {
    if (out_.size() >= kPieceBytes) flush();
    return wanted_;
  }
  void flush() {
    wanted_ = sink_(out_);
    out_.clear();
  }

  const ExportSink& sink_;
  std::string out_;
  std::map<std::string, Lane, std::less<>> lanes_;
  std::unordered_set<std::uint64_t> linked_;
  std::vector<std::uint64_t> flows_;
  std::uint64_t next_ = perfetto::kProcessTrack + 1;
  std::uint64_t events_ = 0;
  std::int64_t threads_ = 1;
  bool wanted_ = true;
};

class Counters final : public PointTaker {
 public:
  Counters(Trace& trace, std::unordered_map<SeriesId, std::uint64_t> tracks)
      : trace_(trace), tracks_(std::move(tracks)) {}
  bool points(const PointBatch& batch) override {
    const std::uint64_t track = tracks_.at(batch.series);
    bool wanted = true;
    for (std::size_t i = 0; wanted && i < batch.values.size(); ++i)
      wanted = trace_.value(track, batch.times[i], batch.values[i]);
    return wanted;
  }
  bool gap(const PointGap& /*gap*/) override { return true; }

 private:
  Trace& trace_;
  std::unordered_map<SeriesId, std::uint64_t> tracks_;
};

Result<> put_counters(store::Store& store, const PerfettoRequest& request, Trace& trace) {
  PointQuery points;
  std::unordered_map<SeriesId, std::uint64_t> tracks;
  for (const store::Series& series : TRY(store.series_of(request.run))) {
    if (!metric::name_matches(request.metric, series.name)) continue;
    points.series.push_back(series.id);
    tracks.emplace(series.id, trace.counter(series));
  }
  Counters counters(trace, std::move(tracks));
  return points.series.empty() ? Result<>() : walk_batches(store, points, counters);
}

}  // namespace

Result<> walk_phases(store::Store& store, RunId run,
                     const std::function<bool(const store::Phase&)>& take) {
  std::optional<store::PhasePlace> place;
  for (;;) {
    auto page = TRY(store.phases_after(run, place, kPageRows));
    if (page.empty()) return {};
    place = {*page.back().start, page.back().session, page.back().id};
    for (store::Phase& phase : page) {
      if (phase.end) phase.end = std::max(*phase.end, *phase.start);
    }
    std::ranges::stable_sort(page, [](const store::Phase& a, const store::Phase& b) {
      return *a.start != *b.start ? *a.start < *b.start : end_of(a) > end_of(b);
    });
    for (const store::Phase& phase : page) {
      if (!take(phase)) return {};
    }
  }
}

Result<> export_perfetto(store::Store& store, const PerfettoRequest& request,
                         const ExportSink& sink) {
  const auto run = TRY(store.run(request.run));
  if (!run) return fail(Code::kNotFound, "there is no run " + request.run.hex());
  Trace trace(sink);
  trace.begin(run->name.empty() ? request.run.hex() : run->name,
              TRY(store.linked_phases(request.run, kMostLinked)));
  TRY(walk_phases(store, request.run,
                  [&](const store::Phase& phase) { return trace.phase(phase); }));
  for (const store::StoredEvent& event : TRY(store.events(request.run))) {
    if (!trace.event(event)) return {};
  }
  TRY(put_counters(store, request, trace));
  trace.end();
  return {};
}

}  // namespace corral::query
