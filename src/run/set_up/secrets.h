// Secrets: finds secrets in the recorded command lines, code changes and variables, and files that
// are never kept with a run's code because they hold secrets.
//
// A secret is found by the name in front of it (`--api-key=…`, `password: …`) or by its place in an
// address (`https://user:…@host`). Names count as a whole: `--hf-token` is one, `--tokenizer` and
// `--pad-token` are not (docs/security.md). Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/frame.h"

namespace corral::run::set_up {

inline constexpr std::string_view kMask = "***";

// True if `name`, without leading dashes and in any spelling, is a secret's: "api-key", "API_KEY",
// "apiKey".
bool names_secret(std::string_view name);

// True if a part of a variable's name hints at a secret: "WANDB_APIKEY", "TOKENIZERS_PARALLELISM".
// Such variables are not recorded at all.
bool hints_at_secret(std::string_view variable);

// True if this line has a secret's literal value: in quotes, at least eight characters without a
// blank. `token = tokenizer`, `password = args.password` and names of variables are none.
bool holds_secret(std::string_view line);

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// Masks secrets and counts them.
class Mask {
 public:
  // Without `on` everything passes unchanged.
  explicit Mask(bool on) : on_(on) {}
  // Masks values of options: `--password x`, `--password=x`, `password=x`; and all that text()
  // masks.
  std::vector<std::string> words(std::vector<std::string> words);
  // Masks the whole value of a param whose name ends in a secret's, and of any other what text()
  // masks. Param "params", the whole cell of a plan's row, loses the values of the others, too.
  NamedValues params(NamedValues params);
  // Masks values that follow a secret's name on their line, passwords in addresses, private keys.
  std::string text(std::string_view text);
  [[nodiscard]] std::size_t masked() const { return masked_; }

 private:
  std::string keys(std::string_view text);
  std::string named(std::string_view text);
  std::string addresses(std::string_view text);

  bool on_;
  std::size_t masked_ = 0;
};

// Adds the fact "masked.PART" with the number of masked secrets, if there were any.
void add_masked(std::string_view part, const Mask& mask, std::vector<codec::Fact>& facts);

// Returns the reason why a file of this path is not even read: its name is a secret's. Empty: none.
std::string_view refused_name(std::string_view path);

// Searches a file that comes in pieces. It always finds private keys and well-known tokens; with
// `literals` also literal values of secrets (`password = "…"`).
class SecretScan {
 public:
  explicit SecretScan(bool literals) : literals_(literals) {}
  void add(std::string_view piece);
  // Call once, at the end. Returns the reason why the file is not kept; empty: nothing was found.
  std::string_view finish();

 private:
  void line(std::string_view line);

  bool literals_;
  std::string open_;  // the last line so far
  std::string_view reason_;
};

// A diff, line by line, without secrets: lines that hold a well-known token or belong to a private
// key are replaced, but for their first character.
class DiffScan {
 public:
  // Takes and returns a line without its end.
  std::string line(std::string_view line);

 private:
  bool in_key_ = false;
};

}  // namespace corral::run::set_up
