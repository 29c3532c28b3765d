#include "run/schedule/plan_document.h"

#include "core/json.h"
#include "core/text.h"
#include "run/schedule/row_order.h"

namespace corral::run::schedule {
namespace {

RunEntry entry_of(const plan::Workload& workload, const plan::Row& row) {
  return {.key = row.key,
          .line = row.line,
          .experiment = workload.experiment,
          .workload = workload.name,
          .repetition = workload.repetition,
          .name = run_name_of(workload, row),
          .letter = row.letter,
          .collocation = row.collocation,
          .devices = join(row.share.devices, "+"),
          .model = row.command.empty() ? std::string() : row.command[0]};
}

// Fills in the known facts of a run that is not under way.
void describe(RunEntry& entry, const plan::Row& row, const Book& book) {
  const Attempt* attempt = book.latest(row.key, entry.repetition);
  if (attempt != nullptr && !book.overruled(row)) {
    entry.run = attempt->run;
    if (!attempt->end) {
      entry.state = "running";
      return;
    }
    entry.state = attempt->end->outcome;
    entry.reason = attempt->end->reason;
    entry.tail = attempt->end->tail;
    return;
  }
  const Standing standing = book.standing(row, entry.repetition);
  if (standing == Standing::kOpen) return;
  entry.state = standing == Standing::kFinished ? "finished" : "failed";
  entry.run = row.run;
}

}  // namespace

void PlanDocument::fill(const std::vector<plan::Workload>& workloads, const Book& book,
                        const std::vector<Choice>& choices) {
  std::vector<const Choice*> by_workload(workloads.size());
  for (const Choice& choice : choices) by_workload[choice.workload] = &choice;
  runs_.clear();
  places_.clear();
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    for (const plan::Row& row : workloads[i].rows) {
      RunEntry entry = entry_of(workloads[i], row);
      describe(entry, row, book);
      const Choice* choice = by_workload[i];
      if (entry.state == "waiting" && choice != nullptr)
        entry.reason = choice->verdict == Verdict::kNotSelected ? "not selected" : choice->reason;
      places_[{entry.key, entry.repetition}] = runs_.size();
      runs_.push_back(std::move(entry));
    }
  }
}

void PlanDocument::update(const Member& member) {
  const auto place = places_.find({member.row.key, member.repetition});
  if (place == places_.end()) return;
  RunEntry& entry = runs_[place->second];
  entry.state = member.state();
  entry.run = member.run;
  entry.reason = member.end ? member.end->reason : std::string();
  entry.tail = member.end ? member.end->tail : std::vector<std::string>();
}

PlanDocument::Counts PlanDocument::counts() const {
  Counts counts;
  for (const RunEntry& entry : runs_) {
    if (entry.state == "waiting" || standing_of(entry.state) == Standing::kOpen) {
      ++counts.waiting;
    } else if (entry.state == "preparing" || entry.state == "running") {
      ++counts.running;
    } else if (standing_of(entry.state) == Standing::kFinished) {
      ++counts.finished;
    } else {
      ++counts.failed;
    }
  }
  return counts;
}

std::string PlanDocument::json(UtcTime now) const {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("file", file_).member("host", host_).member("state", state_);
  json.key("updated_ns").value_string(ns_of(now));
  json.member("message", message_).key("runs").begin_array();
  for (const RunEntry& run : runs_) {
    json.begin_object().member("key", run.key).member("line", run.line);
    json.member("experiment", run.experiment).member("workload", run.workload);
    json.member("repetition", run.repetition).member("name", run.name);
    json.member("letter", run.letter).member("collocation", run.collocation);
    json.member("devices", run.devices).member("model", run.model).member("state", run.state);
    json.member("run", run.run).member("reason", run.reason).key("tail").begin_array();
    for (const std::string& line : run.tail) json.value(line);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return out;
}

}  // namespace corral::run::schedule
