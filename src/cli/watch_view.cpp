#include "cli/watch_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cli/braille.h"
#include "cli/table.h"
#include "core/text.h"
#include "core/time.h"

namespace corral::cli {
namespace {

constexpr std::size_t kMostListLine = 32, kMostDetailLine = 96;
constexpr std::size_t kMetricName = 22, kMetricValue = 11, kUseName = 8;
constexpr std::size_t kMostBar = 24;
constexpr std::size_t kTextLines = 3;  // most lines of one finding
constexpr const char* kDash = "–";

// Columns of a list between the name and the line of the loss.
struct ListColumn {
  std::string_view title;
  std::size_t width;
};
constexpr std::array kListColumns = {
    ListColumn{"STATE", 9}, ListColumn{"STEP", 7}, ListColumn{"LOSS", 8}, ListColumn{"PER STEP", 8},
    ListColumn{"ETA", 8},   ListColumn{"CPUS", 4}, ListColumn{"GPU", 5}};

Look look_of(const WatchRun& run) {
  if (run.failed()) return Look::kBad;
  if (run.state == "running" || run.state == "preparing") return Look::kBusy;
  return run.state == "waiting" ? Look::kDim : Look::kGood;
}

// The last row says why the newest state is not known.
std::string trouble_text(const WatchState& state) {
  return state.gone || state.trouble.empty() ? state.trouble : "trying again: " + state.trouble;
}

std::string step_text(std::int64_t step) {
  constexpr std::int64_t kMostDigits = 10'000'000;
  return step < kMostDigits ? std::to_string(step) : with_unit(static_cast<double>(step), "");
}

std::string cores_text(double cores) {
  constexpr double kTwoDigits = 9.995, kThreeDigits = 99.95;
  return fmt::format("{:.{}f}", cores, cores < kTwoDigits ? 2 : cores < kThreeDigits ? 1 : 0);
}

// The cells of a run's row behind its state.
std::array<std::string, kListColumns.size() - 1> figures_of(const WatchRun& run) {
  const bool live = run.runs();
  return {run.step ? step_text(*run.step) : kDash,
          run.loss ? fmt::format("{:.3g}", *run.loss) : kDash,
          live && run.step_s ? precise_duration(*run.step_s) : kDash,
          live && run.left_s ? remaining_text(*run.left_s) : kDash,
          live && run.cores ? cores_text(*run.cores) : kDash,
          live && run.gpu ? fmt::format("{:.0f} %", *run.gpu * 100) : kDash};
}

// Text in place of figures; empty: the run has figures.
std::string instead_of_figures(const WatchRun& run) {
  if (run.queue > 0) return fmt::format("waiting, place {} in the queue", run.queue);
  const bool started = !run.id.empty() && run.state != "waiting";
  if (started && (!run.failed() || run.reason.empty())) return {};
  return run.reason.empty() ? run.state : run.state + ": " + run.reason;
}

class ListPainter {
 public:
  ListPainter(const WatchList& list, CellGrid& grid)
      : grid_(grid), line_(list_line(grid.columns())) {
    // Without a GPU in any row there is no column for them.
    if (std::ranges::none_of(list.rows, [](const auto& row) { return row.gpu.has_value(); }))
      --shown_;
    if (room_for_names() < kLeastName) line_ = 0;
    while (room_for_names() < kLeastName && shown_ > 1) --shown_;
    name_ = room_for_names();
  }

  void head(std::size_t row) const {
    grid_.put({.row = row, .column = kMark, .width = name_}, "RUN", Look::kDim);
    std::size_t column = kMark + name_ + 1;
    for (std::size_t i = 0; i < shown_; ++i) {
      const Spot spot{.row = row, .column = column, .width = kListColumns[i].width};
      i == 0 ? static_cast<void>(grid_.put(spot, kListColumns[i].title, Look::kDim))
             : grid_.put_right(spot, kListColumns[i].title, Look::kDim);
      column += kListColumns[i].width + 1;
    }
  }

  void run(std::size_t row, const WatchRun& run, bool chosen) const {
    if (chosen) grid_.put({.row = row}, ">", Look::kBold);
    grid_.put({.row = row, .column = kMark, .width = name_}, run.name,
              chosen ? Look::kBold : Look::kPlain);
    std::size_t column = kMark + name_ + 1;
    if (const std::string text = instead_of_figures(run); !text.empty()) {
      grid_.put({.row = row, .column = column}, text, look_of(run));
      return;
    }
    const auto figures = figures_of(run);
    grid_.put({.row = row, .column = column, .width = kListColumns[0].width}, run.state,
              look_of(run));
    column += kListColumns[0].width + 1;
    for (std::size_t i = 1; i < shown_; ++i) {
      grid_.put_right({.row = row, .column = column, .width = kListColumns[i].width},
                      figures[i - 1], i == kLossColumn && run.nan > 0 ? Look::kBad : Look::kPlain);
      column += kListColumns[i].width + 1;
    }
    if (line_ > 0)
      grid_.put({.row = row, .column = column}, braille_line(run.line, line_), look_of(run));
  }

 private:
  static constexpr std::size_t kMark = 2, kLeastName = 12, kLossColumn = 2;
  [[nodiscard]] std::size_t room_for_names() const {
    std::size_t rest = kMark + line_ + 1;
    for (std::size_t i = 0; i < shown_; ++i) rest += kListColumns[i].width + 1;
    return grid_.columns() - std::min(grid_.columns(), rest);
  }

  CellGrid& grid_;
  std::size_t shown_ = kListColumns.size();  // columns, from the left
  std::size_t line_;
  std::size_t name_ = 0;
};

void draw_list(const WatchList& list, const WatchPlace& place, CellGrid& grid) {
  const std::size_t title = grid.put({}, list.title, Look::kBold);
  if (list.left_s)
    grid.put({.column = title}, " · about " + remaining_text(*list.left_s) + " left");
  grid.put({.row = 1}, list.message);
  const ListPainter painter(list, grid);
  painter.head(2);
  const std::size_t in_sight = grid.rows() - std::min(grid.rows(), kListFrame);
  for (std::size_t i = 0; i < in_sight && place.first + i < list.rows.size(); ++i)
    painter.run(3 + i, list.rows[place.first + i], place.first + i == place.chosen);
}

// Breaks a text between words; its last line is cut where it is too long.
std::vector<std::string> broken(std::string text, std::size_t width, std::size_t most) {
  std::vector<std::string> lines;
  text = printable(text);
  while (!text.empty() && lines.size() + 1 < most && display_width(text) > width) {
    std::size_t end = text.rfind(' ', width);
    while (end != std::string::npos && end > 0 && display_width(text.substr(0, end)) > width)
      end = text.rfind(' ', end - 1);
    if (end == std::string::npos || end == 0) break;
    lines.push_back(text.substr(0, end));
    text.erase(0, end + 1);
  }
  if (!text.empty()) lines.push_back(std::move(text));
  return lines;
}

// One run from the top of the grid to the row above its last one.
class DetailPainter {
 public:
  DetailPainter(const WatchDetail& detail, CellGrid& grid)
      : detail_(detail), grid_(grid), end_(grid.rows() - std::min<std::size_t>(grid.rows(), 1)) {}

  void paint() {
    head();
    const std::vector<std::string> findings = finding_lines();
    const std::size_t uses = detail_.uses.empty() ? 0 : detail_.uses.size() + 1;
    const std::size_t told = findings.empty() ? 0 : findings.size() + 2;
    constexpr std::size_t kLeastOutput = 3;
    const std::size_t others = row_ + 1 + uses + told + (detail_.output.empty() ? 0 : kLeastOutput);
    metrics(std::max<std::size_t>(1, end_ - std::min(end_, others)));
    if (!detail_.uses.empty()) ++row_;
    for (const WatchUse& use : detail_.uses) show_use(use);
    section("Where the time goes", findings);
    const std::size_t left = end_ - std::min(end_, row_ + 2);
    const auto& output = detail_.output;
    section("Output", {output.end() - static_cast<std::ptrdiff_t>(std::min(left, output.size())),
                       output.end()});
  }

 private:
  [[nodiscard]] bool has_room() const { return row_ < end_; }
  void line(std::string_view text, Look look = Look::kPlain) {
    if (has_room()) grid_.put({.row = row_++}, text, look);
  }

  void head() {
    const WatchRun& run = detail_.run;
    std::size_t column = grid_.put({.width = grid_.columns() / 2}, run.name, Look::kBold);
    column = grid_.put({.column = column + 2}, detail_.ending, look_of(run));
    if (run.elapsed_s)
      column = grid_.put({.column = column + 2},
                         (run.runs() ? "for " : "after ") + precise_duration(*run.elapsed_s));
    grid_.put_right({.column = column + 2}, detail_.place, Look::kDim);
    ++row_;
    line(join(run_words(run, false), " · "));
    if (run.failed() && !run.reason.empty()) line(run.reason, Look::kBad);
  }

  // Above the rest, each with its line.
  void metrics(std::size_t most) {
    ++row_;
    const std::size_t width = detail_line(grid_.columns());
    for (std::size_t i = 0; i < std::min(most, detail_.metrics.size()) && has_room(); ++i, ++row_) {
      const WatchMetric& metric = detail_.metrics[i];
      // A long value takes its room from the name.
      const std::size_t value = std::clamp(display_width(metric.value), kMetricValue, kMetricName);
      const std::size_t name = kMetricName + kMetricValue - value;
      grid_.put({.row = row_, .width = name}, metric.name);
      grid_.put_right({.row = row_, .column = name + 1, .width = value}, metric.value,
                      metric.bad ? Look::kBad : Look::kBold);
      grid_.put({.row = row_, .column = kMetricName + kMetricValue + 3},
                braille_line(metric.line, width), look_of(detail_.run));
    }
  }

  void show_use(const WatchUse& use) {
    if (!has_room()) return;
    // A GPU's use, memory and power with room for their longest texts: "14.21 GiB of 79.65 GiB".
    constexpr std::array<std::size_t, 3> kTexts = {5, 22, 16};
    constexpr std::size_t kAllTexts = 5 + 22 + 16, kGaps = 2 * kTexts.size();
    grid_.put({.row = row_, .width = kUseName}, use.name);
    std::size_t column = kUseName + 1;
    const std::size_t room = grid_.columns() - std::min(grid_.columns(), column);
    const bool alone = use.figures.size() == 1;
    const std::size_t bars = alone ? room / 3 : (room - std::min(room, kAllTexts + kGaps)) / 3;
    const std::size_t bar = std::min(kMostBar, bars);
    for (std::size_t i = 0; i < use.figures.size(); ++i) {
      const auto& [share, text] = use.figures[i];
      if (share) grid_.put({.row = row_, .column = column}, share_bar(*share, bar), Look::kBusy);
      const std::size_t width = alone ? room : kTexts[std::min(i, kTexts.size() - 1)];
      grid_.put({.row = row_, .column = column + (share ? bar + 1 : 0), .width = width}, text,
                share ? Look::kPlain : Look::kDim);
      column += bar + 1 + width + 1;
    }
    ++row_;
  }

  [[nodiscard]] std::vector<std::string> finding_lines() const {
    std::vector<std::string> lines;
    std::vector<std::string> texts;
    if (!detail_.run.runs() || detail_.findings.empty()) texts.push_back(detail_.summary);
    for (const std::string& text : detail_.findings)
      if (texts.empty() || texts[0].find(text) == std::string::npos) texts.push_back(text);
    for (const std::string& text : texts)
      for (std::string& one : broken(text, grid_.columns(), kTextLines))
        lines.push_back(std::move(one));
    return lines;
  }

  void section(std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty() || row_ + 2 > end_) return;
    ++row_;
    line(title, Look::kDim);
    for (const std::string& one : lines) line(one);
  }

  const WatchDetail& detail_;
  CellGrid& grid_;
  std::size_t end_;
  std::size_t row_ = 0;
};

}  // namespace

WatchPlace moved(WatchPlace place, std::ptrdiff_t by, std::size_t rows, std::size_t in_sight) {
  const auto last = static_cast<std::ptrdiff_t>(rows) - 1;
  const auto wanted = static_cast<std::ptrdiff_t>(place.chosen) + by;
  place.chosen = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, std::min(wanted, last)));
  in_sight = std::max<std::size_t>(1, in_sight);
  place.first = std::min(place.first, place.chosen);
  place.first = std::max(place.first, place.chosen - std::min(place.chosen, in_sight - 1));
  return place;
}

std::size_t list_line(std::size_t columns) {
  constexpr std::size_t kLeast = 8, kForOthers = 72;
  return std::clamp(columns - std::min(columns, kForOthers), kLeast, kMostListLine);
}

std::size_t detail_line(std::size_t columns) {
  constexpr std::size_t kBefore = kMetricName + kMetricValue + 3;
  return std::clamp<std::size_t>(columns - std::min(columns, kBefore), 1, kMostDetailLine);
}

void draw_watch(const WatchState& state, const WatchPlace& place, std::string_view hint,
                CellGrid& grid) {
  if (grid.rows() == 0) return;
  const bool is_opened = state.detail && state.detail->run.id == place.opened;
  if (state.list && !is_opened) {
    draw_list(*state.list, place, grid);
  } else if (state.detail) {
    DetailPainter(*state.detail, grid).paint();
  }
  const std::string trouble = trouble_text(state);
  for (std::size_t column = 0; column < grid.columns(); ++column)
    grid.at(grid.rows() - 1, column) = {};
  grid.put({.row = grid.rows() - 1}, trouble.empty() ? hint : trouble,
           trouble.empty() ? Look::kDim : Look::kBad);
}

std::string watch_line(const WatchState& state) {
  const auto words = [](const WatchRun& run) {
    std::string text = run.name + ": " + run.state;
    for (const std::string& word : run_words(run, true)) text += ", " + word;
    return text;
  };
  std::string line = trouble_text(state);
  if (state.list) {
    line += (line.empty() ? "" : "; ") + state.list->title + ": " + state.list->message;
    if (state.list->left_s) line += ", about " + remaining_text(*state.list->left_s) + " left";
    for (const WatchRun& run : state.list->rows)
      if (run.runs()) line += "; " + words(run);
  } else if (state.detail) {
    line += (line.empty() ? "" : "; ") + words(state.detail->run);
    if (!state.detail->run.runs() && !state.detail->summary.empty())
      line += ". " + state.detail->summary;
  }
  return printable(line);
}

}  // namespace corral::cli
