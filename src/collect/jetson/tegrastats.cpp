#include "collect/jetson/tegrastats.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "collect/sysfs/number_file.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::collect {
namespace {

using sysfs::parse_number;
using Take = std::function<void(const TegraValue&)>;

constexpr double kPercent = 0.01;
constexpr double kMega = 1e6;
constexpr double kMilli = 1e-3;
// The value of a sensor whose part is switched off.
constexpr double kOff = -256;

std::string_view next_word(std::string_view& rest) {
  const std::size_t begin = rest.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return rest = {};
  rest.remove_prefix(begin);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n"));
  rest.remove_prefix(word.size());
  return word;
}

// Digits, with a fraction and a sign, and then exactly this.
std::optional<double> number_before(std::string_view text, std::string_view ending) {
  if (!text.ends_with(ending)) return std::nullopt;
  text.remove_suffix(ending.size());
  const bool plain =
      !text.empty() && text.find_first_not_of("0123456789.-") == std::string_view::npos;
  return plain ? parse_number(text) : std::nullopt;
}

// "45%", "45%@905" or "45%@[905,870]": load and clock.
void take_load(std::string_view word, std::string_view busy, std::string_view clock,
               const Take& take) {
  const std::size_t at = word.find('@');
  const auto load = number_before(word.substr(0, at), "%");
  if (!load) return;
  take({.metric = busy, .source = "jetson", .value = *load * kPercent});
  if (at == std::string_view::npos) return;
  std::string_view clocks = word.substr(at + 1);
  if (clocks.starts_with('[') && clocks.ends_with(']'))
    clocks = clocks.substr(1, clocks.size() - 2);
  std::optional<double> fastest;
  while (!clocks.empty()) {
    const std::size_t comma = std::min(clocks.find(','), clocks.size());
    const auto mhz = number_before(clocks.substr(0, comma), "");
    if (mhz) fastest = std::max(fastest.value_or(0), *mhz);
    clocks.remove_prefix(std::min(comma + 1, clocks.size()));
  }
  if (fastest) take({.metric = clock, .source = "jetson", .value = *fastest * kMega});
}

// "5120mW/5080mW" or "1532/1532": now and on average, in mW.
std::optional<double> milliwatts(std::string_view word) {
  const std::size_t slash = word.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view now = word.substr(0, slash);
  const std::string_view mean = word.substr(slash + 1);
  const std::string_view unit = now.ends_with("mW") ? "mW" : "";
  return number_before(mean, unit) ? number_before(now, unit) : std::nullopt;
}

bool is_gpu_temperature(std::string_view word) {
  return word.starts_with("GPU@") || word.starts_with("gpu@");
}

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

void read_tegrastats(std::string_view line, const Take& take) {
  std::string_view name;
  for (std::string_view word = next_word(line); !word.empty();
       name = word, word = next_word(line)) {
    if (name == "GR3D_FREQ") take_load(word, "host.gpu.busy", "host.gpu.clock.graphics", take);
    if (name == "EMC_FREQ") take_load(word, "host.gpu.memory.busy", "host.gpu.clock.memory", take);
    if (is_gpu_temperature(word)) {
      const auto celsius = number_before(word.substr(word.find('@') + 1), "C");
      if (celsius && *celsius > kOff)
        take({.metric = "host.gpu.temperature", .source = "jetson", .value = *celsius});
    }
    const auto power = milliwatts(word);
    if (power && !name.empty() && name != "NC")
      take({.metric = "host.power.rail", .source = name, .value = *power * kMilli});
  }
}

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

void TegraStats::sample(Row& row, const std::shared_ptr<News>& news) {
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
  tell(news, "jetson: tegrastats", "has ended: its values are missing from here on");
}

}  // namespace corral::collect
