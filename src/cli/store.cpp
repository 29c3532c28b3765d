#include <array>

#include "cli/command.h"
#include "cli/store_verbs.h"
#include "cli/verbs.h"

namespace corral::cli {
namespace {

constexpr std::array kVerbs = {
    Verb{"check", "verify every checksum and invariant; list problems and affected runs",
         store_check},
    Verb{"stats", "show points and bytes by level, table and run", store_stats},
    Verb{"backup", "copy the store into a file, also while a server writes", store_backup},
    Verb{"load", "copy a backup into an empty store", store_load},
    Verb{"migrate", "copy a store to another engine or place", store_migrate},
    Verb{"rebuild", "rebuild the pyramid and the statistics from the points", store_rebuild},
    Verb{"gc", "delete orphaned rows and return free space to the filesystem", store_gc},
    Verb{"prune", "remove old runs, or the oldest until the rest fits", store_prune},
};

constexpr std::string_view kHead =
    "Maintains a store (docs/store.md).\n\nUsage: corral store VERB [OPTIONS]\n\n";
constexpr std::string_view kFoot =
    "\nExamples:\n"
    "  corral store check                        the default store, also while it is served\n"
    "  corral store backup /backup/monday.corral\n"
    "  corral store migrate ./results postgresql://corral@db.lab/corral\n"
    "\ncorral store VERB --help shows the options.\n";

}  // namespace

int store_command(std::span<char* const> args) {
  return call_verb({.name = "corral store", .head = kHead, .foot = kFoot, .verbs = kVerbs}, args);
}

}  // namespace corral::cli
