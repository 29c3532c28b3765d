#include "compat/mlflow/wire/filter.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "compat/mlflow/wire/filter_grammar.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

using Tokens = std::span<const Token>;
using Kind = Token::Kind;

constexpr std::string_view kWordOperators[] = {"LIKE", "ILIKE", "RLIKE", "REGEXP"};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

bool is_word(const Token& token, std::string_view word) {
  return token.kind == Kind::kName && token.text.size() == word.size() && upper(token.text) == word;
}

bool is_quoted(std::string_view text, char quote) {
  return text.size() >= 2 && text.front() == quote && text.back() == quote;
}
std::string_view without_quotes(std::string_view text) {
  const bool quoted = is_quoted(text, '\'') || is_quoted(text, '"') || is_quoted(text, '`');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// A resolved name, and the operators and values that it takes.
struct Subject {
  Entity entity = Entity::kAttribute;
  std::string key;      // canonical
  std::string written;  // as in the text
  Operand operand;
  bool ordered = true;
};

// Left of the operator, the operator, right of it.
struct Clause {
  Token name;
  std::string op;
  Tokens value;
};

class Parser {
 public:
  explicit Parser(SearchKind kind) : kind_(kind), rules_(rules_for(kind)) {}

  Answer<std::vector<Comparison>> filter(std::string_view text) const;
  [[nodiscard]] Answer<Subject> subject(std::string_view name, bool for_order) const;

 private:
  Answer<Clause> clause(Tokens& rest) const;
  [[nodiscard]] Answer<Comparison> comparison(const Clause& clause) const;
  [[nodiscard]] Answer<Entity> entity(std::string_view name) const;
  [[nodiscard]] Answer<Subject> attribute(std::string_view key, bool for_order) const;
  [[nodiscard]] Answer<Operator> parse_operator(const Clause& clause, const Subject& subject) const;
  [[nodiscard]] Answer<Comparison::Value> value(const Clause& clause, const Subject& subject) const;
  [[nodiscard]] Answer<Comparison::Value> number(const Token& token, const Subject& subject) const;
  [[nodiscard]] Answer<Comparison::Value> text(const Token& token, const Subject& subject) const;
  [[nodiscard]] Answer<Comparison::Value> list(Tokens tokens, const Subject& subject) const;
  [[nodiscard]] tl::unexpected<ApiError> not_a_clause(Tokens tokens) const;
  [[nodiscard]] std::string attribute_names(bool for_order) const;
  [[nodiscard]] std::string list_attributes() const;

  SearchKind kind_;
  const Rules& rules_;
};

tl::unexpected<ApiError> Parser::not_a_clause(Tokens tokens) const {
  const bool quoted = kind_ == SearchKind::kRuns || kind_ == SearchKind::kTraces;
  std::string text;
  for (const Token& token : tokens) {
    if (!text.empty()) text += ", ";
    text += quoted ? fmt::format("'{}'", token.text) : std::string(token.text);
  }
  if (kind_ == SearchKind::kLoggedModels) {
    return invalid(fmt::format(
        "Invalid filter string: {}. Expected a list of comparisons separated by 'AND' (e.g. "
        "'metrics.loss > 0.1 AND params.lr = 0.01').",
        text));
  }
  return invalid("Invalid clause(s) in filter string: " + text);
}

// Tokens up to the closing parenthesis; all of `rest` if there is none.
Tokens parenthesis(Tokens rest) {
  const auto* end = std::ranges::find_if(
      rest.data(), rest.data() + rest.size(),
      [](const Token& token) { return token.kind == Kind::kOther && token.text == ")"; });
  const auto length = static_cast<std::size_t>(end - rest.data());
  return rest.first(std::min(length + 1, rest.size()));
}

// The operator at the front of `rest`, in capitals if its words are any, and how many tokens it
// takes; 0: none is there.
std::pair<std::string, std::size_t> leading_operator(Tokens rest, bool exact_case) {
  if (rest.empty()) return {};
  const Token& first = rest.front();
  if (first.kind == Kind::kOperator) return {std::string(first.text), 1};
  const auto word = [&](std::size_t at, std::string_view expected) {
    return at < rest.size() && is_word(rest[at], expected);
  };
  if (word(0, "NOT") && word(1, "IN")) return {"NOT IN", 2};
  if (word(0, "IS") && word(1, "NULL")) return {"IS NULL", 2};
  if (word(0, "IS") && word(1, "NOT") && word(2, "NULL")) return {"IS NOT NULL", 3};
  const std::size_t negated = word(0, "NOT") ? 1 : 0;
  const std::string_view prefix = negated == 0 ? "" : "NOT ";
  if (negated == 0 && word(0, "IN")) return {exact_case ? std::string(first.text) : "IN", 1};
  for (const std::string_view name : kWordOperators) {
    if (!word(negated, name)) continue;
    const std::string_view written = exact_case ? rest[negated].text : name;
    return {std::string(prefix).append(written), negated + 1};
  }
  return {};
}

Answer<Clause> Parser::clause(Tokens& rest) const {
  const Tokens all = rest;
  const auto bad = [&](std::size_t length) {
    return not_a_clause(all.first(std::min(length, all.size())));
  };
  if (rest.front().kind != Kind::kName) return bad(1);
  Clause clause{rest.front(), {}, {}};
  auto [op, length] = leading_operator(rest.subspan(1), rules_.exact_case);
  if (length == 0) return bad(2);
  rest = rest.subspan(1 + length);
  clause.op = std::move(op);
  if (clause.op.starts_with("IS ")) return clause;
  if (rest.empty()) return bad(all.size());
  const bool opens = rest.front().kind == Kind::kOther && rest.front().text == "(";
  clause.value = opens ? parenthesis(rest) : rest.first(1);
  const bool wants_list = upper(clause.op) == "IN" || clause.op == "NOT IN";
  if (opens != wants_list && (wants_list || rest.front().kind == Kind::kOther))
    return bad(2 + length);
  if (opens && clause.value.back().text != ")") return bad(all.size());
  if (!opens && clause.value.front().kind == Kind::kOther) return bad(2 + length);
  rest = rest.subspan(clause.value.size());
  return clause;
}

std::string Parser::attribute_names(bool for_order) const {
  std::vector<std::string_view> names;
  for (const AttributeRule& rule : rules_.attributes) {
    if (for_order ? rule.ordered : rule.filter.operators != 0) names.push_back(rule.name);
  }
  return "{" + quoted_names(names) + "}";
}

std::string Parser::list_attributes() const {
  std::vector<std::string_view> names;
  for (const AttributeRule& rule : rules_.attributes) {
    if (rule.filter.form == Form::kList || rule.filter.form == Form::kIds)
      names.push_back(rule.name);
  }
  return "[" + quoted_names(names) + "]";
}

Answer<Subject> Parser::attribute(std::string_view key, bool for_order) const {
  const auto* const end = rules_.attributes.data() + rules_.attributes.size();
  const auto* rule = std::ranges::find(rules_.attributes.data(), end, key, &AttributeRule::name);
  if (rule == end && for_order && kind_ == SearchKind::kRegisteredModels) {
    return invalid(fmt::format(
        "Invalid order by key '{}' specified. Valid keys are '{{'name', 'timestamp'}}'", key));
  }
  if (rule == end || (for_order ? !rule->ordered : rule->filter.operators == 0)) {
    return invalid(fmt::format("Invalid attribute key '{}' specified. Valid keys are '{}'", key,
                               attribute_names(for_order)));
  }
  return Subject{rule->entity, std::string(rule->canonical), std::string(key), rule->filter,
                 rule->ordered};
}

Answer<Entity> Parser::entity(std::string_view name) const {
  const auto* const end = rules_.entities.data() + rules_.entities.size();
  const auto* rule = std::ranges::find(rules_.entities.data(), end, name, &EntityRule::name);
  if (rule != end) return rule->entity;
  if (kind_ == SearchKind::kRuns) {
    return invalid(
        fmt::format("Invalid entity type '{}'. Valid values are ['metric', "
                    "'parameter', 'tag', 'attribute', 'dataset']",
                    name));
  }
  std::vector<std::string_view> names;
  for (const EntityRule& known : rules_.entities) names.push_back(known.name);
  return invalid(fmt::format("Invalid entity type '{}'. Valid entity types are ({})", name,
                             quoted_names(names)));
}

Answer<Subject> Parser::subject(std::string_view name, bool for_order) const {
  const std::size_t dot = name.find('.');
  const auto unquoted = [&](std::string_view text) {
    return rules_.bare_attributes ? text : without_quotes(text);
  };
  const bool whole = for_order && kind_ == SearchKind::kRegisteredModels;
  if (dot == std::string_view::npos || whole) return attribute(unquoted(name), for_order);
  const std::string_view prefix = name.substr(0, dot);
  const Entity entity =
      TRY_API(this->entity(is_quoted(prefix, '`') ? prefix.substr(1, prefix.size() - 2) : prefix));
  const std::string_view key = name.substr(dot + 1);
  if (entity == Entity::kAttribute) return attribute(unquoted(key), for_order);
  Subject subject{entity, std::string(without_quotes(key)), std::string(without_quotes(key)), {}};
  switch (entity) {
    case Entity::kMetric:
      subject.operand = kMetricOperand;
      break;
    case Entity::kParam:
      subject.operand = rules_.param;
      break;
    case Entity::kMetadata:
      subject.operand = rules_.metadata;
      break;
    case Entity::kDataset:
      subject.operand = rules_.dataset;
      subject.ordered = false;
      if (subject.key != "name" && subject.key != "digest" && subject.key != "context") {
        return invalid(fmt::format(
            "Invalid dataset key '{}' specified. Valid keys are '{{'name', 'digest', 'context'}}'",
            subject.key));
      }
      break;
    default:
      subject.operand = rules_.tag;
      // A trace's name is the tag of that name.
      if (kind_ == SearchKind::kTraces && upper(subject.key) == "NAME")
        subject.key = "mlflow.traceName";
  }
  return subject;
}

// Returns the subject that some messages name for a wrong comparator, or "" if they name none.
std::string blamed(SearchKind kind, const Subject& subject) {
  if (kind == SearchKind::kRuns || kind == SearchKind::kTraces) return {};
  if (subject.entity == Entity::kTag) return "tag";
  if (kind == SearchKind::kExperiments)
    return subject.key == "experiment_id" ? subject.key : std::string();
  return subject.operand.form == Form::kAnyInteger ? "attribute " + subject.key : "attribute";
}

Answer<Operator> Parser::parse_operator(const Clause& clause, const Subject& subject) const {
  for (unsigned i = 0; i <= static_cast<unsigned>(Operator::kIsNotNull); ++i) {
    const auto op = static_cast<Operator>(i);
    if (operator_text(op) == clause.op && (subject.operand.operators & operator_bit(op)) != 0)
      return op;
  }
  const std::string allowed = operators_text(subject.operand.operators);
  if (kind_ == SearchKind::kLoggedModels) {
    return invalid(fmt::format("Invalid comparison operator for {}s.{}: '{}'. Expected one of {}.",
                               entity_text(subject.entity), subject.key, clause.op, allowed));
  }
  if (const std::string name = blamed(kind_, subject); !name.empty()) {
    return invalid(
        fmt::format("Invalid comparator for {}: {}. Expected one of {}", name, clause.op, allowed));
  }
  return invalid(fmt::format("Invalid comparator '{}' not one of '{}'", clause.op, allowed));
}

std::string written(Tokens tokens) {
  const char* begin = tokens.front().text.data();
  const char* end = tokens.back().text.data() + tokens.back().text.size();
  return {begin, end};
}

// As a double; beyond its range: infinite, or 0.
double parse_real(std::string_view text) {
  double value = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  if (done.ec != std::errc::result_out_of_range) return value;
  const std::size_t exponent = text.find_first_of("eE");
  const bool tiny =
      exponent != std::string_view::npos && text.substr(exponent + 1).starts_with('-');
  if (tiny) return 0;
  return text.starts_with('-') ? -std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::infinity();
}

tl::unexpected<ApiError> not_a_number(const Token& token, const Subject& subject) {
  if (subject.entity == Entity::kMetric)
    return invalid(fmt::format("Expected numeric value type for metric. Found {}", token.text));
  return invalid(fmt::format("Expected numeric value type for numeric attribute: {}. Found {}",
                             subject.written, token.text));
}

Answer<Comparison::Value> Parser::number(const Token& token, const Subject& subject) const {
  std::string_view digits = token.text;
  const Form form = subject.operand.form;
  // In traces a time in quotes is a number all the same.
  const bool quoted = form == Form::kAnyInteger || kind_ == SearchKind::kTraces;
  if (quoted && token.kind != Kind::kNumber)
    digits = without_quotes(digits);
  else if (token.kind != Kind::kNumber)
    return not_a_number(token, subject);
  if (form == Form::kDouble) return parse_real(digits);
  if (const auto whole = parse_int(digits)) return *whole;
  if (form == Form::kNumber && token.kind == Kind::kNumber) return parse_real(digits);
  return invalid(
      fmt::format("Invalid value for numeric attribute '{}': '{}'", subject.written, digits));
}

Answer<std::int64_t> parse_experiment_id(const std::string& text) {
  if (const auto number = parse_int(text)) return *number;
  return invalid(
      fmt::format("Invalid experiment ID '{}'. Experiment ID must be a valid integer.", text));
}

Answer<Comparison::Value> Parser::text(const Token& token, const Subject& subject) const {
  const std::string_view text = token.text;
  const bool bare = rules_.bare_text && (token.kind == Kind::kNumber || token.kind == Kind::kName);
  if (is_quoted(text, '\'') || is_quoted(text, '"') || bare) {
    const std::string value(bare && !is_quoted(text, '"') ? text : without_quotes(text));
    if (subject.operand.form == Form::kIds) TRY_API(parse_experiment_id(value));
    return value;
  }
  if (token.kind == Kind::kName) {
    return invalid(fmt::format(
        "Parameter value is either not quoted or unidentified quote types used for string value "
        "{}. Use either single or double quotes.",
        text));
  }
  if (subject.entity == Entity::kAttribute || subject.entity == Entity::kDataset) {
    return invalid(fmt::format(
        "Expected a quoted string value for {}. Got value {}",
        subject.entity == Entity::kDataset ? "dataset attributes" : "attributes", text));
  }
  return invalid(
      fmt::format("Expected a quoted string value for {} (e.g. 'my-value'). Got value {}",
                  entity_text(subject.entity), text));
}

// A text of a list has the escapes of a Python literal.
std::string unescaped(std::string_view text) {
  constexpr std::string_view kLetters = "ntr0abfv\\'\"";
  constexpr std::string_view kMeanings{"\n\t\r\0\a\b\f\v\\'\"", 11};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t known = text[i] == '\\' && i + 1 < text.size() ? kLetters.find(text[i + 1])
                                                                     : std::string_view::npos;
    if (known == std::string_view::npos) {
      out += text[i];
    } else {
      out += kMeanings[known];
      ++i;
    }
  }
  return out;
}

Answer<Comparison::Value> Parser::list(Tokens tokens, const Subject& subject) const {
  const Form form = subject.operand.form;
  if (form != Form::kList && form != Form::kIds) {
    if (subject.entity == Entity::kAttribute) {
      return invalid(
          fmt::format("Only {} attributes support comparison with a list of quoted string values.",
                      list_attributes()));
    }
    return invalid(
        fmt::format("Expected a quoted string value for {} (e.g. 'my-value'). Got value {}",
                    entity_text(subject.entity), written(tokens)));
  }
  std::vector<std::string> values;
  bool expects_value = true;
  for (const Token& token : tokens.subspan(1, tokens.size() - 2)) {
    const bool comma = token.kind == Kind::kOther && token.text == ",";
    if (token.kind == Kind::kNumber) {
      return invalid(
          fmt::format("While parsing a list in the query, expected string value, punctuation, or "
                      "whitespace, but got different type in list: {}",
                      written(tokens)));
    }
    const bool literal = is_quoted(token.text, '\'') || is_quoted(token.text, '"');
    if (comma ? expects_value : !expects_value || !literal) {
      return invalid(
          "While parsing a list in the query, expected a non-empty list of string values, but got "
          "ill-formed list.");
    }
    if (!comma) {
      std::string value = unescaped(without_quotes(token.text));
      // As the store tells it: "1" for "01".
      if (form == Form::kIds) value = std::to_string(TRY_API(parse_experiment_id(value)));
      values.push_back(std::move(value));
    }
    expects_value = comma;
  }
  if (values.empty()) {
    return invalid(
        "While parsing a list in the query, expected a non-empty list of string values, but got "
        "empty list");
  }
  return values;
}

Answer<Comparison::Value> Parser::value(const Clause& clause, const Subject& subject) const {
  if (clause.value.empty()) return Comparison::Value();
  if (clause.value.front().text == "(") return list(clause.value, subject);
  switch (subject.operand.form) {
    case Form::kText:
    case Form::kList:
    case Form::kIds:
      return text(clause.value.front(), subject);
    default:
      return number(clause.value.front(), subject);
  }
}

Answer<Comparison> Parser::comparison(const Clause& clause) const {
  Subject subject = TRY_API(this->subject(clause.name.text, false));
  if (clause.value.empty() && (subject.operand.operators & operator_bit(Operator::kIsNull)) == 0) {
    return invalid(
        fmt::format("IS NULL / IS NOT NULL is only supported for tags and params, not for '{}' "
                    "'{}'",
                    entity_text(subject.entity), subject.written));
  }
  Comparison::Value value = TRY_API(this->value(clause, subject));
  const Operator op = TRY_API(parse_operator(clause, subject));
  const auto* pattern = std::get_if<std::string>(&value);
  if ((op == Operator::kLike || op == Operator::kIlike) && pattern->size() > kLongestPattern) {
    return invalid(fmt::format("A pattern of {} has at most {} bytes, got {}", clause.op,
                               kLongestPattern, pattern->size()));
  }
  return Comparison{subject.entity, std::move(subject.key), op, std::move(value)};
}

Answer<std::vector<Comparison>> Parser::filter(std::string_view text) const {
  std::vector<Comparison> comparisons;
  if (text.empty()) return comparisons;
  const std::vector<Token> tokens = tokenize(text);
  if (tokens.empty())
    return invalid(fmt::format("Invalid filter '{}'. Could not be parsed.", text));
  for (Tokens rest = tokens; !rest.empty();) {
    if (is_word(rest.front(), "AND")) {
      rest = rest.subspan(1);
      continue;
    }
    if (comparisons.size() == kMostComparisons) {
      return invalid(fmt::format("A filter string has at most {} comparisons", kMostComparisons));
    }
    const Clause next = TRY_API(clause(rest));
    comparisons.push_back(TRY_API(comparison(next)));
  }
  return comparisons;
}

tl::unexpected<ApiError> unknown_order(std::string_view clause) {
  return invalid(fmt::format("Invalid order_by clause '{}'. Could not be parsed.", clause));
}

Answer<Order> parse_order(SearchKind kind, const std::string& clause) {
  const std::vector<Token> tokens = tokenize(clause);
  if (tokens.empty() || tokens.size() > 2 || tokens.front().kind != Kind::kName ||
      tokens.back().kind != Kind::kName)
    return unknown_order(clause);
  bool ascending = true;
  if (tokens.size() == 2) {
    ascending = is_word(tokens[1], "ASC");
    if (!ascending && !is_word(tokens[1], "DESC"))
      return invalid(fmt::format("Invalid ordering key in order_by clause '{}'.", clause));
  }
  const std::string_view name = tokens.front().text;
  Subject subject = TRY_API(Parser(kind).subject(name, true));
  const bool tagged = subject.entity == Entity::kTag &&
                      (kind == SearchKind::kExperiments || kind == SearchKind::kModelVersions);
  const bool metrics_only = kind == SearchKind::kLoggedModels &&
                            subject.entity != Entity::kAttribute &&
                            subject.entity != Entity::kMetric;
  if (!subject.ordered || tagged || metrics_only)
    return invalid(fmt::format("Invalid order_by entity: {}", entity_text(subject.entity)));
  return Order{subject.entity, std::move(subject.key), ascending};
}

}  // namespace

Answer<std::vector<Comparison>> parse_filter(SearchKind kind, std::string_view text) {
  return Parser(kind).filter(text);
}

Answer<std::vector<Order>> parse_order_by(SearchKind kind,
                                          const std::vector<std::string>& clauses) {
  if (clauses.size() > kMostComparisons)
    return invalid(fmt::format("`order_by` has at most {} fields", kMostComparisons));
  std::vector<Order> orders;
  for (const std::string& clause : clauses) {
    Order order = TRY_API(parse_order(kind, clause));
    const bool twice = std::ranges::any_of(orders, [&](const Order& other) {
      return other.entity == order.entity && other.key == order.key;
    });
    if (twice) {
      return invalid(fmt::format("`order_by` contains duplicate fields: [{}]",
                                 quoted_names({clauses.begin(), clauses.end()})));
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace corral::mlflow
