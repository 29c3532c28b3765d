#include "compat/mlflow/wire/filter_rules.h"

#include <array>
#include <cstddef>

namespace corral::mlflow {
namespace {

constexpr std::array<std::string_view, 12> kOperatorTexts = {
    "=", "!=", "<", "<=", ">", ">=", "LIKE", "ILIKE", "IN", "NOT IN", "IS NULL", "IS NOT NULL"};

constexpr OperatorSet kSame = set_of(Operator::kEqual) | set_of(Operator::kNotEqual);
constexpr OperatorSet kLikes = kSame | set_of(Operator::kLike) | set_of(Operator::kIlike);
constexpr OperatorSet kLists = set_of(Operator::kIn) | set_of(Operator::kNotIn);
constexpr OperatorSet kNulls = set_of(Operator::kIsNull) | set_of(Operator::kIsNotNull);
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
                      .dataset = kTextOrList,
                      .metadata = {}};

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
                             .param = {},
                             .tag = kTextOrNull,
                             .dataset = {},
                             .metadata = {},
                             .exact_case = true};

constexpr std::array kRegisteredModelAttributes = {
    AttributeRule{"name", "name", kTextOrList},
    AttributeRule{"timestamp", "last_updated_timestamp", kNever},
    AttributeRule{"last_updated_timestamp", "last_updated_timestamp", kNever},
};
constexpr Rules kRegisteredModels{.entities = kTaggedEntities,
                                  .attributes = kRegisteredModelAttributes,
                                  .param = {},
                                  .tag = kText,
                                  .dataset = {},
                                  .metadata = {},
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
                               .param = {},
                               .tag = kText,
                               .dataset = {},
                               .metadata = {},
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
                              .dataset = {},
                              .metadata = {},
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
                        .param = {},
                        .tag = kTextOrNull,
                        .dataset = {},
                        .metadata = kTextOrNull};

}  // namespace

const Rules& rules_of(SearchKind kind) {
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
  std::string text = "{";
  for (std::size_t i = 0; i < kOperatorTexts.size(); ++i) {
    if ((operators & set_of(static_cast<Operator>(i))) == 0) continue;
    if (text.size() > 1) text += ", ";
    text.append("'").append(kOperatorTexts.at(i)).append("'");
  }
  return text + "}";
}

std::string_view entity_text(Entity entity) {
  constexpr std::array<std::string_view, 6> kTexts = {"attribute", "metric",  "parameter",
                                                      "tag",       "dataset", "request_metadata"};
  return kTexts.at(static_cast<std::size_t>(entity));
}

}  // namespace corral::mlflow
