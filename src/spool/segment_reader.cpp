#include "spool/segment_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "spool/segment_format.h"
#include "spool/segment_identity.h"

namespace corral::spool {
namespace {

// Slots per pread: 256 KiB, and room for the longest text record.
constexpr std::uint64_t kChunkSlots = 8192;
static_assert(kChunkSlots >= 2 * slots_of_text(kTextPayloadBytes));

// Fills as much of `out` as the file has; the number of bytes.
Result<std::size_t> pread_all(int fd, std::span<std::uint8_t> out, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read", errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void append(Batch& to, Batch part) {
  std::ranges::move(part.records, std::back_inserter(to.records));
  std::ranges::move(part.corrupt, std::back_inserter(to.corrupt));
  if (part.next > to.looked_to) to.next = part.next;  // else all of it was empty
  to.looked_to = part.looked_to;
}

}  // namespace

Result<SegmentReader> SegmentReader::open(const sys::PrivateDirectory& segments, std::string name) {
  sys::Fd fd = TRY(segments.open_file(name, O_RDONLY));
  codec::Bytes bytes(kSegmentHeaderBytes);
  const auto n = pread_all(fd.get(), bytes, 0);
  if (!n) return tl::unexpected(n.error().with_context((segments.path() / name).string()));
  bytes.resize(*n);
  auto header = parse_segment_header(bytes);
  if (!header)
    return tl::unexpected(header.error().with_context((segments.path() / name).string()));
  return SegmentReader(std::move(fd), std::move(name), *std::move(header));
}

Result<std::uint64_t> SegmentReader::used() const {
  std::uint64_t used = 0;
  std::array<std::uint8_t, sizeof used> raw{};
  const auto n = pread_all(fd_.get(), raw, offsetof(SegmentHeaderLayout, used));
  if (!n) return tl::unexpected(n.error().with_context(name_));
  std::memcpy(&used, raw.data(), sizeof used);
  return used;
}

Result<std::optional<std::uint64_t>> SegmentReader::closed_at() const {
  const std::uint64_t used = TRY(this->used());
  if (used == 0) return std::optional<std::uint64_t>();
  return std::optional(header_.base + std::min(used & ~kSessionEnded, header_.slots));
}

bool SegmentReader::writer_alive() const {
  const auto marked = used();
  if (marked && (*marked & kSessionEnded) != 0) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (::fcntl(fd_.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) return true;
  std::uint8_t boot[16];
  read_boot_id(boot);
  if (!std::equal(std::begin(boot), std::end(boot), header_.boot_id.begin())) return false;
  const ProcessStart start = process_start(header_.pid);
  return start.ticks != 0 && start.ticks == header_.start_time && start.state != 'Z' &&
         start.state != 'X';
}

Result<codec::Bytes> SegmentReader::read_slots(std::uint64_t slot, std::uint64_t count) const {
  codec::Bytes bytes(count * kSlotBytes);
  const auto n = pread_all(fd_.get(), bytes, kSegmentHeaderBytes + slot * kSlotBytes);
  if (!n) return tl::unexpected(n.error().with_context(name_));
  bytes.resize(*n / kSlotBytes * kSlotBytes);
  return bytes;
}

Result<Batch> SegmentReader::read(std::uint64_t from, std::size_t max_records, bool alive) const {
  const std::optional<std::uint64_t> closed = TRY(closed_at());
  const std::uint64_t stop = closed.value_or(header_.base + header_.slots);
  Batch batch;
  batch.next = std::max(from, header_.base);
  batch.looked_to = batch.next;
  while (batch.looked_to < stop && batch.records.size() < max_records) {
    const std::uint64_t at = batch.looked_to;
    const std::uint64_t wanted = std::min(kChunkSlots, stop - at);
    codec::Bytes bytes = TRY(read_slots(at - header_.base, wanted));
    if (alive) {
      // Slots that the first look found committed are whole at a second one; the first may have
      // raced with the writer.
      bytes = TRY(read_slots(at - header_.base, committed_slots(bytes)));
    }
    const std::uint64_t got = bytes.size() / kSlotBytes;
    const bool short_file = !alive && got < wanted;
    Batch part = parse_slots(bytes, {.first = at,
                                     .max_records = max_records - batch.records.size(),
                                     .alive = alive,
                                     .last = at + got == stop || short_file});
    append(batch, std::move(part));
    if (short_file && batch.looked_to == at + got) {
      batch.corrupt.push_back({batch.looked_to, "the file ends before its last slot"});
      batch.looked_to = stop;
    }
    if (batch.looked_to == at || (alive && got < wanted)) break;
  }
  batch.end = batch.looked_to >= stop && (closed || !alive);
  // A closed segment ends where it says, also when its last slots stayed empty.
  if (closed && batch.end) batch.next = stop;
  return batch;
}

Result<std::uint64_t> read_drops(const sys::PrivateDirectory& segments) {
  auto content = segments.read_file(kDropsName, kDropsBytes);
  if (!content && content.error().code == Code::kNotFound) return 0;
  if (!content) return tl::unexpected(content.error());
  std::array<std::uint64_t, kDropsBytes / sizeof(std::uint64_t)> cells{};
  std::memcpy(cells.data(), content->data(), content->size());
  return std::accumulate(cells.begin(), cells.end(), std::uint64_t{0});
}

Result<> make_drops(const sys::PrivateDirectory& segments) {
  const sys::Fd fd = TRY(segments.open_file(kDropsName, O_RDWR | O_CREAT));
  const int failed = ::posix_fallocate(fd.get(), 0, kDropsBytes);
  if (failed != 0) return fail_errno((segments.path() / kDropsName).string(), failed);
  return {};
}

}  // namespace corral::spool
