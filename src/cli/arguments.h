// Flags, environment and configuration file of a subcommand, put together: flag > environment >
// file > default.
//
// The only place that includes CLI11. Every option --some-name has the environment variable
// CORRAL_SOME_NAME and the line `some-name = value` in corral.toml (top level, or in a section
// named as the subcommand), but for those of as_flag_only().
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"

namespace corral::cli {

class Arguments {
 public:
  // `name` is the subcommand, `about` one or two sentences, `examples` lines shown at the end of
  // --help.
  Arguments(const std::string& name, const std::string& about, const std::string& examples);
  ~Arguments();

  // Declarations; the references must live until parse() returns, and hold the defaults.
  void text(const std::string& name, std::string& value, const std::string& help);
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
  // Everything from the first word that is no option (or after `--`) goes here untouched.
  void rest(const std::string& name, std::vector<std::string>& values);
  // Two texts that exclude each other: of a flag, a variable and a line of the file the stronger
  // one stays, the other becomes empty.
  void exclusive(const std::string& a, const std::string& b);

  // An empty value of this text is misuse: it would mean the default. Call after its declaration.
  void never_empty(const std::string& name);
  // An option that neither the environment nor the file may give. Call after its declaration.
  void as_flag_only(const std::string& name);
  // The same, and not shown by --help: what Corral's own processes tell each other. Call after its
  // declaration.
  void hidden(const std::string& name);

  // Nothing: go on. Otherwise the exit status; help or the error has been printed.
  std::optional<int> parse(std::span<char* const> args);
  // The configuration file that parse() read; empty: none.
  [[nodiscard]] std::filesystem::path config_path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::cli
