// OtlpSources: all [otlp.NAME] of a run, and where its command is told to send metrics to.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collect/foreign/problems.h"
#include "run/otlp/otlp_receiver.h"

namespace corral::run {

class OtlpSources {
 public:
  // Binds them; one that cannot be had is a problem. The queue outlives it.
  OtlpSources(std::span<const collect::foreign::OtlpSource> sources,
              collect::foreign::PointQueue& queue);

  // The first one's; empty: none is there.
  [[nodiscard]] std::string url() const {
    return receivers_.empty() ? std::string() : receivers_.front()->url();
  }
  // One that cannot start is a problem, and its address is not told. From then on requests are
  // answered.
  void start();
  void stop();
  // New since the last call.
  std::vector<collect::foreign::Problem> problems() { return problems_.take(); }
  std::vector<metric::Health> health() { return problems_.take_health(); }

 private:
  collect::foreign::ProblemBox problems_;
  std::vector<std::unique_ptr<OtlpReceiver>> receivers_;
};

}  // namespace corral::run
