#include "compat/mlflow/wire/filter_grammar.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace corral::mlflow {
namespace {

// ---- tokens

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Letters of any script: every byte of a character beyond ASCII counts as one.
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_operator(char c) { return std::string_view("<>=~!").find(c) != std::string_view::npos; }

std::size_t digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// Behind the number that starts at `at`; `at` itself if none does.
std::size_t number_end(std::string_view text, std::size_t at) {
  std::size_t start = at;
  if (start < text.size() && text[start] == '-') ++start;
  std::size_t end = digits(text, start);
  bool any = end > start;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = digits(text, end + 1);
    any = any || fraction > end + 1;
    end = fraction;
  }
  if (!any) return at;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && text[exponent] == '-') ++exponent;
    if (const std::size_t last = digits(text, exponent); last > exponent) end = last;
  }
  return end < text.size() && is_word(text[end]) ? at : end;
}

// Behind the quoted part that starts at `at`; npos if it has no end. A doubled quote does not end
// it, nor does \' or \" unless no other quote follows.
std::size_t quoted_end(std::string_view text, std::size_t at) {
  const char quote = text[at];
  std::size_t fallback = std::string_view::npos;
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote != '`' && i + 1 < text.size() && text[i + 1] == quote) {
      fallback = i + 2;
      ++i;
    } else if (text[i] == quote) {
      if (i + 1 == text.size() || text[i + 1] != quote) return i + 1;
      ++i;
    }
  }
  return fallback;
}

// Behind one part of a name; `at` itself if there is none, npos if a quote has no end.
std::size_t part_end(std::string_view text, std::size_t at, std::string_view quotes) {
  if (at == text.size()) return at;
  if (quotes.find(text[at]) != std::string_view::npos) return quoted_end(text, at);
  while (at < text.size() && is_word(text[at])) ++at;
  return at;
}

Token name_at(std::string_view text, std::size_t at) {
  std::size_t end = part_end(text, at, "`\"");
  while (end < text.size() && text[end] == '.') {
    const std::size_t next = part_end(text, end + 1, "`\"'");
    if (next == end + 1) break;
    end = next;
  }
  if (end == std::string_view::npos) return {Token::Kind::kOther, text.substr(at)};
  return {Token::Kind::kName, text.substr(at, end - at)};
}

Token token_at(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (const std::size_t end = number_end(text, at); end > at)
    return {Token::Kind::kNumber, text.substr(at, end - at)};
  if (is_word(c) || c == '`' || c == '"') return name_at(text, at);
  if (c == '\'') {
    const std::size_t end = quoted_end(text, at);
    if (end == std::string_view::npos) return {Token::Kind::kOther, text.substr(at)};
    return {Token::Kind::kText, text.substr(at, end - at)};
  }
  if (is_operator(c)) {
    std::size_t end = at;
    while (end < text.size() && is_operator(text[end])) ++end;
    return {Token::Kind::kOperator, text.substr(at, end - at)};
  }
  return {Token::Kind::kOther, text.substr(at, 1)};
}

// ---- rules

constexpr std::array<std::string_view, 12> kOperatorTexts = {
    "=", "!=", "<", "<=", ">", ">=", "LIKE", "ILIKE", "IN", "NOT IN", "IS NULL", "IS NOT NULL"};

constexpr OperatorSet kSame = operator_bit(Operator::kEqual) | operator_bit(Operator::kNotEqual);
constexpr OperatorSet kLikes =
    kSame | operator_bit(Operator::kLike) | operator_bit(Operator::kIlike);
constexpr OperatorSet kLists = operator_bit(Operator::kIn) | operator_bit(Operator::kNotIn);
constexpr OperatorSet kNulls = operator_bit(Operator::kIsNull) | operator_bit(Operator::kIsNotNull);
constexpr OperatorSet kOrders = kMetricOperand.operators;

constexpr Operand kText{kLikes, Form::kText};
constexpr Operand kTextOrList{kLikes | kLists, Form::kList};
constexpr Operand kTextOrNull{kLikes | kNulls, Form::kText};
constexpr Operand kTime{kOrders, Form::kNumber};
constexpr Operand kWholeTime{kOrders, Form::kInteger};
constexpr Operand kNever{};

constexpr std::array kRunEntities = {
    EntityRule{"metric", Entity::kMetric},
    EntityRule{"metrics", Entity::kMetric},
    EntityRule{"parameter", Entity::kParam},
    EntityRule{"parameters", Entity::kParam},
    EntityRule{"param", Entity::kParam},
    EntityRule{"params", Entity::kParam},
    EntityRule{"tag", Entity::kTag},
    EntityRule{"tags", Entity::kTag},
    EntityRule{"attribute", Entity::kAttribute},
    EntityRule{"attributes", Entity::kAttribute},
    EntityRule{"attr", Entity::kAttribute},
    EntityRule{"run", Entity::kAttribute},
    EntityRule{"dataset", Entity::kDataset},
    EntityRule{"datasets", Entity::kDataset},
};
constexpr std::array kRunAttributes = {
    AttributeRule{"run_id", "run_id", kTextOrList},
    AttributeRule{"run_name", "run_name", kText},
    AttributeRule{"run name", "run_name", kText, false},
    AttributeRule{"Run name", "run_name", kText, false},
    AttributeRule{"Run Name", "run_name", kText, false},
    AttributeRule{"status", "status", kText},
    AttributeRule{"user_id", "user_id", kText},
    AttributeRule{"artifact_uri", "artifact_uri", kText},
    AttributeRule{"start_time", "start_time", kTime},
    AttributeRule{"created", "start_time", kTime},
    AttributeRule{"Created", "start_time", kTime},
    AttributeRule{"end_time", "end_time", kTime},
};
constexpr Rules kRuns{.entities = kRunEntities,
                      .attributes = kRunAttributes,
                      .param = kTextOrNull,
                      .tag = kTextOrNull,
                      .dataset = kTextOrList};

constexpr std::array kTaggedEntities = {
    EntityRule{"attribute", Entity::kAttribute},
    EntityRule{"tag", Entity::kTag},
    EntityRule{"tags", Entity::kTag},
};
constexpr std::array kExperimentAttributes = {
    AttributeRule{"name", "name", kText},
    AttributeRule{"experiment_id", "experiment_id", Operand{kSame | kLists, Form::kIds}},
    AttributeRule{"creation_time", "creation_time", kWholeTime},
    AttributeRule{"last_update_time", "last_update_time", kWholeTime},
};
constexpr Rules kExperiments{.entities = kTaggedEntities,
                             .attributes = kExperimentAttributes,
                             .tag = kTextOrNull,
                             .exact_case = true};

constexpr std::array kRegisteredModelAttributes = {
    AttributeRule{"name", "name", kTextOrList},
    AttributeRule{"timestamp", "last_updated_timestamp", kNever},
    AttributeRule{"last_updated_timestamp", "last_updated_timestamp", kNever},
};
constexpr Rules kRegisteredModels{.entities = kTaggedEntities,
                                  .attributes = kRegisteredModelAttributes,
                                  .tag = kText,
                                  .bare_attributes = true};

constexpr std::array kModelVersionAttributes = {
    AttributeRule{"name", "name", kTextOrList},
    AttributeRule{"run_id", "run_id", kTextOrList, false},
    AttributeRule{"source_path", "source_path", kText, false},
    AttributeRule{"version_number", "version_number", Operand{kOrders, Form::kAnyInteger}},
    AttributeRule{"creation_timestamp", "creation_timestamp", kNever},
    AttributeRule{"last_updated_timestamp", "last_updated_timestamp", kNever},
};
constexpr Rules kModelVersions{.entities = kTaggedEntities,
                               .attributes = kModelVersionAttributes,
                               .tag = kText,
                               .bare_attributes = true};

constexpr std::array kLoggedModelEntities = {
    EntityRule{"attributes", Entity::kAttribute},
    EntityRule{"metrics", Entity::kMetric},
    EntityRule{"params", Entity::kParam},
    EntityRule{"tags", Entity::kTag},
};
constexpr std::array kLoggedModelAttributes = {
    AttributeRule{"name", "name", kTextOrList},
    AttributeRule{"model_id", "model_id", kTextOrList},
    AttributeRule{"model_type", "model_type", kTextOrList},
    AttributeRule{"status", "status", kTextOrList},
    AttributeRule{"source_run_id", "source_run_id", kTextOrList},
    AttributeRule{"artifact_location", "artifact_location", kTextOrList},
    AttributeRule{"experiment_id", "experiment_id", Operand{kSame | kLists, Form::kIds}},
    AttributeRule{"creation_timestamp", "creation_timestamp", kTime},
    AttributeRule{"creation_timestamp_ms", "creation_timestamp", kTime},
    AttributeRule{"creation_time", "creation_timestamp", kTime},
    AttributeRule{"last_updated_timestamp", "last_updated_timestamp", kTime},
    AttributeRule{"last_updated_timestamp_ms", "last_updated_timestamp", kTime},
};
constexpr Rules kLoggedModels{.entities = kLoggedModelEntities,
                              .attributes = kLoggedModelAttributes,
                              .param = kTextOrList,
                              .tag = kTextOrList,
                              .bare_text = true};

constexpr std::array kTraceEntities = {
    EntityRule{"tag", Entity::kTag},
    EntityRule{"request_metadata", Entity::kMetadata},
    EntityRule{"attribute", Entity::kAttribute},
    EntityRule{"tags", Entity::kTag},
    EntityRule{"attributes", Entity::kAttribute},
    EntityRule{"trace", Entity::kAttribute},
    EntityRule{"metadata", Entity::kMetadata},
};
constexpr std::array kTraceAttributes = {
    AttributeRule{"request_id", "request_id", kTextOrList},
    AttributeRule{"client_request_id", "client_request_id", kTextOrList, false},
    AttributeRule{"status", "status", kTextOrList},
    AttributeRule{"timestamp", "timestamp_ms", kTime},
    AttributeRule{"timestamp_ms", "timestamp_ms", kTime},
    AttributeRule{"execution_time", "execution_time_ms", kTime},
    AttributeRule{"execution_time_ms", "execution_time_ms", kTime},
    AttributeRule{"end_time", "end_time_ms", kTime},
    AttributeRule{"end_time_ms", "end_time_ms", kTime},
    AttributeRule{"experiment_id", "experiment_id", kNever},
    AttributeRule{"name", "mlflow.traceName", kTextOrNull, true, Entity::kTag},
    AttributeRule{"run_id", "mlflow.sourceRun", kTextOrNull, true, Entity::kMetadata},
};
constexpr Rules kTraces{.entities = kTraceEntities,
                        .attributes = kTraceAttributes,
                        .tag = kTextOrNull,
                        .metadata = kTextOrNull};

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    tokens.push_back(token_at(text, at));
    at += tokens.back().text.size();
  }
  return tokens;
}

const Rules& rules_for(SearchKind kind) {
  switch (kind) {
    case SearchKind::kExperiments:
      return kExperiments;
    case SearchKind::kRegisteredModels:
      return kRegisteredModels;
    case SearchKind::kModelVersions:
      return kModelVersions;
    case SearchKind::kLoggedModels:
      return kLoggedModels;
    case SearchKind::kTraces:
      return kTraces;
    case SearchKind::kRuns:
      break;
  }
  return kRuns;
}

std::string_view operator_text(Operator op) {
  return kOperatorTexts.at(static_cast<std::size_t>(op));
}

std::string operators_text(OperatorSet operators) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kOperatorTexts.size(); ++i) {
    if ((operators & operator_bit(static_cast<Operator>(i))) != 0)
      names.push_back(kOperatorTexts.at(i));
  }
  return "{" + quoted_names(names) + "}";
}

std::string quoted_names(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names)
    text.append(text.empty() ? "'" : ", '").append(name).append("'");
  return text;
}

std::string_view entity_text(Entity entity) {
  constexpr std::array<std::string_view, 6> kTexts = {"attribute", "metric",  "parameter",
                                                      "tag",       "dataset", "request_metadata"};
  return kTexts.at(static_cast<std::size_t>(entity));
}

}  // namespace corral::mlflow
