#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/ls_plans.h"
#include "core/text.h"

namespace corral::cli {
namespace {

constexpr const char* kExamples =
    "  corral ls runs                        newest first\n"
    "  corral ls runs --experiment digits\n"
    "  corral ls workloads                   what ran together, and who shared which device\n"
    "  corral ls plans                       how far each plan is\n"
    "  corral ls metrics @1 --format json    series of the newest run and of its workload\n"
    "  corral ls phases calm-otter-07        a run by name; a unique prefix of its id does too\n"
    "  corral ls phases @1 --summary         what its time went into\n";

struct Flags {
  DestinationFlags destination;
  std::string what;
  std::string run;
  std::string experiment;
  std::string format = "table";
  std::string limit = "100";
  bool summary = false;
};

using Query = Result<Table> (*)(const sys::HttpTarget&, const Flags&);

const Json::Array& items(const Json& answer, const char* name) {
  static const Json::Array none;
  const auto* array = member(answer, name).as_array();
  return array != nullptr ? *array : none;
}

std::string run_path(const Flags& flags, std::string_view below) {
  return "/api/corral/v1/runs/" + sys::url_encode(flags.run) + std::string(below);
}

Result<Table> list_experiments(const sys::HttpTarget& server, const Flags&) {
  const Json answer = TRY(get_json(server, "/api/corral/v1/experiments"));
  Table table({{"id", "ID", true},
               {"name", "NAME"},
               {"runs", "RUNS", true},
               {"running", "RUNNING", true},
               {"created_ns", "CREATED"}});
  for (const Json& e : items(answer, "experiments")) {
    table.add({plain(member(e, "id")),
               plain(member(e, "name")),
               plain(member(e, "runs")),
               plain(member(e, "running")),
               {member(e, "created_ns"), time_text(member(e, "created_ns"))}});
  }
  return table;
}

// The id of an experiment given by name or id.
Result<std::string> experiment_id(const sys::HttpTarget& server, const std::string& text) {
  const Json answer = TRY(get_json(server, "/api/corral/v1/experiments"));
  for (const Json& e : items(answer, "experiments")) {
    if (e.get_string("name") == text || e.get_string("id") == text) return e.get_string("id");
  }
  return fail(Code::kNotFound,
              fmt::format("no experiment '{}'; corral ls experiments lists them", text));
}

Result<std::string> experiment_filter(const sys::HttpTarget& server, const Flags& flags) {
  if (flags.experiment.empty()) return std::string();
  return "experiment=" + TRY(experiment_id(server, flags.experiment)) + "&";
}

Result<Table> list_workloads(const sys::HttpTarget& server, const Flags& flags) {
  const std::string filter = TRY(experiment_filter(server, flags));
  return workloads_table(
      TRY(get_json(server, "/api/corral/v1/workloads?" + filter + "members=true")));
}

Result<Table> list_plans(const sys::HttpTarget& server, const Flags&) {
  return plans_table(TRY(get_json(server, "/api/corral/v1/plans")));
}

// An old run has no record of its health; it shows no problems.
Cell health_cell(const Json& problems) {
  const auto count = static_cast<std::int64_t>(problems.as_double(0));
  if (count == 0) return {problems, "ok"};
  return {problems, fmt::format("{} problem{}", count, count == 1 ? "" : "s")};
}

Result<Table> list_runs(const sys::HttpTarget& server, const Flags& flags) {
  const std::string filter = TRY(experiment_filter(server, flags));
  const Json answer = TRY(
      get_json(server, "/api/corral/v1/runs?" + filter + "limit=" + sys::url_encode(flags.limit)));
  Table table({{"id", "ID"},
               {"name", "NAME"},
               {"experiment", "EXPERIMENT"},
               {"workload", "WORKLOAD"},
               {"status", "STATUS"},
               {"outcome", "OUTCOME"},
               {"health_problems", "HEALTH"},
               {"start_ns", "STARTED"},
               {"duration_s", "DURATION", true},
               {"loss", "LOSS", true},
               {"host", "HOST"}});
  for (const Json& r : items(answer, "runs")) {
    const Json& loss = member(member(r, "loss"), "value");
    table.add({{member(r, "id"), r.get_string("id").substr(0, 8)},
               plain(member(r, "name")),
               plain(member(r, "experiment")),
               plain(member(r, "workload")),
               plain(member(r, "status")),
               plain(member(r, "outcome")),
               health_cell(member(r, "health_problems")),
               {member(r, "start_ns"), time_text(member(r, "start_ns"))},
               {member(r, "duration_s"), duration_text(member(r, "duration_s"))},
               {loss, loss.is_null() ? "–" : with_unit(loss.as_double(0), "")},
               plain(member(r, "host"))});
  }
  return table;
}

Result<Table> list_metrics(const sys::HttpTarget& server, const Flags& flags) {
  const Json answer = TRY(get_json(server, run_path(flags, "/metrics")));
  Table table({{"name", "NAME"},
               {"source", "SOURCE"},
               {"unit", "UNIT"},
               {"kind", "KIND"},
               {"owner", "OWNER"},
               {"group", "GROUP"},
               {"points", "POINTS", true},
               {"last", "LAST", true},
               {"min", "MIN", true},
               {"max", "MAX", true},
               {"mean", "MEAN", true}});
  for (const Json& m : items(answer, "metrics")) {
    table.add({plain(member(m, "name")), plain(member(m, "source")), plain(member(m, "unit")),
               plain(member(m, "kind")), plain(member(m, "owner")), plain(member(m, "group")),
               plain(member(m, "points")), statistic(m, "last"), statistic(m, "min"),
               statistic(m, "max"), statistic(m, "mean")});
  }
  return table;
}

Result<Json> phase_statistics(const sys::HttpTarget& server, const Flags& flags) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array().value(flags.run).end_array().end_object();
  sys::HttpClient client(server);
  const sys::HttpReply reply = TRY(client.send({.method = "POST",
                                                .path = "/api/corral/v1/phases/statistics",
                                                .body = body,
                                                .timeout = std::chrono::minutes(1)}));
  if (reply.status != 200) return tl::unexpected(error_of_reply(reply.status, reply.body));
  return Json::parse(reply.body);
}

Result<Table> list_phases(const sys::HttpTarget& server, const Flags& flags) {
  if (flags.summary) return phase_summary(TRY(phase_statistics(server, flags)));
  const Json answer = TRY(get_json(server, run_path(flags, "/phases")));
  Table table({{"id", "ID", true},
               {"parent", "PARENT", true},
               {"name", "NAME"},
               {"type", "TYPE"},
               {"kind", "KIND"},
               {"lane", "LANE"},
               {"start_ns", "START"},
               {"end_ns", "END"},
               {"duration_s", "DURATION", true}});
  for (const Json& p : items(answer, "phases")) {
    const std::int64_t start = p.get_int("start_ns", -1);
    const std::int64_t end = p.get_int("end_ns", -1);
    const Json duration =
        start >= 0 && end >= 0 ? Json(static_cast<double>(end - start) * 1e-9) : Json();
    table.add({plain(member(p, "id")),
               plain(member(p, "parent")),
               plain(member(p, "name")),
               plain(member(p, "type")),
               plain(member(p, "kind")),
               plain(member(p, "lane")),
               {member(p, "start_ns"), precise_time_text(member(p, "start_ns"))},
               {member(p, "end_ns"), precise_time_text(member(p, "end_ns"))},
               {duration, precise_duration_text(duration)}});
  }
  return table;
}

struct List {
  std::string_view name;
  bool of_a_run;
  Query query;
};
constexpr std::array kLists = {List{"experiments", false, list_experiments},
                               List{"workloads", false, list_workloads},
                               List{"plans", false, list_plans},
                               List{"runs", false, list_runs},
                               List{"metrics", true, list_metrics},
                               List{"phases", true, list_phases}};

Result<const List*> find_list(const Flags& flags) {
  const auto* found = std::ranges::find(kLists, flags.what, &List::name);
  if (found == kLists.end()) {
    const auto* near = std::ranges::min_element(
        kLists, {}, [&](const List& l) { return edit_distance(l.name, flags.what); });
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' cannot be listed, did you mean '{}'? There are: experiments, "
                            "workloads, plans, runs, metrics RUN, phases RUN",
                            flags.what, near->name));
  }
  if (found->of_a_run && flags.run.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("{} of which run? corral ls {} RUN, as in corral ls {} @1", flags.what,
                            flags.what, flags.what));
  if (!found->of_a_run && !flags.run.empty())
    return fail(Code::kInvalidArgument, fmt::format("unexpected argument '{}'", flags.run));
  if (flags.summary && found->query != list_phases)
    return fail(Code::kInvalidArgument, "--summary is of phases: corral ls phases RUN --summary");
  return found;
}

}  // namespace

int ls_command(std::span<char* const> args) {
  Flags flags;
  Arguments arguments(
      "ls",
      "Lists experiments, workloads with who shared what, plans, runs, or the metrics and phases "
      "of a run.",
      kExamples);
  arguments.positional("what", flags.what, "experiments, workloads, plans, runs, metrics or phases",
                       false);
  arguments.positional("run", flags.run, kRunHelp, false);
  arguments.text("experiment", flags.experiment, "list only this experiment (name or id)");
  arguments.text("limit", flags.limit, "maximum number of runs (default: 100)");
  arguments.choice("format", flags.format, {"table", "json", "csv"},
                   "output format (default: table)");
  arguments.flag("summary", flags.summary,
                 "for phases: number, time and share of the run, by name and parent");
  arguments.as_flag_only("summary");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  if (flags.what.empty()) {
    fmt::print(stderr,
               "corral ls: expected experiments, workloads, plans, runs, metrics RUN or phases "
               "RUN\n");
    return kMisuse;
  }
  const auto list = find_list(flags);
  if (!list) return report("ls", list.error());
  const auto server = connect(flags.destination);
  if (!server) return report("ls", server.error());
  const auto table = (*list)->query(*server, flags);
  if (!table) return report("ls", table.error());
  if (table->empty() && flags.format == "table") {
    fmt::print(stderr, "no {} yet\n", flags.what);
    return kDone;
  }
  fmt::print("{}", table->print(flags.format));
  return kDone;
}

}  // namespace corral::cli
