#include "store/engine/stored.h"

namespace corral::store::sql {

Result<std::vector<codec::SamplesBody>> decode_batch(Blob frame) {
  codec::Frame whole = TRY(stored(codec::decode_frame(frame)));
  const auto sections = TRY(stored(codec::sections(std::move(whole))));
  std::vector<codec::SamplesBody> all;
  for (const codec::Frame& section : sections) {
    if (section.header.kind == codec::FrameKind::kSamples)
      all.push_back(TRY(stored(codec::decode_samples(section))));
  }
  return all;
}

std::int64_t count_points(const std::vector<codec::SamplesBody>& samples) {
  std::size_t points = 0;
  for (const codec::SamplesBody& body : samples) {
    for (const codec::SampleGroup& group : body.groups) {
      for (const codec::Column& column : group.columns) points += column.values.size();
    }
  }
  return static_cast<std::int64_t>(points);
}

}  // namespace corral::store::sql
