#include <array>

#include "cli/command.h"
#include "cli/plan_verbs.h"
#include "cli/verbs.h"

namespace corral::cli {
namespace {

constexpr std::array kVerbs = {
    Verb{"check", "list all problems of an experiment file", plan_check},
    Verb{"expand", "list the runs of an experiment file in start order", plan_expand},
    Verb{"generate", "generate an experiment file from a matrix", plan_generate},
};

constexpr std::string_view kHead =
    "Works on experiment files (docs/plans.md); corral run FILE runs one.\n\n"
    "Usage: corral plan VERB [OPTIONS]\n\n";
constexpr std::string_view kFoot =
    "\nExamples:\n"
    "  corral plan check plan.csv\n"
    "  corral plan expand plan.csv\n"
    "  corral plan generate study.yaml --output plan.csv\n"
    "\ncorral plan VERB --help shows the options.\n";

}  // namespace

int plan_command(std::span<char* const> args) {
  return call_verb({.name = "corral plan", .head = kHead, .foot = kFoot, .verbs = kVerbs}, args);
}

}  // namespace corral::cli
