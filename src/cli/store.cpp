#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "cli/command.h"
#include "cli/store_verbs.h"
#include "core/text.h"

namespace corral::cli {
namespace {

struct Verb {
  std::string_view name, summary;
  int (*call)(std::span<char* const>);
};
constexpr std::array kVerbs = {
    Verb{"check",
         "verify every checksum and invariant; name what is wrong and which runs it "
         "touches",
         store_check},
    Verb{"stats", "points and bytes by level, table and run", store_stats},
    Verb{"backup", "copy the store into a file, also while a server writes", store_backup},
    Verb{"load", "copy a backup into an empty store", store_load},
    Verb{"migrate", "copy a store to another engine or place", store_migrate},
    Verb{"rebuild", "make the pyramid and the statistics anew from the points", store_rebuild},
    Verb{"gc", "remove what nothing refers to, give space back to the filesystem", store_gc},
    Verb{"prune", "remove old runs, or the oldest until the rest fits", store_prune},
};

void print_help(std::FILE* out) {
  fmt::print(out, "Looks after a store (docs/store.md).\n\nUsage: corral store VERB [OPTIONS]\n\n");
  for (const Verb& verb : kVerbs) fmt::print(out, "  {:<8} {}\n", verb.name, verb.summary);
  fmt::print(out,
             "\nExamples:\n  corral store check                        the default store, also "
             "while it is served\n"
             "  corral store backup /backup/monday.corral\n"
             "  corral store migrate ./results postgresql://corral@db.lab/corral\n\n"
             "corral store VERB --help says more.\n");
}

}  // namespace

int store_command(std::span<char* const> args) {
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
      stderr, "corral store: '{}' is not a verb{} corral store --help lists them\n",
      printable(word),
      edit_distance(near->name, word) <= 2 ? fmt::format(", did you mean '{}'?", near->name) : ";");
  return kMisuse;
}

}  // namespace corral::cli
