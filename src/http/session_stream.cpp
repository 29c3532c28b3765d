// Session: answers that are made part by part.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "http/session.h"
#include "http/session_rules.h"
#include "sys/file.h"

namespace corral::http {
namespace {

// The most of a part that waits in memory for a slow reader; the rest waits in a file.
constexpr std::size_t kMostPartBytes = 512u << 10;

}  // namespace

void Session::start_stream() {
  chunked_ = !http_1_0_ && !response_.stream_length;
  if (http_1_0_ && !response_.stream_length) keep_alive_ = false;
  const Framing framing = response_.stream_length ? Framing::kLength
                          : chunked_              ? Framing::kChunked
                                                  : Framing::kUntilClose;
  head_ = response_head(response_, framing, keep_alive_);
  if (head_only_) return write_bytes();
  streamed_ = 0;
  all_made_ = false;
  next_part();
}

void Session::next_part() {
  run_on(engine_.stream_pool, [](Session& s) { s.make_part(); });
}

void Session::make_part() {
  part_.clear();
  Result<> done;
  const bool made = sys::guard_call("a streamed answer",
                                    [&] { done = spilled_ > 0 ? read_spilled() : produce(); });
  streamed_ += part_.size();
  const bool last = all_made_ && spilled_ == 0;
  const std::uint64_t length = response_.stream_length.value_or(streamed_);
  const bool broken = !made || !done || streamed_ > length || (last && streamed_ != length);
  asio::post(stream_.get_executor(), guarded([last, broken](Session& s) {
               if (!broken) return s.send_part(last);
               s.tell(false);
               s.close();
             }));
}

Result<> Session::produce() {
  while (part_.empty() && !all_made_) all_made_ = !TRY(response_.stream(part_));
  // Without a file it waits in memory.
  if (part_.size() > kMostPartBytes) static_cast<void>(spill());
  return {};
}

// The file has no name and goes with its descriptor.
Result<> Session::spill() {
  if (!spill_) {
    const std::string& directory = engine_.options.spill_directory;
    spill_ = sys::Fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!spill_) return fail_errno(directory, errno);
  }
  if (::lseek(spill_.get(), 0, SEEK_SET) < 0) return fail_errno("a streamed answer", errno);
  TRY(sys::write_all(spill_.get(), std::span(part_).subspan(kPieceBytes)));
  spill_at_ = 0;
  spilled_ = part_.size() - kPieceBytes;
  part_ = part_.substr(0, kPieceBytes);
  return {};
}

Result<> Session::read_spilled() {
  part_.resize(std::min<std::uint64_t>(spilled_, kPieceBytes));
  const ssize_t n = ::pread(spill_.get(), part_.data(), part_.size(), spill_at_);
  if (n <= 0) return fail(Code::kIo, "the rest of an answer cannot be read");
  part_.resize(static_cast<std::size_t>(n));
  spill_at_ += n;
  spilled_ -= static_cast<std::size_t>(n);
  // Room on the disk is given back when nothing is left.
  if (spilled_ == 0) spill_.reset();
  return {};
}

void Session::send_part(bool last) {
  if (chunked_ && !part_.empty()) head_ += fmt::format("{:x}\r\n", part_.size());
  const std::string_view end = !chunked_       ? ""
                               : part_.empty() ? "0\r\n\r\n"
                               : last          ? "\r\n0\r\n\r\n"
                                               : "\r\n";
  set_deadline(part_.size());
  const std::array<asio::const_buffer, 3> buffers{asio::buffer(head_), asio::buffer(part_),
                                                  asio::buffer(end)};
  asio::async_write(stream_, buffers, guarded([last](Session& s, BoostError error, std::size_t n) {
                      s.count_out(n);
                      s.head_.clear();
                      if (!error && !last) return s.next_part();
                      s.part_ = {};
                      s.on_written(error);
                    }));
}

}  // namespace corral::http
