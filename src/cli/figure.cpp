#include "cli/figure.h"

#include <fmt/core.h>

#include <array>
#include <string_view>
#include <utility>

#include "core/text.h"

namespace corral::cli {
namespace {

// The first four are Okabe and Ito's.
constexpr std::array<std::string_view, 8> kInks = {"0072b2", "d55e00", "009e73", "cc79a7",
                                                   "a67300", "2a7fb0", "333333", "7a4b00"};
constexpr double kRadius = 3.5;
constexpr std::string_view kFont = "11px Inter, Helvetica, Arial, sans-serif";

std::string_view colour(int ink) {
  if (ink == Figure::kInk) return "1b1c1e";
  if (ink == Figure::kFaint) return "b4b4b0";
  return kInks.at(static_cast<std::size_t>(ink) % kInks.size());
}

}  // namespace

void Figure::line(Point from, Point to, int ink, double thickness) {
  lines_.push_back({.from = from, .to = to, .ink = ink, .thickness = thickness});
}

void Figure::band(Point from, Point to) { bands_.push_back({.from = from, .to = to}); }

void Figure::mark(Point at, int ink) { marks_.push_back({.at = at, .ink = ink}); }

void Figure::cross(Point at, int ink) {
  line({at.x - kRadius, at.y - kRadius}, {at.x + kRadius, at.y + kRadius}, ink, 1.5);
  line({at.x - kRadius, at.y + kRadius}, {at.x + kRadius, at.y - kRadius}, ink, 1.5);
}

void Figure::text(Point at, std::string words, Side side) {
  texts_.push_back({.at = at, .words = std::move(words), .side = side});
}

std::vector<Figure::Point> Figure::corners(Point at, int ink) {
  const double r = kRadius;
  switch (ink % 4) {
    case 1:
      return {
          {at.x - r, at.y - r}, {at.x + r, at.y - r}, {at.x + r, at.y + r}, {at.x - r, at.y + r}};
    case 2:
      return {{at.x, at.y - r}, {at.x + r, at.y + r}, {at.x - r, at.y + r}};
    case 3:
      return {{at.x, at.y - r}, {at.x + r, at.y}, {at.x, at.y + r}, {at.x - r, at.y}};
    default:
      return {};
  }
}

std::string Figure::svg(const std::string& title) const {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" role=\"img\"><title>{2}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width_, height_, escaped_xml(title));
  for (const Band& band : bands_)
    out += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"#e8eef5\"/>\n",
        band.from.x, band.from.y, band.to.x - band.from.x, band.to.y - band.from.y);
  for (const Line& line : lines_)
    out += fmt::format(
        "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"#{}\" "
        "stroke-width=\"{:g}\"/>\n",
        line.from.x, line.from.y, line.to.x, line.to.y, colour(line.ink), line.thickness);
  for (const Mark& mark : marks_) {
    std::string points;
    for (const Point corner : corners(mark.at, mark.ink))
      points += fmt::format("{}{:.2f},{:.2f}", points.empty() ? "" : " ", corner.x, corner.y);
    out += points.empty()
               ? fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:g}\" fill=\"#{}\"/>\n",
                             mark.at.x, mark.at.y, kRadius, colour(mark.ink))
               : fmt::format("<polygon points=\"{}\" fill=\"#{}\"/>\n", points, colour(mark.ink));
  }
  constexpr std::array<std::string_view, 3> kAnchors = {"start", "middle", "end"};
  for (const Text& text : texts_)
    out += fmt::format(
        "<text x=\"{:.2f}\" y=\"{:.2f}\" style=\"font:{}\" fill=\"#{}\" text-anchor=\"{}\">{}"
        "</text>\n",
        text.at.x, text.at.y + 4, kFont, colour(kInk),
        kAnchors.at(static_cast<std::size_t>(text.side)), escaped_xml(text.words));
  return out + "</svg>\n";
}

std::string Figure::tikz(std::string (*escape)(const std::string& text)) const {
  std::string out = "\\begin{tikzpicture}[x=0.75pt,y=-0.75pt,font=\\scriptsize\\sffamily]\n";
  for (std::size_t i = 0; i < kInks.size(); ++i)
    out += fmt::format("\\definecolor{{ink{}}}{{HTML}}{{{}}}\n", i, kInks.at(i));
  const auto name = [](int ink) {
    return ink == kInk     ? std::string("black")
           : ink == kFaint ? std::string("black!30")
                           : fmt::format("ink{}", static_cast<std::size_t>(ink) % kInks.size());
  };
  const auto place = [](Point at) { return fmt::format("({:.2f},{:.2f})", at.x, at.y); };
  for (const Band& band : bands_)
    out += fmt::format("\\fill[black!8] {} rectangle {};\n", place(band.from), place(band.to));
  for (const Line& line : lines_)
    out += fmt::format("\\draw[{},line width={:g}pt] {} -- {};\n", name(line.ink),
                       line.thickness * 0.75, place(line.from), place(line.to));
  for (const Mark& mark : marks_) {
    std::string path;
    for (const Point corner : corners(mark.at, mark.ink)) path += place(corner) + " -- ";
    out += path.empty() ? fmt::format("\\fill[{}] {} circle[radius={:g}];\n", name(mark.ink),
                                      place(mark.at), kRadius)
                        : fmt::format("\\fill[{}] {}cycle;\n", name(mark.ink), path);
  }
  constexpr std::array<std::string_view, 3> kAnchors = {"west", "center", "east"};
  for (const Text& text : texts_)
    out += fmt::format("\\node[anchor={},inner sep=0pt] at {} {{{}}};\n",
                       kAnchors.at(static_cast<std::size_t>(text.side)), place(text.at),
                       escape(text.words));
  return out + "\\end{tikzpicture}\n";
}

Json Figure::drawn() const {
  constexpr std::array<const char*, 4> kShapes = {"circle", "square", "triangle", "diamond"};
  constexpr std::array<const char*, 3> kAnchors = {"start", "middle", "end"};
  const auto hex = [](int ink) { return "#" + std::string(colour(ink)); };
  const auto points = [](const std::vector<Point>& all) {
    Json::Array flat;
    for (const Point point : all) {
      flat.emplace_back(point.x);
      flat.emplace_back(point.y);
    }
    return Json(std::move(flat));
  };
  Json::Array bands, lines, marks, texts;
  for (const Band& band : bands_)
    bands.emplace_back(Json::Object{{"x", band.from.x},
                                    {"y", band.from.y},
                                    {"width", band.to.x - band.from.x},
                                    {"height", band.to.y - band.from.y}});
  for (const Line& line : lines_)
    lines.emplace_back(Json::Object{{"points", points({line.from, line.to})},
                                    {"colour", hex(line.ink)},
                                    {"width", line.thickness}});
  for (const Mark& mark : marks_)
    marks.emplace_back(
        Json::Object{{"points", points({mark.at})},
                     {"colour", hex(mark.ink)},
                     {"shape", kShapes.at(static_cast<std::size_t>(mark.ink) % kShapes.size())}});
  for (const Text& text : texts_)
    texts.emplace_back(Json::Object{{"x", text.at.x},
                                    {"y", text.at.y},
                                    {"text", text.words},
                                    {"anchor", kAnchors.at(static_cast<std::size_t>(text.side))}});
  return Json(Json::Object{{"width", width_},
                           {"height", height_},
                           {"bands", Json(std::move(bands))},
                           {"lines", Json(std::move(lines))},
                           {"marks", Json(std::move(marks))},
                           {"texts", Json(std::move(texts))}});
}

}  // namespace corral::cli
