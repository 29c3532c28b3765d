#include "cli/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/text.h"

namespace corral::cli {
namespace {

void print_help(const VerbCommand& command, std::FILE* out) {
  fmt::print(out, "{}", command.head);
  for (const Verb& verb : command.verbs)
    if (!verb.summary.empty()) fmt::print(out, "  {:<9} {}\n", verb.name, verb.summary);
  fmt::print(out, "{}", command.foot);
}

}  // namespace

int call_verb(const VerbCommand& command, std::span<char* const> args) {
  const std::string_view word = args.empty() ? "" : args[0];
  const bool asked = word == "--help" || word == "-h" || (word == "help" && args.size() == 1);
  if (asked || args.empty()) {
    print_help(command, asked ? stdout : stderr);
    return asked ? kDone : kMisuse;
  }
  const auto found = std::ranges::find(command.verbs, word, &Verb::name);
  if (found != command.verbs.end()) return found->call(args.subspan(1));
  std::vector<std::string_view> listed;
  for (const Verb& verb : command.verbs)
    if (!verb.summary.empty()) listed.push_back(verb.name);
  const auto other = std::ranges::find(command.elsewhere, word, &Elsewhere::word);
  const std::string near = other == command.elsewhere.end()
                               ? did_you_mean(word, listed)
                               : fmt::format("; did you mean '{}'?", other->here);
  fmt::print(stderr, "{}: unknown {} '{}'{}\n", command.name,
             command.name == "corral" ? "command" : "verb", printable(word),
             near.empty() ? fmt::format("; {} --help lists them", command.name) : near);
  return kMisuse;
}

}  // namespace corral::cli
