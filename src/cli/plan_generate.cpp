#include <fmt/core.h>

#include <cstdio>
#include <filesystem>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/output_target.h"
#include "cli/plan_verbs.h"
#include "core/ids.h"
#include "core/text.h"
#include "plan/generate.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

constexpr const char* kVerb = "plan generate";
constexpr const char* kExamples =
    "  corral plan generate study.yaml                     the plan, on standard output\n"
    "  corral plan generate study.yaml --output plan.csv   into a file that is not there yet\n"
    "  corral plan generate study.yaml --seed 7            every block in a random order\n";
constexpr std::size_t kMostBytes = 1u << 20;

struct Flags {
  std::string spec, output, seed;
};

std::optional<int> parse(std::span<char* const> args, Flags& flags) {
  Arguments arguments(kVerb,
                      "Generates an experiment file from a matrix of models, batch sizes, ways of "
                      "sharing and repeats (docs/plan-generate.md).",
                      kExamples);
  arguments.positional("spec", flags.spec, "specification, a YAML file", true);
  arguments.text("output", flags.output, "new file, also -o (default: standard output)");
  arguments.text("seed", flags.seed, "shuffle each block by this seed; overrides the file's seed");
  arguments.as_flag_only("output");
  arguments.as_flag_only("seed");
  static std::string output = "--output";
  std::vector<char*> words(args.begin(), args.end());
  for (char*& word : words)
    if (std::string_view(word) == "-o") word = output.data();
  return arguments.parse(words);
}

Result<> write(const Flags& flags, const plan::Generated& made) {
  OutputTarget target = TRY(OutputTarget::open(flags.output));
  TRY(target.write(made.csv));
  return target.finish();
}

int misuse(const std::string& message) {
  return report(kVerb, Error{.code = Code::kInvalidArgument, .message = message});
}

}  // namespace

int plan_generate(std::span<char* const> args) {
  Flags flags;
  if (const auto status = parse(args, flags)) return *status;
  plan::GenerateOptions options{
      .name = std::filesystem::path(flags.spec).filename().string(), .seed = {}, .drawn = 0};
  if (!flags.seed.empty()) {
    const auto seed = parse_int(flags.seed);
    if (!seed || *seed < 0) return misuse("--seed " + flags.seed + ": must be a number from 0");
    options.seed = static_cast<std::uint64_t>(*seed);
  }
  const auto bytes = detail::random_id_bytes();
  options.drawn = (std::uint64_t{bytes[0]} << 16U) | (std::uint64_t{bytes[1]} << 8U) | bytes[2];
  // An existing file may hold the state of a plan.
  std::error_code error;
  if (!flags.output.empty() && std::filesystem::is_regular_file(flags.output, error))
    return report(kVerb, Error{.code = Code::kAlreadyExists,
                               .message = flags.output + " is there already; remove it first"});
  const auto text = sys::read_file(flags.spec, kMostBytes);
  if (!text) return report(kVerb, text.error());
  const plan::Generated made = plan::generate(*text, options);
  for (const plan::Problem& problem : made.problems)
    fmt::print(stderr, "{}\n", printable(plan::to_message(problem, flags.spec)));
  if (!made.problems.empty()) return kFailed;
  if (const auto written = write(flags, made); !written) return report(kVerb, written.error());
  fmt::print(stderr, "{} runs in {} workloads{}\n", made.runs, made.workloads,
             made.seed ? fmt::format(", seed {}", *made.seed) : "");
  return kDone;
}

}  // namespace corral::cli
