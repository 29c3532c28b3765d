// Series like those that hardware and trainings give, seeded and the same on every machine: what
// every benchmark of the store and of its peers writes (docs/benchmarks.md, "The generator").
//
// Frozen: figures of different days compare only while these numbers stay. A Generator gives one
// series piece by piece (any cutting gives the same values); Times gives the clock of one sampling
// group. Random numbers and their distributions are written out here, because the standard's differ
// between libraries. Pure; one thread per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace corral::bench {

enum class Shape : std::uint8_t {
  kConstant,        // limits, versions, what never moves
  kGpuUtilisation,  // 0 to 100 in whole per cent, regimes of seconds to minutes
  kTemperature,     // whole degrees, slow
  kCpuPercent,      // one decimal, noisy
  kWatts,           // milliwatts / 1000, noisy
  kWattsAverage,    // two decimals, the sensor averages over a second
  kMemory,          // bytes in 2 MiB steps, plateaus
  kNetworkBytes,    // counter, whole bytes
  kEnergy,          // counter in joules, three decimals
  kClock,           // MHz, few levels
  kLossFloat,       // a float32 as a double
  kLossDouble,      // all 53 bits are noise
  kLossBf16,        // a bfloat16 as a double
  kCosineRate,      // learning rate, smooth, all bits
  kThroughput,      // items / elapsed
};
inline constexpr std::size_t kShapes = 15;
inline constexpr std::size_t kHardwareShapes = 10;  // the first so many

std::string_view shape_name(Shape shape);
inline bool is_hardware(Shape shape) { return static_cast<std::size_t>(shape) < kHardwareShapes; }
bool is_counter(Shape shape);

// Returns the shape of series `index` of a mix: 22 of 25 are hardware (88 %), every shape of its
// kind equally often.
Shape mixed_shape(std::size_t index);
// Hardware only.
Shape hardware_shape(std::size_t index);

// SplitMix64 with the few distributions that the shapes need.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();
  double uniform();                         // [0, 1)
  double uniform(double low, double high);  // [low, high)
  double normal();                          // sum of four uniforms: |x| < 3.5
  std::uint64_t below(std::uint64_t n);     // [0, n)
  bool chance(double probability);
  std::int64_t between(std::int64_t low, std::int64_t high);  // both included

 private:
  std::uint64_t state_;
};

// One series at 10 Hz, from its first value on.
class Generator {
 public:
  Generator(Shape shape, std::uint64_t seed);
  void next(std::span<double> out);
  [[nodiscard]] Shape shape() const { return shape_; }

 private:
  double value();
  double constant() const;
  double gpu_utilisation();
  double temperature();
  double cpu_percent();
  double watts();
  double watts_average();
  double memory();
  double network_bytes();
  double energy();
  double clock();
  double loss();
  double cosine_rate();
  double throughput();
  // Counts ticks down; true when a new regime begins, of `shortest` to `longest` ticks.
  bool regime_ends(std::int64_t shortest, std::int64_t longest);

  Shape shape_;
  Random random_;
  std::uint64_t tick_ = 0;
  std::int64_t left_ = 0;  // ticks of the regime
  double level_ = 0;       // level of the current regime
  double spread_ = 0;
  double state_ = 0;          // slow part: walk, filter
  std::int64_t counter_ = 0;  // bytes, mJ, pages, degrees
};

// The first out.size() values of a series.
void fill(Shape shape, std::uint64_t seed, std::span<double> out);

// Times of one sampling group, ns from the run's start: a grid with jitter (standard deviation
// 0.2 ms) in whole microseconds; they ascend.
class Times {
 public:
  Times(std::uint64_t seed, double hz);
  void next(std::span<std::int64_t> out);

 private:
  Random random_;
  double period_us_;
  std::uint64_t tick_ = 0;
  std::int64_t last_us_ = -1;
};

// Seed of series `index` of run `run`, distinct for each.
std::uint64_t series_seed(std::uint64_t seed, std::size_t run, std::size_t index);

}  // namespace corral::bench
