// corral help: the documents that the page brings along (web/tools/documents.ts), as Markdown.
#include <fmt/core.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/help.h"
#include "core/json.h"
#include "core/text.h"
#include "server/ui/page.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

constexpr const char* kHelpExamples =
    "  corral help                  all commands and documents\n"
    "  corral help tutorial         a document\n"
    "  corral help run              the options of a command, and what they mean\n"
    "  corral help out of memory    the places that have these words\n";
constexpr std::size_t kMostFound = 30;

struct Document {
  std::string name;  // "install"
  std::string text;
};

Result<std::vector<Document>> read_documents() {
  const auto assets = server::ui::embedded_assets();
  const auto file = std::ranges::find(assets, "docs.json", &server::ui::Asset::path);
  if (file == assets.end())
    return fail(Code::kUnsupported, "this corral was built without its page and documents");
  const Json answer = TRY(Json::parse(file->raw));
  std::vector<Document> documents;
  for (const Json& document : items(answer, "documents"))
    documents.push_back({document.get_string("name"), document.get_string("text")});
  return documents;
}

// Calls each(heading, line) for the lines of a document, with the heading above each; a heading is
// a line of its own section. Lines of code are no headings.
template <class Each>
void each_line(const Document& document, Each each) {
  std::string_view heading;
  bool code = false;
  for (const std::string_view line : split(document.text, '\n')) {
    if (trim(line).starts_with("```")) code = !code;
    if (!code && line.starts_with("#")) heading = trim(line.substr(line.find_first_not_of('#')));
    each(heading, line);
  }
}

// The section "## corral NAME" of the document about the command line.
std::string section_of_command(const std::vector<Document>& documents, const std::string& name) {
  const auto cli = std::ranges::find(documents, "cli", &Document::name);
  std::string text;
  if (cli == documents.end()) return text;
  bool inside = false, code = false;
  for (const std::string_view line : split(cli->text, '\n')) {
    if (line.starts_with("```")) code = !code;
    if (!code && line.starts_with("## "))
      inside = line == "## corral " + name || line.starts_with("## corral " + name + " ");
    if (inside) text += fmt::format("{}\n", line);
  }
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// The first line of `section` that has one of the words; empty unless it has all of them.
std::string_view line_with(std::string_view section, const std::vector<std::string_view>& words) {
  const std::string text = lower(section);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  if (!std::ranges::all_of(words, has)) return {};
  std::size_t first = text.size();
  for (const std::string_view word : words) first = std::min(first, text.find(word));
  const std::size_t begin = section.rfind('\n', first) + 1;
  return trim(section.substr(begin, section.find('\n', first) - begin));
}

// Two lines for each section that has all the words: its document and heading, and a line.
std::string places_with(const std::vector<Document>& documents,
                        const std::vector<std::string_view>& words) {
  std::string text;
  std::size_t found = 0;
  for (const Document& document : documents) {
    std::string_view heading;
    std::size_t begin = 0, at = 0;
    const auto end_section = [&] {
      const auto section = std::string_view(document.text).substr(begin, at - begin);
      const std::string_view line = line_with(section, words);
      begin = at;
      if (!line.empty() && ++found <= kMostFound)
        text += fmt::format("corral help {}: {}\n    {}\n", document.name, heading, line);
    };
    each_line(document, [&](std::string_view above, std::string_view line) {
      if (above.data() != heading.data()) end_section();
      heading = above;
      at += line.size() + 1;
    });
    end_section();
  }
  if (found > kMostFound) text += fmt::format("and {} more\n", found - kMostFound);
  return text;
}

// Shows the text by $PAGER, else `less`; false if there is none. Ctrl-C is the pager's.
bool page(const std::string& text) {
  std::string pager = sys::own_variable("PAGER");
  if (pager.empty() && sys::find_in_path("less")) pager = "less";
  if (pager.empty()) return false;
  ::setenv("LESS", "FRX", 0);
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const auto quit = std::signal(SIGQUIT, SIG_IGN);
  const auto broken = std::signal(SIGPIPE, SIG_IGN);
  int status = -1;
  if (std::FILE* const pipe = ::popen(pager.c_str(), "w"); pipe != nullptr) {
    std::fwrite(text.data(), 1, text.size(), pipe);
    status = ::pclose(pipe);
  }
  std::signal(SIGINT, interrupt);
  std::signal(SIGQUIT, quit);
  std::signal(SIGPIPE, broken);
  constexpr int kNotStarted = 126;  // and 127, of a shell
  return status != -1 && !(WIFEXITED(status) && WEXITSTATUS(status) >= kNotStarted);
}

// At a terminal, headings are bold, and a pager shows what is longer than the screen.
void show(const std::string& text) {
  if (::isatty(STDOUT_FILENO) == 0) {
    fmt::print("{}", text);
    return;
  }
  std::string shown;
  const bool bold = takes_colours(STDOUT_FILENO);
  each_line({.name = {}, .text = text}, [&](std::string_view heading, std::string_view line) {
    const bool is_heading = line.starts_with("#") && line.ends_with(heading);
    shown +=
        bold && is_heading ? fmt::format("\x1b[1m{}\x1b[0m\n", line) : fmt::format("{}\n", line);
  });
  if (!page(shown)) fmt::print("{}", shown);
}

}  // namespace

std::string document_names() {
  const auto documents = read_documents();
  if (!documents) return {};
  std::string names;
  for (const Document& document : *documents) names += (names.empty() ? "" : " ") + document.name;
  return wrapped("Documents: " + names);
}

int help_command(std::span<char* const> args) {
  std::vector<std::string> words;
  Arguments arguments("help",
                      "Shows a document of this version, what the documents say about a command, "
                      "or the places in them that have some words. The page shows them at /docs.",
                      kHelpExamples);
  arguments.positionals("topic", words, "document, command or words");
  if (const auto status = arguments.parse(args)) return *status;
  const auto documents = read_documents();
  if (!documents) {
    complain("help", documents.error().message);
    return kFailed;
  }
  if (words[0] == "corral" && words.size() > 1) words.erase(words.begin());
  const std::string topic = lower(trim(join(words, " ")));
  if (topic.empty()) {
    complain("help", "expected a document, a command or words");
    return kMisuse;
  }
  const auto document = std::ranges::find(*documents, topic, &Document::name);
  std::string text = document != documents->end() ? document->text : std::string();
  // The name of a command may be a document's, too, and `store check` is in the section of `store`.
  const std::string of_command = section_of_command(*documents, topic);
  text += (text.empty() || of_command.empty() ? "" : "\n") + of_command;
  if (text.empty() && words.size() == 2) {
    const std::string section = section_of_command(*documents, lower(words[0]));
    if (section.find("`" + lower(words[1])) != std::string::npos) text = section;
  }
  if (text.empty()) text = places_with(*documents, {topic});
  if (text.empty()) text = places_with(*documents, split(topic, ' '));
  if (text.empty()) {
    complain("help", fmt::format("no document has '{}'; corral help lists them", printable(topic)));
    return kFailed;
  }
  show(text);
  return kDone;
}

}  // namespace corral::cli
