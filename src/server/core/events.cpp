#include "server/core/events.h"

#include <fmt/core.h>

#include <algorithm>

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
  for (const auto& stream : streams_) stream->close();
}

std::shared_ptr<PushStream> EventHub::subscribe() {
  auto stream = std::make_shared<PushStream>();
  stream->push("retry: 2000\n\n");
  const Lock lock(mutex_);
  std::erase_if(streams_, [](const auto& other) { return other->closed(); });
  if (streams_.size() >= options_.max_streams) return nullptr;
  streams_.push_back(stream);
  return stream;
}

void EventHub::note(std::span<const RunId> changed_runs, std::span<const RunId> data_runs) {
  if (changed_runs.empty() && data_runs.empty()) return;
  const Lock lock(mutex_);
  wake_for_first();
  changed_.insert(changed_runs.begin(), changed_runs.end());
  data_.insert(data_runs.begin(), data_runs.end());
}

void EventHub::note_plan(const std::string& id) {
  const Lock lock(mutex_);
  wake_for_first();
  plans_.insert(id);
}

// Later news goes with the first, until the thread sends.
void EventHub::wake_for_first() {
  if (!has_news()) wake_.notify_one();
}

void EventHub::close_streams() {
  const Lock lock(mutex_);
  for (const auto& stream : streams_) stream->close();
  streams_.clear();
}

std::size_t EventHub::open_streams() const {
  const Lock lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(streams_, [](const auto& stream) { return !stream->closed(); }));
}

void EventHub::send(const std::string& text) {
  std::vector<std::shared_ptr<PushStream>> streams;
  {
    const Lock lock(mutex_);
    streams = streams_;
  }
  for (const auto& stream : streams) stream->push(text);
  const Lock lock(mutex_);
  std::erase_if(streams_, [](const auto& stream) { return stream->closed(); });
}

void EventHub::run(const std::stop_token& stop) {
  auto last_sent = SteadyClock::now() - options_.interval;
  auto next_heartbeat = SteadyClock::now() + options_.heartbeat;
  while (!stop.stop_requested()) {
    std::string text;
    {
      Lock lock(mutex_);
      wake_.wait_until(lock, stop, next_heartbeat,
                       [this]() REQUIRES(mutex_) { return has_news(); });
      if (has_news() && SteadyClock::now() < last_sent + options_.interval) {
        wake_.wait_until(lock, stop, last_sent + options_.interval, [] { return false; });
      }
      append_event(text, {"runs", "runs"}, std::exchange(changed_, {}));
      append_event(text, {"data", "runs"}, std::exchange(data_, {}));
      append_event(text, {"plans", "plans"}, std::exchange(plans_, {}));
    }
    const auto now = SteadyClock::now();
    if (!text.empty()) last_sent = now;
    if (text.empty() && now >= next_heartbeat) text = ": still here\n\n";
    if (text.empty()) continue;
    next_heartbeat = now + options_.heartbeat;
    send(text);
  }
}

}  // namespace corral::server
