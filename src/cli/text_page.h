// TextPage: titles, lines and tables, printed on standard output for a terminal, as Markdown or as
// LaTeX. Texts are escaped for the form; what a terminal would obey must be made printable before.
#pragma once

#include <string>
#include <vector>

namespace corral::cli {

class TextPage {
 public:
  // `format`: "table", "markdown" or "latex".
  explicit TextPage(const std::string& format);

  void heading(const std::string& text) const;  // the page's
  void title(const std::string& text) const;    // a section's
  void paragraph(const std::string& text) const;
  void line(const std::string& text) const;
  void table(const std::vector<std::string>& head,
             const std::vector<std::vector<std::string>>& rows) const;

 private:
  enum class Form { kTerminal, kMarkdown, kLatex };
  [[nodiscard]] std::string escaped(const std::string& text) const;
  void print_row(const std::vector<std::string>& cells) const;

  Form form_;
};

}  // namespace corral::cli
