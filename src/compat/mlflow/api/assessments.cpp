
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/wire/names.h"
#include "core/ids.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::server::mlflow {
namespace {

using tracking::TraceFact;

constexpr std::array kKinds = {"feedback", "expectation", "issue"};

// Copies an object; its members are texts, but for those that `any` allows to be anything.
void copy_object(Message& in, const char* name, std::string_view any, Json& out) {
  const Json* object = in.find(name);
  if (object == nullptr) return;
  if (object->as_object() == nullptr) return in.wrong_type(name);
  for (const auto& [key, value] : *object->as_object()) {
    const auto* inner = value.as_object();
    const auto is_text = [](const auto& member) { return member.second.as_string() != nullptr; };
    const bool texts = inner != nullptr && any != "" && std::ranges::all_of(*inner, is_text);
    if (key != any && value.as_string() == nullptr && !texts) in.wrong_type(name);
  }
  out.set(name, *object);
}

void copy_time(Message& in, const char* name, Json& out) {
  const auto text = in.maybe_text(name);
  if (text) {
    if (const auto time = parse_timestamp(*text, in.path_of(name)); !time) in.wrong(time.error());
  }
  out.set(name, text.value_or(timestamp(sys::utc_now())));
}

void copy_value(Message& in, Json& out) {
  const auto count = std::ranges::count_if(kKinds, [&](const char* kind) { return in.has(kind); });
  if (count != 1) {
    in.wrong({ErrorCode::kInvalidParameterValue,
              "Exactly one of `expectation`, `feedback`, or `issue` should be specified."});
  }
  for (const char* kind : kKinds) copy_object(in, kind, "value", out);
}

tl::unexpected<ApiError> no_assessment(const std::string& id, const std::string& trace) {
  return refuse(
      ErrorCode::kResourceDoesNotExist,
      fmt::format("Assessment with ID '{}' not found for trace '{}'", to_utf8(id), to_utf8(trace)));
}

Answer<Json> find_assessment(Connection& db, const std::string& trace, const std::string& id) {
  const auto row = TRY_API(find_trace(db, trace));
  for (const auto& [key, value] : row.assessments) {
    if (key != id) continue;
    return TRY_API(Json::parse(value));
  }
  return no_assessment(id, trace);
}

Answer<> keep(Connection& db, const std::string& trace, const Json& assessment) {
  TRY_API(tracking::set_trace_fact(db, trace, TraceFact::kAssessment,
                                   assessment.get_string("assessment_id"), assessment.dump()));
  return {};
}

// The assessment that this one replaces, or no longer replaces.
Answer<> set_overridden(Connection& db, const std::string& trace, const Json& assessment,
                        bool valid) {
  const std::string id = assessment.get_string("overrides");
  if (id.empty()) return {};
  auto overridden = find_assessment(db, trace, id);
  if (!overridden && valid) return {};  // it is gone itself
  if (!overridden) return tl::unexpected(overridden.error());
  overridden->set("valid", valid);
  return keep(db, trace, *overridden);
}

std::string assessment_answer(const Json& assessment) {
  return object_with("assessment", [&](JsonWriter& json) { json.value(assessment); });
}

struct AssessmentKey {
  std::string trace, id;
};
Answer<AssessmentKey> read_key(Message& in) {
  AssessmentKey key{.trace = in.need_text("trace_id"), .id = in.need_text("assessment_id")};
  TRY_API(in.check());
  return key;
}

// Fields of the mask that are known, as the message has them; FieldMask's JSON is in camelCase.
std::vector<std::string> masked_fields(const std::string& mask) {
  std::vector<std::string> fields;
  for (const std::string_view path : split(mask, ',')) {
    const std::string name(path == "assessmentName" ? "assessment_name" : path);
    for (const auto* known :
         {"assessment_name", "feedback", "expectation", "rationale", "metadata", "valid"})
      if (name == known) fields.push_back(name);
  }
  return fields;
}

// Applies the `fields` of `update` to the stored assessment; metadata are merged.
Answer<Json> updated(Json there, const Json& update, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    const Json* value = update.find(field);
    const bool is_kind = field == "feedback" || field == "expectation";
    if (is_kind && there.find(field) == nullptr)
      return invalid(fmt::format("Cannot update {} value of another kind of assessment.", field));
    if (value == nullptr) continue;
    Json merged = *value;
    if (const Json* old = there.find("metadata"); field == "metadata" && old != nullptr) {
      merged = *old;
      if (value->as_object() != nullptr)
        for (const auto& [key, text] : *value->as_object()) merged.set(key, text);
    }
    there.set(field, std::move(merged));
  }
  there.set("last_update_time", timestamp(sys::utc_now()));
  return there;
}

// Reads an assessment of `trace`; gives it a new id if it has none.
Answer<Json> read_assessment(Message& in, const std::string& trace) {
  Json out{Json::Object{}};
  const std::string id = in.text("assessment_id");
  out.set("assessment_id", id.empty() ? "a-" + SessionId::random().hex() : id);
  out.set("assessment_name", in.need_text("assessment_name"));
  out.set("trace_id", trace);
  copy_object(in, "source", "", out);
  copy_time(in, "create_time", out);
  copy_time(in, "last_update_time", out);
  copy_value(in, out);
  for (const char* name : {"rationale", "span_id", "overrides"})
    if (const auto text = in.maybe_text(name)) out.set(name, *text);
  copy_object(in, "metadata", "", out);
  out.set("valid", in.maybe_bool("valid").value_or(true));
  TRY_API(in.check());
  TRY_API(wire::check_length("assessment_id", id, wire::kKeyLength));
  return out;
}

Body create_assessment(Message& in, Context& context) {
  const std::string trace = in.need_text("trace_id");
  auto message = in.message("assessment");
  if (!message) in.missing("assessment");
  TRY_API(in.check());
  Json assessment = TRY_API(read_assessment(*message, trace));
  return change(context, [&](Connection& db) -> Body {
    static_cast<void>(TRY_API(find_trace(db, trace)));
    TRY_API(set_overridden(db, trace, assessment, false));
    TRY_API(keep(db, trace, assessment));
    return assessment_answer(assessment);
  });
}

Body get_assessment(Message& in, Context& context) {
  const AssessmentKey key = TRY_API(read_key(in));
  return inspect(context, [&](Reading& reading) -> Body {
    return assessment_answer(TRY_API(find_assessment(reading.db, key.trace, key.id)));
  });
}

Body update_assessment(Message& in, Context& context) {
  const AssessmentKey key = TRY_API(read_key(in));
  const auto fields = masked_fields(in.need_text("update_mask"));
  const Json* update = in.find("assessment");
  if (update == nullptr) in.missing("assessment");
  return change(in, context, [&](Connection& db) -> Body {
    const Json there = TRY_API(find_assessment(db, key.trace, key.id));
    const Json changed = TRY_API(updated(there, *update, fields));
    Message checked(changed);
    const Json assessment = TRY_API(read_assessment(checked, key.trace));
    TRY_API(keep(db, key.trace, assessment));
    return assessment_answer(assessment);
  });
}

Body delete_assessment(Message& in, Context& context) {
  const AssessmentKey key = TRY_API(read_key(in));
  return change(context, [&](Connection& db) -> Body {
    const Json gone = TRY_API(find_assessment(db, key.trace, key.id));
    TRY_API(tracking::delete_trace_fact(db, key.trace, TraceFact::kAssessment, key.id));
    TRY_API(set_overridden(db, key.trace, gone, true));
    return empty_answer();
  });
}

}  // namespace

Answer<tracking::Tags> read_assessments(Message& trace_info, const std::string& trace) {
  tracking::Tags all;
  for (Message& item : trace_info.messages("assessments")) {
    const Json one = TRY_API(read_assessment(item, trace));
    all.emplace_back(one.get_string("assessment_id"), one.dump());
  }
  TRY_API(trace_info.check());
  return all;
}

std::span<const Rpc> assessment_rpcs() {
  static constexpr std::array kRpcs = {
      Rpc{Method::kPost, "/3.0/mlflow/traces/{trace_id}/assessments", create_assessment},
      Rpc{Method::kGet, "/3.0/mlflow/traces/{trace_id}/assessments/{assessment_id}",
          get_assessment},
      Rpc{Method::kPatch, "/3.0/mlflow/traces/{trace_id}/assessments/{assessment_id}",
          update_assessment},
      Rpc{Method::kDelete, "/3.0/mlflow/traces/{trace_id}/assessments/{assessment_id}",
          delete_assessment},
  };
  return kRpcs;
}

}  // namespace corral::server::mlflow
