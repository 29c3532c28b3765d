#include "store/engine/batch_rows.h"

namespace corral::store::sql {

Result<std::vector<codec::SamplesBody>> samples_of(Blob frame) {
  const auto damaged = [](const Error& error) { return fail(Code::kCorruption, error.message); };
  auto whole = codec::decode_frame(frame);
  if (!whole) return damaged(whole.error());
  const auto sections = codec::sections(*std::move(whole));
  if (!sections) return damaged(sections.error());
  std::vector<codec::SamplesBody> all;
  for (const codec::Frame& section : *sections) {
    if (section.header.kind != codec::FrameKind::kSamples) continue;
    auto samples = codec::decode_samples(section);
    if (!samples) return damaged(samples.error());
    all.push_back(*std::move(samples));
  }
  return all;
}

}  // namespace corral::store::sql
