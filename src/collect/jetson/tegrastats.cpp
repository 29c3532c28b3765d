#include "collect/jetson/tegrastats.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "collect/jetson/tegrastats_line.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::collect {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInterval = "1000";  // ms, as the slow group
constexpr Nanos kFirstLine{std::chrono::seconds(4)};
constexpr Nanos kEnding{std::chrono::milliseconds(500)};
constexpr int kEndPollMs = 5;

// Waits for its end, which its signal has brought about; false: it takes longer.
bool wait_for_end(pid_t process, Nanos patience) {
  const BootTime deadline = sys::boot_now() + patience;
  for (;;) {
    const pid_t got = ::waitpid(process, nullptr, WNOHANG);
    if (got == process || (got < 0 && errno != EINTR)) return true;
    if (sys::boot_now() >= deadline) return false;
    ::poll(nullptr, 0, kEndPollMs);
  }
}

}  // namespace

fs::path TegraStats::program(const fs::path& root) {
  for (const char* place : {"usr/bin/tegrastats", "home/nvidia/tegrastats"}) {
    if (::access((root / place).c_str(), X_OK) == 0) return root / place;
  }
  return {};
}

Result<std::unique_ptr<TegraStats>> TegraStats::open(const fs::path& program, const IsKnown& known,
                                                     SeriesTable& table) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("pipe", errno);
  sys::Fd read(ends[0]);
  sys::Fd write(ends[1]);
  ::fcntl(read.get(), F_SETFL, O_NONBLOCK);
  const sys::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto child = TRY(sys::GatedChild::spawn({.argv = {program.string(), "--interval", kInterval},
                                           .environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"},
                                           .directory = {},
                                           .standard_input = nothing.get(),
                                           .standard_output = write.get(),
                                           .standard_error = nothing.get(),
                                           .new_session = false,
                                           .new_group = true,
                                           .death_signal = SIGTERM}));
  TRY(child.release());
  write.reset();  // so that its end is seen
  std::unique_ptr<TegraStats> stats(new TegraStats(child.pid(), std::move(read)));
  const std::string_view line = TRY(stats->first_line());
  read_tegrastats(line, [&](const TegraValue& value) {
    if (known(value.metric, value.source) || !is_utf8(value.source)) return;
    stats->columns_.push_back(
        {.metric = value.metric,
         .source = std::string(value.source),
         .column = table.add_to(kSlowGroup, value.metric, std::string(value.source))});
  });
  return stats;
}

TegraStats::~TegraStats() {
  ::kill(-process_, SIGTERM);
  if (wait_for_end(process_, kEnding)) return;
  ::kill(-process_, SIGKILL);
  wait_for_end(process_, kEnding);
}

Result<std::string_view> TegraStats::first_line() {
  const BootTime deadline = sys::boot_now() + kFirstLine;
  while (sys::boot_now() < deadline) {
    const std::string_view line = latest_line();
    if (!line.empty()) return line;
    if (!out_) return fail(Code::kUnavailable, "tegrastats ended without a line");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - sys::boot_now());
    pollfd waiting{.fd = out_.get(), .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  }
  return fail(Code::kUnavailable, "tegrastats has printed nothing for 4 s");
}

std::string_view TegraStats::latest_line() {
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(consumed_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
  filled_ -= std::exchange(consumed_, 0);
  std::string_view line;
  while (out_) {
    if (filled_ == buffer_.size()) {
      // Complete lines were too old to wait for; an incomplete one was too long.
      const std::string_view all(buffer_.data(), filled_);
      const std::size_t end = all.rfind('\n') + 1;  // 0 when there is none
      const std::size_t kept = end == 0 ? 0 : filled_ - end;
      std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(end), kept, buffer_.begin());
      filled_ = kept;
    }
    const ssize_t n = ::read(out_.get(), buffer_.data() + filled_, buffer_.size() - filled_);
    if (n > 0) {
      filled_ += static_cast<std::size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || errno != EAGAIN) out_.reset();
    break;
  }
  const std::string_view all(buffer_.data(), filled_);
  const std::size_t end = all.rfind('\n');
  if (end == std::string_view::npos) return line;
  line = all.substr(0, end);
  consumed_ = end + 1;
  return line.substr(line.rfind('\n') + 1);
}

void TegraStats::sample(Row& row, News* news) {
  if (told_) return;
  const std::string_view line = latest_line();
  const auto take = [&](const TegraValue& value) {
    const auto slot = std::ranges::find_if(columns_, [&](const Slot& s) {
      return s.metric == value.metric && s.source == value.source;
    });
    if (slot != columns_.end()) row.set(slot->column, value.value);
  };
  read_tegrastats(line, std::ref(take));
  if (out_) return;
  told_ = true;
  if (news != nullptr)
    news->tell("jetson: tegrastats", "has ended: its values are missing from here on");
}

}  // namespace corral::collect
