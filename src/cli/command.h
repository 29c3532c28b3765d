// The subcommands of `corral`: one function each, one table (main.cpp), and the dispatch to verbs.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace corral::cli {

// Exit statuses; `run` gives its command's.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kMisuse = 2;
inline constexpr int kInterrupted = 130;  // by Ctrl-C

// `args` without the program's and the subcommand's names.
int run_command(std::span<char* const> args);
int serve_command(std::span<char* const> args);
int demo_command(std::span<char* const> args);
// `corral` without a command: what runs, what ran last, and what to do next.
int overview_command();
int ls_command(std::span<char* const> args);
int open_command(std::span<char* const> args);
int show_command(std::span<char* const> args);
int logs_command(std::span<char* const> args);
int watch_command(std::span<char* const> args);
int explain_command(std::span<char* const> args);
int collocation_command(std::span<char* const> args);
int compare_command(std::span<char* const> args);
int export_command(std::span<char* const> args);
int history_command(std::span<char* const> args);
int plot_command(std::span<char* const> args);
int import_command(std::span<char* const> args);
int profile_command(std::span<char* const> args);
int plan_command(std::span<char* const> args);
int undo_command(std::span<char* const> args);
int diff_command(std::span<char* const> args);
int report_command(std::span<char* const> args);
int rerun_command(std::span<char* const> args);
int rename_command(std::span<char* const> args);
int tag_command(std::span<char* const> args);
int archive_command(std::span<char* const> args);
int rm_command(std::span<char* const> args);
int restore_command(std::span<char* const> args);
int store_command(std::span<char* const> args);
int alert_command(std::span<char* const> args);
int user_command(std::span<char* const> args);
int space_command(std::span<char* const> args);
int team_command(std::span<char* const> args);
int token_command(std::span<char* const> args);
int login_command(std::span<char* const> args);
int logout_command(std::span<char* const> args);
int whoami_command(std::span<char* const> args);
int audit_command(std::span<char* const> args);
int doctor_command(std::span<char* const> args);
int spool_command(std::span<char* const> args);
int trust_command(std::span<char* const> args);
int bench_command(std::span<char* const> args);
int help_command(std::span<char* const> args);
// "Documents: analysis api ..." of `corral help TOPIC`, wrapped; empty without the page.
std::string document_names();

struct Verb {
  std::string_view name, summary;  // a verb without a summary is not listed
  int (*call)(std::span<char* const> args);
};

// A word of another tool, and what has its meaning here: "ls runs".
struct Elsewhere {
  std::string_view word, here;
};

struct VerbCommand {
  std::string_view name;  // "corral store"
  std::string_view head;  // the help up to the list of verbs
  std::string_view foot;
  std::span<const Verb> verbs;
  std::span<const Elsewhere> elsewhere{};
};

// Calls the verb that `args` begins with, and returns its exit status. Prints the help for --help,
// -h, help alone (status 0) and for no arguments (status 2); an unknown verb is kMisuse.
int call_verb(const VerbCommand& command, std::span<char* const> args);

}  // namespace corral::cli
