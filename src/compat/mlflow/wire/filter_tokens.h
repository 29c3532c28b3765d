// Filter text as tokens: names with their quoted parts, quoted text, numbers, operators,
// punctuation. Words such as AND or LIKE are names here. Tokens look into the text they were made
// of. Pure, any thread, linear.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace corral::mlflow {

struct Token {
  enum class Kind : std::uint8_t {
    kName,      // word, `word` or "word", then further parts after dots, which may be 'quoted' too
    kText,      // '...'
    kNumber,    // -?, digits, a fraction, an exponent (e-5 or e5)
    kOperator,  // made of < > = ~ !
    kOther,     // one character that is nothing of these, or a quote that has no end with the rest
  };
  Kind kind = Kind::kOther;
  std::string_view text;
};

std::vector<Token> tokens_of(std::string_view text);

}  // namespace corral::mlflow
