// Flags, environment and configuration file of a subcommand, put together: flag > environment > file > default.
//
// The only place that includes CLI11. Every option --some-name has the environment variable CORRAL_SOME_NAME and the line `some-name = value` in
// corral.toml (top level, or in a section named as the subcommand).
#pragma once

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
  // `name` is the subcommand, `about` one or two sentences, `examples` lines shown at the end of --help.
  Arguments(std::string name, std::string about, std::string examples);
  ~Arguments();

  // Declarations; the references must live until parse() returns, and hold the defaults.
  void text(std::string name, std::string& value, std::string help);
  void flag(std::string name, bool& value, std::string help);
  void choice(std::string name, std::string& value, std::vector<std::string> choices, std::string help);
  void texts(std::string name, std::vector<std::string>& values, std::string help);  // may be repeated
  void duration(std::string name, Nanos& value, std::string help);
  void bytes(std::string name, std::int64_t& value, std::string help);
  void positional(std::string name, std::string& value, std::string help, bool required);
  void positionals(std::string name, std::vector<std::string>& values, std::string help);
  // Everything from the first word that is no option (or after `--`) goes here untouched.
  void rest(std::string name, std::vector<std::string>& values);

  // Nothing: go on. Otherwise the exit status; help or the error has been printed.
  std::optional<int> parse(std::span<char* const> args);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::cli
