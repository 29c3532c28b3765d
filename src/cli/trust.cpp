#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/config_file.h"
#include "cli/config_keys.h"
#include "cli/config_text.h"
#include "cli/destination.h"
#include "cli/spool.h"
#include "core/text.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrustExamples =
    "  corral trust                show and trust ./corral.toml\n"
    "  corral trust --revoke       stop trusting it\n"
    "  corral trust --list\n";

// A run's end is only known when nothing more comes; one that still runs is not waited for.
constexpr Nanos kPatience{std::chrono::seconds(1)};

struct TrustFlags {
  std::string file = "corral.toml";
  bool list = false;
  bool revoke = false;
};

int list_trusted() {
  for (const auto& [name, hash] : read_trusted()) {
    std::error_code error;
    const auto text = sys::read_file(name);
    const char* state = !fs::exists(name, error)              ? "gone"
                        : text && content_hash(*text) == hash ? "trusted"
                                                              : "changed: not trusted";
    fmt::print("{}  {}\n", printable(name), state);
  }
  return kDone;
}

Result<> revoke(const std::string& path) {
  const std::string name = TRY(trusted_name(path));
  bool known = false;
  TRY(change_trusted([&](TrustedFiles& files) { known = files.erase(name) > 0; }));
  if (!known) return fail(Code::kNotFound, path + " was not trusted");
  fmt::print("{} is no longer trusted\n", printable(path));
  return {};
}

// The file's own words say where that is.
Result<> deliver_waiting(const fs::path& trusted) {
  std::error_code error;
  ::setenv(kConfigFolder, fs::absolute(trusted, error).parent_path().c_str(), 1);
  DestinationFlags flags;
  Arguments arguments("trust", "", "");
  add_destination(arguments, flags);
  if (arguments.parse({})) return {};
  const Sent sent = TRY(send_waiting(flags, kPatience));
  if (sent.runs > 0)
    fmt::print("the data of {} goes to {}\n", counted(sent.runs, "waiting run"),
               printable(sent.to));
  return {};
}

// Returns the options and sections that count from this file only when it is trusted.
Result<std::vector<std::string>> held_in(const ConfigFile& file) {
  std::istringstream options(without_sources(file.text));
  std::vector<std::string> held;
  const auto lines = read_config_lines(options).map_error(
      [&](const Error& error) { return error.with_context(file.path.string()); });
  for (const ConfigLine& line : TRY(lines)) {
    if (option_counts(line.option) == Counts::kWhenTrusted &&
        std::ranges::find(held, line.option) == held.end())
      held.push_back(line.option);
  }
  auto sources = TRY(read_sources(file.text, file.path.string()));
  for (std::string& section : remove_untrusted(sources)) held.push_back(std::move(section));
  return held;
}

Result<> trust_file(const std::string& path) {
  ConfigFile file = TRY(read_directory_config(path));
  const std::vector<std::string> held = TRY(held_in(file));
  print_config(file, stdout);
  TRY(trust(file));
  fmt::print("{} is trusted until it changes{}\n", printable(path),
             held.empty() ? "; all of it counted before"
                          : ": from now on these count, too: " + printable(join(held, ", ")));
  return deliver_waiting(file.path).map_error([](const Error& error) {
    return error.with_context("it is trusted, but the data that waits is not sent");
  });
}

}  // namespace

int trust_command(std::span<char* const> args) {
  TrustFlags flags;
  Arguments arguments("trust",
                      "Shows a corral.toml and trusts it until it changes. Data that waits for its "
                      "server or store is sent.",
                      kTrustExamples);
  arguments.positional("file", flags.file, "file to trust (default: ./corral.toml)", false);
  arguments.flag("list", flags.list, "list trusted files");
  arguments.flag("revoke", flags.revoke, "stop trusting FILE");
  for (const char* name : {"list", "revoke"}) arguments.as_flag_only(name);
  if (const auto status = arguments.parse(args)) return *status;
  if (flags.list) return list_trusted();
  const auto done = flags.revoke ? revoke(flags.file) : trust_file(flags.file);
  return done ? kDone : report("trust", done.error());
}

}  // namespace corral::cli
