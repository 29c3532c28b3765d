#include "run/schedule/console.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/text.h"

namespace corral::run::schedule {
namespace {

bool is_live_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

// True if standard error takes text: a blocked terminal or reader must not hold the scheduler up.
bool takes_text() {
  pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

}  // namespace

Console::Console(bool quiet) : quiet_(quiet), live_(!quiet && is_live_terminal()) {}

Console::~Console() { draw({}); }

std::size_t Console::width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20
             ? static_cast<std::size_t>(size.ws_col - 1)
             : 79;
}

void Console::erase() {
  if (!drawn_.empty()) fmt::print(stderr, "\x1b[{}A\x1b[J", drawn_.size());
}

void Console::paint() {
  for (const std::string& line : drawn_) fmt::print(stderr, "{}\n", printable(line));
  std::fflush(stderr);
}

void Console::put(const std::string& line) {
  const Lock lock(mutex_);
  if (!takes_text()) return;
  erase();
  fmt::print(stderr, "corral: {}\n", printable(line));
  paint();
}

void Console::say(const std::string& line) {
  if (!quiet_) put(line);
}

void Console::warn(const std::string& line) { put(line); }

void Console::draw(std::vector<std::string> lines) {
  if (!live_) return;
  const Lock lock(mutex_);
  if (lines == drawn_ || !takes_text()) return;
  erase();
  drawn_ = std::move(lines);
  paint();
}

namespace {

constexpr std::size_t kShownRuns = 12;  // more would not fit a terminal
constexpr std::size_t kLeastName = 12;  // least width of a name that is cut to make room for values
constexpr std::size_t kPhaseWidth = 20;  // most characters of a phase, which a script names
constexpr std::string_view kGap = "  ";

// Phase, step, loss, use, time; empty if unknown.
using Cells = std::array<std::string, 5>;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

// Characters, not bytes: a name is cut between two of them.
std::string cut(const std::string& line, std::size_t width) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < line.size(); ++i)
    if (begins_character(line[i]) && ++characters > width) return line.substr(0, i);
  return line;
}

std::string shortened(const std::string& text, std::size_t width) {
  return width_of(text) <= width ? text : cut(text, width - 1) + "…";
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t has = width_of(text);
  return has < width ? std::move(text) + std::string(width - has, ' ') : text;
}

// Returns the use of the GPUs, or of CPUs if there are no GPUs.
std::string usage_text(const ProgressRun& run) {
  if (run.gpu) return fmt::format("GPU {:.0f} %", *run.gpu * 100);
  return run.cores ? fmt::format("{:.1f} cores", *run.cores) : std::string();
}

Cells make_cells(const ProgressRun& run) {
  return {shortened(printable(run.phase), kPhaseWidth),
          run.step ? fmt::format("step {}", *run.step) : "",
          run.loss ? fmt::format("loss {:.4g}", *run.loss) : "", usage_text(run),
          run.elapsed ? human_duration(*run.elapsed) : ""};
}

// Returns the runs' lines, each column as wide as its content.
std::vector<std::string> run_lines(std::span<const ProgressRun> runs, std::size_t width) {
  std::vector<Cells> all;
  std::array<std::size_t, std::tuple_size_v<Cells>> widths{};
  std::size_t state = 0;
  std::size_t name = 0;
  for (const ProgressRun& run : runs) {
    all.push_back(make_cells(run));
    for (std::size_t c = 0; c < widths.size(); ++c)
      widths[c] = std::max(widths[c], width_of(all.back()[c]));
    state = std::max(state, width_of(run.state));
    name = std::max(name, width_of(printable(run.name)));
  }
  std::size_t rest = 2 * kGap.size() + state;
  for (const std::size_t w : widths) rest += w > 0 ? kGap.size() + w : 0;
  name = std::min(name, std::max(kLeastName, width - std::min(width, rest)));
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::string line = std::string(kGap) + padded(runs[i].state, state);
    line += kGap;
    line += padded(shortened(printable(runs[i].name), name), name);
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] == 0) continue;
      line += kGap;
      line += padded(all[i][c], widths[c]);
    }
    line = cut(line, width);
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

// Returns the mean use of the run's devices; the run's own samples take precedence.
std::optional<double> mean_gpu_use(const Member& member, std::span<const Member> beside) {
  double sum = 0;
  std::size_t found = 0;
  const auto look = [&](const Progress& progress, const std::string& device) {
    const auto gpu =
        std::ranges::find(progress.gpus, device, &std::pair<std::string, double>::first);
    if (gpu == progress.gpus.end()) return false;
    sum += gpu->second;
    ++found;
    return true;
  };
  for (const std::string& device : member.row.share.devices) {
    if (look(member.progress, device)) continue;
    std::ignore = std::ranges::any_of(
        beside, [&](const Member& m) { return !m.over() && look(m.progress, device); });
  }
  return found > 0 ? std::optional(sum / static_cast<double>(found)) : std::nullopt;
}

}  // namespace

std::optional<Remaining> estimate(const Pace& pace, std::size_t left, Nanos pause) {
  if (pace.done == 0) return std::nullopt;
  if (left == 0) return Remaining{};
  const Nanos each = pace.spent / static_cast<std::int64_t>(pace.done);
  const Nanos later = (each + pause) * static_cast<std::int64_t>(left - 1);
  return Remaining{.all = each + later, .later = later};
}

Nanos remaining_after(const Remaining& remaining, Nanos ran) {
  return std::max(remaining.all - ran, remaining.later);
}

ProgressRun progress_run(const Member& member, std::span<const Member> beside, BootTime now) {
  ProgressRun run{.name = member.name, .state = member.state()};
  if (member.started) run.elapsed = member.ended.value_or(now) - *member.started;
  run.phase = member.progress.phase;
  run.step = member.progress.step;
  run.loss = member.progress.loss;
  // The use before its end no longer applies.
  if (member.over()) return run;
  run.cores = member.progress.cores;
  run.gpu = mean_gpu_use(member, beside);
  return run;
}

std::string progress_words(const ProgressRun& run) {
  std::vector<std::string> known;
  for (std::string& cell : make_cells(run))
    if (!cell.empty()) known.push_back(std::move(cell));
  return join(known, ", ");
}

std::vector<std::string> progress_lines(const ProgressView& view, std::size_t width) {
  const auto& c = view.counts;
  std::string head = fmt::format("{} of {} runs done", c.finished + c.failed,
                                 c.waiting + c.running + c.finished + c.failed);
  if (c.failed > 0) head += fmt::format(", {} failed", c.failed);
  if (!view.now.empty()) head += " · " + view.now;
  if (view.remaining) head += " · about " + human_duration(*view.remaining) + " left";
  std::vector<std::string> lines = {cut(head, width)};
  const std::size_t shown = std::min(view.runs.size(), kShownRuns);
  for (std::string& line : run_lines(std::span(view.runs).first(shown), width))
    lines.push_back(std::move(line));
  if (view.runs.size() > shown)
    lines.push_back(cut(fmt::format("  and {} more", view.runs.size() - shown), width));
  return lines;
}

}  // namespace corral::run::schedule
