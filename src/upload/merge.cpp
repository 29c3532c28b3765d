#include "upload/merge.h"

#include <iterator>
#include <map>
#include <utility>

#include "core/limits.h"

namespace corral::upload {
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
