#include <fmt/core.h>

#include <algorithm>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/run_difference.h"
#include "cli/table.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr const char* kExamples =
    "  corral diff @2 @1                  the newest run against the one before\n"
    "  corral diff @2 @1 --part package   packages alone\n"
    "  corral diff 3f2a 91bc --format json\n";
constexpr std::size_t kWidest = 48;  // bytes of a cell for people

struct Flags {
  DestinationFlags destination;
  std::vector<std::string> runs;
  std::string format = "table", part;
};

// For people: one line, cut. A patch is not shown, only that it differs.
std::string brief(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  const bool whole = line.size() == text.size() && line.size() <= kWidest;
  line = line.substr(0, utf8_prefix(std::string_view(line).substr(0, kWidest)));
  return printable(whole ? line : line + "…");
}

void print(const std::vector<Difference>& differences, const std::vector<Json>& runs,
           const std::string& format) {
  const bool table_of_text = format == "table";
  Table table({{"part", "PART"},
               {"key", "WHAT"},
               {"a", table_of_text ? brief(runs[0].get_string("name")) : "a"},
               {"b", table_of_text ? brief(runs[1].get_string("name")) : "b"}});
  const auto cell = [](const std::optional<std::string>& text) {
    return text ? Cell{Json(*text), brief(*text)} : Cell{Json(), "–"};
  };
  for (const Difference& d : differences)
    table.add({plain(d.part), plain(d.key), cell(d.a), cell(d.b)});
  if (differences.empty() && table_of_text)
    fmt::print("no difference\n");
  else
    fmt::print("{}", table.print(format));
}

}  // namespace

int diff_command(std::span<char* const> args) {
  Flags flags;
  Arguments arguments("diff",
                      "Shows how two runs differ in params, tags, code, packages, variables and "
                      "settings of the host.",
                      kExamples);
  arguments.positionals("run", flags.runs, std::string("two runs: ") + kRunHelp, false);
  arguments.choice("format", flags.format, {"table", "json", "csv"},
                   "output format (default: table)");
  arguments.choice(
      "part", flags.part,
      {"run", "param", "tag", "code", "package", "variable", "environment", "set-up", "at start"},
      "run, param, tag, code, package, variable, environment, set-up, at start");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  if (flags.runs.size() != 2) {
    return report("diff RUN RUN",
                  {.code = Code::kInvalidArgument,
                   .message = fmt::format("expected two runs, got {}", flags.runs.size())});
  }
  const auto server = connect(flags.destination);
  if (!server) return report("diff", server.error());
  std::vector<Json> runs;
  for (const std::string& name : flags.runs) {
    auto run = get_json(*server, "/api/corral/v1/runs/" + sys::url_encode(name));
    if (!run) return report("diff", run.error());
    auto code = get_json(
        *server, "/api/corral/v1/runs/" + run->get_string("id") + "/artifacts/corral/code.json");
    if (code) {
      run->set("code", *std::move(code));
    } else if (code.error().code != Code::kNotFound && code.error().code != Code::kUnsupported) {
      return report("diff", code.error());
    }
    runs.push_back(std::move(*run));
  }
  auto differences = difference_of(runs[0], runs[1]);
  if (!flags.part.empty())
    std::erase_if(differences, [&](const Difference& d) { return d.part != flags.part; });
  print(differences, runs, flags.format);
  return kDone;
}

}  // namespace corral::cli
