#include "cli/text_page.h"

#include <fmt/core.h>

#include <utility>

#include "cli/table.h"
#include "core/json.h"

namespace corral::cli {

TextPage::TextPage(const std::string& format)
    : form_(format == "markdown" ? Form::kMarkdown
            : format == "latex"  ? Form::kLatex
                                 : Form::kTerminal) {}

void TextPage::heading(const std::string& text) const {
  switch (form_) {
    case Form::kTerminal:
      return fmt::print("{}\n", text);
    case Form::kMarkdown:
      return fmt::print("# {}\n", escaped(text));
    case Form::kLatex:
      return fmt::print("\\section*{{{}}}\n", escaped(text));
  }
}

void TextPage::title(const std::string& text) const {
  switch (form_) {
    case Form::kTerminal:
      return fmt::print("\n{}\n", text);
    case Form::kMarkdown:
      return fmt::print("\n## {}\n", escaped(text));
    case Form::kLatex:
      return fmt::print("\n\\subsection*{{{}}}\n", escaped(text));
  }
}

void TextPage::paragraph(const std::string& text) const { fmt::print("\n{}\n", escaped(text)); }

void TextPage::line(const std::string& text) const {
  if (form_ == Form::kTerminal) return fmt::print("  {}\n", text);
  paragraph(text);
}

void TextPage::table(const std::vector<std::string>& head,
                     const std::vector<std::vector<std::string>>& rows) const {
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
    return fmt::print("{}", table.print("table"));
  }
  if (form_ == Form::kMarkdown) {
    fmt::print("\n");
    print_row(head);
    print_row(std::vector<std::string>(head.size(), "---"));
    for (const auto& row : rows) print_row(row);
    return;
  }
  fmt::print("\n\\begin{{tabular}}{{{}{}}}\n\\toprule\n",
             std::string(std::min<std::size_t>(head.size(), 2), 'l'),
             std::string(head.size() - std::min<std::size_t>(head.size(), 2), 'r'));
  print_row(head);
  fmt::print("\\midrule\n");
  for (const auto& row : rows) print_row(row);
  fmt::print("\\bottomrule\n\\end{{tabular}}\n");
}

std::string TextPage::escaped(const std::string& text) const {
  if (form_ == Form::kTerminal) return text;
  std::string out;
  for (const char c : text) {
    if (form_ == Form::kMarkdown) {
      if (std::string_view("|\\<*_`[]!#~").find(c) != std::string_view::npos) out += '\\';
      out += c;
    } else if (c == '\\') {
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

void TextPage::print_row(const std::vector<std::string>& cells) const {
  // In LaTeX, a row that begins with "[" would be an option of the line break before it.
  std::string row = form_ == Form::kMarkdown ? "|" : "{}";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (form_ == Form::kMarkdown)
      row += " " + (cells[i] == "---" ? cells[i] : escaped(cells[i])) + " |";
    else
      row += (i > 0 ? " & " : "") + escaped(cells[i]);
  }
  fmt::print("{}{}\n", row, form_ == Form::kLatex ? " \\\\" : "");
}

}  // namespace corral::cli
