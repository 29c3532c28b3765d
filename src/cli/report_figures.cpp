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
  std::optional<double> value;
};

std::vector<Point> points_in_order(const Json& comparison) {
  std::vector<Point> points;
  const Json::Array& groups = items(comparison, "groups");
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (const Json& unit : items(groups[i], "units")) {
      const Json& value = member(unit, "value");
      points.push_back(
          {.start = unit.get_int("start_ns"),
           .group = i,
           .value = value.is_null() ? std::nullopt : std::optional(value.as_double(0))});
    }
  std::ranges::stable_sort(points, {}, &Point::start);
  return points;
}

void draw_value_axis(Figure& figure, const Axis& y, const std::string& unit) {
  const double step = nice_step(y.high - y.low);
  for (double tick = std::ceil(y.low / step) * step; tick <= y.high; tick += step) {
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

// Names of groups beside their means, at least a line apart.
void draw_names(Figure& figure, std::vector<std::pair<double, std::size_t>> names,
                const Json::Array& groups) {
  constexpr double kLine = 14;
  std::ranges::sort(names);
  double free = kTop;
  for (const auto& [y, group] : names) {
    const double at = std::max(y, free);
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
    if (point.value) values.push_back(*point.value);
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(values);
  const double room = most > least ? 0.08 * (most - least) : 0.05 * std::abs(most) + 1e-12;
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
    names.emplace_back(mean.is_null() ? y.from : y.at(mean.as_double(0)), i);
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
      figure.cross({at, y.from - 5}, ink);
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
  std::vector<const Json*> rows;
  const double margin = member(comparison, "margin").as_double(0);
  double widest = std::log1p(margin);
  for (const Json& one : items(comparison, "differences")) {
    if (member(one, "ratio").is_null()) continue;
    rows.push_back(&one);
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
    const auto log_of = [&](const char* name) {
      return std::log(member(*rows[i], name).as_double(1));
    };
    const int ink = static_cast<int>(i + 1);
    if (!member(*rows[i], "low").is_null())
      figure.line({x.at(log_of("low")), y}, {x.at(log_of("high")), y}, ink, 2);
    figure.mark({x.at(log_of("ratio")), y}, ink);
    figure.text({kLeft + 50, y}, brief(rows[i]->get_string("b"), kLongestName),
                Figure::Side::kRight);
  }
  figure.text({(x.from + x.to) / 2, height - 10},
              fmt::format("{} × that of {}, with its interval; shaded: the margin",
                          printable(comparison.get_string("value")),
                          brief(rows.front()->get_string("a"), kLongestName)),
              Figure::Side::kMiddle);
  return figure;
}

}  // namespace corral::cli
