#include "compat/mlflow/api/facts.h"

#include <fmt/core.h>

#include <vector>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/wire/log_batch.h"
#include "compat/mlflow/wire/names.h"
#include "compat/radt/radt.h"
#include "store/search/runs.h"

namespace corral::server::mlflow {
namespace {

using store::sql::Connection;
using tracking::Fact;

constexpr std::string_view kRunNameTag = "mlflow.runName";

struct Conflict {
  std::string key, known, wanted;
};

std::string changed(const tracking::RunRow& run, const std::vector<Conflict>& conflicts,
                    Params form) {
  if (form == Params::kOne) {
    const Conflict& one = conflicts.front();
    return fmt::format(
        "Changing param values is not allowed. Param with key='{}' was already logged with "
        "value='{}' for run ID='{}'. Attempted logging new value '{}'.",
        one.key, one.known, run.id.hex(), one.wanted);
  }
  std::string list;
  for (const Conflict& one : conflicts) {
    list += fmt::format("{}{{'key': '{}', 'old_value': '{}', 'new_value': '{}'}}",
                        list.empty() ? "" : ", ", one.key, one.known, one.wanted);
  }
  return fmt::format(
      "Changing param values is not allowed. Params were already logged='[{}]' for run ID='{}'.",
      list, run.id.hex());
}

struct OneFact {
  std::string run, key, value;
};
Answer<OneFact> read_fact(Message& in, std::size_t length, std::string_view what) {
  OneFact fact;
  fact.run = run_id_of(in);
  fact.key = in.need_text("key");
  fact.value = corral::mlflow::cut(in.text("value"), length);
  TRY_API(all_read(in));
  TRY_API(corral::mlflow::check_key(fact.key, "key", what));
  return fact;
}

}  // namespace

Answer<> set_params(Connection& db, const tracking::RunRow& run, KeyValues params, Params form) {
  TRY_API(corral::mlflow::check_unique(params));
  std::vector<Conflict> conflicts;
  for (const auto& [key, value] : params) {
    const auto known = TRY_API(tracking::fact(db, run.key, Fact::kParam, key));
    if (known && *known != value) conflicts.push_back({key, *known, value});
    if (!known) TRY_API(tracking::set_fact(db, run.key, Fact::kParam, key, value));
  }
  if (!conflicts.empty()) return invalid(changed(run, conflicts, form));
  if (const auto radt = corral::mlflow::radt_run(params))
    TRY_API(tracking::assign_workload(db, run.key, radt->workload));
  return {};
}

Answer<> set_tags(Connection& db, const tracking::RunRow& run, KeyValues tags) {
  for (const auto& [key, value] : tags) {
    TRY_API(tracking::set_fact(db, run.key, Fact::kTag, key, value));
    if (key == kRunNameTag) {
      tracking::RunUpdate update;
      update.name = value;
      TRY_API(tracking::update_run(db, run, update));
    }
  }
  return {};
}

Body log_parameter(Message& in, Context& context) {
  const OneFact fact = TRY_API(read_fact(in, corral::mlflow::kParamLength, "Param key"));
  return change(context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, fact.run));
    const std::pair<std::string, std::string> param{fact.key, fact.value};
    TRY_API(set_params(db, run, std::span(&param, 1), Params::kOne));
    return empty_answer();
  });
}

Body set_tag(Message& in, Context& context) {
  const OneFact fact = TRY_API(read_fact(in, corral::mlflow::kTagLength, "Tag key"));
  return change(context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, fact.run));
    const std::pair<std::string, std::string> tag{fact.key, fact.value};
    TRY_API(set_tags(db, run, std::span(&tag, 1)));
    return empty_answer();
  });
}

Body delete_tag(Message& in, Context& context) {
  const std::string id = run_id_of(in);
  const std::string key = in.need_text("key");
  TRY_API(all_read(in));
  return change(context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, id));
    if (TRY_API(tracking::delete_fact(db, run.key, Fact::kTag, key))) return empty_answer();
    return refuse(ErrorCode::kResourceDoesNotExist,
                  fmt::format("No tag with name: {} in run with id {}", key, id));
  });
}

}  // namespace corral::server::mlflow
