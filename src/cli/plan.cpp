#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "cli/command.h"
#include "cli/plan_verbs.h"
#include "core/text.h"

namespace corral::cli {
namespace {

struct Verb {
  std::string_view name, summary;
  int (*call)(std::span<char* const>);
};
constexpr std::array kVerbs = {
    Verb{"check", "name everything that is wrong with an experiment file", plan_check},
    Verb{"expand", "list the runs that an experiment file describes, in their order", plan_expand},
    Verb{"generate", "make an experiment file from a specification of a matrix", plan_generate},
};

void print_help(std::FILE* out) {
  fmt::print(out,
             "Experiment files (docs/plans.md); corral run FILE runs one.\n\nUsage: corral plan "
             "VERB [OPTIONS]\n\n");
  for (const Verb& verb : kVerbs) fmt::print(out, "  {:<8} {}\n", verb.name, verb.summary);
  fmt::print(out,
             "\nExamples:\n  corral plan check plan.csv\n"
             "  corral plan expand plan.csv\n"
             "  corral plan generate study.yaml --output plan.csv\n\n"
             "corral plan VERB --help says more.\n");
}

}  // namespace

int plan_command(std::span<char* const> args) {
  const std::string_view word = args.empty() ? "" : args[0];
  if (word == "--help" || word == "-h" || word == "help") {
    print_help(stdout);
    return kDone;
  }
  if (args.empty()) {
    print_help(stderr);
    return kMisuse;
  }
  const auto* const found = std::ranges::find(kVerbs, word, &Verb::name);
  if (found != kVerbs.end()) return found->call(args.subspan(1));
  const auto* const near = std::ranges::min_element(
      kVerbs, {}, [&](const Verb& v) { return edit_distance(v.name, word); });
  fmt::print(
      stderr, "corral plan: '{}' is not a verb{} corral plan --help lists them\n", printable(word),
      edit_distance(near->name, word) <= 2 ? fmt::format(", did you mean '{}'?", near->name) : ";");
  return kMisuse;
}

}  // namespace corral::cli
