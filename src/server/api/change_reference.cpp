#include "server/api/change_reference.h"

#include <fmt/core.h>

#include <map>
#include <tuple>

#include "query/select.h"
#include "store/tables/phases.h"

namespace corral::server::api {
namespace {

using What = std::tuple<std::string, std::string, metric::Kind, std::string>;

What what_of(const store::Series& series) {
  return {series.name, series.source, series.kind, series.unit};
}

Result<analyze::ChangeWindow> window_of(const store::Reader& store, RunId run,
                                        const ChangeReference& reference) {
  std::optional<store::page::NamedPhase> found;
  const auto read = [&](store::Reading& reading) -> Result<> {
    found = TRY(store::page::nth_phase(reading, run, reference.phase, reference.index));
    return {};
  };
  TRY(store.inspect(read));
  const auto named = [&] {
    return fmt::format("phase {} number {} of run {}", reference.phase, reference.index, run.hex());
  };
  if (!found) return fail(Code::kNotFound, fmt::format("there is no {}", named()));
  if (!found->end) return fail(Code::kConflict, fmt::format("{} has not ended", named()));
  return analyze::ChangeWindow{.from = ns_of(found->start), .to = ns_of(*found->end)};
}

}  // namespace

Result<FoundReference> apply_reference(const store::Reader& store, const ChangeReference& reference,
                                       analyze::ChangesRequest& request) {
  FoundReference out{.run = TRY(query::select_run(store, reference.run)), .window = request.window};
  if (request.axis == query::GridAxis::kTime)
    out.window = TRY(window_of(store, out.run, reference));
  std::map<What, SeriesId> others;
  for (const store::Series& series : TRY(store.series_of(out.run)))
    others.emplace(what_of(series), series.id);
  std::map<std::int64_t, What> wanted;
  for (const store::Series& series : TRY(store.series(request.series)))
    wanted.emplace(series.id.value, what_of(series));
  std::vector<SeriesId> kept;
  std::vector<std::int64_t> origins;
  for (std::size_t i = 0; i < request.series.size(); ++i) {
    const SeriesId id = request.series[i];
    const auto known = wanted.find(id.value);
    const auto other = known == wanted.end() ? others.end() : others.find(known->second);
    // An unknown series is refused later, with the others.
    if (known != wanted.end() && other == others.end()) {
      ++out.unmatched;
      continue;
    }
    kept.push_back(id);
    if (!request.origins.empty()) origins.push_back(request.origins[i]);
    if (other != others.end())
      request.baseline.push_back({.series = id, .against = other->second, .window = out.window});
  }
  request.series = std::move(kept);
  request.origins = std::move(origins);
  return out;
}

}  // namespace corral::server::api
