#include "run/record/relay.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace corral::run {
namespace {

constexpr int kChunksPerCall = 16;  // 1 MiB per stream
// A pipe that polls writable takes this many bytes without blocking (PIPE_BUF).
constexpr std::size_t kPassBytes = 4096;
constexpr std::size_t kShowBytes = 64u << 10;

}  // namespace

Result<Relay> Relay::open(const spool::RunDirectory& directory, bool terminal) {
  if (terminal) return follow(directory, {{codec::LogStream::kTty, STDOUT_FILENO}});
  return follow(directory, {{codec::LogStream::kStdout, STDOUT_FILENO},
                            {codec::LogStream::kStderr, STDERR_FILENO}});
}

Result<Relay> Relay::resume(const spool::RunDirectory& directory) {
  const bool terminal = directory.files().exists(spool::output_name(codec::LogStream::kTty));
  Relay relay = TRY(open(directory, terminal));
  for (Stream& stream : relay.streams_) stream.passed = stream.shown = stream.file.stored();
  return relay;
}

Result<Relay> Relay::follow(const spool::RunDirectory& directory,
                            const std::vector<std::pair<codec::LogStream, int>>& targets) {
  std::vector<Stream> streams;
  sys::Fd notify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  for (const auto& [stream, target] : targets) {
    spool::OutputFile file = TRY(spool::OutputFile::open(directory, stream));
    const spool::fs::path path = directory.path() / spool::output_name(stream);
    if (notify && ::inotify_add_watch(notify.get(), path.c_str(), IN_MODIFY) < 0) notify.reset();
    streams.push_back({.file = std::move(file), .stream = stream, .target = target});
  }
  return Relay(std::move(streams), std::move(notify));
}

bool Relay::pass_on(Stream& stream) {
  std::array<char, kPassBytes> buffer;
  while (!stream.closed) {
    const std::size_t n = stream.file.read(stream.passed, buffer);
    if (n == 0) return true;
    pollfd ready{.fd = stream.target, .events = POLLOUT, .revents = 0};
    const int polled = ::poll(&ready, 1, 0);
    if (polled == 0) return false;
    const ssize_t written = polled < 0 ? -1 : ::write(stream.target, buffer.data(), n);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (written < 0) {
      stream.closed = true;  // EPIPE, EIO of a terminal that is gone, EBADF
    } else {
      stream.passed += written;
    }
  }
  return true;
}

bool Relay::pass_on() {
  bool all = true;
  for (Stream& stream : streams_) all = pass_on(stream) && all;
  return all;
}

bool Relay::all_passed_on() const {
  return std::ranges::all_of(streams_,
                             [](const Stream& s) { return s.closed || s.passed >= s.file.size(); });
}

bool Relay::show(const Show& show) {
  showing_ = true;
  bool all = true;
  std::array<char, kShowBytes> buffer;
  for (Stream& stream : streams_) {
    stream.shown = std::min(stream.shown, stream.file.size());  // the command truncated it
    for (int i = 0; i < kChunksPerCall; ++i) {
      const std::size_t n = stream.file.read(stream.shown, buffer);
      if (n == 0) break;
      show(stream.stream, {buffer.data(), n});
      stream.shown += static_cast<std::int64_t>(n);
    }
    all = all && stream.file.size() <= stream.shown;
  }
  return all;
}

bool Relay::store(spool::Journal& journal) {
  bool more = false;
  for (Stream& stream : streams_) more = stream.file.store(journal, kChunksPerCall) || more;
  return !more;
}

std::string Relay::tail(std::size_t bytes) const {
  std::string all;
  std::vector<char> buffer(bytes);
  for (const Stream& stream : streams_) {
    const std::int64_t from = stream.file.size() - static_cast<std::int64_t>(bytes);
    const std::size_t n = stream.file.read(std::max<std::int64_t>(from, 0), buffer);
    all.append(buffer.data(), n);
    if (n > 0 && !all.ends_with('\n')) all += '\n';
  }
  return all;
}

void Relay::tidy() {
  for (Stream& stream : streams_) {
    const std::int64_t needed = stream.closed ? stream.file.stored() : stream.passed;
    stream.file.tidy(showing_ ? std::min(needed, stream.shown) : needed);
  }
}

void Relay::consume_wakes() const {
  alignas(inotify_event) std::array<char, 4096> buffer;
  while (::read(notify_.get(), buffer.data(), buffer.size()) > 0) {
  }
}

}  // namespace corral::run
