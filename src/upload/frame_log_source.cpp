#include "upload/frame_log_source.h"

#include <iterator>
#include <map>
#include <utility>

#include "core/limits.h"

namespace corral::upload {
namespace {

// The declarations in a session's frames; the newest value of a fact.
class Declared {
 public:
  void learn(codec::ByteView bytes) {
    auto frame = codec::decode_frame(bytes);
    auto parts = frame ? codec::sections(*std::move(frame)) : tl::unexpected(frame.error());
    if (!parts) return;
    for (const codec::Frame& part : *parts) {
      if (part.header.kind == codec::FrameKind::kSchema) {
        if (const auto body = codec::decode_schema(part)) {
          for (const codec::SeriesDef& def : body->series) series_[def.id] = def;
        }
      } else if (part.header.kind == codec::FrameKind::kFacts) {
        if (const auto body = codec::decode_facts(part)) {
          for (const codec::Fact& fact : body->facts) facts_[{fact.kind, fact.key}] = fact.value;
        }
      }
    }
  }
  // Nothing when none was declared, or more than a frame holds. `gap`: stands in it, too.
  [[nodiscard]] codec::Bytes frame(const codec::FrameHeader& header,
                                   const std::optional<codec::Event>& gap = {}) const {
    codec::Bundle bundle;
    codec::SchemaBody schema;
    for (const auto& [id, def] : series_) schema.series.push_back(def);
    if (!schema.series.empty()) bundle.add(schema);
    codec::FactsBody facts;
    for (const auto& [name, value] : facts_)
      facts.facts.push_back({.kind = name.first, .key = name.second, .value = value});
    if (!facts.facts.empty()) bundle.add(facts);
    if (bundle.empty()) return {};
    if (gap) bundle.add(codec::EventsBody{.events = {*gap}});
    constexpr std::size_t kHeaders = 1024;  // bytes of the bundle and its sections
    if (bundle.size() + kHeaders > limits::kFrameBytes) return {};
    return bundle.finish(header);
  }

 private:
  std::map<std::uint32_t, codec::SeriesDef> series_;
  std::map<std::pair<codec::FactKind, std::string>, std::string> facts_;
};

constexpr const char* kDeclared = "declared";

Declared read_declared(const spool::StoredClientLog& log) {
  Declared declared;
  const auto text = log.files.read_file(kDeclared);
  if (text) declared.learn({reinterpret_cast<const std::uint8_t*>(text->data()), text->size()});
  return declared;
}

constexpr std::size_t kReadBytes = 1u << 20;

codec::GapBody lost() {
  return {.reason = codec::GapReason::kCorrupt,
          .message = "the server's store lost what it had acknowledged"};
}

// Returns the time of the first frame after a hole, as far as the frames' sections contain it.
BootTime first_time(const std::vector<codec::Bytes>& frames, BootTime otherwise) {
  for (const codec::Bytes& bytes : frames) {
    auto frame = codec::decode_frame(bytes);
    auto parts = frame ? codec::sections(*std::move(frame)) : tl::unexpected(frame.error());
    if (!parts) continue;
    for (const codec::Frame& part : *parts) {
      const codec::FrameKind kind = part.header.kind;
      if (kind == codec::FrameKind::kSamples) {
        const auto body = codec::decode_samples(part);
        if (body && !body->groups.empty() && !body->groups[0].times.empty())
          return body->groups[0].times[0];
      } else if (kind == codec::FrameKind::kLog) {
        if (const auto body = codec::decode_log(part)) return body->time;
      } else if (kind == codec::FrameKind::kRunEnd) {
        if (const auto body = codec::decode_run_end(part)) return body->time;
      }
    }
  }
  return otherwise;
}

}  // namespace

// Before the files go whose frames are acknowledged.
void FrameLogSource::keep_declared(std::uint64_t durable) const {
  const std::vector<std::uint64_t> files = spool::frame_files(log_.files);
  if (files.size() < 2 || files[1] > durable + 1) return;
  Declared known = read_declared(log_);
  spool::FrameLogReader reader(log_.files);
  for (std::uint64_t after = files.front() - 1; after < durable;) {
    const auto frames = reader.read(after, kReadBytes);
    if (!frames || frames->empty()) break;
    for (const codec::Bytes& bytes : *frames) {
      known.learn(bytes);
      after = codec::decode_frame(bytes).value().header.last;
    }
  }
  const codec::Bytes frame = known.frame({.kind = {}, .session = session(), .first = 1, .last = 1});
  // If it cannot be kept, a lost store costs the series their names.
  if (!frame.empty())
    static_cast<void>(log_.files.replace_file(
        kDeclared, {reinterpret_cast<const char*>(frame.data()), frame.size()}, false));
}

void FrameLogSource::acknowledge(std::uint64_t durable) {
  keep_declared(durable);
  reader_.acknowledge(durable);
}

Result<std::vector<codec::Bytes>> FrameLogSource::frames(std::uint64_t after,
                                                         std::size_t max_bytes) {
  std::vector<codec::Bytes> frames = TRY(reader_.read(after, max_bytes));
  if (frames.empty()) return frames;
  if (run_) {
    auto merged = merge_frames(std::move(frames));
    // Frames that cannot be merged are sent as they are: the server names the frame it rejects, and
    // why, and stores the others.
    frames = merged ? *std::move(merged) : TRY(reader_.read(after, max_bytes));
  }
  const std::uint64_t first = reader_.first();
  if (first == after + 1) return frames;
  std::vector<codec::Bytes> repaired = bridge(after + 1, first - 1, frames);
  for (codec::Bytes& frame : frames) repaired.push_back(std::move(frame));
  return repaired;
}

// Frames for the numbers of a hole, which ends where `frames` begin: the declarations that were in
// it, and a gap. One number has room for one frame: the gap's event stands beside the declarations
// then.
std::vector<codec::Bytes> FrameLogSource::bridge(std::uint64_t from, std::uint64_t to,
                                                 const std::vector<codec::Bytes>& frames) const {
  std::vector<codec::Bytes> bridge;
  codec::FrameHeader header{.kind = {}, .session = session(), .first = from, .last = from};
  if (from == 1) {
    bridge.push_back(codec::encode(header, log_.description));
    header.first = ++header.last;
  }
  if (header.first > to) return bridge;
  std::optional<codec::Event> event;
  if (header.first == to) {
    event = codec::event_of_gap(header, lost());
    event->time = first_time(frames, log_.description.started);
  }
  if (codec::Bytes declarations = read_declared(log_).frame(header, event); !declarations.empty()) {
    bridge.push_back(std::move(declarations));
    ++header.first;
  }
  header.last = to;
  if (header.first <= to) bridge.push_back(codec::encode(header, lost()));
  return bridge;
}

bool FrameLogSource::discard() { return run_ && spool::delete_client_log(*run_, log_.session); }

namespace {

// A merged frame ends at about this size: a request holds several.
constexpr std::size_t kFullBytes = limits::kFrameBytes / 8;

// Bundles on their way to be one.
class Merger {
 public:
  Result<> add(codec::Frame frame, codec::Bytes bytes) {
    if (frames_ == 0) header_ = frame.header;
    header_.last = frame.header.last;
    ++frames_;
    bytes_ += bytes.size();
    single_ = std::move(bytes);
    for (const codec::Frame& section : TRY(codec::sections(std::move(frame)))) TRY(take(section));
    return {};
  }
  [[nodiscard]] bool full() const { return bytes_ >= kFullBytes; }

  // Appends the additions since the last call, if there are any.
  void finish(std::vector<codec::Bytes>& out) {
    if (frames_ == 1) {
      out.push_back(std::move(single_));
    } else if (frames_ > 1) {
      out.push_back(bundle());
    }
    *this = Merger();
  }

 private:
  using Rows = std::pair<std::vector<BootTime>, std::vector<std::int64_t>>;
  struct Points {
    Rows rows;
    std::vector<double> values;
  };

  Result<> take(const codec::Frame& section) {
    switch (section.header.kind) {
      case codec::FrameKind::kSchema:
        append(schema_.series, TRY(codec::decode_schema(section)).series);
        break;
      case codec::FrameKind::kSamples:
        take(TRY(codec::decode_samples(section)));
        break;
      case codec::FrameKind::kPhases:
        append(phases_.phases, TRY(codec::decode_phases(section)).phases);
        break;
      case codec::FrameKind::kFacts:
        append(facts_.facts, TRY(codec::decode_facts(section)).facts);
        break;
      case codec::FrameKind::kEvents:
        append(events_.events, TRY(codec::decode_events(section)).events);
        break;
      default:
        return fail(Code::kInternal, "a bundle contains a frame that no bundle may contain");
    }
    return {};
  }

  void take(const codec::SamplesBody& samples) {
    for (const codec::SampleGroup& group : samples.groups) {
      for (const codec::Column& column : group.columns) take(group, column);
    }
  }

  // A series has steps or none; both ways are kept apart.
  void take(const codec::SampleGroup& group, const codec::Column& column) {
    Points& points = points_[{column.series, !group.steps.empty()}];
    for (std::size_t row = 0; row < group.times.size(); ++row) {
      if (!column.present.empty() && !column.present[row]) continue;
      points.rows.first.push_back(group.times[row]);
      if (!group.steps.empty()) points.rows.second.push_back(group.steps[row]);
    }
    points.values.insert(points.values.end(), column.values.begin(), column.values.end());
  }

  template <class T>
  static void append(std::vector<T>& to, std::vector<T> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }

  // Series that were logged together share their times and steps.
  [[nodiscard]] codec::SamplesBody samples() {
    std::map<Rows, std::vector<codec::Column>> groups;
    for (auto& [key, points] : points_) {
      if (points.values.empty()) continue;
      groups[std::move(points.rows)].push_back(
          {.series = key.first, .present = {}, .values = std::move(points.values)});
    }
    codec::SamplesBody body;
    for (auto& [rows, columns] : groups)
      body.groups.push_back(
          {.times = rows.first, .steps = rows.second, .columns = std::move(columns)});
    return body;
  }

  [[nodiscard]] codec::Bytes bundle() {
    codec::Bundle bundle;
    bundle.add(schema_);
    bundle.add(samples());
    bundle.add(phases_);
    bundle.add(facts_);
    bundle.add(events_);
    return bundle.finish(header_);
  }

  codec::FrameHeader header_;
  std::size_t frames_ = 0;
  std::size_t bytes_ = 0;
  codec::Bytes single_;  // the newest as it came
  codec::SchemaBody schema_;
  codec::PhasesBody phases_;
  codec::FactsBody facts_;
  codec::EventsBody events_;
  std::map<std::pair<std::uint32_t, bool>, Points> points_;
};

}  // namespace

Result<std::vector<codec::Bytes>> merge_frames(std::vector<codec::Bytes> frames) {
  std::vector<codec::Bytes> merged;
  Merger open;
  for (codec::Bytes& bytes : frames) {
    codec::Frame frame = TRY(codec::decode_frame(bytes));
    if (frame.header.kind != codec::FrameKind::kBundle) {
      open.finish(merged);
      merged.push_back(std::move(bytes));
      continue;
    }
    TRY(open.add(std::move(frame), std::move(bytes)));
    if (open.full()) open.finish(merged);
  }
  open.finish(merged);
  return merged;
}

}  // namespace corral::upload
