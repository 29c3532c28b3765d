// TextPage: titles, lines and tables for a terminal, as Markdown, LaTeX or HTML, or as blocks for a
// PDF file. Texts are escaped for the form; what a terminal would obey must be made printable
// before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace corral::cli {

class TextPage {
 public:
  // `format`: "table", "markdown", "latex", "html" or "pdf". It is printed on standard output, or
  // appended to `out`; as "pdf" it is a JSON object a line, which web/src/plot/report.ts lays out.
  explicit TextPage(const std::string& format, std::string* out = nullptr);
  // The same with its headings a level lower: a page as a section of this one.
  [[nodiscard]] TextPage section() const;

  void heading(const std::string& text) const;  // the page's
  void title(const std::string& text) const;    // a section's
  void paragraph(const std::string& text) const;
  void line(const std::string& text) const;
  void table(const std::vector<std::string>& head,
             const std::vector<std::vector<std::string>>& rows) const;
  void command(const std::string& text) const;  // one that the reader may give
  // In the form itself, not escaped.
  void raw(std::string_view text) const;
  [[nodiscard]] std::string escaped(const std::string& text) const;

 private:
  enum class Form { kTerminal, kMarkdown, kLatex, kHtml, kBlocks };
  void head(const std::string& text, int level) const;
  void block(const char* kind, Json::Object members) const;
  void html_table(const std::vector<std::string>& head,
                  const std::vector<std::vector<std::string>>& rows) const;
  void print_row(const std::vector<std::string>& cells) const;

  Form form_;
  std::string* out_;
  int depth_ = 0;
};

}  // namespace corral::cli
