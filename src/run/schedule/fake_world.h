// FakeWorld: a machine on which a scheduler runs its plan without processes and without waiting.
//
// A run's command is a script for the fake: "finish 5", "fail 3", "oom 3", "limit 3" (a limit of
// its row ends it), "refuse" (cannot start), "die" (its supervisor is killed before it is ready),
// "late" (never ready), "vanish 3 10" (its supervisor is killed after 3 s, the command ends after
// 10), "tell 5" (reports its progress, and finishes),
// "forsake 3 10" (as "vanish", but it cannot be adopted). Runs outlive a scheduler that crashes, as
// supervisors do.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run/schedule/launcher.h"
#include "run/schedule/machine.h"
#include "run/schedule/recovery.h"

namespace corral::run::schedule {

struct Crash {};  // thrown where a scheduler is killed

struct FakeRun {
  std::string id, name, workload;
  std::vector<std::string> command;
  plan::Pairs tags;
  plan::Pairs told;
  bool started = false;
  bool adopted = false;
  BootTime started_at;
  std::optional<End> end;
};

class FakeWorld : public Launcher {
 public:
  explicit FakeWorld(std::filesystem::path last_words) : last_words_(std::move(last_words)) {}

  Result<> launch(const Order& order) override;
  void release() override;
  void abandon() override;
  Result<> follow(const std::string& run, const sys::ProcessIdentity&) override;
  void signal(const std::string& run, int) override;
  void stop(const std::string& run, const std::string& reason) override;
  void send_tags(const std::string& run, const plan::Pairs& tags) override;
  std::vector<Event> wait(std::optional<BootTime> deadline) override;
  BootTime now() override { return now_; }

  // Schedules an act of the user or of another program.
  void at(Nanos when, std::function<void(std::vector<Event>&)> act);
  void press_ctrl_c(Nanos when);
  // Kills the scheduler after this number of events. Runs that have started go on to their end and
  // leave their last words; the others give up.
  void crash_after(int events) { crash_after_ = events; }
  void outlive();

  [[nodiscard]] const std::vector<FakeRun>& runs() const { return runs_; }
  [[nodiscard]] int starts_of(const std::string& name) const;

 private:
  FakeRun* find(const std::string& id);
  void plan_end(FakeRun& run);
  void put(Nanos delay, Event event);
  void leave(const std::string& run, const End& end, Nanos delay);
  std::filesystem::path last_words_;
  BootTime now_{std::chrono::hours(1)};
  std::multimap<BootTime, std::function<void(std::vector<Event>&)>> due_;
  std::vector<FakeRun> runs_;
  std::vector<std::string> gated_;
  int crash_after_ = -1;
};

class FakeMachine : public Machine {
 public:
  Result<std::vector<std::string>> changes(const plan::Workload& workload) override {
    return std::vector<std::string>{"group for " + workload.name};
  }
  Result<std::vector<collocate::Seat>> set(const plan::Workload& workload) override {
    if (workload.name == refused) return fail(Code::kUnprocessable, reason);
    if (taken-- > 0) return fail(Code::kUnavailable, "GPU 0 is taken by other.csv");
    ++sets;
    return std::vector<collocate::Seat>(workload.rows.size());
  }
  Result<> clear() override {
    ++clears;
    return {};
  }
  std::string refused;
  std::string reason = "GPU 0 is too small";
  int taken = 0;  // number of attempts for which another scheduler has a device
  int sets = 0;
  int clears = 0;
};

}  // namespace corral::run::schedule
