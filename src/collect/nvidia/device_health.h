// DeviceHealth: the results of one device's calls so far, so that each trouble is reported once.
//
// A device that is lost, or whose driver went away, is left alone from then on: its values end. Any
// other refusal in the middle of a run is reported once for each kind of call; the values are
// missing while it lasts. One thread; no allocation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collect/news.h"
#include "collect/nvidia/call_meter.h"
#include "collect/nvidia/nvml.h"

namespace corral::collect::nvidia {

// False of a status that may pass, a timeout for instance.
bool ends_the_device(Status status);

class DeviceHealth {
 public:
  DeviceHealth(const Nvml& nvml, std::shared_ptr<News> news, std::string source);

  [[nodiscard]] bool lost() const { return lost_; }
  // True when the call gave values.
  bool accept(Call call, Status status);
  void tell(std::string_view text) const;
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  const Nvml* nvml_;
  std::shared_ptr<News> news_;
  std::string source_;
  std::uint32_t told_ = 0;  // bit per call
  bool lost_ = false;
};
static_assert(kCallCount <= 32);

}  // namespace corral::collect::nvidia
