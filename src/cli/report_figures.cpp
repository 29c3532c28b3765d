#include "cli/report_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/answers.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr double kWidth = 680, kLeft = 80, kRight = 170, kTop = 12, kBottom = 34;
constexpr double kValuesHeight = 280, kRowHeight = 26;
constexpr int kMostTicks = 20;
constexpr std::size_t kLongestName = 24;  // bytes

struct Axis {
  double low = 0, high = 1;  // values
  double from = 0, to = 1;   // pixels
  [[nodiscard]] double at(double value) const {
    return from + (value - low) / (high - low) * (to - from);
  }
};

// The length of steps, about five of which an axis has.
double nice_step(double length) {
  const double rough = length / 5, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

struct Point {
  std::int64_t start = 0;
  std::size_t group = 0;
  std::optional<double> value, missed;
};

std::vector<Point> points_in_order(const Json& comparison) {
  std::vector<Point> points;
  const Json::Array& groups = items(comparison, "groups");
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (const Json& unit : items(groups[i], "units")) {
      const auto number = [&](const char* name) {
        const Json& value = member(unit, name);
        return value.is_null() ? std::nullopt : std::optional(value.as_double(0));
      };
      points.push_back({.start = unit.get_int("start_ns"),
                        .group = i,
                        .value = number("value"),
                        .missed = number("missed_s")});
    }
  std::ranges::stable_sort(points, {}, &Point::start);
  return points;
}

void draw_value_axis(Figure& figure, const Axis& y, const std::string& unit) {
  const double step = nice_step(y.high - y.low), first = std::ceil(y.low / step);
  for (int i = 0; i < kMostTicks && (first + i) * step <= y.high; ++i) {
    const double tick = (first + i) * step;
    figure.line({kLeft, y.at(tick)}, {kWidth - kRight, y.at(tick)}, Figure::kFaint, 0.5);
    figure.text({kLeft - 6, y.at(tick)}, value_in_unit(Json(tick), unit), Figure::Side::kRight);
  }
}

// From 1 on, far enough from each other on an axis of logarithms.
std::vector<double> ratio_ticks(const Axis& x) {
  constexpr double kApart = 44;  // pixels
  std::vector<double> ticks = {1};
  for (double power = 0.01; power < 1e6; power *= 10)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = power < 1 ? 1 + factor * power : factor * power;
      const double log = std::log(tick);
      if (log <= x.high && x.at(log) - x.at(std::log(ticks.back())) >= kApart)
        ticks.push_back(tick);
    }
  return ticks;
}

// The mean of a group's values, or how long it tried in vain.
std::optional<double> level_of(const std::vector<Point>& points, std::size_t group) {
  double sum = 0;
  int count = 0;
  for (const Point& point : points) {
    const auto value = point.value ? point.value : point.missed;
    if (point.group != group || !value) continue;
    sum += *value;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// Names of groups beside their means, at least a line apart; the last line says how many have no
// room.
void draw_names(Figure& figure, std::vector<std::pair<double, std::size_t>> names,
                const Json::Array& groups) {
  constexpr double kLine = 14;
  constexpr auto kRoom = static_cast<std::size_t>((kValuesHeight - kTop) / kLine) - 1;
  std::ranges::sort(names);
  if (names.size() > kRoom) {
    figure.text({kWidth - kRight + 20, kValuesHeight - kLine},
                fmt::format("and {} more", names.size() - kRoom));
    names.resize(kRoom);
  }
  double free = kTop;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& [y, group] = names[i];
    const double below = kLine * static_cast<double>(names.size() - i);
    const double at = std::max(free, std::min(y, kValuesHeight - kLine - below));
    free = at + kLine;
    figure.mark({kWidth - kRight + 12, at}, static_cast<int>(group));
    figure.text({kWidth - kRight + 20, at}, brief(groups[group].get_string("name"), kLongestName));
  }
}

}  // namespace

std::optional<Figure> values_figure(const Json& comparison) {
  const std::vector<Point> points = points_in_order(comparison);
  std::vector<double> values;
  for (const Point& point : points)
    for (const auto& value : {point.value, point.missed})
      if (value) values.push_back(*value);
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(values);
  // Values that differ in their last digits only are one.
  const double size = std::max(std::abs(least), std::abs(most));
  const bool differ = most - least > 1e-9 * size;
  const double room = differ ? 0.08 * (most - least) : 0.05 * size + 1e-12;
  Figure figure(kWidth, kValuesHeight);
  const Axis y{
      .low = least - room, .high = most + room, .from = kValuesHeight - kBottom, .to = kTop};
  const Axis x{.low = 0,
               .high = static_cast<double>(points.size() + 1),
               .from = kLeft,
               .to = kWidth - kRight};
  const Json::Array& groups = items(comparison, "groups");
  std::string unit;
  for (const Json& group : groups)
    if (unit.empty()) unit = group.get_string("unit");
  draw_value_axis(figure, y, unit);
  figure.line({kLeft, y.from}, {kWidth - kRight, y.from}, Figure::kInk);
  std::vector<std::pair<double, std::size_t>> names;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Json& mean = member(groups[i], "mean");
    const auto level = level_of(points, i);
    names.emplace_back(level ? y.at(*level) : y.from, i);
    if (mean.is_null()) continue;
    const double at = y.at(mean.as_double(0));
    figure.line({kLeft, at}, {kWidth - kRight, at}, static_cast<int>(i));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double at = x.at(static_cast<double>(i + 1));
    const int ink = static_cast<int>(points[i].group);
    if (points[i].value) {
      figure.mark({at, y.at(*points[i].value)}, ink);
    } else {
      figure.cross({at, points[i].missed ? y.at(*points[i].missed) : y.from - 5}, ink);
    }
  }
  draw_names(figure, std::move(names), groups);
  figure.text({(kLeft + kWidth - kRight) / 2, kValuesHeight - 12},
              fmt::format("{} of each run, in the order of their starts",
                          printable(comparison.get_string("value"))),
              Figure::Side::kMiddle);
  return figure;
}

std::optional<Figure> ratios_figure(const Json& comparison) {
  std::vector<std::pair<const Json*, int>> rows;  // with the ink of their group
  const double margin = member(comparison, "margin").as_double(0);
  double widest = std::log1p(margin);
  int ink = 0;  // that of the first group
  for (const Json& one : items(comparison, "differences")) {
    ++ink;
    if (member(one, "ratio").is_null()) continue;
    rows.emplace_back(&one, ink);
    for (const char* name : {"ratio", "low", "high"})
      if (const Json& value = member(one, name); !value.is_null())
        widest = std::max(widest, std::abs(std::log(value.as_double(1))));
  }
  if (rows.empty()) return std::nullopt;
  const double height = kTop + kRowHeight * static_cast<double>(rows.size()) + kBottom;
  Figure figure(kWidth, height);
  const double bottom = height - kBottom;
  const Axis x{.low = -1.1 * widest, .high = 1.1 * widest, .from = kLeft + 60, .to = kWidth - 20};
  figure.band({x.at(-std::log1p(margin)), kTop}, {x.at(std::log1p(margin)), bottom});
  // Logarithmic: reciprocals lie as far on the other side of 1.
  for (const double tick : ratio_ticks(x))
    for (const double log : {std::log(tick), -std::log(tick)}) {
      figure.line({x.at(log), kTop}, {x.at(log), bottom}, Figure::kFaint, tick == 1 ? 1 : 0.5);
      figure.text({x.at(log), bottom + 10}, fmt::format("{:.3g}", std::exp(log)),
                  Figure::Side::kMiddle);
    }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = kTop + kRowHeight * (static_cast<double>(i) + 0.5);
    const Json& row = *rows[i].first;
    const auto log_of = [&](const char* name) { return std::log(member(row, name).as_double(1)); };
    if (!member(row, "low").is_null())
      figure.line({x.at(log_of("low")), y}, {x.at(log_of("high")), y}, rows[i].second, 2);
    figure.mark({x.at(log_of("ratio")), y}, rows[i].second);
    figure.text({kLeft + 50, y}, brief(row.get_string("b"), kLongestName), Figure::Side::kRight);
  }
  figure.text({(x.from + x.to) / 2, height - 10},
              fmt::format("{} × that of {}, with its interval; shaded: the margin",
                          printable(comparison.get_string("value")),
                          brief(rows.front().first->get_string("a"), kLongestName)),
              Figure::Side::kMiddle);
  return figure;
}

}  // namespace corral::cli
