// PlanReport: the report on a plan that its scheduler sends to the server.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "core/time.h"
#include "plan/plan.h"
#include "run/schedule/book.h"
#include "run/schedule/choose.h"
#include "upload/server_link.h"

namespace corral::run::schedule {

struct RunEntry {
  std::string key;
  int line = 0;
  std::string experiment;
  std::string workload;
  int repetition = 1;
  std::string name;
  std::string letter;
  std::string collocation;
  std::string devices;
  std::string model;
  int turn = 0;  // workloads run in the order of their turns, from 1 on; 0: not chosen
  std::string state = "waiting";  // waiting, preparing, running or an outcome
  std::string run{};
  std::string reason{};
  std::vector<std::string> tail{};
};

// PlanDocument: a plan and the state of its runs, for the server and the page (docs/api.md). Pure.
class PlanDocument {
 public:
  PlanDocument(std::string file, std::string host)
      : file_(std::move(file)), host_(std::move(host)) {}

  // Replaces all runs after the file was read; `choices` give the reasons why some will not run.
  void fill(const std::vector<plan::Workload>& workloads, const Book& book,
            const std::vector<Choice>& choices);
  void update(const Member& member);
  void set_state(std::string state) { state_ = std::move(state); }
  void set_message(std::string message) { message_ = std::move(message); }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::vector<RunEntry>& runs() const { return runs_; }
  [[nodiscard]] std::string json(UtcTime now) const;

  struct Counts {
    int waiting = 0;  // includes interrupted runs, which start again by themselves
    int running = 0;
    int finished = 0;
    int failed = 0;
  };
  [[nodiscard]] Counts counts() const;

 private:
  std::string file_;
  std::string host_;
  std::string state_ = "running";
  std::string message_;
  std::vector<RunEntry> runs_;
  std::map<std::pair<std::string, int>, std::size_t> places_;
};

// "7 of 8 runs finished, 1 failed".
std::string end_words(const PlanDocument& document);

// PlanReporter: sends the plan's document to the server. It has a thread of its own, so that a slow
// or unreachable server never holds the plan up. Only the newest document is sent.
class PlanReporter {
 public:
  PlanReporter(upload::LinkOptions link, std::string plan_id);
  // Waits a little for the last document to arrive.
  ~PlanReporter();
  PlanReporter(const PlanReporter&) = delete;
  PlanReporter& operator=(const PlanReporter&) = delete;
  void submit(std::string document);
  // Base URL of the server, once it has answered.
  [[nodiscard]] std::string url();

 private:
  void loop(const std::stop_token& stop);
  bool send(const std::string& document);
  upload::ServerLink link_;
  std::string path_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<std::string> next_ GUARDED_BY(mutex_);
  std::string url_ GUARDED_BY(mutex_);
  bool busy_ GUARDED_BY(mutex_) = false;
  bool closing_ GUARDED_BY(mutex_) = false;  // pauses end
  std::jthread thread_;
};

}  // namespace corral::run::schedule
