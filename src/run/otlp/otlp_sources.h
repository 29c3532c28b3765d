// OtlpSources: all [otlp.NAME] of a run, and the endpoint that its command is given.
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
  // Binds all receivers; one that cannot be bound becomes a problem. The queue outlives this.
  OtlpSources(std::span<const collect::foreign::OtlpSource> sources,
              collect::foreign::PointQueue& queue);

  // Returns the URL of the first receiver; empty: there is none.
  [[nodiscard]] std::string url() const {
    return receivers_.empty() ? std::string() : receivers_.front()->url();
  }
  // Starts to answer requests. A receiver that cannot start becomes a problem, and its address is
  // not given to the command.
  void start();
  void stop();
  // Returns the problems since the last call.
  std::vector<collect::foreign::Problem> problems() { return problems_.take(); }
  std::vector<metric::Health> health() { return problems_.take_health(); }

 private:
  collect::foreign::ProblemBox problems_;
  std::vector<std::unique_ptr<OtlpReceiver>> receivers_;
};

}  // namespace corral::run
