#include "upload/segment_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "codec/frame.h"
#include "core/limits.h"
#include "spool/segment_parse.h"

namespace corral::upload {
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

}  // namespace corral::upload
