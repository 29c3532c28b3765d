#include "compat/mlflow/wire/run_name.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace corral::mlflow {
namespace {

constexpr std::array<std::string_view, 64> kHow = {
    "agile",  "amber",  "ample",  "brave",  "brisk",  "bright", "calm",    "candid",
    "clear",  "clever", "cosmic", "crisp",  "dapper", "daring", "deft",    "eager",
    "early",  "fair",   "fleet",  "fond",   "frank",  "fresh",  "gentle",  "glad",
    "golden", "grand",  "happy",  "hardy",  "hasty",  "honest", "humble",  "ideal",
    "jolly",  "keen",   "kind",   "lively", "loyal",  "lucid",  "lucky",   "mellow",
    "merry",  "mild",   "modest", "neat",   "nimble", "noble",  "patient", "plucky",
    "polite", "proud",  "quick",  "quiet",  "rapid",  "ready",  "serene",  "sharp",
    "silent", "sober",  "spry",   "steady", "sturdy", "swift",  "vivid",   "warm"};
constexpr std::array<std::string_view, 64> kWho = {
    "alder",   "badger",  "beaver",  "birch",  "bison",  "canyon", "cedar",  "clover",
    "comet",   "condor",  "crane",   "dune",   "eagle",  "ember",  "falcon", "fern",
    "finch",   "fjord",   "fox",     "gale",   "gecko",  "glade",  "grouse", "harbor",
    "hare",    "hawk",    "hazel",   "heron",  "ibex",   "iris",   "island", "jackal",
    "juniper", "kestrel", "lake",    "lark",   "linnet", "lynx",   "maple",  "marten",
    "meadow",  "mesa",    "moth",    "newt",   "oak",    "ocean",  "osprey", "otter",
    "owl",     "pine",    "plover",  "pony",   "quail",  "raven",  "reef",   "river",
    "robin",   "sable",   "sparrow", "spruce", "stoat",  "swan",   "tern",   "wren"};

}  // namespace

std::string run_name(std::uint64_t bits) {
  return fmt::format("{}-{}-{}", kHow[bits % kHow.size()], kWho[bits / 64 % kWho.size()],
                     bits / 4096 % 1000);
}

}  // namespace corral::mlflow
