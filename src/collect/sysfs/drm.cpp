#include "collect/sysfs/drm.h"

#include <fcntl.h>

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "collect/proc_file.h"
#include "sys/file.h"

namespace corral::collect::sysfs {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint32_t> parse_hex(const std::string& text) {
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + 2, end, value, 16);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

}  // namespace

std::vector<Card> find_cards(const fs::path& root, std::uint32_t vendor) {
  const fs::path drm = root / "sys/class/drm";
  std::vector<Card> cards;
  for (const std::string& name : numbered_entries(drm, "card")) {
    Card card{.card = drm / name, .device = drm / name / "device", .hwmon = {}};
    if (parse_hex(read_text(card.device / "vendor")) != vendor) continue;
    const auto monitors = numbered_entries(card.device / "hwmon", "hwmon");
    if (!monitors.empty()) card.hwmon = card.device / "hwmon" / monitors.front();
    cards.push_back(std::move(card));
  }
  return cards;
}

std::string pci_address(const Card& card) {
  constexpr std::string_view kKey = "PCI_SLOT_NAME=";
  const std::string text = read_text(card.device / "uevent");
  const std::size_t at = text.find(kKey);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kKey.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

RuntimeStatus::RuntimeStatus(const fs::path& device) {
  if (auto fd = sys::open_file(device / "power/runtime_status", O_RDONLY)) fd_ = *std::move(fd);
}

bool RuntimeStatus::is_asleep() const {
  std::array<char, 32> buffer;
  if (!fd_) return false;
  const std::ptrdiff_t n = read_from_start(fd_.get(), buffer);
  return n > 0 &&
         std::string_view(buffer.data(), static_cast<std::size_t>(n)).starts_with("suspend");
}

std::string sensor_labelled(const fs::path& hwmon, const std::string& prefix,
                            std::string_view label) {
  constexpr int kMost = 32;
  for (int i = 1; i <= kMost; ++i) {
    std::string sensor = prefix + std::to_string(i);
    if (read_text(hwmon / (sensor + "_label")) == label) return sensor;
  }
  return {};
}

}  // namespace corral::collect::sysfs
