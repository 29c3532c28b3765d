#include "compat/radt/radt.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compat/mlflow/wire/phases_of_spans.h"
#include "core/json.h"
#include "core/limits.h"

namespace corral::mlflow {
namespace {

constexpr std::size_t kPieceBytes = 64u << 10;
constexpr int kGzipWindow = 15 + 16;         // gzip's header alone
constexpr std::size_t kPhasesAtOnce = 4096;  // some frames' worth
constexpr std::size_t kMostFlows = 100'000;  // open ends that are remembered

// Unfolds piece by piece.
class Gunzip {
 public:
  explicit Gunzip(std::string_view bytes)
      : rest_(bytes), ready_(inflateInit2(&stream_, kGzipWindow) == Z_OK) {}
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip() { inflateEnd(&stream_); }

  // The next bytes; nothing at the end.
  std::string_view next() {
    while (ready_ && !done_) {
      feed();
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      const int status = inflate(&stream_, Z_NO_FLUSH);
      const std::size_t made = buffer_.size() - stream_.avail_out;
      const bool at_end = stream_.avail_in == 0 && rest_.empty();
      if (status == Z_STREAM_END) {
        whole_ = at_end;
        done_ = at_end || inflateReset(&stream_) != Z_OK;
      } else {
        done_ = status != Z_OK;
      }
      any_ = any_ || status == Z_OK || status == Z_STREAM_END;
      if (made > 0) return {buffer_.data(), made};
    }
    return {};
  }
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] bool is_gzip() const { return any_; }

 private:
  void feed() {
    if (stream_.avail_in > 0) return;
    const std::size_t some = std::min<std::size_t>(rest_.size(), std::numeric_limits<uInt>::max());
    // zlib reads through a pointer that is not const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(some);
    rest_.remove_prefix(some);
  }

  std::string_view rest_;
  z_stream stream_{};
  std::vector<char> buffer_ = std::vector<char>(kPieceBytes);
  bool ready_;
  bool done_ = false;
  bool whole_ = false;
  bool any_ = false;
};

std::optional<std::uint64_t> parse_id(const Json& value) {
  const auto* number = value.as_int();
  if (number == nullptr || *number <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

// "radt/thread 7"; "radt" if the thread is not known.
std::string thread_lane(const Json* attributes) {
  const Json* thread = attributes != nullptr ? attributes->find("thread_id") : nullptr;
  if (thread == nullptr || thread->is_null()) return std::string(kRadtLane);
  const auto* text = thread->as_string();
  std::string name = text != nullptr ? *text : thread->dump();
  std::ranges::replace(name, '/', '_');
  return phase_text("radt/thread " + name, limits::kNameBytes);
}

class Records {
 public:
  explicit Records(const TakePhases& take) : take_(take) {}

  Result<> line(std::string_view text) {
    if (text.empty()) return {};
    if (batch_.begins + batch_.ends >= kRadtRecords)
      return fail(Code::kTooLarge, "a batch of spans holds more than 20 million records");
    const auto json = text.size() <= kRadtLineBytes ? Json::parse(text) : Result<Json>(Json());
    if (!json || json->as_array() == nullptr || !record(*json->as_array())) ++batch_.bad;
    return phases_.size() < kPhasesAtOnce ? Result<>() : flush();
  }
  Result<> flush() {
    for (const auto& some : phase_batches(phases_)) TRY(take_(some));
    phases_.clear();
    open_.clear();
    return {};
  }
  void truncated() { batch_.truncated = true; }
  [[nodiscard]] const RadtBatch& batch() const { return batch_; }

 private:
  bool record(const Json::Array& fields) {
    constexpr std::size_t kBeginFields = 7;
    constexpr std::size_t kEndFields = 3;
    const auto* kind = fields.empty() ? nullptr : fields[0].as_string();
    if (kind == nullptr) return false;
    if (*kind == "s" && fields.size() == kBeginFields) return begin(fields);
    return *kind == "e" && fields.size() == kEndFields && end(fields);
  }

  bool begin(const Json::Array& fields) {
    const auto id = parse_id(fields[1]);
    const auto* name = fields[4].as_string();
    const auto* start = fields[6].as_int();
    if (!id || name == nullptr || start == nullptr) return false;
    codec::PhaseRecord phase;
    phase.id = *id;
    phase.parent = parse_id(fields[2]).value_or(0);
    phase.begin = phase_time(*start);
    phase.name = name->empty() ? "span" : phase_text(*name, limits::kNameBytes);
    phase.type = "span";
    phase.lane = thread_lane(&fields[5]);
    if (const auto* attributes = fields[5].as_object()) {
      phase.attributes = phase_attributes(*attributes);
      link(fields[5], phase);
    }
    ++batch_.begins;
    open_[*id] = phases_.size();
    phases_.push_back(std::move(phase));
    return true;
  }

  bool end(const Json::Array& fields) {
    const auto id = parse_id(fields[1]);
    const auto* time = fields[2].as_int();
    if (!id || time == nullptr) return false;
    ++batch_.ends;
    const auto begun = open_.find(*id);
    if (begun != open_.end()) {
      codec::PhaseRecord& phase = phases_[begun->second];
      phase.end = std::max(phase_time(*time), *phase.begin);
      return true;
    }
    codec::PhaseRecord phase;
    phase.id = *id;
    phase.end = phase_time(*time);
    phases_.push_back(std::move(phase));
    return true;
  }

  // Links this span to the one that left by the flow that it enters by.
  void link(const Json& attributes, codec::PhaseRecord& phase) {
    const std::string in = attributes.get_string("in_flow_id");
    const std::string out = attributes.get_string("out_flow_id");
    if (const auto from = flows_.find(in); !in.empty() && from != flows_.end())
      phase.links.push_back(from->second);
    if (!out.empty() && flows_.size() < kMostFlows) flows_[out] = phase.id;
  }

  const TakePhases& take_;
  RadtBatch batch_;
  std::vector<codec::PhaseRecord> phases_;
  std::unordered_map<std::uint64_t, std::size_t> open_;  // indexes in phases_
  std::unordered_map<std::string, std::uint64_t> flows_;
};

}  // namespace

std::optional<RadtRun> radt_run(std::span<const std::pair<std::string, std::string>> params) {
  const auto find = [&](std::string_view key) -> const std::string* {
    const auto found = std::ranges::find(params, key, &std::pair<std::string, std::string>::first);
    return found == params.end() ? nullptr : &found->second;
  };
  const std::string* workload = find("workload");
  const std::string* letter = find("letter");
  if (workload == nullptr || letter == nullptr || find("listeners") == nullptr) return std::nullopt;
  if (workload->empty() || workload->size() > limits::kNameBytes) return std::nullopt;
  return RadtRun{.workload = *workload, .letter = *letter};
}

bool is_radt_batch(std::string_view path) {
  if (!path.starts_with(kRadtFolder)) return false;
  path.remove_prefix(kRadtFolder.size());
  return path.starts_with("spans-") && path.ends_with(".jsonl.gz") &&
         path.find('/') == std::string_view::npos;
}

Result<RadtBatch> read_radt_spans(std::string_view gzip, const TakePhases& take) {
  Gunzip source(gzip);
  Records records(take);
  std::string line;
  bool skipping = false;  // a line that is too long
  std::size_t left = kRadtBytes + kRadtRatio * gzip.size();
  for (std::string_view piece = source.next(); !piece.empty(); piece = source.next()) {
    if (piece.size() > left)
      return fail(Code::kTooLarge, "a batch of spans unfolds to more than records would");
    left -= piece.size();
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      const std::string_view part = piece.substr(0, end);
      // One byte too many is enough to be refused.
      if (!skipping)
        line.append(part.substr(0, kRadtLineBytes + 1 - std::min(line.size(), kRadtLineBytes)));
      skipping = line.size() > kRadtLineBytes;
      piece.remove_prefix(part.size());
      if (end == std::string_view::npos) break;
      piece.remove_prefix(1);
      TRY(records.line(line));
      line.clear();
      skipping = false;
    }
  }
  if (!source.is_gzip() && !gzip.empty()) return fail(Code::kInvalidArgument, "not a gzip file");
  if (!source.whole()) records.truncated();
  // A truncated last line may look like a complete record, so it counts only in a complete file.
  if (source.whole()) TRY(records.line(line));
  TRY(records.flush());
  return records.batch();
}

}  // namespace corral::mlflow
