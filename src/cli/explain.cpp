#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/footprint_text.h"
#include "cli/run_group.h"
#include "cli/text_page.h"
#include "cli/workflow_text.h"
#include "core/text.h"
#include "sys/http_client.h"

namespace corral::cli {
namespace {

constexpr const char* kExplainExamples =
    "  corral explain @1                        the newest run\n"
    "  corral explain @1 --from 10m --to 20m    these ten minutes of it\n"
    "  corral explain 3f2a --format markdown    tables for a report\n"
    "  corral explain plan.csv                  a plan: critical path, energy, a line per run\n"
    "  corral explain @1 --metric run.cpu.used  which phases used its CPU time\n";

struct ExplainFlags {
  DestinationFlags destination;
  std::string run;
  std::string lane;
  std::string metric, source;  // not empty: attribute it to phases
  std::string format = "table";
  Nanos from{-1}, to{-1};  // since the run's start; -1: not given
};

std::string share_text(const Json& share) {
  return fmt::format("{:.1f} %", share.as_double(0) * 100);
}

// A leaf's name: kernels are called by whole templates.
std::string leaf_text(const Json& leaf) {
  constexpr std::size_t kMostBytes = 60;
  const std::string name = leaf.get_string("name");
  if (name.size() <= kMostBytes) return printable(name);
  const std::string_view front = std::string_view(name).substr(0, kMostBytes);
  return printable(front.substr(0, utf8_prefix(front))) + "…";
}

void print_unseen(const TextPage& page, const Json& found) {
  const Json::Array& unseen = items(found, "unseen");
  if (unseen.empty()) return;
  page.title("Not seen");
  std::vector<std::vector<std::string>> rows;
  for (const Json& one : unseen)
    rows.push_back({printable(one.get_string("part")), printable(one.get_string("reason"))});
  page.table({"PART", "REASON"}, rows);
}

void print_parts(const TextPage& page, const Json& found) {
  const Json::Array& parts = items(found, "parts");
  if (parts.empty()) return;
  page.title("Where the time went");
  std::vector<std::vector<std::string>> rows;
  for (const Json& part : parts) {
    const bool leaf = part.get_string("part") == "leaf";
    rows.push_back({leaf_text(part), leaf ? part.get_string("kind") : "–",
                    share_text(member(part, "share")),
                    precise_duration_text(member(part, "seconds")),
                    leaf ? std::to_string(part.get_int("phases")) : "–"});
  }
  page.table({"PART", "KIND", "SHARE", "TIME", "PHASES"}, rows);
}

void print_steady(const TextPage& page, const Json& steady) {
  if (steady.get_int("steps") == 0) return;
  page.title("Steady part");
  const std::string steps =
      fmt::format("{} {}s of {} on average (standard deviation {})", steady.get_int("steps"),
                  steady.get_string("unit"), precise_duration_text(member(steady, "mean_s")),
                  precise_duration_text(member(steady, "deviation_s")));
  if (const std::string reason = steady.get_string("reason"); !reason.empty()) {
    page.line(fmt::format("none: {}. All {}", reason, steps));
  } else {
    page.line(fmt::format("{}, after {} that are left out as warm-up", steps,
                          steady.get_int("left_out")));
  }
}

void print_bottleneck(const TextPage& page, const Json& found, const Json& slow_rank) {
  if (found.is_null()) return;
  page.title("Bottleneck");
  page.line(printable(found.get_string("text")));
  if (!slow_rank.is_null()) page.line(printable(slow_rank.get_string("text")));
  if (const std::string hint = found.get_string("hint"); !hint.empty()) page.line(hint);
  std::vector<std::vector<std::string>> rows;
  for (const Json& one : items(found, "evidence")) {
    const std::string source = one.get_string("source");
    rows.push_back(
        {printable(one.get_string("metric")), source.empty() ? "–" : printable(source),
         fmt::format("{:.4g} {}", member(one, "mean").as_double(0), one.get_string("unit")),
         std::to_string(one.get_int("points"))});
  }
  if (!rows.empty()) page.table({"EVIDENCE", "SOURCE", "MEAN", "POINTS"}, rows);
  for (const Json& one : items(found, "unproven"))
    page.line(fmt::format("not known whether it is {}: {}: {}", one.get_string("resource"),
                          printable(one.get_string("metric")),
                          printable(one.get_string("reason"))));
}

void print_what_if(const TextPage& page, const Json& found) {
  const std::string text = found.get_string("text");
  if (text.empty()) return;
  page.title("What if");
  page.line(text);
}

std::string regime_text(const Json& regime) {
  const std::int64_t epochs = regime.get_int("epochs"), alike = regime.get_int("alike");
  const std::string range =
      fmt::format("epochs {} to {}", regime.get_int("first"), regime.get_int("last"));
  if (!regime.get_bool("compared")) return range + ": too few to say which are alike";
  if (alike == 0) return fmt::format("{}: none of {} are alike", range, epochs);
  return fmt::format("{}: {} of {} are alike, {} each (10 % below {}, 10 % above {}); typical: {}",
                     range, alike, epochs, precise_duration_text(member(regime, "median_s")),
                     precise_duration_text(member(regime, "p10_s")),
                     precise_duration_text(member(regime, "p90_s")),
                     member(regime, "typical").get_int("epoch"));
}

void print_odd(const TextPage& page, const Json& lane) {
  constexpr std::size_t kMost = 10;
  const Json::Array& odd = items(lane, "odd");
  if (odd.empty()) return;
  std::vector<std::vector<std::string>> rows;
  for (const Json& one : odd) {
    if (rows.size() == kMost) break;
    const Json& leaf = member(one, "leaf");
    rows.push_back({std::to_string(one.get_int("epoch")),
                    leaf.is_null() ? "its length" : printable(one.get_string("leaf")),
                    precise_duration_text(member(one, "seconds")),
                    precise_duration_text(member(one, "usual_s"))});
  }
  page.table({"EPOCH", "DIFFERS IN", "TIME", "USUALLY"}, rows);
  if (const auto all = lane.get_int("odd_epochs"); all > static_cast<std::int64_t>(rows.size()))
    page.line(fmt::format("{} odd epochs in all; the {} that differ most: --format json", all,
                          odd.size()));
}

void print_epochs(const TextPage& page, const Json& found) {
  constexpr std::size_t kMost = 4;
  const Json::Array& lanes = items(found, "epochs");
  for (std::size_t i = 0; i < std::min(lanes.size(), kMost); ++i) {
    page.title(lanes.size() == 1 ? "Epochs"
                                 : "Epochs of " + printable(lanes[i].get_string("lane")));
    for (const Json& regime : items(lanes[i], "regimes")) page.line(regime_text(regime));
    print_odd(page, lanes[i]);
  }
  if (lanes.size() > kMost)
    page.line(fmt::format("{} more lanes: --format json", lanes.size() - kMost));
}

void print_devices(const TextPage& page, const Json& found) {
  const Json::Array& devices = items(found, "devices");
  if (devices.empty()) return;
  page.title("Devices");
  std::vector<std::vector<std::string>> rows;
  for (const Json& one : devices) {
    const Json& idle = member(one, "idle");
    const auto text = [](const Json& object, const char* name) {
      return precise_duration_text(member(object, name));
    };
    page.line(printable(one.get_string("text")));
    rows.push_back({printable(one.get_string("device")), text(one, "busy_s"),
                    text(one, "compute_s"), text(one, "communication_s"), text(one, "overlap_s"),
                    text(one, "memory_s"), text(idle, "host_wait_s"), text(idle, "kernel_wait_s"),
                    text(idle, "other_s"), text(idle, "unknown_s")});
  }
  page.table({"DEVICE", "BUSY", "COMPUTE", "COMMUNICATION", "OVERLAP", "MEMORY", "IDLE: HOST",
              "KERNEL", "OTHER", "UNKNOWN"},
             rows);
}

void print_lanes(const TextPage& page, const Json& found) {
  const Json::Array& lanes = items(found, "lanes");
  if (lanes.empty()) return;
  page.title("Lanes");
  std::vector<std::vector<std::string>> rows;
  for (const Json& lane : lanes) {
    double tracked = 0;
    for (const Json& leaf : items(lane, "leaves")) tracked += member(leaf, "seconds").as_double(0);
    const Json::Array& leaves = items(lane, "leaves");
    rows.push_back({printable(lane.get_string("lane")), lane.get_bool("trains") ? "trains" : "–",
                    std::to_string(lane.get_int("steps")), precise_duration_text(Json(tracked)),
                    leaves.empty() ? "–" : leaf_text(leaves.front())});
  }
  const bool epochs = member(found, "steady").get_string("unit") == "epoch";
  page.table({"LANE", "ROLE", epochs ? "EPOCHS" : "STEPS", "IN PHASES", "MOSTLY"}, rows);
}

// The findings that people kept or dismissed.
void print_marks(const TextPage& page, const Json::Array& notes) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& note : notes) {
    if (const std::string mark = note.get_string("mark"); !mark.empty())
      rows.push_back(
          {printable(note.get_string("finding")), mark, printable(note.get_string("text"))});
  }
  if (rows.empty()) return;
  page.title("Marked by people");
  page.table({"FINDING", "MARK", "NOTE"}, rows);
}

// Regions and the metrics that moved most in each.
void print_regions(const TextPage& page, const Json& interest) {
  const Json::Array& regions = items(interest, "regions");
  if (regions.empty()) return;
  page.title("Worth looking at");
  for (const Json& region : regions) page.line(printable(region.get_string("text")));
  page.line("Metrics by interest: corral ls metrics RUN --interesting");
}

void print_footprint(const TextPage& page, const Json& found) {
  if (found.is_null()) return;
  const FootprintText text = footprint_text(found);
  page.title("Footprint");
  for (const std::string& line : text.lines) page.line(line);
  if (!text.rows.empty()) page.table(text.head, text.rows);
  for (const std::string& line : text.units) page.line(line);
  if (text.efficiency.empty()) return;
  page.title("Efficiency");
  for (const std::string& line : text.efficiency) page.line(line);
}

void print_explanation(const Json& run, const Json& found, bool markdown) {
  const TextPage page(markdown ? "markdown" : "table");
  page.heading(fmt::format("{}: {}", printable(run.get_string("name")), ending_text(run)));
  if (found.get_bool("provisional"))
    page.line("The run is still running: these values are provisional.");
  print_unseen(page, found);
  page.paragraph(printable(found.get_string("summary")));
  print_parts(page, found);
  print_steady(page, member(found, "steady"));
  print_bottleneck(page, member(found, "bottleneck"), member(found, "slow_rank"));
  print_what_if(page, member(found, "what_if"));
  print_epochs(page, found);
  print_devices(page, found);
  print_footprint(page, member(found, "footprint"));
  print_lanes(page, found);
}

// ---- several runs

// "45 % data wait: loaders"
std::string bound_text(const Json& bound) {
  if (bound.is_null()) return "–";
  const std::string phase = bound.get_string("phase");
  return fmt::format("{:.0f} % {}: {}", member(bound, "share").as_double(0) * 100,
                     printable(phase.empty() ? bound.get_string("part") : phase),
                     bound.get_string("resource"));
}

std::string parts_text(const Json& found) {
  constexpr std::size_t kMost = 2;
  std::vector<std::string> texts;
  for (const Json& part : items(found, "parts")) {
    if (texts.size() == kMost) break;
    texts.push_back(share_text(member(part, "share")) + " " + printable(part.get_string("name")));
  }
  return texts.empty() ? "–" : join(texts, ", ");
}

std::vector<std::string> row_of(const Json& run, const Json& found) {
  const Json& steady = member(found, "steady");
  const bool steps = steady.get_int("steps") > 0;
  return {printable(run.get_string("name")),
          ending_text(run),
          duration_text(member(run, "duration_s")),
          steps ? precise_duration_text(member(steady, "mean_s")) : "–",
          parts_text(found),
          bound_text(member(found, "bottleneck"))};
}

// Null of a server that does not know it.
Result<Json> ask_workflow(const sys::HttpTarget& server, const RunGroup& group) {
  auto found = get_json(server, group.path + "/workflow");
  if (!found && found.error().code == Code::kNotFound) return Json();
  return found;
}

void print_workflow(const TextPage& page, const Json& found) {
  if (found.is_null()) return;
  const WorkflowText text = workflow_text(found);
  page.title("Workflow");
  page.line(text.summary);
  if (!text.rows.empty()) page.table(text.head, text.rows);
  for (const std::string& line : text.lines) page.line(line);
  if (text.footprint.empty()) return;
  page.title("Footprint of all runs");
  for (const std::string& line : text.footprint) page.line(line);
}

Result<int> explain_group(const sys::HttpTarget& server, const ExplainFlags& flags) {
  const RunGroup group = TRY(find_group(server, flags.run));
  if (!flags.lane.empty() || !flags.metric.empty() || flags.from >= Nanos(0) ||
      flags.to >= Nanos(0)) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("--lane, --metric, --from and --to are for one run, not for {}", group.what));
  }
  Json::Array all;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> failures;
  for (const std::string& id : group.runs) {
    const auto run = get_json(server, run_path(id));
    const auto found = run ? get_json(server, run_path(id, "/explain")) : run;
    if (!found) {
      failures.push_back(fmt::format("run {}: {}", id, printable(found.error().message)));
      continue;
    }
    rows.push_back(row_of(*run, *found));
    all.push_back(*found);
  }
  const auto workflow = ask_workflow(server, group);
  if (!workflow) failures.push_back("workflow: " + printable(workflow.error().message));
  if (flags.format == "json") {
    Json both;
    both.set("workflow", workflow.value_or(Json()));
    both.set("runs", Json(std::move(all)));
    fmt::print("{}\n", both.dump());
  } else {
    const bool markdown = flags.format == "markdown";
    const TextPage page(markdown ? "markdown" : "table");
    page.heading(fmt::format("{}: {} runs", group.what, group.runs.size()));
    print_workflow(page, workflow.value_or(Json()));
    page.title("Runs");
    if (!rows.empty())
      page.table({"RUN", "STATUS", "DURATION", "STEP", "WHERE THE TIME WENT", "BOUND BY"}, rows);
    if (group.without_run > 0)
      page.line(fmt::format("{} rows of the plan have no run yet", group.without_run));
  }
  for (const std::string& failure : failures) fmt::print(stderr, "corral explain: {}\n", failure);
  return failures.empty() ? kDone : kFailed;
}

// Null of a lane, which has none, and of a server that does not know it.
Result<Json> ask_footprint(const sys::HttpTarget& server, const std::string& path, bool lane) {
  auto found = lane ? Result<Json>(Json()) : get_json(server, path);
  if (!found && found.error().code == Code::kNotFound) return Json();
  return found;
}

// "1.5", of a value with this unit; "–" for null.
std::string use_text(const Json& value) {
  return value.is_null() ? "–" : fmt::format("{:.3g}", value.as_double(0));
}

std::vector<std::string> attributed_row(const std::string& name, const Json& use, double total,
                                        const std::vector<std::string>& rest) {
  const bool has_share = !use.is_null() && total > 0;
  std::vector<std::string> row = {
      name, use_text(use),
      has_share ? fmt::format("{:.1f} %", use.as_double(0) / total * 100) : "–"};
  row.insert(row.end(), rest.begin(), rest.end());
  return row;
}

std::string interval_text(const Json& low, const Json& high) {
  return low.is_null() ? "–" : fmt::format("{} to {}", use_text(low), use_text(high));
}

void print_attribution(const Json& run, const Json& found, bool markdown) {
  const std::string source = found.get_string("source"), unit = found.get_string("unit");
  const double total = member(found, "total").as_double(0);
  const TextPage page(markdown ? "markdown" : "table");
  page.heading(fmt::format("{}: {}{}", printable(run.get_string("name")),
                           printable(found.get_string("metric")),
                           source.empty() ? "" : " of " + printable(source)));
  page.line(fmt::format("mean {:.4g}{} over {} samples of {}", total,
                        unit.empty() ? "" : " " + printable(unit), found.get_int("samples"),
                        precise_duration_text(member(found, "window_s"))));
  std::vector<std::vector<std::string>> rows;
  for (const Json& part : items(found, "parts")) {
    rows.push_back(attributed_row(
        printable(part.get_string("name")), member(part, "use"), total,
        {use_text(member(part, "mean")), interval_text(member(part, "low"), member(part, "high")),
         printable(part.get_string("reason"))}));
  }
  const Json& low = member(found, "background_low");
  rows.push_back(attributed_row("background", member(found, "background"), total,
                                {"–", interval_text(low, member(found, "background_high")),
                                 printable(found.get_string("background_reason"))}));
  for (const auto& [name, key] : {std::pair("not identifiable", "not_identifiable"),
                                  std::pair("beyond the capacity", "unplaced")})
    if (member(found, key).as_double(0) > 0)
      rows.push_back(attributed_row(name, member(found, key), total, {"–", "–", ""}));
  page.title("Use by type of phases");
  page.table({"PHASES", "PART", "SHARE", "WHILE OPEN", "95 % INTERVAL", "REMARK"}, rows);
  for (const Json& note : items(found, "notes"))
    if (note.as_string() != nullptr) page.line(*note.as_string());
}

Result<int> explain(const ExplainFlags& flags) {
  if (flags.metric.empty() && !flags.source.empty())
    return fail(Code::kInvalidArgument, "--source requires --metric");
  if (flags.from >= Nanos(0) && flags.to >= Nanos(0) && flags.from >= flags.to)
    return fail(Code::kInvalidArgument, "--to must be greater than --from");
  const sys::HttpTarget server = TRY(connect(flags.destination));
  const auto asked = get_json(server, run_path(flags.run));
  // "7" may be a workload, although it is too short for a run's id.
  const Code code = asked ? Code::kInternal : asked.error().code;
  if (code == Code::kNotFound || code == Code::kInvalidArgument) {
    auto group = explain_group(server, flags);
    const bool unknown = !group && group.error().code == Code::kNotFound;
    if (unknown && code == Code::kInvalidArgument) return tl::unexpected(asked.error());
    return group;
  }
  const Json run = TRY(asked);
  const std::int64_t start = parse_int(run.get_string("start_ns")).value_or(0);
  const auto since_start = [start](Nanos time) {
    return start +
           std::min<std::int64_t>(time.count(), std::numeric_limits<std::int64_t>::max() - start);
  };
  std::vector<std::string> query;
  if (flags.from >= Nanos(0)) query.push_back(fmt::format("from_ns={}", since_start(flags.from)));
  if (flags.to >= Nanos(0)) query.push_back(fmt::format("to_ns={}", since_start(flags.to)));
  // "@1" may be another run by now.
  const auto path = [&](const char* part) {
    const std::string whole = run_path(run.get_string("id"), part);
    return query.empty() ? whole : whole + "?" + join(query, "&");
  };
  const std::string interest = path("/interest"), footprint = path("/footprint");  // for all lanes
  if (!flags.lane.empty()) query.push_back("lane=" + sys::url_encode(flags.lane));
  const bool json = flags.format == "json", markdown = flags.format == "markdown";
  if (!flags.metric.empty()) {
    query.push_back("metric=" + sys::url_encode(flags.metric));
    if (!flags.source.empty()) query.push_back("source=" + sys::url_encode(flags.source));
    const Json found = TRY(get_json(server, path("/attribution")));
    json ? fmt::print("{}\n", found.dump()) : print_attribution(run, found, markdown);
    return kDone;
  }
  Json found = TRY(get_json(server, path("/explain")));
  found.set("footprint", TRY(ask_footprint(server, footprint, !flags.lane.empty())));
  if (json) {
    fmt::print("{}\n", found.dump());
    return kDone;
  }
  print_explanation(run, found, markdown);
  const TextPage page(markdown ? "markdown" : "table");
  // An older server does not have all of it.
  print_regions(page, get_json(server, interest).value_or(Json()));
  const std::string notes = run_path(run.get_string("id"), "/notes");
  print_marks(page, items(TRY(get_json(server, notes)), "notes"));
  return kDone;
}

}  // namespace

int explain_command(std::span<char* const> args) {
  ExplainFlags flags;
  Arguments arguments("explain",
                      "Explains a run: what could not be seen, where its time went, which part of "
                      "it is steady, what bounded that, which epochs are odd, and its energy. Of a "
                      "workload, plan or experiment: its critical path, waits and energy, and one "
                      "line for each run.",
                      kExplainExamples);
  arguments.positional("run", flags.run, "run as for `corral show`, workload, plan or experiment",
                       true);
  arguments.text("lane", flags.lane, "only this lane, as `corral ls phases` shows it");
  arguments.text("metric", flags.metric,
                 "instead: how much of this metric each type of phases used");
  arguments.text("source", flags.source, "source of that metric, e.g. gpu0");
  arguments.duration("from", flags.from,
                     "begin, since the run's start, e.g. 10m (default: its start)");
  arguments.duration("to", flags.to, "end, since the run's start (default: its end)");
  for (const char* name : {"lane", "metric", "source", "from", "to"}) arguments.as_flag_only(name);
  arguments.choice("format", flags.format, {"table", "json", "markdown"},
                   "output format (default: table)");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("explain", explain(flags));
}

}  // namespace corral::cli
