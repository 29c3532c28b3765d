// Removing runs and experiments.
#include <fmt/core.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "server/core/artifact_removal.h"

namespace corral::server::api {
namespace {

Parsed<store::RemoveOptions> read_options(const Request& request) {
  store::RemoveOptions options;
  for (const auto& [name, value] :
       {std::pair("force", &options.force), std::pair("dry_run", &options.dry_run)}) {
    const auto flag = query_flag(request, name);
    if (!flag) return bad_query(request, name, "true or false");
    *value = *flag;
  }
  return options;
}

// `experiment`: the name of that in which they were.
Response removed(const store::Removal& removal, const std::string& experiment,
                 const store::RemoveOptions& options, Context& context) {
  if (!options.dry_run) {
    context.events.note_removed(removal.runs, experiment);
    if (context.artifact_removal != nullptr) context.artifact_removal->wake();
  }
  return object_response([&](JsonWriter& json) {
    write_array(json, "runs", removal.runs,
                [](JsonWriter& out, const RunId& run) { out.value(run.hex()); });
    write_integer(json, "points", removal.points);
    write_integer(json, "bytes", removal.bytes);
    json.member("dry_run", options.dry_run);
  });
}

}  // namespace

Answer remove_run(const Request& request, Context& context) {
  const store::RemoveOptions options = TRY_PARSED(read_options(request));
  const auto state = request.query_value("state");
  if (state && *state != "trashed") return bad_query(request, "state", "trashed, or absent");
  const RunId id = TRY(requested_run(request, context));
  const auto run = TRY(context.reader.run(id));
  const std::string experiment = run ? run->experiment_name : "";
  const auto removal = TRY(state ? context.store.remove_trashed(id, options)
                                 : context.store.remove_runs(std::span(&id, 1), options));
  return removed(removal, experiment, options, context);
}

Answer remove_experiment(const Request& request, Context& context) {
  const store::RemoveOptions options = TRY_PARSED(read_options(request));
  const std::string_view name = request.param("experiment");
  const auto id = parse_int(name);
  if (!id)
    return fail_about("experiment", Code::kInvalidArgument,
                      fmt::format("'{}' is no id of an experiment", name));
  const auto all = TRY(context.reader.experiments());
  const auto known = std::ranges::find(all, ExperimentId{*id}, &store::Experiment::id);
  return removed(TRY(context.store.remove_experiment(ExperimentId{*id}, options)),
                 known == all.end() ? "" : known->name, options, context);
}

}  // namespace corral::server::api
