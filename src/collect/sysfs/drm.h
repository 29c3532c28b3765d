// GPUs below /sys/class/drm, for the listeners that read files instead of a vendor's library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collect/sysfs/number_file.h"
#include "sys/fd.h"

namespace corral::collect::sysfs {

struct Card {
  std::filesystem::path card;    // /sys/class/drm/card0
  std::filesystem::path device;  // its device
  std::filesystem::path hwmon;   // its sensors; empty when there are none
};
// Cards of a PCI vendor (0x1002), in the order of their numbers.
std::vector<Card> find_cards(const std::filesystem::path& root, std::uint32_t vendor);

// "0000:03:00.0"; empty when the device is not on a PCI bus.
std::string pci_address(const Card& card);

// Detects if a device sleeps: reading its sensors would wake it up.
class RuntimeStatus {
 public:
  explicit RuntimeStatus(const std::filesystem::path& device);
  [[nodiscard]] bool is_asleep() const;

 private:
  sys::Fd fd_;
};

// "temp2" for the sensor of `prefix` "temp" whose label is `label`; empty when there is none.
std::string sensor_labelled(const std::filesystem::path& hwmon, const std::string& prefix,
                            std::string_view label);

}  // namespace corral::collect::sysfs
