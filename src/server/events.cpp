#include "server/events.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/json.h"

namespace corral::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

void append_event(std::string& out, std::string_view name, const std::set<RunId>& runs) {
  if (runs.empty()) return;
  std::string data;
  JsonWriter json(data);
  json.begin_object().key("runs").begin_array();
  for (const RunId& run : runs) json.value(run.hex());
  json.end_array().end_object();
  out += fmt::format("event: {}\ndata: {}\n\n", name, data);
}

}  // namespace

EventHub::EventHub(Options options)
    : options_(options), thread_([this](const std::stop_token& stop) { run(stop); }) {}

EventHub::~EventHub() {
  thread_.request_stop();
  thread_.join();
  for (const auto& stream : streams_) stream->close();
}

std::shared_ptr<PushStream> EventHub::subscribe() {
  auto stream = std::make_shared<PushStream>();
  stream->push("retry: 2000\n\n");
  const std::scoped_lock lock(mutex_);
  std::erase_if(streams_, [](const auto& other) { return other->closed(); });
  if (streams_.size() >= options_.max_streams) return nullptr;
  streams_.push_back(stream);
  return stream;
}

void EventHub::note(std::span<const RunId> changed_runs, std::span<const RunId> data_runs) {
  if (changed_runs.empty() && data_runs.empty()) return;
  const std::scoped_lock lock(mutex_);
  changed_.insert(changed_runs.begin(), changed_runs.end());
  data_.insert(data_runs.begin(), data_runs.end());
  wake_.notify_one();
}

std::size_t EventHub::open_streams() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(streams_, [](const auto& stream) { return !stream->closed(); }));
}

void EventHub::send(const std::string& text) {
  std::vector<std::shared_ptr<PushStream>> streams;
  {
    const std::scoped_lock lock(mutex_);
    streams = streams_;
  }
  for (const auto& stream : streams) stream->push(text);
  const std::scoped_lock lock(mutex_);
  std::erase_if(streams_, [](const auto& stream) { return stream->closed(); });
}

void EventHub::run(const std::stop_token& stop) {
  auto last_sent = SteadyClock::now() - options_.interval;
  auto next_heartbeat = SteadyClock::now() + options_.heartbeat;
  while (!stop.stop_requested()) {
    std::string text;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_until(lock, stop, next_heartbeat,
                       [this] { return !changed_.empty() || !data_.empty(); });
      const bool news = !changed_.empty() || !data_.empty();
      if (news && SteadyClock::now() < last_sent + options_.interval) {
        wake_.wait_until(lock, stop, last_sent + options_.interval, [] { return false; });
      }
      append_event(text, "runs", std::exchange(changed_, {}));
      append_event(text, "data", std::exchange(data_, {}));
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
