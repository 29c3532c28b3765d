#include "cli/help.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/test_call.h"
#include "core/text.h"

namespace corral::cli {
namespace {

struct Command {
  int (*call)(std::span<char* const>);
  std::vector<std::string> verbs = {""};
};
const std::vector<Command> kAll = {
    {run_command},
    {serve_command},
    {ls_command},
    {show_command},
    {logs_command},
    {watch_command},
    {demo_command},
    {open_command},
    {explain_command},
    {collocation_command},
    {compare_command},
    {history_command},
    {report_command},
    {plot_command},
    {help_command},
    {export_command},
    {import_command},
    {diff_command},
    {rerun_command},
    {undo_command},
    {profile_command},
    {rm_command},
    {doctor_command},
    {trust_command},
    {plan_command, {"", "check", "expand", "generate"}},
    {store_command, {"", "check", "stats", "backup", "load", "migrate", "rebuild", "gc", "prune"}},
    {bench_command, {"", "listeners"}}};

// Terminals count characters, not bytes.
std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

TEST(Help, FitsInto100ColumnsForEveryCommand) {
  for (const Command& command : kAll) {
    for (const std::string& verb : command.verbs) {
      std::vector<std::string> words;
      if (!verb.empty()) words.push_back(verb);
      words.emplace_back("--help");
      const Output output = call(command.call, words);
      EXPECT_EQ(output.status, kDone) << output.error;
      EXPECT_TRUE(output.output.find("Usage: corral ") != std::string::npos) << output.output;
      for (const std::string_view line : split(output.output, '\n'))
        EXPECT_LE(columns(line), kHelpColumns) << line;
    }
  }
}

TEST(Help, HasOneLineForEachOptionUnderItsHeading) {
  Help help;
  help.add("Options", "--name TEXT", "name of the run");
  help.add("Storage", "--store DIR", "directory");
  help.add("Options", "--quiet", "print only warnings");
  EXPECT_EQ(help.text(),
            "\nOptions:\n"
            "  --name TEXT               name of the run\n"
            "  --quiet                   print only warnings\n"
            "\nStorage:\n"
            "  --store DIR               directory\n");
}

TEST(Help, LeavesOutWhatWasRemovedAndHeadingsWithoutLines) {
  Help help;
  help.add("Internal", "--gate TEXT", "descriptors");
  help.add("Options", "--quiet", "print only warnings");
  help.add("Options", "--quiet-check NAME", "check");
  help.remove("--gate");
  help.remove("--quiet");
  EXPECT_EQ(help.text(), "\nOptions:\n  --quiet-check NAME        check\n");
}

TEST(Help, MovesAHeadingToTheEndAndKeepsTheOrderOfTheOthers) {
  Help help;
  for (const char* heading : {"B", "Last", "A"}) help.add(heading, "-x", "y");
  help.move_to_end("Last");
  help.move_to_end("nothing");
  const std::string text = help.text();
  EXPECT_LT(text.find("\nB:"), text.find("\nA:"));
  EXPECT_LT(text.find("\nA:"), text.find("\nLast:"));
}

TEST(Help, WrapsBetweenWords) {
  const std::string word(30, 'w');
  const std::string line = word + " " + word + " " + word;
  EXPECT_EQ(wrapped(line + " " + word), line + "\n" + word);
  EXPECT_EQ(wrapped("a b"), "a b");
  EXPECT_EQ(wrapped(""), "");
  const std::string longer(120, 'w');
  EXPECT_EQ(wrapped("a " + longer + " b"), "a\n" + longer + "\nb");
}

TEST(Verbs, AnUnknownOneNamesTheNearest) {
  const Output near = call(store_command, {"chek"});
  EXPECT_EQ(near.status, kMisuse);
  EXPECT_EQ(near.error, "corral store: unknown verb 'chek'; did you mean 'check'?\n");
  const Output far = call(plan_command, {"something"});
  EXPECT_EQ(far.status, kMisuse);
  EXPECT_EQ(far.error, "corral plan: unknown verb 'something'; corral plan --help lists them\n");
}

TEST(Verbs, ThoseForProcessesAreNeitherListedNorProposed) {
  EXPECT_EQ(call(bench_command, {"--help"}).output.find("burn"), std::string::npos);
  EXPECT_EQ(call(bench_command, {"brun"}).error.find("did you mean"), std::string::npos);
}

TEST(Verbs, WithoutOneTheHelpGoesToStandardError) {
  const Output output = call(store_command, {});
  EXPECT_EQ(output.status, kMisuse);
  EXPECT_EQ(output.output, "");
  EXPECT_EQ(output.error, call(store_command, {"-h"}).output);
}

// ---- errors of commands before they look for a store
TEST(Misuse, SaysWhatWasExpected) {
  EXPECT_EQ(call(ls_command, {}).error,
            "corral ls: expected experiments, workloads, plans, runs, trash, archive, metrics RUN "
            "or phases RUN\n");
  EXPECT_EQ(call(diff_command, {"one"}).error, "corral diff RUN RUN: expected two runs, got 1\n");
  EXPECT_EQ(call(rm_command, {}).error,
            "corral rm: missing run or --experiment; try: corral rm RUN..., or corral rm "
            "--experiment NAME\n");
  EXPECT_EQ(call(rm_command, {"@1", "--experiment", "x"}).error,
            "corral rm: give runs, --experiment or --trash, not several; try: corral rm RUN..., or "
            "corral rm "
            "--experiment NAME\n");
  EXPECT_EQ(call(store_command, {"prune"}).error,
            "corral store prune: give --older-than AGE or --keep-bytes SIZE\n");
  for (auto* command : {&ls_command, &diff_command, &rm_command})
    EXPECT_EQ(call(*command, {}).status, kMisuse);
}

TEST(Misuse, NamesBadValuesOfABenchmark) {
  EXPECT_EQ(
      call(bench_command, {"listeners", "--margin", "0"}).error,
      "corral bench listeners: --margin 0: must be greater than 0 and at most 50 %, e.g. 1%\n");
  EXPECT_EQ(call(bench_command, {"listeners", "--pairs", "1"}).error,
            "corral bench listeners: --pairs 1: must be a whole number from 2 to 10000\n");
  EXPECT_EQ(call(bench_command, {"listeners", "--pairs", "1"}).status, kMisuse);
}

}  // namespace
}  // namespace corral::cli
