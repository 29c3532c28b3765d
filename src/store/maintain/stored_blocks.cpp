#include "store/maintain/stored_blocks.h"

#include <algorithm>

#include "codec/block/column.h"

namespace corral::store::maintain {
namespace {

using sql::Blob;

constexpr std::int64_t kPage = 64;

struct Raw {
  std::int64_t no = 0, session = 0;
  bool has_times = false;
  std::int64_t times_session = 0;
  std::vector<std::uint8_t> times, values;
};

template <class T>
Result<std::vector<T>> whole(std::span<const std::uint8_t>& bytes) {
  const auto reader = TRY(codec::ColumnReader<T>::open(bytes));
  if (reader.entries() != codec::kColumnEntries)
    return fail(Code::kCorruption, "it has not 8,192 points");
  bytes = bytes.subspan(reader.bytes());
  return reader.read_all();
}

Result<> decode_times(const Raw& raw, StoredBlock& block) {
  if (!raw.has_times) return fail(Code::kCorruption, "its times are missing");
  std::span<const std::uint8_t> bytes(raw.times);
  block.times = TRY(whole<std::int64_t>(bytes));
  if (!bytes.empty()) block.steps = TRY(whole<std::int64_t>(bytes));
  if (!bytes.empty()) return fail(Code::kCorruption, "bytes behind its times");
  if (!std::ranges::is_sorted(block.times))
    return fail(Code::kCorruption, "its times do not ascend");
  if (raw.times_session != raw.session)
    return fail(Code::kCorruption, "its times are another session's");
  return {};
}

Result<> decode_values(const Raw& raw, StoredBlock& block) {
  std::span<const std::uint8_t> bytes(raw.values);
  block.values = TRY(whole<double>(bytes));
  if (!bytes.empty()) return fail(Code::kCorruption, "bytes behind its values");
  return {};
}

StoredBlock decode(const Raw& raw) {
  StoredBlock block{
      .no = raw.no, .session = raw.session, .problem = {}, .times = {}, .steps = {}, .values = {}};
  if (const auto times = decode_times(raw, block); !times) {
    block.problem = times.error().message;
    block.times.clear();
    block.steps.clear();
  }
  if (const auto values = decode_values(raw, block); !values) {
    if (block.problem.empty()) block.problem = values.error().message;
    block.values.clear();
  }
  return block;
}

std::vector<std::uint8_t> copy_of(Blob bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

Result<> each_block(sql::Connection& db, SeriesId series,
                    const std::function<Result<>(const StoredBlock&)>& take,
                    const BlockRange& range) {
  for (std::int64_t next = range.first;;) {
    std::vector<Raw> page;
    {
      sql::Statement row = TRY(db.query(
          "SELECT b.no, b.session, t.session, t.data, b.data FROM blocks b LEFT JOIN block_times t "
          "ON t.id = b.times WHERE b.series = ?1 AND b.no >= ?2 AND (?4 IS NULL OR b.session = ?4) "
          "AND b.no < ?5 ORDER BY b.no LIMIT ?3",
          series, next, kPage, range.session, range.end));
      while (TRY(row.step()))
        page.push_back({.no = row.integer(0),
                        .session = row.integer(1),
                        .has_times = !row.is_null(3),
                        .times_session = row.integer(2),
                        .times = copy_of(row.blob(3)),
                        .values = copy_of(row.blob(4))});
    }
    if (page.empty()) return {};
    next = page.back().no + 1;
    for (const Raw& raw : page) TRY(take(decode(raw)));
  }
}

}  // namespace corral::store::maintain
