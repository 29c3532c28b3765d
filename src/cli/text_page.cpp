#include "cli/text_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/table.h"
#include "core/json.h"
#include "core/text.h"

namespace corral::cli {
namespace {

std::string escaped_latex(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\textbackslash{}";
    } else if (c == '~' || c == '^') {
      out += fmt::format("\\{}{{}}", c);
    } else {
      if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

// Without ligatures of hyphens and curly quotes.
std::string as_typed(const std::string& latex) {
  std::string out;
  for (const char c : latex) {
    if (c == '-') {
      out += "-{}";
    } else if (c == '\'') {
      out += "\\textquotesingle{}";
    } else {
      out += c;
    }
  }
  return out;
}

std::string escaped_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("|\\<*_`[]!#~").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// True of a column of numbers, dates or durations.
bool is_numeric(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  return std::ranges::all_of(rows, [&](const std::vector<std::string>& row) {
    const std::string& text = row.at(column);
    return text.empty() || text == "–" || text.starts_with("±") ||
           std::string_view("0123456789+-").find(text.front()) != std::string_view::npos;
  });
}

// A column of LaTeX: right, left, or as a paragraph that breaks lines.
std::string latex_column(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  constexpr std::size_t kLongestCell = 40;  // bytes
  if (column < 2) return "l";
  const bool longer = std::ranges::any_of(rows, [&](const std::vector<std::string>& row) {
    return row.at(column).size() > kLongestCell;
  });
  return longer ? "p{5cm}" : is_numeric(rows, column) ? "r" : "l";
}

}  // namespace

TextPage::TextPage(const std::string& format, std::string* out)
    : form_(format == "markdown" ? Form::kMarkdown
            : format == "latex"  ? Form::kLatex
            : format == "html"   ? Form::kHtml
            : format == "pdf"    ? Form::kBlocks
                                 : Form::kTerminal),
      out_(out) {}

TextPage TextPage::section() const {
  TextPage page = *this;
  ++page.depth_;
  return page;
}

void TextPage::raw(std::string_view text) const {
  if (out_ == nullptr) return fmt::print("{}", text);
  *out_ += text;
}

void TextPage::head(const std::string& text, int level) const {
  constexpr std::array<std::string_view, 4> kLatexHeads = {"section", "subsection", "subsubsection",
                                                           "paragraph"};
  const std::string blank = level > 0 ? "\n" : "";
  const auto at = static_cast<std::size_t>(std::min(level, 3));
  switch (form_) {
    case Form::kTerminal:
      return raw(fmt::format("{}{}\n", blank, text));
    case Form::kMarkdown:
      return raw(fmt::format("{}{} {}\n", blank, std::string(at + 1, '#'), escaped(text)));
    case Form::kLatex:
      return raw(fmt::format("{}\\{}*{{{}}}\n", blank, kLatexHeads.at(at), escaped(text)));
    case Form::kHtml:
      return raw(fmt::format("<h{0}>{1}</h{0}>\n", at + 1, escaped(text)));
    case Form::kBlocks:
      return block("heading", {{"level", static_cast<std::int64_t>(at)}, {"text", text}});
  }
}

void TextPage::block(const char* kind, Json::Object members) const {
  members.emplace_back("kind", kind);
  raw(Json(std::move(members)).dump() + "\n");
}

void TextPage::heading(const std::string& text) const { head(text, depth_); }

void TextPage::title(const std::string& text) const { head(text, depth_ + 1); }

void TextPage::paragraph(const std::string& text) const {
  if (form_ == Form::kBlocks) return block("text", {{"text", text}});
  raw(form_ == Form::kHtml ? fmt::format("<p>{}</p>\n", escaped(text))
                           : fmt::format("\n{}\n", escaped(text)));
}

void TextPage::line(const std::string& text) const {
  if (form_ == Form::kTerminal) return raw(fmt::format("  {}\n", text));
  paragraph(text);
}

void TextPage::command(const std::string& text) const {
  switch (form_) {
    case Form::kTerminal:
      return raw(fmt::format("  {}\n", text));
    case Form::kMarkdown:
      return raw(fmt::format("\n    {}\n", text));
    case Form::kLatex:
      return raw(
          fmt::format("\n\\begin{{quote}}\\ttfamily {}\\end{{quote}}\n", as_typed(escaped(text))));
    case Form::kHtml:
      return raw(fmt::format("<pre>{}</pre>\n", escaped(text)));
    case Form::kBlocks:
      return block("command", {{"text", text}});
  }
}

void TextPage::html_table(const std::vector<std::string>& head,
                          const std::vector<std::vector<std::string>>& rows) const {
  std::vector<bool> right;
  for (std::size_t i = 0; i < head.size(); ++i) right.push_back(i > 0 && is_numeric(rows, i));
  const auto cells = [&](const std::vector<std::string>& texts, std::string_view tag) {
    std::string row = "<tr>";
    for (std::size_t i = 0; i < texts.size(); ++i)
      row += fmt::format("<{}{}>{}</{}>", tag, right[i] ? " class=\"right\"" : "",
                         escaped(texts[i]), tag);
    return row + "</tr>\n";
  };
  raw("<div class=\"table\"><table><thead>" + cells(head, "th") + "</thead><tbody>\n");
  for (const auto& row : rows) raw(cells(row, "td"));
  raw("</tbody></table></div>\n");
}

void TextPage::table(const std::vector<std::string>& head,
                     const std::vector<std::vector<std::string>>& rows) const {
  if (form_ == Form::kHtml) return html_table(head, rows);
  if (form_ == Form::kBlocks) {
    const auto words = [](const std::vector<std::string>& texts) {
      return Json(Json::Array(texts.begin(), texts.end()));
    };
    Json::Array all;
    for (const auto& row : rows) all.push_back(words(row));
    return block("table", {{"head", words(head)}, {"rows", Json(std::move(all))}});
  }
  if (form_ == Form::kTerminal) {
    std::vector<TableColumn> columns;
    for (std::size_t i = 0; i < head.size(); ++i)
      columns.push_back({.name = head[i], .title = head[i], .right = i > 1});
    Table table(std::move(columns));
    for (const auto& row : rows) {
      std::vector<Cell> cells;
      cells.reserve(row.size());
      for (const std::string& text : row) cells.push_back({.value = Json(text), .text = text});
      table.add(std::move(cells));
    }
    return raw(table.print("table"));
  }
  if (form_ == Form::kMarkdown) {
    raw("\n");
    print_row(head);
    print_row(std::vector<std::string>(head.size(), "---"));
    for (const auto& row : rows) print_row(row);
    return;
  }
  // Only a longtable goes on on the next page.
  constexpr std::size_t kMostOnAPage = 20;
  const std::string_view name = rows.size() > kMostOnAPage ? "longtable" : "tabular";
  std::string columns;
  for (std::size_t i = 0; i < head.size(); ++i) columns += latex_column(rows, i);
  raw(fmt::format("\n\\begin{{{}}}{{{}}}\n\\toprule\n", name, columns));
  print_row(head);
  raw("\\midrule\n");
  for (const auto& row : rows) print_row(row);
  raw(fmt::format("\\bottomrule\n\\end{{{}}}\n", name));
}

std::string TextPage::escaped(const std::string& text) const {
  switch (form_) {
    case Form::kTerminal:
    case Form::kBlocks:
      break;
    case Form::kMarkdown:
      return escaped_markdown(text);
    case Form::kLatex:
      return escaped_latex(text);
    case Form::kHtml:
      return escaped_xml(text);
  }
  return text;
}

void TextPage::print_row(const std::vector<std::string>& cells) const {
  // In LaTeX, a row that begins with "[" would be an option of the line break before it.
  std::string row = form_ == Form::kMarkdown ? "|" : "{}";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (form_ == Form::kMarkdown)
      row += " " + (cells[i] == "---" ? cells[i] : escaped(cells[i])) + " |";
    else
      row += (i > 0 ? " & " : "") + escaped(cells[i]);
  }
  raw(row + (form_ == Form::kLatex ? " \\\\\n" : "\n"));
}

}  // namespace corral::cli
