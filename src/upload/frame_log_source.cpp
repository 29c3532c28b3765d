#include "upload/frame_log_source.h"

#include <map>
#include <optional>
#include <utility>

#include "core/limits.h"
#include "upload/merge.h"

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

Declared read_declared(const spool::ClientLogPlace& log) {
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
BootTime time_of(const std::vector<codec::Bytes>& frames, BootTime otherwise) {
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
    event->time = time_of(frames, log_.description.started);
  }
  if (codec::Bytes declarations = read_declared(log_).frame(header, event); !declarations.empty()) {
    bridge.push_back(std::move(declarations));
    ++header.first;
  }
  header.last = to;
  if (header.first <= to) bridge.push_back(codec::encode(header, lost()));
  return bridge;
}

bool FrameLogSource::discard() { return run_ && spool::forget_client_log(*run_, log_.session); }

}  // namespace corral::upload
