// The figures and forms of reports. The reports themselves: tests/e2e/test_report.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cli/report_figures.h"
#include "cli/text_page.h"

namespace corral::cli {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

// Two groups: three values and a failure, and two values.
const char* const kComparison = R"({"value": "time per step", "margin": 0.02, "groups": [
  {"name": "a<b", "unit": "s/step", "mean": 0.01, "units": [
    {"start_ns": "1", "value": 0.009}, {"start_ns": "3", "value": 0.011},
    {"start_ns": "5", "value": 0.01}, {"start_ns": "7", "value": null}]},
  {"name": "c", "unit": "s/step", "mean": 0.02, "units": [
    {"start_ns": "2", "value": 0.019}, {"start_ns": "4", "value": 0.021}]}],
  "differences": [{"a": "a<b", "b": "c", "ratio": 2, "low": 1.9, "high": 2.1},
                  {"a": "a<b", "b": "d", "ratio": null, "low": null, "high": null}]})";

TEST(ReportFigures, EveryRunIsAMarkOrACross) {
  const auto figure = values_figure(*Json::parse(kComparison));
  ASSERT_TRUE(figure);
  const std::string svg = figure->svg("values");
  EXPECT_EQ(count_of(svg, "<circle "), 3U + 1) << "and the one beside the name";
  EXPECT_EQ(count_of(svg, "<polygon "), 2U + 1) << "another group has another shape";
  EXPECT_EQ(count_of(svg, "stroke-width=\"1.5\""), 2U) << "a cross for the run without a value";
  EXPECT_NE(svg.find(">a&lt;b</text>"), std::string::npos);
  EXPECT_NE(svg.find(">10 ms</text>"), std::string::npos) << svg;
  EXPECT_FALSE(values_figure(*Json::parse(R"({"groups": [{"name": "a", "units": []}]})")));
}

// Their difference is too small for an axis, and steps of it would end nowhere.
TEST(ReportFigures, ValuesThatAreAlmostEqualHaveAnAxis) {
  const std::string begin = R"({"groups": [{"name": "a", "unit": "", "mean": 0.3, "units": [
    {"start_ns": "1", "value": 0.3}, {"start_ns": "2", "value": )";
  for (const char* other : {"0.30000000000000004", "0.3", "0.3000000001"}) {
    const std::string svg = values_figure(*Json::parse(begin + other + "}]}]}"))->svg("");
    for (const char* bad : {"nan", "inf"}) EXPECT_EQ(svg.find(bad), std::string::npos) << svg;
    EXPECT_NE(svg.find(">0.3"), std::string::npos) << other << svg;
  }
}

TEST(ReportFigures, NamesOfManyGroupsStayInThePicture) {
  std::string groups;
  for (int i = 0; i < 40; ++i)
    groups += (i > 0 ? "," : "") + std::string(R"({"name": "group )") + std::to_string(i) +
              R"(", "unit": "s", "mean": null, "units": [{"start_ns": "1", "value": 7}]})";
  const std::string svg = values_figure(*Json::parse(R"({"groups": [)" + groups + "]}"))->svg("");
  EXPECT_NE(svg.find(">and 22 more</text>"), std::string::npos) << svg;
  for (std::size_t at = svg.find("<text x=\"530"); at != std::string::npos;
       at = svg.find("<text x=\"530", at + 1)) {
    const std::size_t y = svg.find("y=\"", at) + 3;
    EXPECT_LT(std::stod(svg.substr(y + 1)), 284);
  }
}

TEST(ReportFigures, RatiosStandBesideTheMargin) {
  const auto figure = ratios_figure(*Json::parse(kComparison));
  ASSERT_TRUE(figure);
  const std::string svg = figure->svg("ratios");
  EXPECT_EQ(count_of(svg, "<polygon "), 1U) << "one has no ratio";
  EXPECT_EQ(count_of(svg, "stroke-width=\"2\""), 1U) << "its interval";
  EXPECT_NE(svg.find(">0.5</text>"), std::string::npos);
  EXPECT_NE(svg.find(">2</text>"), std::string::npos);
  EXPECT_FALSE(ratios_figure(*Json::parse(R"({"margin": null, "differences": []})")));
}

TEST(ReportFigures, TicksOfRatiosStayApart) {
  for (const char* high : {"1.01", "1.3", "4", "150", "90000"}) {
    const std::string text = std::string(R"({"margin": 0.02, "differences": [{"b": "b", "ratio": 1,
      "low": 1, "high": )") + high +
                             "}]}";
    const std::string svg = ratios_figure(*Json::parse(text))->svg("");
    const std::size_t ticks = count_of(svg, "text-anchor=\"middle\"");
    EXPECT_GE(ticks, 4U) << high;
    EXPECT_LE(ticks, 16U) << high;
  }
}

TEST(ReportFigures, TikzEscapesItsTexts) {
  const auto figure = values_figure(*Json::parse(kComparison));
  const std::string tikz = figure->tikz([](const std::string& text) { return "[" + text + "]"; });
  EXPECT_EQ(count_of(tikz, "circle["), 4U);
  EXPECT_NE(tikz.find("{[a<b]}"), std::string::npos);
}

TEST(TextPage, HtmlEscapesAndNumbersStandRight) {
  std::string out;
  const TextPage page("html", &out);
  page.heading("a & b");
  page.section().heading("<c>");
  page.table({"NAME", "VALUE", "NOTE"}, {{"\"x\"", "7 ms", "–"}, {"y", "–", "lost"}});
  EXPECT_EQ(out,
            "<h1>a &amp; b</h1>\n<h2>&lt;c&gt;</h2>\n"
            "<div class=\"table\"><table><thead><tr><th>NAME</th><th class=\"right\">VALUE</th>"
            "<th>NOTE</th></tr>\n</thead><tbody>\n"
            "<tr><td>&quot;x&quot;</td><td class=\"right\">7 ms</td><td>–</td></tr>\n"
            "<tr><td>y</td><td class=\"right\">–</td><td>lost</td></tr>\n"
            "</tbody></table></div>\n");
}

TEST(TextPage, LongTablesOfLatexBreakOverPages) {
  const auto latex = [](std::size_t rows) {
    std::string out;
    TextPage("latex", &out)
        .table({"A", "B", "C"},
               std::vector<std::vector<std::string>>(rows, {"a_1", "7", std::string(50, 'x')}));
    return out;
  };
  EXPECT_NE(latex(3).find("\\begin{tabular}{llp{5cm}}"), std::string::npos) << latex(3);
  EXPECT_NE(latex(30).find("\\begin{longtable}"), std::string::npos);
  EXPECT_NE(latex(3).find("a\\_1 & 7 & xxx"), std::string::npos);
}

}  // namespace
}  // namespace corral::cli
