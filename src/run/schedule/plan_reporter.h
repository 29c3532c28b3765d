// PlanReporter: sends the plan's document to the server. It has a thread of its own, so that a slow
// or unreachable server never holds the plan up. Only the newest document is sent.
#pragma once

#include <condition_variable>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "core/mutex.h"
#include "core/time.h"
#include "upload/server_link.h"

namespace corral::run::schedule {

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
