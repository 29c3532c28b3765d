#include "collect/sampler/lateness.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace corral::collect {
namespace {

constexpr std::uint64_t kFinest = 1024;  // ns: all below is one bucket
constexpr int kSubBits = 3;
constexpr std::uint64_t kSubs = 1u << kSubBits;

std::size_t bucket_index(std::uint64_t ns, std::size_t buckets) {
  if (ns < kFinest) return 0;
  const auto octave = static_cast<std::uint64_t>(std::bit_width(ns / kFinest)) - 1;
  const std::uint64_t sub = (ns >> (std::bit_width(ns) - 1 - kSubBits)) & (kSubs - 1);
  return std::min<std::size_t>(1 + octave * kSubs + sub, buckets - 1);
}

std::int64_t upper_end(std::size_t bucket) {
  if (bucket == 0) return kFinest;
  const std::uint64_t octave = (bucket - 1) / kSubs;
  const std::uint64_t sub = (bucket - 1) % kSubs;
  return static_cast<std::int64_t>((kFinest << octave) / kSubs * (kSubs + sub + 1));
}

}  // namespace

void Lateness::add(Nanos late) {
  const std::int64_t ns = std::max<std::int64_t>(late.count(), 0);
  buckets_[bucket_index(static_cast<std::uint64_t>(ns), kBuckets)].fetch_add(
      1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  if (late > kLate) late_.fetch_add(1, std::memory_order_relaxed);
  greatest_.store(std::max(greatest_.load(std::memory_order_relaxed), ns),
                  std::memory_order_relaxed);
}

void Lateness::merge(const Lateness& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    buckets_[i].fetch_add(other.buckets_[i].load(std::memory_order_relaxed),
                          std::memory_order_relaxed);
  }
  count_.fetch_add(other.count(), std::memory_order_relaxed);
  late_.fetch_add(other.late(), std::memory_order_relaxed);
  greatest_.store(std::max(greatest().count(), other.greatest().count()),
                  std::memory_order_relaxed);
}

Nanos Lateness::quantile(double q) const {
  const auto wanted =
      static_cast<std::uint64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count())));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets && wanted > 0; ++i) {
    seen += buckets_[i].load(std::memory_order_relaxed);
    if (seen >= wanted && i + 1 < kBuckets)
      return Nanos(std::min(upper_end(i), greatest().count()));
  }
  return greatest();
}

}  // namespace corral::collect
