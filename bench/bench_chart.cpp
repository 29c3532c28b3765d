// Latency of chart reductions over one long series whose blocks and pyramid rows lie encoded in
// memory: decoding is in the figures, the database is not.
//
//   corral_bench_chart [points] [rounds]            default 100000000 300
//   corral_bench_chart group [runs] [points]        default 100 1000000: mean with interval
//
// Windows are random in place and log-uniform in length, 1,500 pixels wide. The runs of the group
// have the same points.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/group.h"
#include "query/chart/m4/reduce.h"
#include "query/series/resample.h"

namespace corral {
namespace {

constexpr SeriesId kSeries{1};
constexpr auto kBlock = static_cast<std::int64_t>(codec::kColumnEntries);

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

class EncodedBlock final : public store::Block {
 public:
  EncodedBlock(codec::IntegerReader times, codec::ValueReader values)
      : times_(times), values_(values) {}
  [[nodiscard]] std::int64_t session() const override { return 1; }
  [[nodiscard]] bool has_steps() const override { return false; }
  Result<> times(std::size_t first, std::span<std::int64_t> out) const override {
    return times_.read(first, out);
  }
  Result<> steps(std::size_t, std::span<std::int64_t>) const override { return {}; }
  Result<> values(std::size_t first, std::span<double> out) const override {
    return values_.read(first, out);
  }

 private:
  codec::IntegerReader times_;
  codec::ValueReader values_;
};

// Watts with three decimals, ten a second with jitter, the noise of which rises now and then.
class EncodedView final : public store::PointView {
 public:
  explicit EncodedView(std::int64_t points) {
    std::vector<codec::Bucket> buckets;
    for (std::int64_t no = 0; no < points / kBlock; ++no) {
      fill();
      std::string block;
      codec::append_times(block, times_, codec::Effort::kFast);
      const std::size_t split = block.size();
      codec::append_values(block, values_, codec::Effort::kFast);
      blocks_.push_back({std::move(block), split});
      for (std::size_t at = 0; at < codec::kColumnEntries; at += codec::kBucketPoints) {
        buckets.push_back(codec::make_bucket(std::span(times_).subspan(at, codec::kBucketPoints),
                                             {},
                                             std::span(values_).subspan(at, codec::kBucketPoints)));
      }
    }
    while (!buckets.empty()) buckets = add_tier(buckets);
  }
  [[nodiscard]] std::int64_t last_time() const { return time_; }
  [[nodiscard]] std::int64_t block_count(SeriesId) const override { return std::ssize(blocks_); }
  [[nodiscard]] std::span<const store::Chunk> recent(SeriesId) const override { return {}; }
  [[nodiscard]] std::span<const store::Damage> damaged(SeriesId) const override { return {}; }
  Result<std::shared_ptr<const store::Block>> block(SeriesId, std::int64_t no) override {
    const auto& [bytes, split] = blocks_.at(static_cast<std::size_t>(no));
    const auto times = TRY(codec::IntegerReader::open(bytes_of(bytes)));
    const auto values = TRY(codec::ValueReader::open(bytes_of(bytes).subspan(split)));
    return std::make_shared<EncodedBlock>(times, values);
  }
  Result<std::shared_ptr<const codec::PyramidRow>> pyramid(SeriesId, store::Channel, int tier,
                                                           std::int64_t no) override {
    if (static_cast<std::size_t>(tier) >= rows_.size() ||
        no >= std::ssize(rows_[static_cast<std::size_t>(tier)]))
      return fail(Code::kNotFound, "no such row");
    const std::string& row = rows_[static_cast<std::size_t>(tier)][static_cast<std::size_t>(no)];
    return std::make_shared<const codec::PyramidRow>(TRY(codec::decode_pyramid_row(bytes_of(row))));
  }

 private:
  void fill() {
    std::normal_distribution<double> noise(0, 1);
    times_.clear();
    values_.clear();
    for (std::int64_t i = 0; i < kBlock; ++i) {
      time_ += 100'000'000 + static_cast<std::int64_t>(noise(random_) * 150) * 1000;
      if (random_() % 100'000 == 0) scale_ = 1 + static_cast<double>(random_() % 40);
      values_.push_back(std::round((250 + scale_ * noise(random_)) * 1000) / 1000);
      times_.push_back(time_);
    }
  }
  std::vector<codec::Bucket> add_tier(const std::vector<codec::Bucket>& buckets) {
    std::vector<codec::Bucket> above;
    auto& tier = rows_.emplace_back();
    for (std::size_t at = 0; at < buckets.size(); at += codec::kLowerBuckets) {
      codec::PyramidRow row;
      const std::size_t n = std::min(codec::kLowerBuckets, buckets.size() - at);
      codec::extend_row(row, std::span(buckets).subspan(at, n));
      for (std::size_t i = 0; n == codec::kLowerBuckets && i < codec::kUpperBuckets; i += 4)
        above.push_back(codec::join_buckets(std::span(row.upper).subspan(i, 4)));
      tier.push_back(codec::encode_pyramid_row(row));
    }
    return above;
  }

  std::mt19937_64 random_{7};
  double scale_ = 5;
  std::int64_t time_ = 0;
  std::vector<std::int64_t> times_;
  std::vector<double> values_;
  std::vector<std::pair<std::string, std::size_t>> blocks_;  // name, and the offset of its values
  std::vector<std::vector<std::string>> rows_;               // by tier
};

// CPU time of this thread, so that a busy machine does not matter.
double milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double milliseconds_of(EncodedView& view, const query::m4::Request& request) {
  const double start = milliseconds();
  const auto answer = query::m4::reduce(view, request);
  const double end = milliseconds();
  CORRAL_ASSERT(answer && !answer->columns.empty());
  return end - start;
}

void measure(EncodedView& view, bool exact, int rounds) {
  std::mt19937_64 random(11);
  std::vector<double> all;
  const auto end = static_cast<double>(view.last_time());
  for (int i = 0; i < rounds; ++i) {
    std::uniform_real_distribution<double> part(0, 1);
    const double length = std::exp(std::log(1.5e11) + part(random) * std::log(end / 1.5e11));
    const auto from = static_cast<std::int64_t>(part(random) * (end - length));
    all.push_back(milliseconds_of(view, {.series = kSeries,
                                         .exact = exact,
                                         .from = from,
                                         .to = from + static_cast<std::int64_t>(length),
                                         .width = 1500,
                                         .limits = {}}));
  }
  std::ranges::sort(all);
  const auto quantile = [&](double q) {
    return all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))];
  };
  fmt::print("{:8} p50 {:6.2f} ms  p90 {:6.2f} ms  p99 {:6.2f} ms  most {:6.2f} ms\n",
             exact ? "exact" : "aligned", quantile(0.5), quantile(0.9), quantile(0.99), all.back());
}

double group_milliseconds(EncodedView& view, int runs, query::Exactness exactness) {
  const double start = milliseconds();
  query::ResampleRequest request{.series = {},
                                 .grid = {.from = 0, .to = view.last_time() + 1, .columns = 1500},
                                 .exactness = exactness,
                                 .ends = false};
  for (int i = 0; i < runs; ++i) request.series.push_back({.series = SeriesId{i}});
  const auto series = query::resample(view, request);
  CORRAL_ASSERT(series.has_value());
  analyze::GroupRequest group{.members = {}, .repetitions = true};
  for (int i = 0; i < runs; ++i) {
    group.members.push_back({.series = &(*series)[static_cast<std::size_t>(i)],
                             .owner = std::to_string(i),
                             .thing = {}});
  }
  const auto answer = analyze::aggregate_group(group);
  CORRAL_ASSERT(answer && answer->n[700] == static_cast<std::uint32_t>(runs));
  return milliseconds() - start;
}

void measure_group(int runs, std::int64_t points) {
  EncodedView view(points);
  fmt::print("group mean with interval over {} runs of {} points, 1,500 columns\n", runs, points);
  for (const bool exact : {false, true}) {
    std::vector<double> all;
    for (int i = 0; i < 5; ++i) {
      all.push_back(group_milliseconds(
          view, runs, exact ? query::Exactness::kExact : query::Exactness::kAligned));
    }
    std::ranges::sort(all);
    fmt::print("{:8} median {:7.1f} ms  most {:7.1f} ms\n", exact ? "exact" : "aligned", all[2],
               all.back());
  }
}

}  // namespace
}  // namespace corral

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "group") {
    corral::measure_group(argc > 2 ? std::atoi(argv[2]) : 100,
                          argc > 3 ? std::atoll(argv[3]) : 1'000'000);
    return 0;
  }
  const std::int64_t points = argc > 1 ? std::atoll(argv[1]) : 100'000'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 300;
  corral::EncodedView view(points);
  fmt::print("{} points, windows of 1,500 pixels, {} each\n", points, rounds);
  corral::measure(view, false, rounds);
  corral::measure(view, true, rounds);
}
