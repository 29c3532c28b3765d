// Searching registered models and model versions.
#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/api/models_json.h"
#include "compat/mlflow/api/searching.h"
#include "compat/mlflow/tables/search.h"

namespace corral::server::mlflow {
namespace {

using corral::mlflow::SearchKind;

// `rows` under `name`, none left out, and the token of the next page.
template <class Rows, class Write>
std::string page_answer(std::string_view name, const Rows& rows, Write&& write,
                        const std::pair<tracking::Paging, bool>& page) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  if (!rows.empty()) {
    json.key(name).begin_array();
    for (const auto& row : rows) write(json, row);
    json.end_array();
  }
  write_next_page(json, page.first, page.second, rows.size());
  json.end_object();
  return out;
}

}  // namespace

Body search_registered_models(Message& in, Context& context) {
  const tracking::Search search = TRY_API(
      read_search(in, {.kind = SearchKind::kRegisteredModels, .fallback = 100, .most = 1000}));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    const auto found = TRY_API(tracking::search_registered_models(reading.db, search));
    const auto models = TRY_API(tracking::registered_models(reading.db, found.rows));
    return page_answer("registered_models", models, write_registered_model,
                       {search.paging, found.more});
  });
}

Body search_model_versions(Message& in, Context& context) {
  const tracking::Search search = TRY_API(
      read_search(in, {.kind = SearchKind::kModelVersions, .fallback = 10000, .most = 200'000}));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    const auto found = TRY_API(tracking::search_model_versions(reading.db, search));
    std::vector<tracking::VersionKey> keys;
    for (const auto& [model, version] : found.rows) keys.push_back({model, version});
    const auto versions = TRY_API(tracking::model_versions(reading.db, keys));
    return page_answer("model_versions", versions, write_model_version,
                       {search.paging, found.more});
  });
}

}  // namespace corral::server::mlflow
