// POST /epochs: epochs of runs.
#include <algorithm>
#include <span>

#include "analyze/epochs.h"
#include "core/limits.h"
#include "metric/foreign.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"
#include "store/tables/phases.h"

namespace corral::server::api {
namespace {

constexpr std::size_t kMostRuns = 1000;

}  // namespace

Parsed<EpochsQuestion> parse_epochs_request(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"runs", "skip"});
  EpochsQuestion question{.runs = fields.texts("runs", kMostRuns, limits::kNameBytes)};
  if (fields.has("skip"))
    question.skip = static_cast<std::size_t>(
        fields.count("skip", 0, static_cast<std::int64_t>(analyze::kMostEpochs)));
  return fields.finish(std::move(question));
}

namespace {

struct RunEpochs {
  RunId run;
  analyze::Epochs epochs;
  std::string_view from = {};  // "phases", "metric"; empty: none
  std::optional<std::int64_t> first_step = {};
};

// Sets the epochs and the first step from the phases.
Result<> read_phases(const store::Reader& store, RunEpochs& out) {
  // Each rank has its own.
  constexpr std::size_t kMostPhases = 2 * analyze::kMostEpochs;
  std::vector<analyze::EpochPhase> phases;
  bool more = false;
  const auto read = [&](store::Reading& reading) -> Result<> {
    const auto named = TRY(store::page::epoch_phases(reading, out.run, kMostPhases));
    more = named.size() == kMostPhases;
    for (const store::page::NamedPhase& phase : named)
      if (auto epoch = analyze::as_epoch(phase)) phases.push_back(*std::move(epoch));
    if (const auto first = TRY(store::page::first_step(reading, out.run)))
      out.first_step = ns_of(*first);
    return {};
  };
  TRY(store.inspect(read));
  out.epochs = analyze::epochs_of_phases(std::move(phases));
  out.epochs.more = out.epochs.more || more;
  if (!out.epochs.epochs.empty()) out.from = "phases";
  return {};
}

bool is_epoch_metric(const store::Series& series) {
  return series.owner == metric::Owner::kRun && series.kind == metric::Kind::kGauge &&
         series.points > 0 && analyze::epoch_name(series.name).is_epoch &&
         !analyze::epoch_name(series.name).index;
}

Result<> read_metrics(const store::Reader& store, const store::Run& run, RunEpochs& out) {
  const std::vector<store::Series> all = TRY(store.series_of(run.id));
  if (!out.first_step) {
    for (const store::Series& series : all) {
      const bool own = series.owner == metric::Owner::kRun && !metric::find_foreign(series.name);
      if (!own || !series.first_step) continue;
      const std::int64_t first = ns_of(series.first);
      out.first_step = std::min(out.first_step.value_or(first), first);
    }
  }
  if (!out.from.empty()) return {};
  const auto metric = std::ranges::find_if(all, is_epoch_metric);
  if (metric == all.end()) return {};
  const std::vector<SeriesId> ids{metric->id};
  const auto read = [&](store::PointView& view) -> Result<> {
    out.epochs = TRY(analyze::epochs_of_metric(view, metric->id, ns_of(run.start)));
    return {};
  };
  TRY(store.view(ids, read));
  if (!out.epochs.epochs.empty()) out.from = "metric";
  return {};
}

Result<RunEpochs> read_epochs(const store::Reader& store, const std::string& text) {
  RunEpochs out{.run = TRY(query::select_run(store, text)), .epochs = {}};
  const auto run = TRY(store.run(out.run));
  if (!run) return fail(Code::kNotFound, "the run was removed: " + out.run.hex());
  TRY(read_phases(store, out));
  TRY(read_metrics(store, *run, out));
  return out;
}

constexpr std::size_t kPage = 10'000;

void write_epochs(JsonWriter& json, const RunEpochs& one, std::size_t skip) {
  const std::span all = one.epochs.epochs;
  const auto page = all.subspan(std::min(skip, all.size()));
  const bool more = page.size() > kPage || (!page.empty() && one.epochs.more);
  json.begin_object().member("run", one.run.hex());
  write_text(json, "from", one.from);
  write_integer(json, "first_step_ns", one.first_step);
  json.key("epochs").begin_array();
  for (const analyze::Epoch& epoch : page.first(std::min(page.size(), kPage))) {
    json.begin_object().member("index", epoch.index);
    write_integer(json, "start_ns", epoch.start);
    write_integer(json, "end_ns", epoch.end);
    json.end_object();
  }
  json.end_array().member("more", more).end_object();
}

}  // namespace

Answer epochs(const Request& request, Context& context) {
  const EpochsQuestion question = TRY_PARSED(parse_epochs_request(request.body));
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array();
  for (const std::string& run : question.runs)
    write_epochs(json, TRY_PARSED(about("runs", read_epochs(context.reader, run))), question.skip);
  json.end_array().end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
