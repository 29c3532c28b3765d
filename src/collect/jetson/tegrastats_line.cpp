#include "collect/jetson/tegrastats_line.h"

#include <algorithm>
#include <optional>

#include "collect/sysfs/number_file.h"

namespace corral::collect {
namespace {

using sysfs::parse_number;
using Take = std::function<void(const TegraValue&)>;

constexpr double kPercent = 0.01;
constexpr double kMega = 1e6;
constexpr double kMilli = 1e-3;
// The value of a sensor whose part is switched off.
constexpr double kOff = -256;

std::string_view next_word(std::string_view& rest) {
  const std::size_t begin = rest.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return rest = {};
  rest.remove_prefix(begin);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n"));
  rest.remove_prefix(word.size());
  return word;
}

// Digits, with a fraction and a sign, and then exactly this.
std::optional<double> number_before(std::string_view text, std::string_view ending) {
  if (!text.ends_with(ending)) return std::nullopt;
  text.remove_suffix(ending.size());
  const bool plain =
      !text.empty() && text.find_first_not_of("0123456789.-") == std::string_view::npos;
  return plain ? parse_number(text) : std::nullopt;
}

// "45%", "45%@905" or "45%@[905,870]": load and clock.
void take_load(std::string_view word, std::string_view busy, std::string_view clock,
               const Take& take) {
  const std::size_t at = word.find('@');
  const auto load = number_before(word.substr(0, at), "%");
  if (!load) return;
  take({.metric = busy, .source = "jetson", .value = *load * kPercent});
  if (at == std::string_view::npos) return;
  std::string_view clocks = word.substr(at + 1);
  if (clocks.starts_with('[') && clocks.ends_with(']'))
    clocks = clocks.substr(1, clocks.size() - 2);
  std::optional<double> fastest;
  while (!clocks.empty()) {
    const std::size_t comma = std::min(clocks.find(','), clocks.size());
    const auto mhz = number_before(clocks.substr(0, comma), "");
    if (mhz) fastest = std::max(fastest.value_or(0), *mhz);
    clocks.remove_prefix(std::min(comma + 1, clocks.size()));
  }
  if (fastest) take({.metric = clock, .source = "jetson", .value = *fastest * kMega});
}

// "5120mW/5080mW" or "1532/1532": now and on average, in mW.
std::optional<double> milliwatts(std::string_view word) {
  const std::size_t slash = word.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view now = word.substr(0, slash);
  const std::string_view mean = word.substr(slash + 1);
  const std::string_view unit = now.ends_with("mW") ? "mW" : "";
  return number_before(mean, unit) ? number_before(now, unit) : std::nullopt;
}

bool is_gpu_temperature(std::string_view word) {
  return word.starts_with("GPU@") || word.starts_with("gpu@");
}

}  // namespace

void read_tegrastats(std::string_view line, const Take& take) {
  std::string_view name;
  for (std::string_view word = next_word(line); !word.empty();
       name = word, word = next_word(line)) {
    if (name == "GR3D_FREQ") take_load(word, "host.gpu.busy", "host.gpu.clock.graphics", take);
    if (name == "EMC_FREQ") take_load(word, "host.gpu.memory.busy", "host.gpu.clock.memory", take);
    if (is_gpu_temperature(word)) {
      const auto celsius = number_before(word.substr(word.find('@') + 1), "C");
      if (celsius && *celsius > kOff)
        take({.metric = "host.gpu.temperature", .source = "jetson", .value = *celsius});
    }
    const auto power = milliwatts(word);
    if (power && !name.empty() && name != "NC")
      take({.metric = "host.power.rail", .source = name, .value = *power * kMilli});
  }
}

}  // namespace corral::collect
