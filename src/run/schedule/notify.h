// Notifier: sends failures and a plan's end to a command or a web address. It has a thread of its
// own; its errors never fail or delay the plan.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "core/result.h"
#include "core/time.h"
#include "run/schedule/book.h"
#include "run/schedule/plan_report.h"
#include "run/schedule/row_order.h"

namespace corral::run::schedule {

// "http://…" or "https://…" takes the text as the body of a POST; everything else is a command for
// /bin/sh, which takes it as standard input. Ends after `limit`.
Result<> send_notice(const std::string& target, const std::string& text, Nanos limit);

class Notifier {
 public:
  // `say` is called from the notifier's thread.
  Notifier(std::string target, std::function<void(const std::string&)> say);
  // Waits for pending notices, each up to its time limit.
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;
  void send(std::string text);

 private:
  void loop(const std::stop_token& stop);
  std::string target_;
  std::function<void(const std::string&)> say_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::string> waiting_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

// The plan that a text for --notify is about. The text is JSON, with a readable line in `text`.
// Pure.
struct PlanNotice {
  const PlanFacts& plan;
  std::string url;  // URL of the server; empty: not known
  const PlanDocument& document;
};
// {"event": "failed", "plan", "file", "workload", "runs": [{"name", "run", "outcome", "reason",
// "tail"}], "url", "text"}
std::string failure_notice(const PlanNotice& notice, const plan::Workload& workload,
                           const std::vector<Member>& members);
// {"event": "end", "plan", "file", "finished", "failed", "waiting", "message", "url", "text"}
std::string end_notice(const PlanNotice& notice);

}  // namespace corral::run::schedule
