#include "compat/mlflow/relay/run_book.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compat/mlflow/wire/times.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/sha256.h"
#include "core/text.h"
#include "run/run_name.h"
#include "sys/clock.h"

namespace corral::run {
namespace {

constexpr const char* kNameTag = "mlflow.runName";
constexpr const char* kParentTag = "mlflow.parentRunId";
constexpr const char* kRanksTag = "corral.ranks";
// Clients without an experiment send this id: MLflow's "Default".
constexpr std::string_view kNoExperiment = "0";

std::string find_value(const std::vector<mlflow::Pair>& tags, std::string_view key) {
  for (const auto& [name, value] : tags) {
    if (name == key) return value;
  }
  return {};
}

void set(std::vector<mlflow::Pair>& tags, std::string_view key, std::string value) {
  std::erase_if(tags, [&](const mlflow::Pair& tag) { return tag.first == key; });
  tags.emplace_back(key, std::move(value));
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(sys::utc_now().time_since_epoch())
      .count();
}

// A session's description holds names of so many bytes. A longer one is cut there, and the whole
// name follows as a fact.
bool fits(std::string_view name) { return name.size() <= limits::kNameBytes; }
std::string fitting(std::string_view name) {
  name = name.substr(0, limits::kNameBytes);
  return std::string(name.substr(0, utf8_prefix(name)));
}

// The same for a request that a client sends again, unlike any other's: times are in it.
std::string request_key(const NewRun& run) {
  std::string text =
      fmt::format("{}\n{}\n{}\n{}", run.experiment, run.name, run.user, run.start_ms);
  for (const auto& [key, value] : run.tags) text += fmt::format("\n{}={}", key, value);
  return hex(sha256(text));
}

void read_pairs(const Json* list, std::map<std::string, std::string>& into) {
  if (list == nullptr || list->as_array() == nullptr) return;
  for (const Json& pair : *list->as_array())
    into[pair.get_string("key")] = pair.get_string("value");
}

RunView parse_view(RunId id, const Json& run) {
  RunView view;
  view.id = id;
  view.start_ms = now_ms();
  if (const Json* info = run.find("info")) {
    view.name = info->get_string("run_name");
    view.experiment = info->get_string("experiment_id");
    view.user = info->get_string("user_id");
    view.artifact_uri = info->get_string("artifact_uri");
    view.start_ms = info->get_int("start_time", view.start_ms);
  }
  if (const Json* data = run.find("data")) {
    read_pairs(data->find("params"), view.params);
    read_pairs(data->find("tags"), view.tags);
  }
  return view;
}

constexpr std::size_t kMostBytes = 1u << 30;
constexpr const char* kLogs = "mlflow";
constexpr const char* kBook = "mlflow/book";

}  // namespace

std::vector<Json> BookLog::lines() const {
  std::vector<Json> all;
  const std::string text = run_.read_file(kBook, kMostBytes).value_or("");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    auto line = Json::parse(std::string_view(text).substr(at, end - at));
    if (line && line->as_object() != nullptr) all.push_back(*std::move(line));
    at = end + 1;
  }
  return all;
}

void BookLog::add(const Json& line) {
  if (!file_) {
    const auto folder = run_.make_directory(kLogs);
    auto opened = folder ? run_.open_file(kBook, O_WRONLY | O_CREAT | O_APPEND)
                         : Result<sys::Fd>(tl::unexpected(folder.error()));
    if (!opened) return;
    file_ = std::move(*opened);
  }
  // It begins with a line end, so that a torn line before it does not swallow it.
  [[maybe_unused]] const auto written = sys::write_all(file_.get(), "\n" + line.dump());
}

RunBook::RunBook(BookOptions options)
    : options_(std::move(options)),
      experiment_name_(options_.manifest.experiment),
      log_(options_.room.files) {
  const spool::Manifest& run = options_.manifest;
  RunView view{.id = run.run,
               .name = run.run_name,
               .experiment = std::string(kNoExperiment),
               .start_ms = now_ms()};
  own_ = std::make_shared<TrackedRun>(std::move(view),
                                      make_session(run.run, run.run_name, now_ms()), options_.room);
  runs_.emplace(run.run, own_);
  for (const Json& line : log_.lines()) recall(line);
}

codec::SessionBody RunBook::make_session(RunId run, const std::string& name,
                                         std::int64_t start_ms) const {
  codec::SessionBody session = spool::session_body(options_.manifest);
  session.run = run;
  session.run_name = fitting(name);
  session.role = "mlflow";
  session.experiment = fits(experiment_name_) ? experiment_name_ : options_.manifest.experiment;
  session.anchor = mlflow::kClientAnchor;
  session.started = mlflow::nearest_client_time(start_ms);
  return session;
}

RunBook::Shared RunBook::find(RunId id) const {
  const Lock lock(mutex_);
  const auto known = runs_.find(id);
  return known != runs_.end() ? known->second : nullptr;
}

RunBook::Shared RunBook::adopt(RunId id, const Json& run) {
  RunView view = parse_view(id, run);
  const Lock lock(mutex_);
  Shared& known = runs_[id];
  if (known != nullptr) {
    known->learn(std::move(view));
  } else {
    codec::SessionBody session = make_session(id, view.name, view.start_ms);
    known = std::make_shared<TrackedRun>(std::move(view), std::move(session), options_.room);
  }
  return known;
}

RunBook::Shared RunBook::create(const NewRun& run) {
  const std::string parent = find_value(run.tags, kParentTag);
  const Lock lock(mutex_);
  if (const auto again = recalled_.extract(request_key(run))) {
    if (again.mapped() == own_) return start_own(run);
    announce(run, again.mapped());
    return again.mapped();
  }
  return is_own(run, parent) ? start_own(run) : make_child(run);
}

void RunBook::update(const Shared& run, const RunUpdate& update) {
  run->update(update);
  if (!update.status) return;
  const Lock lock(mutex_);
  if (children_.contains(run->id())) note_status(run->id(), *update.status);
}

void RunBook::name_experiment(const std::string& id, const std::string& name) {
  const Lock lock(mutex_);
  if (!experiments_.emplace(id, name).second) return;
  Json line;
  line.set("experiment", id);
  line.set("name", name);
  log_.add(line);
}

std::string RunBook::experiment_called(const std::string& id) const {
  const Lock lock(mutex_);
  const auto known = experiments_.find(id);
  return known != experiments_.end() ? known->second : std::string();
}

// ---- the book of a previous supervisor

void RunBook::recall(const Json& line) {
  if (const Json* own = line.find("own")) return recall_own(*own);
  if (const Json* child = line.find("child")) return recall_child(*child);
  if (const std::string id = line.get_string("experiment"); !id.empty())
    experiments_[id] = line.get_string("name");
  const std::int64_t status = line.get_int("status");
  const auto run = RunId::parse(line.get_string("of"));
  const auto known = run ? children_.find(*run) : children_.end();
  if (known != children_.end() && status >= static_cast<int>(ClientStatus::kRunning) &&
      status <= static_cast<int>(ClientStatus::kKilled))
    known->second->recall(static_cast<ClientStatus>(status));
}

void RunBook::recall_own(const Json& own) {
  own_started_ = true;
  if (const Json* rank = own.find("rank"))
    ranks_[static_cast<std::int64_t>(rank->as_double(0))] = static_cast<pid_t>(own.get_int("pid"));
  own_requested_ = own.get_string("wish");
  experiment_name_ = own.get_string("experiment");
  if (!own_requested_.empty()) own_->set_experiment_id(own_requested_);
  if (!own_requested_.empty() && options_.experiment_chosen) believed_[own_->id()] = own_requested_;
  own_->recall(ClientStatus::kRunning, own.get_string("name"));
  recalled_[own.get_string("request")] = own_;
}

void RunBook::recall_child(const Json& child) {
  const auto id = RunId::parse(child.get_string("id"));
  if (!id) return;
  RunView view{.id = *id,
               .name = child.get_string("name"),
               .experiment = child.get_string("experiment_id"),
               .user = child.get_string("user"),
               .start_ms = child.get_int("start_ms")};
  codec::SessionBody session = make_session(*id, view.name, view.start_ms);
  const std::string experiment = child.get_string("experiment");
  if (fits(experiment)) session.experiment = experiment;
  if (child.find("believed") != nullptr) believed_[*id] = view.experiment;
  auto run = std::make_shared<TrackedRun>(std::move(view), std::move(session), options_.room);
  run->recall(ClientStatus::kRunning);
  runs_[*id] = run;
  children_[*id] = run;
  recalled_[child.get_string("request")] = std::move(run);
}

// ---- runs that programs start

// A rank that comes a second time from another process was started again.
bool RunBook::is_own(const NewRun& run, std::string_view parent) {
  if (!parent.empty()) return false;
  const bool first = !std::exchange(own_started_, true);
  if (!run.client) return first;
  pid_t& pid = ranks_[run.client->rank];
  return std::exchange(pid, run.client->pid) != run.client->pid;
}

RunBook::Shared RunBook::start_own(const NewRun& run) {
  mlflow::LogBatch tags{.tags = run.tags};
  const std::string wanted = run.name.empty() ? find_value(run.tags, kNameTag) : run.name;
  const bool renamed = !wanted.empty() && !options_.name_chosen;
  set(tags.tags, kNameTag, renamed ? wanted : own_->view().name);
  if (!ranks_.empty()) {
    std::string ranks;
    for (const auto& [rank, pid] : ranks_)
      ranks += (ranks.empty() ? "" : ",") + std::to_string(rank);
    set(tags.tags, kRanksTag, ranks);
  }
  RunUpdate update{.status = ClientStatus::kRunning, .user = run.user};
  if (own_requested_.empty() && run.experiment != kNoExperiment) {
    own_requested_ = run.experiment;
    if (options_.experiment_chosen) {
      believed_[own_->id()] = run.experiment;
    } else if (!run.experiment_name.empty()) {
      update.experiment = experiment_name_ = run.experiment_name;
    }
    own_->set_experiment_id(run.experiment);
    own_->set_artifact_uri({});
  }
  own_->update(update);
  // Tags of a program never fail: there are no params among them.
  [[maybe_unused]] const auto logged = own_->log(tags, {});
  note_own(run);
  return own_;
}

void RunBook::note_own(const NewRun& run) {
  Json own;
  own.set("request", request_key(run));
  own.set("name", own_->view().name);
  own.set("wish", own_requested_);
  own.set("experiment", experiment_name_);
  if (run.client) {
    own.set("rank", run.client->rank);
    own.set("pid", std::int64_t{run.client->pid});
  }
  Json line;
  line.set("own", std::move(own));
  log_.add(line);
}

void RunBook::note_child(const NewRun& run, const RunView& view, const std::string& experiment) {
  Json child;
  child.set("id", view.id.hex());
  child.set("name", view.name);
  child.set("experiment_id", view.experiment);
  child.set("experiment", experiment);
  child.set("user", view.user);
  child.set("start_ms", view.start_ms);
  child.set("request", request_key(run));
  if (believed_.contains(view.id)) child.set("believed", true);
  Json line;
  line.set("child", std::move(child));
  log_.add(line);
}

void RunBook::note_status(RunId child, ClientStatus status) {
  Json line;
  line.set("status", static_cast<std::int64_t>(status));
  line.set("of", child.hex());
  log_.add(line);
}

bool RunBook::is_with_own(const NewRun& run) const {
  return run.experiment == kNoExperiment || run.experiment == own_requested_;
}

std::string RunBook::child_experiment(const NewRun& run) const {
  return is_with_own(run) || run.experiment_name.empty() ? experiment_name_ : run.experiment_name;
}

RunBook::Shared RunBook::make_child(const NewRun& run) {
  const RunId id = RunId::random();
  std::string name = run.name.empty() ? find_value(run.tags, kNameTag) : run.name;
  if (name.empty()) name = make_run_name(id);
  const std::int64_t start = run.start_ms != 0 ? run.start_ms : now_ms();
  codec::SessionBody session = make_session(id, name, start);
  const std::string experiment = child_experiment(run);
  if (fits(experiment)) session.experiment = experiment;
  if (is_with_own(run) && options_.experiment_chosen && run.experiment != kNoExperiment)
    believed_[id] = run.experiment;
  RunView view{
      .id = id, .name = name, .experiment = run.experiment, .user = run.user, .start_ms = start};
  // Entered in the book before the spool, so that a process that continues the book can end it.
  note_child(run, view, experiment);
  auto child = std::make_shared<TrackedRun>(std::move(view), std::move(session), options_.room);
  announce(run, child);
  runs_.emplace(id, child);
  children_.emplace(id, child);
  return child;
}

void RunBook::announce(const NewRun& run, const Shared& child) {
  mlflow::LogBatch tags{.tags = run.tags};
  set(tags.tags, kNameTag, child->view().name);
  if (find_value(run.tags, kParentTag).empty()) set(tags.tags, kParentTag, own_->id().hex());
  const std::string experiment = child_experiment(run);
  child->update({.status = ClientStatus::kRunning,
                 .user = run.user,
                 .experiment = fits(experiment) ? std::string() : experiment});
  [[maybe_unused]] const auto logged = child->log(tags, {});
}

void RunBook::abandon_children() {
  const Lock lock(mutex_);
  for (const auto& [id, child] : children_) {
    if (child->abandon()) note_status(id, ClientStatus::kKilled);
  }
}

std::string RunBook::believed_experiment(RunId id) const {
  const Lock lock(mutex_);
  const auto known = believed_.find(id);
  return known != believed_.end() ? known->second : std::string();
}

RunBook::Place RunBook::own_experiment() const {
  const Lock lock(mutex_);
  return {.requested = own_requested_.empty() ? std::string(kNoExperiment) : own_requested_,
          .name = experiment_name_};
}

std::string RunBook::loss() const {
  const Lock lock(mutex_);
  for (const auto& [id, run] : runs_) {
    if (run->dropped() > 0) return run->drop_reason();
  }
  return {};
}

}  // namespace corral::run
