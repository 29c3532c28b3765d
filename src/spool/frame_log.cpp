#include "spool/frame_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "core/text.h"

namespace corral::spool {
namespace {

constexpr std::string_view kSuffix = ".frames";

struct ReadFrame {
  codec::Bytes bytes;
  codec::FrameHeader header;
};

// The whole frame at `offset`, or nothing when the file ends before it does.
Result<std::optional<ReadFrame>> read_frame(int fd, std::int64_t offset) {
  codec::Bytes bytes(codec::kFrameHeaderBytes);
  ssize_t n = ::pread(fd, bytes.data(), bytes.size(), offset);
  if (n < 0) return fail_errno("read", errno);
  if (static_cast<std::size_t>(n) < bytes.size()) return std::optional<ReadFrame>();
  bytes.resize(TRY(codec::frame_length_of_header(bytes)));
  n = ::pread(fd, bytes.data(), bytes.size(), offset);
  if (n < 0) return fail_errno("read", errno);
  if (static_cast<std::size_t>(n) < bytes.size()) return std::optional<ReadFrame>();
  codec::Frame frame = TRY(codec::decode_frame(bytes));
  return std::optional<ReadFrame>(ReadFrame{.bytes = std::move(bytes), .header = frame.header});
}

}  // namespace

std::string frame_file(std::uint64_t first) { return fmt::format("{:012}{}", first, kSuffix); }

std::int64_t frame_bytes(const sys::PrivateDirectory& directory) {
  std::int64_t total = 0;
  for (const std::uint64_t first : frame_files(directory)) {
    const auto facts = directory.facts(frame_file(first));
    if (facts) total += facts->st_size;
  }
  return total;
}

std::vector<std::uint64_t> frame_files(const sys::PrivateDirectory& directory) {
  std::vector<std::uint64_t> firsts;
  for (const std::string& name : directory.list()) {
    if (!name.ends_with(kSuffix)) continue;
    const auto first = parse_int(std::string_view(name).substr(0, name.size() - kSuffix.size()));
    if (first && *first > 0) firsts.push_back(static_cast<std::uint64_t>(*first));
  }
  std::ranges::sort(firsts);
  return firsts;
}

Result<FrameLogWriter> FrameLogWriter::open(sys::PrivateDirectory directory, SessionId session,
                                            std::int64_t limit) {
  const auto files = frame_files(directory);
  FrameLogWriter writer(std::move(directory), session, limit);
  if (files.empty()) {
    TRY(writer.roll());
    return writer;
  }
  for (std::size_t f = 0; f < files.size(); ++f) {
    const auto next = f + 1 < files.size() ? std::optional(files[f + 1]) : std::nullopt;
    TRY(repair_frames(writer.directory_, session, files[f], next));
  }
  writer.next_ = files.back();
  writer.file_ = TRY(writer.directory_.open_file(frame_file(files.back()), O_RDWR));
  for (;;) {
    const auto found = read_frame(writer.file_.get(), writer.file_bytes_);
    // Bytes at the end that are not a frame are a write that a kill cut short.
    if (!found || !*found) break;
    writer.file_bytes_ += static_cast<std::int64_t>((*found)->bytes.size());
    writer.next_ = (*found)->header.last + 1;
  }
  if (::ftruncate(writer.file_.get(), writer.file_bytes_) != 0)
    return fail_errno("truncate frame file", errno);
  if (::lseek(writer.file_.get(), writer.file_bytes_, SEEK_SET) < 0)
    return fail_errno("seek", errno);
  return writer;
}

Result<> FrameLogWriter::roll() {
  file_ = TRY(directory_.open_file(frame_file(next_), O_RDWR | O_CREAT | O_EXCL));
  file_bytes_ = 0;
  return {};
}

Result<> FrameLogWriter::append(const codec::Bytes& frame) {
  if (file_bytes_ >= full_) {
    if (frame_bytes(directory_) + full_ > limit_)
      return fail(Code::kNoSpace, "the spool has reached its limit");
    TRY(roll());
  }
  auto written =
      sys::write_all(file_.get(), {reinterpret_cast<const char*>(frame.data()), frame.size()});
  if (!written) {
    // A half frame must not stay in front of later ones.
    [[maybe_unused]] const int cut = ::ftruncate(file_.get(), file_bytes_);
    ::lseek(file_.get(), file_bytes_, SEEK_SET);
    return written;
  }
  file_bytes_ += static_cast<std::int64_t>(frame.size());
  bytes_written_ += frame.size();
  ++next_;
  return {};
}

// From `at` to the end of its file, which is `file_`.
Result<> FrameLogReader::read_file(Position at, std::uint64_t after, std::size_t max_bytes,
                                   Frames& out) {
  while (out.bytes < max_bytes) {
    auto found = read_frame(file_.get(), at.offset);
    if (!found) {
      const auto path = directory_.path() / frame_file(at.file);
      return tl::unexpected(found.error().with_context(path.string()));
    }
    if (!*found) break;
    const codec::FrameHeader header = (*found)->header;
    at.sequence = header.last + 1;
    at.offset += static_cast<std::int64_t>((*found)->bytes.size());
    if (header.last <= after) {
      passed_ = at;
      continue;
    }
    if (out.frames.empty()) first_ = header.first;
    out.bytes += (*found)->bytes.size();
    out.frames.push_back(std::move((*found)->bytes));
  }
  read_ = at;
  return {};
}

// More of the file that was read last; false: nothing, or it may be another by now.
bool FrameLogReader::read_on(std::uint64_t after, std::size_t max_bytes, Frames& out) {
  if (!file_ || !read_.serves(after)) return false;
  passed_ = read_;
  return read_file(read_, after, max_bytes, out) && !out.frames.empty();
}

bool FrameLogReader::is_next_there() const {
  return read_.offset >= kSmallestFrameFileBytes && directory_.exists(frame_file(read_.sequence));
}

Result<std::vector<codec::Bytes>> FrameLogReader::read(std::uint64_t after, std::size_t max_bytes) {
  Frames taken;
  // Mostly the file that was read last has grown: neither it nor its directory is looked for then.
  const bool grown = read_on(after, max_bytes, taken);
  if (grown && (taken.bytes >= max_bytes || !is_next_there())) return std::move(taken.frames);
  if (!grown) taken = {};
  const std::uint64_t done = grown ? read_.file : 0;
  files_ = frame_files(directory_);
  for (std::size_t f = 0; f < files_.size() && taken.bytes < max_bytes; ++f) {
    const bool passed = f + 1 < files_.size() && files_[f + 1] <= after + 1;
    if (passed || files_[f] <= done) continue;
    auto fd = directory_.open_file(frame_file(files_[f]), O_RDONLY);
    if (!fd && fd.error().code == Code::kNotFound) continue;  // acknowledged and deleted meanwhile
    file_.reset();
    read_ = {};
    file_ = TRY(std::move(fd));
    Position at{.file = files_[f], .sequence = files_[f], .offset = 0};
    if (passed_.file == files_[f] && passed_.serves(after)) at = passed_;
    TRY(read_file(at, after, max_bytes, taken));
  }
  return std::move(taken.frames);
}

void FrameLogReader::acknowledge(std::uint64_t durable) {
  if (files_.empty()) files_ = frame_files(directory_);
  std::size_t done = 0;
  for (; done + 1 < files_.size() && files_[done + 1] <= durable + 1; ++done)
    directory_.remove(frame_file(files_[done]));
  files_.erase(files_.begin(), files_.begin() + static_cast<std::ptrdiff_t>(done));
}

Result<std::uint64_t> FrameLogReader::last() {
  const auto files = frame_files(directory_);
  if (files.empty()) return std::uint64_t{0};
  const sys::Fd fd = TRY(directory_.open_file(frame_file(files.back()), O_RDONLY));
  std::uint64_t last = files.back() - 1;
  std::int64_t offset = 0;
  for (;;) {
    const auto found = read_frame(fd.get(), offset);
    if (!found || !*found) return last;
    last = (*found)->header.last;
    offset += static_cast<std::int64_t>((*found)->bytes.size());
  }
}

// ---- Repair

namespace {

constexpr std::string_view kMagic = "CRFR";

struct Whole {
  codec::FrameHeader header;
  std::size_t bytes = 0;
};

std::optional<Whole> whole_frame(std::string_view content, SessionId session) {
  const codec::ByteView bytes(reinterpret_cast<const std::uint8_t*>(content.data()),
                              content.size());
  if (bytes.size() < codec::kFrameHeaderBytes) return std::nullopt;
  const auto length = codec::frame_length_of_header(bytes.first(codec::kFrameHeaderBytes));
  if (!length || *length > bytes.size()) return std::nullopt;
  const auto frame = codec::decode_frame(bytes.first(*length));
  if (!frame || frame->header.session != session) return std::nullopt;
  return Whole{.header = frame->header, .bytes = *length};
}

// Offset of the next whole frame with a number above `next`.
std::optional<std::size_t> resume_at(std::string_view content, std::size_t from, SessionId session,
                                     std::uint64_t next) {
  for (std::size_t at = content.find(kMagic, from); at != std::string_view::npos;
       at = content.find(kMagic, at + 1)) {
    const auto whole = whole_frame(content.substr(at), session);
    if (whole && whole->header.first > next) return at;
  }
  return std::nullopt;
}

// One gap per number: the server may have acknowledged some of them.
std::string gaps(SessionId session, std::uint64_t first, std::uint64_t end,
                 const std::string& file) {
  const codec::GapBody body{.reason = codec::GapReason::kCorrupt,
                            .message = fmt::format("damaged in {}", file)};
  std::string all;
  for (std::uint64_t n = first; n < end; ++n) {
    const codec::Bytes frame =
        codec::encode({.kind = {}, .session = session, .first = n, .last = n}, body);
    all.append(frame.begin(), frame.end());
  }
  return all;
}

bool is_newer(std::string_view content) {
  const codec::ByteView bytes(reinterpret_cast<const std::uint8_t*>(content.data()),
                              content.size());
  if (bytes.size() < codec::kFrameHeaderBytes) return false;
  const auto length = codec::frame_length_of_header(bytes.first(codec::kFrameHeaderBytes));
  return !length && length.error().code == Code::kUnsupported;
}

}  // namespace

Result<> repair_frames(const sys::PrivateDirectory& directory, SessionId session,
                       std::uint64_t first, std::optional<std::uint64_t> next_file) {
  const std::string file = frame_file(first);
  const std::string content = TRY(directory.read_file(file));
  std::string repaired;
  bool damaged = false;
  std::uint64_t next = first;
  std::size_t at = 0;
  while (at < content.size()) {
    const auto whole = whole_frame(std::string_view(content).substr(at), session);
    if (whole && whole->header.first == next) {
      repaired.append(content, at, whole->bytes);
      at += whole->bytes;
      next = whole->header.last + 1;
      continue;
    }
    const auto resume = resume_at(content, at + 1, session, next);
    if (!resume && is_newer(std::string_view(content).substr(at)))
      return fail(Code::kUnsupported,
                  (directory.path() / file).string() + ": frames of a newer Corral");
    if (!resume) break;
    const std::uint64_t found =
        whole_frame(std::string_view(content).substr(*resume), session)->header.first;
    repaired += gaps(session, next, found, file);
    damaged = true;
    next = found;
    at = *resume;
  }
  if (next_file && next < *next_file) {
    repaired += gaps(session, next, *next_file, file);
    damaged = true;
  }
  return damaged ? directory.replace_file(file, repaired, false) : Result<>();
}

}  // namespace corral::spool
