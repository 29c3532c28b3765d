// Fuzzes the segment reader's pure half: a whole file is header and slots; the first byte chooses
// how it is read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "spool/segment_format.h"
#include "spool/segment_parse.h"

namespace {

namespace spool = corral::spool;

void require(bool condition) {
  if (!condition) std::abort();
}

// Records lie in order within the slots, and nothing is passed over twice.
void check(const spool::Batch& batch, std::uint64_t first, std::uint64_t count) {
  std::uint64_t at = first;
  for (const spool::Record& record : batch.records) {
    require(record.first >= at && record.last >= record.first);
    at = record.last + 1;
  }
  require(at <= batch.next && batch.next <= batch.looked_to && batch.looked_to <= first + count);
}

// Makes every text record's checksum right, so that the parsers behind it are reached.
void repair(corral::codec::Bytes& slots) {
  const std::size_t count = slots.size() / spool::kSlotBytes;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint8_t* slot = slots.data() + i * spool::kSlotBytes;
    spool::CommitWord word{};
    std::memcpy(&word, slot, sizeof word);
    const std::uint64_t taken = spool::slots_of_text(word.number);
    if (word.kind != 2 || word.number > spool::kTextPayloadBytes || i + taken > count) continue;
    corral::codec::Bytes payload(slot + 12, slot + spool::kSlotBytes);
    for (std::uint32_t k = 1; k < taken; ++k) {
      std::uint8_t* more = slot + k * spool::kSlotBytes;
      const spool::CommitWord continuation{.kind = 3, .detail = 0, .check = 0, .number = k};
      std::memcpy(more, &continuation, sizeof continuation);
      payload.insert(payload.end(), more + sizeof continuation, more + spool::kSlotBytes);
    }
    const std::uint32_t crc = corral::codec::crc32c(payload.data(), word.number);
    std::memcpy(slot + 8, &crc, sizeof crc);
    i += taken - 1;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t how = data[0];
  corral::codec::Bytes bytes(data + 1, data + size);
  if ((how & 4) != 0) {
    static_cast<void>(spool::parse_segment_header(bytes));
    return 0;
  }
  if ((how & 8) != 0) repair(bytes);
  const spool::ParseOptions options{.first = 1,
                                    .max_records = how > 127 ? std::size_t{3} : SIZE_MAX,
                                    .alive = (how & 1) != 0,
                                    .last = (how & 2) != 0};
  check(spool::parse_slots(bytes, options), options.first, bytes.size() / spool::kSlotBytes);
  require(spool::committed_slots(bytes) <= bytes.size() / spool::kSlotBytes);
  return 0;
}
