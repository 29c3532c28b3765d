#include "spool/segment_parse.h"

#include <algorithm>
#include <cstring>

#include "codec/health.h"
#include "codec/wire.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"
#include "spool/segment_format.h"

namespace corral::spool {
namespace {

static_assert(kSegmentNameBytes == limits::kNameBytes);
static_assert(kSegmentSeriesLimit == limits::kSeriesPerSession);
static_assert(kLargestSegmentBytes / kSlotBytes <= kSegmentSlotsLimit);

using codec::WireReader;

CommitWord commit_word(codec::ByteView slots, std::uint64_t i) {
  CommitWord word{};
  std::memcpy(&word, slots.data() + i * kSlotBytes, sizeof word);
  return word;
}

bool is_empty(const CommitWord& word) {
  return word.kind == 0 && word.detail == 0 && word.check == 0 && word.number == 0;
}

bool is_kind(const CommitWord& word, SlotKind kind) {
  return word.kind == static_cast<std::uint8_t>(kind);
}

std::string rest_as_text(WireReader& in) {
  const auto raw = in.take(in.remaining(), "rest");
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

std::string get_name(WireReader& in, const char* field) {
  std::string name = in.text16(field);
  if (name.empty() || name.size() > limits::kNameBytes || !is_utf8(name)) {
    in.bad(field, "empty, longer than 250 bytes or not UTF-8");
  }
  return name;
}

// The scalar members of a JSON object; anything else in it is kept as its JSON text.
codec::Attributes get_attributes(WireReader& in) {
  codec::Attributes attributes;
  const std::string text = rest_as_text(in);
  if (text.empty() || !in.ok()) return attributes;
  const auto json = Json::parse(text);
  const Json::Object* object = json ? json->as_object() : nullptr;
  if (object == nullptr || object->size() > limits::kAttributes) {
    in.bad("attributes", "not a JSON object of at most 64 members");
    return attributes;
  }
  for (const auto& [key, value] : *object) {
    std::string dumped = value.dump();
    if (key.size() > limits::kNameBytes || dumped.size() > UINT16_MAX) {
      in.bad("attributes", "a key longer than 250 bytes or a value longer than 65535");
    }
    attributes.emplace_back(key, std::move(dumped));
  }
  return attributes;
}

RecordBody get_series(WireReader& in) {
  codec::SeriesDef series;
  series.id = in.get<std::uint32_t>("series id");
  if (series.id == 0 || series.id > limits::kSeriesPerSession) in.bad("series id", "out of range");
  if (in.get<std::uint8_t>("series kind") != 0) in.bad("series kind", "not a gauge");
  series.name = rest_as_text(in);
  if (series.name.empty() || series.name.size() > limits::kNameBytes || !is_utf8(series.name)) {
    in.bad("series name", "empty, longer than 250 bytes or not UTF-8");
  }
  return series;
}

RecordBody get_fact(WireReader& in, codec::FactKind kind) {
  codec::Fact fact;
  fact.kind = kind;
  fact.key = get_name(in, "key");
  fact.value = rest_as_text(in);
  if (fact.value.size() > limits::kValueBytes) in.bad("value", "longer than 6000 bytes");
  if (!is_utf8(fact.value)) in.bad("value", "not UTF-8");
  return fact;
}

RecordBody get_event(WireReader& in) {
  codec::Event event;
  event.time = boot_time(in.get<std::int64_t>("time"));
  event.name = get_name(in, "event name");
  event.origin = "user";
  event.attributes = get_attributes(in);
  if (event.name == codec::kProcessHealthEvent) {
    if (const auto health = codec::health_of(event.attributes))
      return codec::health_event(event.time, *health);
  }
  return event;
}

RecordBody get_phase_begin(WireReader& in) {
  codec::PhaseRecord phase;
  phase.id = in.get<std::uint64_t>("phase id");
  if (phase.id == 0) in.bad("phase id", "zero");
  phase.parent = in.get<std::uint64_t>("phase parent");
  phase.begin = boot_time(in.get<std::int64_t>("time"));
  const auto kind = in.get<std::uint8_t>("phase kind");
  if (kind > static_cast<std::uint8_t>(codec::PhaseKind::kControl)) in.bad("phase kind", "unknown");
  phase.kind = static_cast<codec::PhaseKind>(kind);
  phase.name = get_name(in, "phase name");
  phase.type = in.text16("phase type");
  phase.lane = in.text16("phase lane");
  if (!is_utf8(phase.type) || !is_utf8(phase.lane)) in.bad("phase type", "not UTF-8");
  const std::size_t links =
      in.count(in.get<std::uint16_t>("links"), sizeof(std::uint64_t), "links");
  if (links > kSegmentLinks) in.bad("links", "more than 64");
  for (std::size_t i = 0; i < links && in.ok(); ++i) {
    phase.links.push_back(in.get<std::uint64_t>("link"));
  }
  phase.attributes = get_attributes(in);
  return phase;
}

RecordBody get_phase_end(WireReader& in) {
  codec::PhaseRecord phase;
  phase.id = in.get<std::uint64_t>("phase id");
  if (phase.id == 0) in.bad("phase id", "zero");
  phase.end = boot_time(in.get<std::int64_t>("time"));
  return phase;
}

Result<RecordBody> parse_text(std::uint8_t type, codec::ByteView payload) {
  WireReader in(payload);
  RecordBody body;
  switch (static_cast<RecordType>(type)) {
    case RecordType::kSeries:
      body = get_series(in);
      break;
    case RecordType::kParam:
      body = get_fact(in, codec::FactKind::kParam);
      break;
    case RecordType::kTag:
      body = get_fact(in, codec::FactKind::kTag);
      break;
    case RecordType::kEvent:
      body = get_event(in);
      break;
    case RecordType::kPhaseBegin:
      body = get_phase_begin(in);
      break;
    case RecordType::kPhaseEnd:
      body = get_phase_end(in);
      break;
    default:
      in.bad("record type", "unknown");
      break;
  }
  return in.finish(std::move(body));
}

// One pass over slots; each step takes at least one slot off the front, or stops.
class SlotParser {
 public:
  SlotParser(codec::ByteView slots, const ParseOptions& options)
      : slots_(slots), count_(slots.size() / kSlotBytes), options_(options) {}

  Batch parse() {
    batch_.next = options_.first;
    while (at_ < count_ && batch_.records.size() < options_.max_records) {
      const CommitWord word = commit_word(slots_, at_);
      if (is_empty(word) && options_.alive) break;
      if (!step(word)) break;
      if (!is_empty(word)) batch_.next = sequence(0);
    }
    batch_.looked_to = sequence(0);
    return std::move(batch_);
  }

 private:
  bool step(const CommitWord& word) {
    if (is_kind(word, SlotKind::kText)) return text(word);
    if (is_kind(word, SlotKind::kPoint)) {
      point(word);
    } else if (!is_empty(word) && !is_kind(word, SlotKind::kContinuation)) {
      corrupt("a slot of unknown kind " + std::to_string(word.kind));
    }
    ++at_;
    return true;
  }

  void point(const CommitWord& word) {
    PointBody body{};
    std::memcpy(&body, slots_.data() + at_ * kSlotBytes + sizeof(CommitWord), sizeof body);
    if (point_check(word.number, body) != word.check)
      return corrupt("a point whose checksum is wrong");
    if (word.number == 0 || word.number > limits::kSeriesPerSession ||
        (word.detail & ~kHasStep) != 0) {
      return corrupt("a point of an impossible series");
    }
    Point point{
        .series = word.number, .time = boot_time(body.time), .step = {}, .value = body.value};
    if ((word.detail & kHasStep) != 0) point.step = body.step;
    batch_.records.push_back({sequence(0), sequence(0), point});
  }

  // False when the record's other slots are not here yet.
  bool text(const CommitWord& word) {
    const std::uint64_t slots = slots_of_text(word.number);
    const bool possible = word.number <= kTextPayloadBytes;
    if (possible && at_ + slots > count_ && !options_.last) return false;
    if (!possible || at_ + slots > count_) {
      corrupt("a text record that does not fit");
    } else if (gather(word.number, slots)) {
      auto body = parse_text(word.detail, payload_);
      if (body) {
        batch_.records.push_back({sequence(0), sequence(slots - 1), *std::move(body)});
        at_ += slots;
        return true;
      }
      corrupt(body.error().message);
    } else {
      corrupt("a text record whose checksum is wrong");
    }
    ++at_;  // the head alone: a damaged length must not hide what follows, and continuations
            // without a head are skipped
    return true;
  }

  bool gather(std::size_t size, std::uint64_t slots) {
    TextHeadBody head{};
    std::memcpy(&head, slots_.data() + at_ * kSlotBytes + sizeof(CommitWord), sizeof head);
    payload_.assign(head.payload, head.payload + std::min(size, kHeadBytes));
    for (std::uint64_t k = 1; k < slots; ++k) {
      const CommitWord word = commit_word(slots_, at_ + k);
      if (!is_kind(word, SlotKind::kContinuation) || word.number != k) return false;
      const std::uint8_t* from = slots_.data() + (at_ + k) * kSlotBytes + sizeof(CommitWord);
      payload_.insert(payload_.end(), from,
                      from + std::min(size - payload_.size(), kContinuationBytes));
    }
    return codec::crc32c(payload_.data(), payload_.size()) == head.crc;
  }

  void corrupt(std::string why) { batch_.corrupt.push_back({sequence(0), std::move(why)}); }
  [[nodiscard]] std::uint64_t sequence(std::uint64_t offset) const {
    return options_.first + at_ + offset;
  }

  codec::ByteView slots_;
  std::uint64_t count_;
  const ParseOptions& options_;
  std::uint64_t at_ = 0;
  codec::Bytes payload_;
  Batch batch_;
};

}  // namespace

Result<SegmentHeader> parse_segment_header(codec::ByteView bytes) {
  SegmentHeaderLayout raw{};
  if (bytes.size() < sizeof raw) return fail(Code::kCorruption, "shorter than a segment's header");
  std::memcpy(&raw, bytes.data(), sizeof raw);
  if (std::memcmp(raw.magic, kSegmentMagic, sizeof raw.magic) != 0) {
    return fail(Code::kCorruption, "not a segment file");
  }
  if (raw.version > kSegmentVersion) {
    return fail(Code::kUnsupported, "segment version " + std::to_string(raw.version) +
                                        "; this Corral reads up to " +
                                        std::to_string(kSegmentVersion));
  }
  if (codec::crc32c(&raw, offsetof(SegmentHeaderLayout, crc)) != raw.crc) {
    return fail(Code::kCorruption, "the header's checksum is wrong");
  }
  if (raw.version == 0 || raw.header_bytes != kSegmentHeaderBytes || raw.slot_bytes != kSlotBytes ||
      raw.base == 0 || raw.base > INT64_MAX || raw.slots > kSegmentSlotsLimit) {
    return fail(Code::kCorruption, "the header has impossible sizes");
  }
  SegmentHeader header;
  std::memcpy(header.session.bytes.data(), raw.session, sizeof raw.session);
  std::memcpy(header.run.bytes.data(), raw.run, sizeof raw.run);
  header.index = raw.index;
  header.pid = raw.pid;
  header.base = raw.base;
  header.slots = raw.slots;
  header.start_time = raw.start_time;
  header.anchor = {.utc_minus_boot = Nanos(raw.utc_minus_boot), .error = Nanos(raw.anchor_error)};
  header.session_began = boot_time(raw.session_began);
  if (raw.rank >= 0) header.rank = raw.rank;
  std::memcpy(header.boot_id.data(), raw.boot_id, sizeof raw.boot_id);
  header.host = to_utf8({raw.host, ::strnlen(raw.host, sizeof raw.host)});
  return header;
}

Batch parse_slots(codec::ByteView slots, const ParseOptions& options) {
  return SlotParser(slots, options).parse();
}

std::uint64_t committed_slots(codec::ByteView slots) {
  const std::uint64_t count = slots.size() / kSlotBytes;
  std::uint64_t i = 0;
  while (i < count && !is_empty(commit_word(slots, i))) ++i;
  return i;
}

}  // namespace corral::spool
