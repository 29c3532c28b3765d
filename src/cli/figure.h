// Figure: a diagram of lines, marks and texts for reports, as SVG, as TikZ or for a PDF file.
//
// Lengths are CSS pixels from the upper left corner; in TikZ one is 0.75 pt. Inks 0 to 7 are the
// colours of a paper that is read in black and white, too: neighbours have different marks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/json.h"

namespace corral::cli {

class Figure {
 public:
  struct Point {
    double x = 0, y = 0;
  };
  enum class Side { kLeft, kMiddle, kRight };  // the side of a text on which its point lies
  static constexpr int kInk = -1;              // texts
  static constexpr int kFaint = -2;            // axes and grids

  Figure(double width, double height) : width_(width), height_(height) {}

  void line(Point from, Point to, int ink, double thickness = 1);
  void band(Point from, Point to);  // a filled rectangle
  void mark(Point at, int ink);
  void cross(Point at, int ink);
  void text(Point at, std::string words, Side side = Side::kLeft);

  [[nodiscard]] std::string svg(const std::string& title) const;
  // Needs \usepackage{tikz}. `escape` makes LaTeX of a text.
  [[nodiscard]] std::string tikz(std::string (*escape)(const std::string& text)) const;
  // As web/src/plot/report.ts draws it.
  [[nodiscard]] Json drawn() const;

 private:
  struct Line {
    Point from, to;
    int ink = kInk;
    double thickness = 1;
  };
  struct Text {
    Point at;
    std::string words;
    Side side = Side::kLeft;
  };
  struct Band {
    Point from, to;
  };
  // The corners of a mark that is not round.
  static std::vector<Point> corners(Point at, int ink);
  struct Mark {
    Point at;
    int ink = 0;
  };

  double width_, height_;
  std::vector<Band> bands_;
  std::vector<Line> lines_;
  std::vector<Mark> marks_;
  std::vector<Text> texts_;
};

}  // namespace corral::cli
