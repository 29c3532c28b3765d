// Sizes and speeds of columns, written and read: bytes per entry and MB/s of raw entries, one core,
// for the shapes of bench/shapes.h, times and steps; zstd alone as the peer.
//
//   corral_bench_codec [columns of 8,192 entries per series, default 64]
//
// Every column is also checked to come back bit by bit.
#include <fmt/core.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/block/column.h"
#include "shapes.h"

namespace corral::bench {
namespace {

using codec::Effort;
using codec::kColumnEntries;

constexpr std::size_t kRounds = 5;

struct Cost {
  double bytes = 0;               // per entry
  double encode = 0, decode = 0;  // ns per entry, the best round
};

// The best of some rounds, ns per entry.
template <class Work>
double best_time(std::size_t entries, Work work) {
  double best = 1e300;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count() / static_cast<double>(entries));
  }
  return best;
}

template <class T>
using Append = void (*)(std::string&, std::span<const T>, Effort);

void must(bool holds, const char* what) {
  if (holds) return;
  fmt::print(stderr, "corral_bench_codec: {}\n", what);
  std::exit(1);
}

template <class T>
std::span<const T> column_of(const std::vector<T>& all, std::size_t at) {
  return std::span(all).subspan(at, std::min(kColumnEntries, all.size() - at));
}

template <class T>
Cost measure_columns(const std::vector<T>& all, Append<T> append, Effort effort) {
  std::string out;
  Cost cost;
  cost.encode = best_time(all.size(), [&] {
    out.clear();
    for (std::size_t at = 0; at < all.size(); at += kColumnEntries)
      append(out, column_of(all, at), effort);
  });
  cost.bytes = static_cast<double>(out.size()) / static_cast<double>(all.size());
  std::vector<T> back(all.size());
  cost.decode = best_time(all.size(), [&] {
    std::span<const std::uint8_t> rest(reinterpret_cast<const std::uint8_t*>(out.data()),
                                       out.size());
    for (std::size_t at = 0; !rest.empty();) {
      const auto reader = codec::ColumnReader<T>::open(rest).value();
      must(reader.read(0, std::span(back).subspan(at, reader.entries())).has_value(), "damaged");
      at += reader.entries();
      rest = rest.subspan(reader.bytes());
    }
  });
  must(std::memcmp(all.data(), back.data(), all.size() * sizeof(T)) == 0, "not what was written");
  return cost;
}

template <class T>
Cost measure_zstd(const std::vector<T>& all) {
  std::vector<std::string> frames;
  std::string buffer(ZSTD_compressBound(kColumnEntries * sizeof(T)), '\0');
  Cost cost;
  cost.encode = best_time(all.size(), [&] {
    frames.clear();
    for (std::size_t at = 0; at < all.size(); at += kColumnEntries) {
      const auto column = column_of(all, at);
      const std::size_t n =
          ZSTD_compress(buffer.data(), buffer.size(), column.data(), column.size_bytes(), 1);
      frames.emplace_back(buffer.data(), n);
    }
  });
  std::vector<T> back(kColumnEntries);
  cost.decode = best_time(all.size(), [&] {
    for (const std::string& frame : frames)
      ZSTD_decompress(back.data(), kColumnEntries * sizeof(T), frame.data(), frame.size());
  });
  for (const std::string& frame : frames) cost.bytes += static_cast<double>(frame.size());
  cost.bytes /= static_cast<double>(all.size());
  return cost;
}

double rate(double ns) { return 8e3 / ns; }  // MB/s of raw entries

struct Row {
  std::string name;
  Cost fast, best, zstd;
};

void print(const Row& row) {
  fmt::print("{:<24}", row.name);
  for (const Cost& cost : {row.fast, row.best, row.zstd})
    fmt::print("{:>8.3f} {:>6.0f} {:>6.0f}", cost.bytes, rate(cost.encode), rate(cost.decode));
  fmt::print("\n");
}

// Arithmetic means of sizes and of times.
Row mean(std::string name, std::span<const Row> rows) {
  Row sum{.name = std::move(name), .fast = {}, .best = {}, .zstd = {}};
  const auto add = [&](Cost& to, const Cost& from) {
    const auto n = static_cast<double>(rows.size());
    to.bytes += from.bytes / n;
    to.encode += from.encode / n;
    to.decode += from.decode / n;
  };
  for (const Row& row : rows) {
    add(sum.fast, row.fast);
    add(sum.best, row.best);
    add(sum.zstd, row.zstd);
  }
  return sum;
}

template <class T>
Row measure_row(std::string_view name, const std::vector<T>& all, Append<T> append) {
  Row row{.name = std::string(name),
          .fast = measure_columns(all, append, Effort::kFast),
          .best = measure_columns(all, append, Effort::kBest),
          .zstd = measure_zstd(all)};
  print(row);
  return row;
}

std::vector<std::int64_t> times_of(std::size_t n, double jitter_ns, std::int64_t unit) {
  Random random(11);
  std::vector<std::int64_t> times(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto ideal = static_cast<double>(i) * 1e8;
    times[i] = 1'763'710'530'123'456'789 +
               static_cast<std::int64_t>((ideal + random.normal() * jitter_ns) /
                                         static_cast<double>(unit)) *
                   unit;
  }
  return times;
}

void measure_times_and_steps(std::size_t n) {
  Times clock(3, 10);
  std::vector<std::int64_t> times(n);
  clock.next(times);
  measure_row<std::int64_t>("times of the generator", times, codec::append_times);
  measure_row<std::int64_t>("times ms, 1.5 ms", times_of(n, 1.5e6, 1'000'000), codec::append_times);
  measure_row<std::int64_t>("times us, 0.2 ms", times_of(n, 2e5, 1'000), codec::append_times);
  measure_row<std::int64_t>("times ns, 0.2 ms", times_of(n, 2e5, 1), codec::append_times);
  std::vector<std::int64_t> steps(n);
  for (std::size_t i = 0; i < n; ++i) steps[i] = static_cast<std::int64_t>(i);
  measure_row<std::int64_t>("steps +1", steps, codec::append_steps);
  Random random(12);
  for (std::size_t i = 1; i < n; ++i)
    steps[i] = steps[i - 1] + (random.chance(0.02) ? random.between(2, 3) : 1);
  measure_row<std::int64_t>("steps irregular", steps, codec::append_steps);
}

void measure_short(std::size_t n) {
  fmt::print("columns of {} entries:\n", n);
  std::vector<double> values(n);
  for (std::size_t s = 0; s < kShapes; ++s) {
    const auto shape = static_cast<Shape>(s);
    fill(shape, 5, values);
    measure_row<double>(shape_name(shape), values, codec::append_values);
  }
  std::vector<std::int64_t> times(n);
  Times(3, 10).next(times);
  measure_row<std::int64_t>("times of the generator", times, codec::append_times);
}

void measure_all(std::size_t columns) {
  const std::size_t n = columns * kColumnEntries;
  fmt::print("{:<24}{:>22}{:>22}{:>22}\n", "bytes/entry, MB/s in, out", "fast", "best", "zstd -1");
  std::vector<Row> rows;
  std::vector<double> values(n);
  for (std::size_t s = 0; s < kShapes; ++s) {
    const auto shape = static_cast<Shape>(s);
    fill(shape, 5, values);
    rows.push_back(measure_row<double>(shape_name(shape), values, codec::append_values));
  }
  const std::span all(rows);
  print(mean("mean of hardware", all.first(kHardwareShapes)));
  print(mean("mean of trainings", all.subspan(kHardwareShapes)));
  measure_times_and_steps(n);
  measure_short(100);
}

}  // namespace
}  // namespace corral::bench

int main(int argc, char** argv) {
  const std::size_t columns = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64;
  corral::bench::must(columns > 0, "the number of columns must be positive");
  corral::bench::measure_all(columns);
  return 0;
}
