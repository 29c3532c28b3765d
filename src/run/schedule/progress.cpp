#include "run/schedule/progress.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace corral::run::schedule {
namespace {

constexpr std::size_t kShownRuns = 12;  // more would not fit a terminal

// Characters, not bytes: a name is cut between two of them.
std::string cut(const std::string& line, std::size_t width) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(line[i]) & 0xC0U) != 0x80U;
    if (begins && ++characters > width) return line.substr(0, i);
  }
  return line;
}

}  // namespace

std::optional<Nanos> estimate(Nanos spent, std::size_t done, std::size_t left) {
  if (done == 0) return std::nullopt;
  return spent / static_cast<std::int64_t>(done) * static_cast<std::int64_t>(left);
}

std::vector<std::string> progress_lines(const ProgressView& view, std::size_t width) {
  const auto& c = view.counts;
  std::string head = fmt::format("{} of {} runs done", c.finished + c.failed,
                                 c.waiting + c.running + c.finished + c.failed);
  if (c.failed > 0) head += fmt::format(", {} failed", c.failed);
  if (!view.now.empty()) head += " · " + view.now;
  if (view.remaining) head += " · about " + human_duration(*view.remaining) + " left";
  std::vector<std::string> lines = {cut(head, width)};
  for (std::size_t i = 0; i < std::min(view.runs.size(), kShownRuns); ++i) {
    const ProgressRun& run = view.runs[i];
    std::string line = fmt::format("  {:<12} {}", run.state, run.name);
    if (run.elapsed) line += "  " + human_duration(*run.elapsed);
    lines.push_back(cut(line, width));
  }
  if (view.runs.size() > kShownRuns)
    lines.push_back(cut(fmt::format("  and {} more", view.runs.size() - kShownRuns), width));
  return lines;
}

}  // namespace corral::run::schedule
