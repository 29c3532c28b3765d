#include "run/schedule/plan_reporter.h"

#include <pthread.h>

#include <chrono>

#include "sys/thread_guard.h"

namespace corral::run::schedule {
namespace {

constexpr Nanos kStart{std::chrono::seconds(2)};  // longest time for starting a server
constexpr Nanos kAnswer{std::chrono::seconds(10)};
constexpr auto kPause = std::chrono::milliseconds(500);  // between two documents
constexpr auto kRetry = std::chrono::seconds(5);
constexpr auto kLast = std::chrono::seconds(15);  // for the last document, at the end

}  // namespace

PlanReporter::PlanReporter(upload::LinkOptions link, std::string plan_id)
    : link_(std::move(link)), path_("/api/corral/v1/plans/" + std::move(plan_id)) {
  auto thread = sys::start_thread("the reporter of the plan", [this](const std::stop_token& stop) {
    sys::guard_loop("the reporter of the plan", stop, [&] { loop(stop); });
  });
  if (thread) {
    thread_ = *std::move(thread);
  } else {
    sys::note_thread_failure("the reporter of the plan", thread.error().message);
  }
}

PlanReporter::~PlanReporter() {
  {
    Lock lock(mutex_);
    closing_ = true;
    wake_.notify_all();
    if (thread_.joinable())
      wake_.wait_for(lock, kLast, [this]() REQUIRES(mutex_) { return !next_ && !busy_; });
  }
  thread_.request_stop();
}

void PlanReporter::submit(std::string document) {
  {
    const Lock lock(mutex_);
    next_ = std::move(document);
  }
  wake_.notify_all();
}

std::string PlanReporter::url() {
  const Lock lock(mutex_);
  return url_;
}

bool PlanReporter::send(const std::string& document) {
  const auto server = link_.connect(kStart);
  if (!server || (*server)->http() == nullptr) return false;
  {
    const Lock lock(mutex_);
    url_ = link_.url();
  }
  const auto reply = (*server)->http()->send(
      {.method = "PUT", .path = path_, .body = document, .timeout = kAnswer});
  if (!reply) link_.drop();
  // True also for a rejected document, which is not sent again.
  return reply && reply->status < 500;
}

void PlanReporter::loop(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-plan");
  Lock lock(mutex_);
  busy_ = false;
  while (wake_.wait(lock, stop, [this]() REQUIRES(mutex_) { return next_.has_value(); })) {
    const std::string document = std::move(*next_);
    next_.reset();
    busy_ = true;
    lock.unlock();
    const bool sent = send(document);
    lock.lock();
    busy_ = false;
    if (!sent && !next_) next_ = document;
    wake_.notify_all();
    const auto closing = [this]() REQUIRES(mutex_) { return closing_; };
    if (sent) {
      wake_.wait_for(lock, stop, kPause, closing);
    } else if (closing_) {
      // A pause before the next try: a server that rejects answers at once.
      wake_.wait_for(lock, stop, kPause, [] { return false; });
    } else {
      wake_.wait_for(lock, stop, kRetry, closing);
    }
    if (stop.stop_requested()) return;
  }
}

}  // namespace corral::run::schedule
