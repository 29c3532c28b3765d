// The grammar of filters, which filter.cpp reads: the tokens of a text, and for each kind of search
// the names of entities and attributes, with the operators and values that each of them takes.
//
// Tokens: names with their quoted parts, quoted text, numbers, operators, punctuation. Words such
// as AND or LIKE are names here. Tokens are views into the text. Pure, any thread, linear.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compat/mlflow/wire/filter.h"

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

std::vector<Token> tokenize(std::string_view text);

// The kind of value to the right of the operator.
enum class Form : std::uint8_t {
  kText,
  kList,        // a text, or a list of texts
  kIds,         // the same, with integers in quotes
  kNumber,      // integer or with a fraction
  kInteger,     // without one
  kAnyInteger,  // an integer, bare or in quotes
  kDouble,
};

using OperatorSet = std::uint16_t;
constexpr OperatorSet operator_bit(Operator op) {
  return static_cast<OperatorSet>(1U << static_cast<unsigned>(op));
}

struct Operand {
  OperatorSet operators = 0;
  Form form = Form::kText;
};

struct AttributeRule {
  std::string_view name;
  std::string_view canonical;
  Operand filter;  // no operators: not searched by
  bool ordered = true;
  // The entity that the canonical name is a key of.
  Entity entity = Entity::kAttribute;
};

struct EntityRule {
  std::string_view name;
  Entity entity;
};

struct Rules {
  std::span<const EntityRule> entities;
  std::span<const AttributeRule> attributes;
  Operand param{}, tag{}, dataset{}, metadata{};
  // `like` and `in` are not LIKE and IN.
  bool exact_case = false;
  // A bare word or number is a text, too.
  bool bare_text = false;
  // Keys of attributes stand without quotes.
  bool bare_attributes = false;
};

const Rules& rules_for(SearchKind kind);
inline constexpr Operand kMetricOperand{
    operator_bit(Operator::kEqual) | operator_bit(Operator::kNotEqual) |
        operator_bit(Operator::kLess) | operator_bit(Operator::kLessEqual) |
        operator_bit(Operator::kGreater) | operator_bit(Operator::kGreaterEqual),
    Form::kDouble};

std::string_view operator_text(Operator op);
// "{'=', '!='}", in the order of Operator.
std::string operators_text(OperatorSet operators);
// "'a', 'b'"
std::string quoted_names(const std::vector<std::string_view>& names);
// Returns the entity's name in MLflow's messages.
std::string_view entity_text(Entity entity);

}  // namespace corral::mlflow
