#include "run/schedule/fake_world.h"

#include <signal.h>

#include <algorithm>

#include "core/text.h"
#include "run/gate.h"

namespace corral::run::schedule {
namespace {

Nanos seconds_of(const std::vector<std::string>& command, std::size_t word) {
  const auto value = word < command.size() ? parse_int(command[word]) : std::nullopt;
  return std::chrono::seconds(value.value_or(1));
}

Event event_of(EventKind kind, const std::string& run) {
  Event event;
  event.kind = kind;
  event.run = run;
  return event;
}

}  // namespace

void FakeWorld::at(Nanos when, std::function<void(std::vector<Event>&)> act) {
  due_.emplace(now_ + when, std::move(act));
}

void FakeWorld::put(Nanos delay, Event event) {
  at(delay, [event = std::move(event)](std::vector<Event>& events) { events.push_back(event); });
}

void FakeWorld::press_ctrl_c(Nanos when) {
  Event event;
  event.kind = EventKind::kSignal;
  event.signal = SIGINT;
  put(when, event);
}

FakeRun* FakeWorld::find(const std::string& id) {
  const auto found = std::ranges::find(runs_, id, &FakeRun::id);
  return found == runs_.end() ? nullptr : &*found;
}

int FakeWorld::starts_of(const std::string& name) const {
  return static_cast<int>(std::ranges::count_if(
      runs_, [&](const FakeRun& run) { return run.name == name && run.started; }));
}

Result<> FakeWorld::launch(const Order& order) {
  const SupervisorOrder& document = order.document;
  if (document.adopt) {
    FakeRun* run = find(document.run);
    if (run != nullptr && run->command[0] == "forsake")
      return fail(Code::kUnavailable, "its data is in other hands");
    if (run == nullptr || run->end) return fail(Code::kNotFound, "it has ended");
    run->adopted = true;
    leave(run->id, {.outcome = "finished"}, seconds_of(run->command, 2));
    return {};
  }
  runs_.push_back({.id = document.run,
                   .name = document.name,
                   .workload = document.workload,
                   .command = document.command,
                   .tags = document.tags,
                   .told = {},
                   .started_at = {},
                   .end = {}});
  const std::string& what = runs_.back().command[0];
  if (what == "refuse") {
    Event gone = event_of(EventKind::kGone, document.run);
    gone.exit_status = 127;
    gone.words = "no such script";
    put(std::chrono::milliseconds(20), gone);
  } else if (what == "die") {
    Event gone = event_of(EventKind::kGone, document.run);
    gone.exit_status = 137;
    put(std::chrono::milliseconds(20), gone);
  } else if (!order.gated) {
    gated_.push_back(document.run);
    release();
  } else if (what != "late") {
    gated_.push_back(document.run);
    put(std::chrono::milliseconds(50), event_of(EventKind::kReady, document.run));
  }
  return {};
}

// A run that no supervisor adopts can still be followed by its command.
Result<> FakeWorld::follow(const std::string& run, const sys::ProcessIdentity&) {
  const FakeRun* known = find(run);
  if (known == nullptr || known->command[0] != "forsake")
    return fail(Code::kNotFound, "nobody there");
  const Nanos left = known->started_at + seconds_of(known->command, 2) - now_;
  put(left, event_of(EventKind::kGone, run));
  return {};
}

void FakeWorld::release() {
  Nanos skew{0};
  for (const std::string& id : gated_) {
    FakeRun* run = find(id);
    run->started = true;
    run->started_at = now_ + skew;
    Event started = event_of(EventKind::kStarted, id);
    started.started = run->started_at;
    put(std::chrono::milliseconds(1), started);
    Event progress = event_of(EventKind::kProgress, id);
    progress.progress = {.phase = "epoch 3", .loss = 0.25};
    if (run->command[0] == "tell") put(std::chrono::seconds(1), progress);
    plan_end(*run);
    skew += std::chrono::milliseconds(1);
  }
  gated_.clear();
}

void FakeWorld::leave(const std::string& run, const End& end, Nanos delay) {
  at(delay, [this, run, end](std::vector<Event>& events) {
    FakeRun* known = find(run);
    if (known->end) return;
    known->end = end;
    Event ended = event_of(EventKind::kEnded, run);
    ended.end = end;
    events.push_back(ended);
    events.push_back(event_of(EventKind::kGone, run));
  });
}

void FakeWorld::plan_end(FakeRun& run) {
  const std::string& what = run.command[0];
  const Nanos time = seconds_of(run.command, 1);
  if (what == "finish" || what == "tell") leave(run.id, {.outcome = "finished"}, time);
  if (what == "fail")
    leave(run.id, {.outcome = "failed", .reason = "exit status 1", .tail = {"Traceback", "Error"}},
          time);
  if (what == "limit") leave(run.id, {.outcome = "limit"}, time);
  if (what == "oom") leave(run.id, {.outcome = "out-of-memory"}, time);
  if (what == "vanish" || what == "forsake") {
    Event gone = event_of(EventKind::kGone, run.id);
    gone.exit_status = 137;
    put(time, gone);
  }
}

void FakeWorld::abandon() {
  for (const std::string& id : gated_) put(Nanos(1000), event_of(EventKind::kGone, id));
  gated_.clear();
}

void FakeWorld::signal(const std::string& run, int) {
  FakeRun* known = find(run);
  if (known->started) leave(run, {.outcome = "interrupted"}, std::chrono::milliseconds(100));
  if (!known->started && !std::ranges::count(gated_, run))
    put(std::chrono::milliseconds(1), event_of(EventKind::kGone, run));
}

void FakeWorld::stop(const std::string& run, const std::string& reason) {
  leave(run, {.outcome = "stopped", .reason = reason}, std::chrono::milliseconds(100));
}

void FakeWorld::send_tags(const std::string& run, const plan::Pairs& tags) {
  FakeRun* known = find(run);
  known->told.insert(known->told.end(), tags.begin(), tags.end());
}

std::vector<Event> FakeWorld::wait(std::optional<BootTime> deadline) {
  std::vector<Event> events;
  while (events.empty() && !due_.empty() && (!deadline || due_.begin()->first <= *deadline)) {
    const auto first = due_.begin();
    now_ = std::max(now_, first->first);
    const auto act = first->second;
    due_.erase(first);
    act(events);
  }
  if (events.empty() && deadline) now_ = std::max(now_, *deadline);
  if (events.empty() && !deadline) throw std::logic_error("it would sleep for ever");
  if (crash_after_ >= 0 && --crash_after_ < 0) throw Crash();
  return events;
}

void FakeWorld::outlive() {
  for (const std::string& id : gated_) {
    const Json word =
        Json::Object{{"outcome", "not-started"}, {"reason", std::string(kSchedulerGone)}};
    std::ignore = sys::replace_file(last_words_ / (id + ".json"), word.dump());
  }
  gated_.clear();
  crash_after_ = -1;
  std::vector<Event> nobody_hears;
  while (!due_.empty()) {
    const auto first = due_.begin();
    now_ = std::max(now_, first->first);
    const auto act = first->second;
    due_.erase(first);
    act(nobody_hears);
  }
  for (const FakeRun& run : runs_) {
    if (!run.started || !run.end) continue;
    const Json word = Json::Object{{"outcome", run.end->outcome}, {"reason", run.end->reason}};
    std::ignore = sys::replace_file(last_words_ / (run.id + ".json"), word.dump());
  }
}

}  // namespace corral::run::schedule
