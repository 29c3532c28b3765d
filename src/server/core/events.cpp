#include "server/core/events.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/json.h"
#include "sys/thread_guard.h"

namespace corral::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::string id_text(const RunId& run) { return run.hex(); }
const std::string& id_text(const std::string& plan) { return plan; }

struct EventWords {
  std::string_view name, list;
};
template <class Id>
void append_event(std::string& out, const EventWords& words, const std::set<Id>& ids) {
  if (ids.empty()) return;
  std::string data;
  JsonWriter json(data);
  json.begin_object().key(words.list).begin_array();
  for (const Id& id : ids) json.value(id_text(id));
  json.end_array().end_object();
  out += fmt::format("event: {}\ndata: {}\n\n", words.name, data);
}

}  // namespace

EventHub::EventHub(Options options)
    : options_(options),
      thread_(sys::require_thread("the event hub", [this](const std::stop_token& stop) {
        sys::guard_loop("the event hub", stop, [&] { run(stop); });
      })) {}

EventHub::~EventHub() {
  thread_.request_stop();
  thread_.join();
  for (const Stream& one : streams_) one.stream->close();
}

std::string EventHub::News::text() const {
  std::string text;
  std::set<RunId> runs = changed;
  for (const auto& [run, experiment] : removed) runs.insert(run);
  std::set<std::string> all_plans = plans;
  for (const auto& [plan, experiments] : removed_plans) all_plans.insert(plan);
  append_event(text, {"runs", "runs"}, runs);
  append_event(text, {"data", "runs"}, data);
  append_event(text, {"plans", "plans"}, all_plans);
  return text;
}

EventHub::News EventHub::News::seen_by(const Sees& sees) const {
  News seen;
  std::ranges::copy_if(changed, std::inserter(seen.changed, seen.changed.end()), sees.run);
  std::ranges::copy_if(data, std::inserter(seen.data, seen.data.end()), sees.run);
  std::ranges::copy_if(plans, std::inserter(seen.plans, seen.plans.end()), sees.plan);
  for (const auto& [run, experiment] : removed)
    if (sees.experiment(experiment)) seen.removed.emplace(run, experiment);
  for (const auto& [plan, experiments] : removed_plans)
    if (std::ranges::all_of(experiments, sees.experiment))
      seen.removed_plans.emplace(plan, experiments);
  return seen;
}

std::shared_ptr<PushStream> EventHub::subscribe(std::optional<Sees> sees) {
  auto stream = std::make_shared<PushStream>();
  stream->push("retry: 2000\n\n");
  const Lock lock(mutex_);
  std::erase_if(streams_, [](const Stream& other) { return other.stream->closed(); });
  if (streams_.size() >= options_.max_streams) return nullptr;
  streams_.push_back({.stream = stream, .sees = std::move(sees)});
  return stream;
}

void EventHub::note(std::span<const RunId> changed_runs, std::span<const RunId> data_runs) {
  if (changed_runs.empty() && data_runs.empty()) return;
  const Lock lock(mutex_);
  wake_for_first();
  news_.changed.insert(changed_runs.begin(), changed_runs.end());
  news_.data.insert(data_runs.begin(), data_runs.end());
}

void EventHub::note_plan(const std::string& id) {
  const Lock lock(mutex_);
  wake_for_first();
  news_.plans.insert(id);
}

void EventHub::note_removed(std::span<const RunId> runs, const std::string& experiment) {
  if (runs.empty()) return;
  const Lock lock(mutex_);
  wake_for_first();
  for (const RunId& run : runs) news_.removed.emplace(run, experiment);
}

void EventHub::note_removed_plan(const std::string& id, std::vector<std::string> experiments) {
  const Lock lock(mutex_);
  wake_for_first();
  news_.removed_plans.insert_or_assign(id, std::move(experiments));
}

// Later news goes with the first, until the thread sends.
void EventHub::wake_for_first() {
  if (news_.empty()) wake_.notify_one();
}

void EventHub::close_streams() {
  const Lock lock(mutex_);
  for (const Stream& one : streams_) one.stream->close();
  streams_.clear();
}

std::size_t EventHub::open_streams() const {
  const Lock lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(streams_, [](const Stream& one) { return !one.stream->closed(); }));
}

// A comment line, where there is no news.
void EventHub::send(const News& news) {
  std::vector<Stream> streams;
  {
    const Lock lock(mutex_);
    streams = streams_;
  }
  const std::string text = news.empty() ? ": still here\n\n" : news.text();
  for (const Stream& one : streams)
    one.stream->push(one.sees && !news.empty() ? news.seen_by(*one.sees).text() : text);
  const Lock lock(mutex_);
  std::erase_if(streams_, [](const Stream& one) { return one.stream->closed(); });
}

void EventHub::run(const std::stop_token& stop) {
  auto last_sent = SteadyClock::now() - options_.interval;
  auto next_heartbeat = SteadyClock::now() + options_.heartbeat;
  const auto has_news = [this]() REQUIRES(mutex_) { return !news_.empty(); };
  while (!stop.stop_requested()) {
    News news;
    {
      Lock lock(mutex_);
      wake_.wait_until(lock, stop, next_heartbeat, has_news);
      if (has_news() && SteadyClock::now() < last_sent + options_.interval) {
        wake_.wait_until(lock, stop, last_sent + options_.interval, [] { return false; });
      }
      news = std::exchange(news_, {});
    }
    const auto now = SteadyClock::now();
    if (!news.empty()) last_sent = now;
    if (news.empty() && now < next_heartbeat) continue;
    next_heartbeat = now + options_.heartbeat;
    send(news);
  }
}

}  // namespace corral::server
