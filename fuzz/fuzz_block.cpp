// Rows of the pyramid, row groups and slice statistics of anybody: as they come, and, to get behind
// the checksums, with checksums that fit. Any result must be sound, and encode to bytes that decode
// to the same.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "codec/block/pyramid.h"
#include "codec/block/row_group.h"
#include "codec/crc32c.h"
#include "store/model/statistics.h"

namespace {

namespace codec = corral::codec;
using Bytes = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

void check(bool holds) {
  if (!holds) std::abort();
}
View view_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
void check_error(const corral::Error& error) {
  check(!error.message.empty() &&
        (error.code == corral::Code::kCorruption || error.code == corral::Code::kUnsupported));
}
template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void check_bucket(const codec::Bucket& b) {
  const std::uint32_t end = b.count == b.not_finite() ? 1 : b.count;
  check(b.min_at < end && b.max_at < end && b.first_at < end && b.last_at < end);
  check(b.not_finite() <= b.count && b.count <= codec::kMostBucketPoints);
  check(std::isfinite(b.min) && std::isfinite(b.max) && b.min <= b.max && b.t0 <= b.t1);
  check(std::isfinite(b.first) && std::isfinite(b.last));
}

void fuzz_row(View bytes) {
  const auto row = codec::decode_pyramid_row(bytes);
  const auto lower = codec::decode_lower(bytes);
  const auto upper = codec::decode_upper(bytes);
  check(row.has_value() == (lower.has_value() && upper.has_value()));
  if (!row) return check_error(row.error());
  check(row->lower.size() == lower->size() && row->upper.size() == upper->size());
  std::for_each(row->lower.begin(), row->lower.end(), check_bucket);
  std::for_each(row->upper.begin(), row->upper.end(), check_bucket);
  const std::string once = codec::encode_pyramid_row(*row);
  const auto again = codec::decode_pyramid_row(view_of(once));
  check(again.has_value() && codec::encode_pyramid_row(*again) == once);
}

// A level whose lists are the bytes and whose columns are made of them.
void fuzz_lists(View bytes) {
  if (bytes.size() < 2) return;
  const std::size_t buckets = bytes[0] % 16 + 1;
  const std::size_t size = std::min<std::size_t>(bytes[1], bytes.size() - 2);
  const View lists = bytes.subspan(2, size);
  const View rest = bytes.subspan(2 + size);
  std::vector<double> numbers(5 * buckets);
  std::memcpy(numbers.data(), rest.data(), std::min(rest.size(), numbers.size() * sizeof(double)));
  std::vector<std::int64_t> ranges(2 * buckets);
  std::memcpy(ranges.data(), rest.data(), std::min(rest.size(), ranges.size() * sizeof(double)));
  std::string level(lists.begin(), lists.end());
  put(level, codec::crc32c(lists.data(), lists.size()));
  const std::span values(numbers);
  codec::append_values(level, values.first(4 * buckets), codec::Effort::kBest);
  codec::append_values(level, values.last(buckets), codec::Effort::kBest);
  codec::append_times(level, ranges, codec::Effort::kBest);
  const std::size_t with_steps = bytes[0] / 16 * 2;
  if (with_steps > 0 && with_steps <= ranges.size())
    codec::append_steps(level, std::span(ranges).first(with_steps), codec::Effort::kBest);
  std::string row{1, 0};
  put(row, static_cast<std::uint16_t>(buckets));
  put(row, std::uint16_t{0});
  put(row, static_cast<std::uint32_t>(level.size()));
  put(row, std::uint32_t{0});
  put(row, codec::crc32c(row.data(), row.size()));
  fuzz_row(view_of(row + level));
}

void fuzz_group(View bytes) {
  const std::vector<corral::SeriesId> some{{0}, {1}, {300}, {1LL << 40}};
  const auto part = codec::read_row_group(bytes, some);
  const auto groups = codec::decode_row_group(bytes);
  if (!part) {
    check(!groups.has_value());
    return check_error(part.error());
  }
  if (!groups) return check_error(groups.error());
  check(part->damaged == 0);
  const std::string once = codec::encode_row_group(*groups, codec::Effort::kFast);
  const auto again = codec::decode_row_group(view_of(once));
  check(again.has_value() && codec::encode_row_group(*again, codec::Effort::kFast) == once);
}

// The bytes are a directory and, after as many as the first one says, columns.
void fuzz_directory(View bytes) {
  if (bytes.size() < 2) return;
  const View rest = bytes.subspan(2);
  const std::size_t size = std::min<std::size_t>(bytes[0], rest.size());
  std::string group{1, 0};
  put(group, static_cast<std::uint16_t>(bytes[1]));
  put(group, static_cast<std::uint32_t>(size));
  put(group, static_cast<std::uint32_t>(rest.size() - size));
  put(group, codec::crc32c(rest.data(), size, codec::crc32c(group.data(), group.size())));
  group.append(rest.begin(), rest.end());
  fuzz_group(view_of(group));
}

void fuzz_statistics(View bytes) {
  const auto statistics = corral::store::decode_statistics(bytes);
  if (!statistics) return check_error(statistics.error());
  const std::string once = corral::store::encode_statistics(*statistics);
  const auto again = corral::store::decode_statistics(view_of(once));
  check(again.has_value() && corral::store::encode_statistics(*again) == once);
}

// The bytes are the rows of statistics.
void fuzz_rows_of_statistics(View bytes) {
  std::string rows("\xFF\x01", 2);
  rows.append(bytes.begin(), bytes.end());
  put(rows, codec::crc32c(rows.data(), rows.size()));
  fuzz_statistics(view_of(rows));
}

// Points of any bits: what is made of them must encode.
void fuzz_points(View bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  if (values.empty()) return;
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  std::vector<std::int64_t> steps(values.size());
  std::memcpy(steps.data(), bytes.data(), steps.size() * sizeof(std::int64_t));
  std::vector<std::int64_t> times = steps;
  std::sort(times.begin(), times.end());
  codec::PyramidRow row;
  std::vector<codec::Bucket> buckets;
  for (std::size_t at = 0; at < values.size() && buckets.size() < codec::kLowerBuckets; at += 5) {
    const std::size_t n = std::min<std::size_t>(5, values.size() - at);
    const std::span all_steps(steps);
    buckets.push_back(
        codec::make_bucket(std::span(times).subspan(at, n),
                           at % 2 == 0 ? all_steps.subspan(at, n) : all_steps.first(0),
                           std::span(values).subspan(at, n)));
  }
  codec::extend_row(row, buckets);
  const std::string text = codec::encode_pyramid_row(row);
  check(codec::decode_pyramid_row(view_of(text)).has_value());
  fuzz_row(view_of(text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const View rest(data + 1, size - 1);
  switch (data[0] % 7) {
    case 0:
      fuzz_row(rest);
      break;
    case 1:
      fuzz_group(rest);
      break;
    case 2:
      fuzz_lists(rest);
      break;
    case 3:
      fuzz_directory(rest);
      break;
    case 4:
      fuzz_statistics(rest);
      break;
    case 5:
      fuzz_rows_of_statistics(rest);
      break;
    default:
      fuzz_points(rest);
  }
  return 0;
}
