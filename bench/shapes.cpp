#include "shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

namespace corral::bench {
namespace {

constexpr std::array<std::string_view, kShapes> kNames{
    "constant",      "gpu.utilisation", "temperature",  "cpu.percent", "power",
    "power.average", "memory",          "net.bytes",    "energy",      "clock",
    "train/loss",    "train/loss64",    "train/loss16", "train/lr",    "train/throughput"};
constexpr std::size_t kMixPeriod = 25;
constexpr std::int64_t kPage = 2 << 20;

double rounded(double value, double scale) { return std::nearbyint(value * scale) / scale; }

double widened_bf16(double value) {
  const auto narrow = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  bits = (bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u;
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return static_cast<double>(out);
}

}  // namespace

std::string_view shape_name(Shape shape) { return kNames[static_cast<std::size_t>(shape)]; }

bool is_counter(Shape shape) { return shape == Shape::kNetworkBytes || shape == Shape::kEnergy; }

Shape hardware_shape(std::size_t index) { return static_cast<Shape>(index % kHardwareShapes); }

Shape mixed_shape(std::size_t index) {
  const std::size_t place = index % kMixPeriod;
  const std::size_t period = index / kMixPeriod;
  if (place % 8 == 7) {
    const std::size_t training = period * 3 + place / 8;
    return static_cast<Shape>(kHardwareShapes + training % (kShapes - kHardwareShapes));
  }
  return hardware_shape(period * 22 + place - place / 8);
}

std::uint64_t Random::bits() {
  state_ += 0x9E3779B97F4A7C15u;
  std::uint64_t z = state_;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }
double Random::normal() {
  const std::uint64_t a = bits();
  const std::uint64_t b = bits();
  const std::uint64_t sum = (a >> 32) + (a & 0xFFFFFFFFu) + (b >> 32) + (b & 0xFFFFFFFFu);
  return (static_cast<double>(sum) * 0x1p-32 - 2) * std::numbers::sqrt3;
}
std::uint64_t Random::below(std::uint64_t n) {
  return static_cast<std::uint64_t>(uniform() * static_cast<double>(n));
}
bool Random::chance(double probability) { return uniform() < probability; }
std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
}

Generator::Generator(Shape shape, std::uint64_t seed)
    : shape_(shape), random_(seed * kShapes + static_cast<std::uint64_t>(shape)) {
  state_ = random_.uniform();  // drawn again for every series, read at tick 0
}

void Generator::next(std::span<double> out) {
  for (double& v : out) {
    v = value();
    ++tick_;
  }
}

double Generator::value() {
  switch (shape_) {
    case Shape::kConstant:
      return constant();
    case Shape::kGpuUtilisation:
      return gpu_utilisation();
    case Shape::kTemperature:
      return temperature();
    case Shape::kCpuPercent:
      return cpu_percent();
    case Shape::kWatts:
      return watts();
    case Shape::kWattsAverage:
      return watts_average();
    case Shape::kMemory:
      return memory();
    case Shape::kNetworkBytes:
      return network_bytes();
    case Shape::kEnergy:
      return energy();
    case Shape::kClock:
      return clock();
    case Shape::kLossFloat:
      return static_cast<double>(static_cast<float>(loss()));
    case Shape::kLossDouble:
      return loss();
    case Shape::kLossBf16:
      return widened_bf16(loss());
    case Shape::kCosineRate:
      return cosine_rate();
    case Shape::kThroughput:
      return throughput();
  }
  return 0;
}

bool Generator::regime_ends(std::int64_t shortest, std::int64_t longest) {
  if (left_-- > 0) return false;
  left_ = random_.between(shortest, longest);
  return true;
}

double Generator::constant() const {
  constexpr std::array kValues{85'899'345'920.0, 300.0, 1.0, 0.001, 350.0, 0.0, 1410.0, 3e-4};
  return kValues[static_cast<std::size_t>(state_ * kValues.size())];
}

double Generator::gpu_utilisation() {
  constexpr std::array kLevels{0.0, 37.0, 62.0, 88.0, 96.0, 98.0};
  constexpr std::array kSpreads{0.0, 9.0, 7.0, 4.0, 2.5, 1.5};
  if (regime_ends(50, 900)) {
    const std::uint64_t i = random_.below(kLevels.size());
    level_ = kLevels[i];
    spread_ = kSpreads[i];
  }
  return std::clamp(std::nearbyint(level_ + spread_ * random_.normal()), 0.0, 100.0);
}

// Follows the load with a time constant of half a minute; the sensor knows whole degrees.
double Generator::temperature() {
  if (tick_ == 0) state_ = 35 + 30 * state_;
  if (regime_ends(200, 2000)) level_ = random_.uniform(35, 84);
  state_ += (level_ - state_) / 300 + 0.04 * random_.normal();
  const auto now = static_cast<std::int64_t>(std::nearbyint(state_));
  // Hysteresis, as a sensor's driver has: no flicker between two degrees.
  if (std::abs(state_ - static_cast<double>(counter_)) > 0.55) counter_ = now;
  return static_cast<double>(counter_);
}

double Generator::cpu_percent() {
  if (regime_ends(200, 3000)) level_ = random_.uniform(5, 90);
  return rounded(std::clamp(level_ + 7 * random_.normal(), 0.0, 100.0), 10);
}

double Generator::watts() {
  if (regime_ends(300, 6000)) level_ = random_.uniform(90, 380);
  return rounded(level_ + 14 * random_.normal(), 1000);
}

double Generator::watts_average() {
  if (tick_ == 0) state_ = 100 + 200 * state_;
  if (regime_ends(300, 6000)) level_ = random_.uniform(90, 380);
  state_ += (level_ + 8 * random_.normal() - state_) * 0.1;
  return rounded(state_, 100);
}

double Generator::memory() {
  if (regime_ends(20, 600)) {
    if (random_.chance(0.2)) counter_ = random_.between(200, 30'000);
    counter_ = std::max<std::int64_t>(counter_ + random_.between(-40, 60), 0);
  }
  return static_cast<double>(counter_ * kPage);
}

double Generator::network_bytes() {
  if (tick_ == 0) counter_ = random_.between(1'000'000'000'000, 4'000'000'000'000'000);
  if (regime_ends(100, 3000)) level_ = random_.chance(0.2) ? 2e4 : random_.uniform(5e6, 1.1e8);
  counter_ += static_cast<std::int64_t>(level_ * (1 + 0.28 * random_.normal()));
  return static_cast<double>(counter_);
}

double Generator::energy() {
  if (tick_ == 0) counter_ = random_.between(1'000'000'000, 40'000'000'000'000);
  if (regime_ends(300, 6000)) level_ = random_.uniform(9'000, 38'000);
  counter_ += static_cast<std::int64_t>(level_ + 2'500 * random_.normal());
  return static_cast<double>(counter_) / 1000;
}

double Generator::clock() {
  constexpr std::array kLevels{210.0, 1095.0, 1320.0, 1395.0, 1410.0};
  if (regime_ends(20, 300)) level_ = kLevels[random_.below(kLevels.size())];
  return random_.chance(0.08) ? level_ - 15.0 * static_cast<double>(random_.between(1, 4)) : level_;
}

// Falls by a power of the step; the noise of a mini-batch is relative to it.
double Generator::loss() {
  if (tick_ == 0) level_ = 2 + 6 * state_;
  const double trend = level_ / std::sqrt(1 + static_cast<double>(tick_) / 500) + 0.05;
  return trend * (1 + 0.06 * random_.normal());
}

double Generator::cosine_rate() {
  if (tick_ == 0) {
    level_ = std::nearbyint(1 + 9 * state_) * 1e-4;
    spread_ = 50'000 + std::nearbyint(10 * state_) * 25'000;  // steps of a cycle
  }
  const double part = std::fmod(static_cast<double>(tick_), spread_) / spread_;
  return 0.5 * level_ * (1 + std::cos(std::numbers::pi * part));
}

double Generator::throughput() {
  constexpr std::array kItems{32.0, 64.0, 128.0, 4096.0};
  if (tick_ == 0) level_ = kItems[static_cast<std::size_t>(state_ * kItems.size())];
  const double elapsed_us = std::nearbyint(1e5 * (1 + 0.015 * random_.normal()));
  return level_ / (elapsed_us * 1e-6);
}

void fill(Shape shape, std::uint64_t seed, std::span<double> out) {
  Generator(shape, seed).next(out);
}

Times::Times(std::uint64_t seed, double hz) : random_(seed), period_us_(1e6 / hz) {}

void Times::next(std::span<std::int64_t> out) {
  constexpr double kJitterUs = 200;
  for (std::int64_t& t : out) {
    const double at = static_cast<double>(tick_++) * period_us_;
    const double jitter = std::min(kJitterUs, period_us_ / 8) * random_.normal();
    last_us_ = std::max(last_us_ + 1, static_cast<std::int64_t>(std::nearbyint(at + jitter)));
    t = last_us_ * 1000;
  }
}

std::uint64_t series_seed(std::uint64_t seed, std::size_t run, std::size_t index) {
  return Random(seed ^ (static_cast<std::uint64_t>(run) << 32 | index)).bits();
}

}  // namespace corral::bench
