// Secrets in what is recorded of a run: command lines, code that was changed, variables.
//
// A secret is found by the name in front of it (`--api-key=…`, `password: …`) or by its place in an
// address (`https://user:…@host`). Names count as a whole: `--hf-token` is one, `--tokenizer` and
// `--pad-token` are not (docs/security.md). Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "codec/frame.h"

namespace corral::run::set_up {

inline constexpr std::string_view kMask = "***";

// `name` without leading dashes, in any spelling: "api-key", "API_KEY", "apiKey".
bool names_secret(std::string_view name);

// True when a variable's name hints at a secret anywhere: "WANDB_APIKEY", "TOKENIZERS_PARALLELISM".
// Such variables are not recorded at all.
bool hints_at_secret(std::string_view variable);

// True when a secret's value is written out on this line: in quotes, at least eight characters
// without a blank. `token = tokenizer`, `password = args.password` and names of variables in its
// place are none.
bool holds_secret(std::string_view line);

// Counts what was masked.
class Mask {
 public:
  // Without `on` everything passes unchanged.
  explicit Mask(bool on) : on_(on) {}
  // Values of options: `--password x`, `--password=x`, `password=x`; and what text() masks.
  std::vector<std::string> words(std::vector<std::string> words);
  // Values that follow a name of a secret on their line, passwords in addresses, private keys.
  std::string text(std::string_view text);
  [[nodiscard]] std::size_t masked() const { return masked_; }

 private:
  std::string keys(std::string_view text);
  std::string named(std::string_view text);
  std::string addresses(std::string_view text);

  bool on_;
  std::size_t masked_ = 0;
};

// Fact "masked.PART" with their number, when something of the part was masked.
void add_masked(std::string_view part, const Mask& mask, std::vector<codec::Fact>& facts);

}  // namespace corral::run::set_up
