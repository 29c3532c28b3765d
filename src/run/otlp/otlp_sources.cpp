#include "run/otlp/otlp_sources.h"

namespace corral::run {

namespace foreign = collect::foreign;

OtlpSources::OtlpSources(std::span<const foreign::OtlpSource> sources, foreign::PointQueue& queue) {
  for (const foreign::OtlpSource& source : sources) {
    auto opened = OtlpReceiver::open(source, queue, problems_);
    if (opened) {
      receivers_.push_back(*std::move(opened));
    } else {
      problems_.report("otlp." + source.name, foreign::Trouble::kGone,
                       "not available: " + opened.error().message);
    }
  }
}

void OtlpSources::start() {
  std::erase_if(receivers_, [&](const auto& receiver) {
    const auto started = receiver->start();
    if (!started)
      problems_.report("otlp", foreign::Trouble::kGone,
                       "not available: " + started.error().message);
    return !started;
  });
}

void OtlpSources::stop() {
  for (const auto& receiver : receivers_) receiver->stop();
}

}  // namespace corral::run
