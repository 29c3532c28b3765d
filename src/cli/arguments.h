// Flags, environment and configuration files of a subcommand, put together: flag > environment >
// ./corral.toml > the user's own file > default.
//
// The only place that includes CLI11. Every option --some-name has the environment variable
// CORRAL_SOME_NAME and the line `some-name = value` in corral.toml (top level, or in a section
// named as the subcommand), except those of as_flag_only(). A file that is not trusted gives only
// the keys that config_keys.h allows; the rest is named on standard error, in one line.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/foreign/config.h"
#include "core/time.h"

namespace corral::cli {

// Help of a positional that names a run.
inline constexpr const char* kRunHelp = "run id, unique prefix, name, or @1 for the newest";

class Arguments {
 public:
  // `name` is the subcommand, `about` one to three sentences, `examples` lines shown at the end of
  // --help. Each option's `help` is a phrase of at most 72 characters.
  Arguments(const std::string& name, const std::string& about, const std::string& examples);
  ~Arguments();

  // Heading of --help for the options that are declared next; "Options" at first.
  void group(const std::string& heading);

  // Declarations; the references must live until parse() returns, and hold the defaults.
  // `letter`: a short name as well, such as -o, which `help` mentions.
  void text(const std::string& name, std::string& value, const std::string& help,
            char letter = '\0');
  void flag(const std::string& name, bool& value, const std::string& help);
  void choice(const std::string& name, std::string& value, std::vector<std::string> choices,
              const std::string& help);
  void texts(const std::string& name, std::vector<std::string>& values,
             const std::string& help);  // may be repeated
  void duration(const std::string& name, Nanos& value, const std::string& help);
  void bytes(const std::string& name, std::int64_t& value, const std::string& help);
  void positional(const std::string& name, std::string& value, const std::string& help,
                  bool required);
  void positionals(const std::string& name, std::vector<std::string>& values,
                   const std::string& help, bool required = true);
  // Everything from the first word that is no option (or after `--`) goes here untouched. Options
  // may follow that word if `alone` returns true for it: it takes no arguments.
  void rest(const std::string& name, std::vector<std::string>& values,
            bool (*alone)(std::string_view word));
  // Two texts that exclude each other. A flag beats a variable, a variable beats a line of the
  // file; the weaker text becomes empty.
  void exclusive(const std::string& a, const std::string& b);

  // An empty value of this text is misuse: it would mean the default. Call after its declaration.
  void never_empty(const std::string& name);
  // An option that neither the environment nor the file may give. Call after its declaration.
  void as_flag_only(const std::string& name);
  // The same, and not shown by --help: for calls between Corral's own processes. Call after its
  // declaration.
  void hidden(const std::string& name);

  // Also reads the files' sections of sources.
  void sources(collect::foreign::Sources& sources);
  // Accepts a server or store that only an untrusted file names; `why` then says that nothing may
  // be sent there. Without this call such a place ends the command with kFailed.
  void withholds(std::string& why);
  // At a terminal the user is asked whether ./corral.toml is to be trusted.
  void asks_to_trust();
  // Set when the option `token-file` was not given together with the server or store, but
  // ./corral.toml names that: the token was given for another one.
  void guard_token(bool& kept_back);

  // Called by parse() once every option has its value.
  void then(std::function<void()> settle);

  // Returns nullopt to continue, else the exit status; help or the error has been printed.
  std::optional<int> parse(std::span<char* const> args);
  // Takes a value as from the variable of an option. Returns the reason why the option refuses it;
  // empty if it takes it, or if the variable is no option's.
  std::string variable_problem(const std::string& variable, const std::string& value);
  // True for the name of a declared option, without dashes.
  [[nodiscard]] bool has_option(std::string_view name) const;
  // Returns a variable with which a process in another directory reads the same files and does not
  // repeat the line about ignored keys. After parse().
  [[nodiscard]] std::pair<std::string, std::string> config_variable() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::cli
