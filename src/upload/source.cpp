#include "upload/source.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/limits.h"
#include "spool/segment_parse.h"

namespace corral::upload {

// ---- Segments

namespace {

class Rows {
 public:
  void add(const spool::Point& point) {
    const bool same =
        !row_.empty() && point.time == time_ && point.step == step_ && !holds(point.series);
    if (!same) flush();
    time_ = point.time;
    step_ = point.step;
    row_.emplace_back(point.series, point.value);
  }

  codec::SamplesBody take() {
    flush();
    return {std::move(groups_)};
  }

 private:
  [[nodiscard]] bool holds(std::uint32_t series) const {
    return std::ranges::find(row_, series, &std::pair<std::uint32_t, double>::first) != row_.end();
  }

  void flush() {
    if (row_.empty()) return;
    std::vector<std::uint32_t> key;
    for (const auto& cell : row_) key.push_back(cell.first);
    const auto [at, fresh] =
        index_.try_emplace({std::move(key), step_.has_value()}, groups_.size());
    if (fresh) {
      codec::SampleGroup group;
      for (const auto& cell : row_)
        group.columns.push_back({.series = cell.first, .present = {}, .values = {}});
      groups_.push_back(std::move(group));
    }
    codec::SampleGroup& group = groups_[at->second];
    group.times.push_back(time_);
    if (step_) group.steps.push_back(*step_);
    for (std::size_t i = 0; i < row_.size(); ++i) group.columns[i].values.push_back(row_[i].second);
    row_.clear();
  }

  BootTime time_;
  std::optional<std::int64_t> step_;
  std::vector<std::pair<std::uint32_t, double>> row_;
  std::map<std::pair<std::vector<std::uint32_t>, bool>, std::size_t> index_;
  std::vector<codec::SampleGroup> groups_;
};

struct Sorter {
  const std::string& source;
  Rows rows;
  codec::SchemaBody schema;
  codec::FactsBody facts;
  codec::EventsBody events;
  codec::PhasesBody phases;

  void operator()(const spool::Point& point) { rows.add(point); }
  void operator()(codec::SeriesDef series) {
    series.source = source;
    schema.series.push_back(std::move(series));
  }
  void operator()(const codec::Fact& fact) { facts.facts.push_back(fact); }
  void operator()(const codec::Event& event) { events.events.push_back(event); }
  void operator()(const codec::PhaseRecord& phase) { phases.phases.push_back(phase); }
};

// Makes the bodies of one bundle. Points that were logged at one time and step become a row; rows
// with the same series become a group. `source` is given to every series ("rank3"; empty for a
// process without a rank). Order within a series is kept.
codec::Bundle make_bundle(const std::vector<spool::Record>& records, const std::string& source) {
  Sorter sorter{
      .source = source, .rows = {}, .schema = {}, .facts = {}, .events = {}, .phases = {}};
  for (const spool::Record& record : records) std::visit(sorter, record.body);
  codec::Bundle bundle;
  bundle.add(sorter.schema);
  bundle.add(sorter.facts);
  bundle.add(sorter.events);
  bundle.add(sorter.phases);
  bundle.add(sorter.rows.take());
  return bundle;
}

constexpr std::size_t kRecordsPerFrame = 16'384;
constexpr std::size_t kSessionDigits = 32;
constexpr std::uint64_t kDescription = 1;  // number of the session's description

std::string to_hex(const std::array<std::uint8_t, 16>& bytes) { return SessionId{bytes}.hex(); }

std::string rank_source(const spool::SegmentHeader& header) {
  return header.rank ? fmt::format("rank{}", *header.rank) : std::string();
}

}  // namespace

std::vector<SessionId> segment_sessions(const spool::RunDirectory& directory) {
  std::vector<SessionId> sessions;
  for (const std::string& name : directory.files().list(spool::kSegments)) {
    const auto session = SessionId::parse(std::string_view(name).substr(0, kSessionDigits));
    if (session && name.ends_with(".seg") && (sessions.empty() || sessions.back() != *session))
      sessions.push_back(*session);
  }
  return sessions;
}

// A damaged one is kept for a person; anything else (a newer version, an unreadable file) may be
// read another time.
void SegmentSource::refuse(const std::string& segment, const Error& error) {
  problems_.push_back(error.message);
  const bool damaged = error.code == Code::kCorruption;
  if (!damaged || !directory_.refuse_segment(segment)) unread_ = true;
}

void SegmentSource::open_new() {
  unread_ = false;
  const auto folder = directory_.files().directory(spool::kSegments);
  if (!folder) return;
  for (const std::string& name : folder->list()) {
    if (!name.starts_with(session_.hex()) || !name.ends_with(".seg")) continue;
    if (std::ranges::find(segments_, name, &spool::SegmentReader::name) != segments_.end())
      continue;
    auto reader = spool::SegmentReader::open(*folder, name);
    if (reader) {
      segments_.push_back(std::move(*reader));
    } else {
      refuse(name, reader.error());
    }
  }
  std::ranges::sort(segments_, {}, [](const spool::SegmentReader& r) { return r.header().index; });
}

const spool::SegmentReader* SegmentSource::find_segment(std::uint64_t slot) const {
  // The last segment that begins at or before the slot; one that was lost leaves a hole, so the
  // next one does too.
  const spool::SegmentReader* found = nullptr;
  for (const spool::SegmentReader& segment : segments_) {
    if (segment.header().base <= slot) found = &segment;
  }
  return found;
}

codec::Bytes SegmentSource::describe(const spool::SegmentHeader& header) const {
  const spool::Manifest& run = directory_.manifest();
  const codec::SessionBody body{.run = run.run,
                                .workload = run.workload,
                                .experiment = run.experiment,
                                .workload_name = run.workload_name,
                                .run_name = run.run_name,
                                .host = header.host,
                                .machine = {},
                                .role = "process",
                                .pid = header.pid,
                                .rank = header.rank,
                                .boot_id = to_hex(header.boot_id),
                                .anchor = header.anchor,
                                .started = header.session_began};
  return codec::encode(
      {.kind = {}, .session = session_, .first = kDescription, .last = kDescription}, body);
}

Result<std::vector<codec::Bytes>> SegmentSource::frames(std::uint64_t after,
                                                        std::size_t max_bytes) {
  std::vector<codec::Bytes> frames;
  // Asked before looking for segments: a dead writer adds none.
  const bool known_dead = !segments_.empty() && !segments_.back().writer_alive();
  open_new();
  if (segments_.empty()) {
    if (!unread_) exhausted_at_ = after;
    return frames;
  }
  const bool alive = !known_dead && segments_.back().writer_alive();
  std::uint64_t number = after;
  std::size_t bytes = 0;
  if (number < kDescription) {
    frames.push_back(describe(segments_.front().header()));
    number = kDescription;
  }
  while (bytes < max_bytes) {
    auto next = piece(number, alive);
    if (!next) return tl::unexpected(next.error());
    if (!*next) break;
    bytes += (*next)->frame.size();
    frames.push_back(std::move((*next)->frame));
    number = (*next)->last;
  }
  if (known_dead && frames.empty() && !unread_) exhausted_at_ = after;
  return frames;
}

// The frame that begins with slot `slot`, number slot + 1.
Result<std::optional<SegmentSource::Piece>> SegmentSource::piece(std::uint64_t slot, bool alive) {
  const spool::SegmentReader* segment = find_segment(slot);
  std::uint64_t end = 0;  // slot after the last one covered
  std::string lost;
  codec::Bundle bundle;
  if (segment == nullptr) {
    end = segments_.front().header().base;
    lost = "segments before this one are lost";
  } else {
    const bool last_segment = segment == &segments_.back();
    std::size_t records = kRecordsPerFrame;
    for (;;) {
      const spool::Batch batch = TRY(segment->read(slot, records, alive));
      bundle = make_bundle(batch.records, rank_source(segment->header()));
      if (bundle.size() > limits::kFrameBytes / 2 && records > 1) {
        records /= 2;
        continue;
      }
      if (watch_) watch_(session_, batch.records);
      for (const spool::CorruptSlot& corrupt : batch.corrupt)
        lost = fmt::format("slot {}: {}", corrupt.sequence, corrupt.why);
      end = batch.next;
      // Slots between the end of one segment and the next one will never be filled.
      if (batch.end && !last_segment && (segment + 1)->header().base > end) {
        lost = fmt::format("slots {} to {}: their segment is lost", end,
                           (segment + 1)->header().base - 1);
        end = (segment + 1)->header().base;
      }
      break;
    }
  }
  if (end <= slot) return std::optional<Piece>();
  if (!lost.empty()) problems_.push_back(fmt::format("session {}: {}", session_.hex(), lost));
  const codec::FrameHeader header{.kind = {}, .session = session_, .first = slot + 1, .last = end};
  const codec::GapReason reason =
      lost.empty() ? codec::GapReason::kEmpty : codec::GapReason::kCorrupt;
  codec::Bytes frame =
      bundle.empty() ? codec::encode(header, codec::GapBody{.reason = reason, .message = lost})
                     : bundle.finish(header);
  return std::optional<Piece>(Piece{.frame = std::move(frame), .last = end});
}

void SegmentSource::remove(const spool::SegmentReader& segment) const {
  directory_.files().remove(spool::fs::path(spool::kSegments) / segment.name());
}

void SegmentSource::acknowledge(std::uint64_t durable) {
  while (segments_.size() > 1 && segments_[1].header().base <= durable) {
    remove(segments_.front());
    segments_.erase(segments_.begin());
  }
}

bool SegmentSource::discard() {
  for (const spool::SegmentReader& segment : segments_) remove(segment);
  return !segments_.empty();
}

// ---- Logs of frames

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
  if (first == 1) describe_again(frames.front());
  if (first == after + 1) return frames;
  std::vector<codec::Bytes> repaired = bridge(after + 1, first - 1, frames);
  for (codec::Bytes& frame : frames) repaired.push_back(std::move(frame));
  return repaired;
}

// A session whose description was damaged: no other frame of it could be stored.
void FrameLogSource::describe_again(codec::Bytes& frame) const {
  const auto first = codec::decode_frame(frame);
  if (!first || first->header.kind != codec::FrameKind::kGap || first->header.last != 1) return;
  frame = codec::encode(first->header, log_.description);
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

// ---- Few large frames for many small ones

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
