#include "collect/nvidia/device_health.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace corral::collect::nvidia {

bool ends_the_device(Status status) {
  switch (status) {
    case Status::kGpuIsLost:
    case Status::kResetRequired:
    case Status::kUninitialized:
    case Status::kDriverNotLoaded:
      return true;
    default:
      return false;
  }
}

DeviceHealth::DeviceHealth(const Nvml& nvml, std::shared_ptr<News> news, std::string source)
    : nvml_(&nvml), news_(std::move(news)), source_(std::move(source)) {}

bool DeviceHealth::accept(Call call, Status status) {
  if (status == Status::kSuccess) return true;
  std::array<char, 200> text{};
  const auto write = [&](const char* format, auto... arguments) {
    const auto end = fmt::format_to_n(text.data(), text.size(), fmt::runtime(format), arguments...);
    tell({text.data(), std::min(end.size, text.size())});
  };
  if (ends_the_device(status)) {
    if (!std::exchange(lost_, true)) write("{}; its values end here", nvml_->words(status));
    return false;
  }
  const std::uint32_t bit = 1U << static_cast<unsigned>(call);
  if ((told_ & bit) == 0) {
    told_ |= bit;
    write("no values of {} for now: {}", call_name(call), nvml_->words(status));
  }
  return false;
}

void DeviceHealth::tell(std::string_view text) const {
  if (news_ != nullptr) news_->tell(source_, text);
}

}  // namespace corral::collect::nvidia
