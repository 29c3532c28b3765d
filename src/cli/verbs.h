// Commands that take a verb: `corral`, `corral store`, `corral plan` and `corral bench`.
#pragma once

#include <span>
#include <string_view>

namespace corral::cli {

struct Verb {
  std::string_view name, summary;  // a verb without a summary is not listed
  int (*call)(std::span<char* const> args);
};

struct VerbCommand {
  std::string_view name;  // "corral store"
  std::string_view head;  // the help up to the list of verbs
  std::string_view foot;
  std::span<const Verb> verbs;
};

// Calls the verb that `args` begins with, and returns its exit status. Prints the help for --help,
// -h, help (status 0) and for no arguments (status 2); an unknown verb is kMisuse.
int call_verb(const VerbCommand& command, std::span<char* const> args);

}  // namespace corral::cli
