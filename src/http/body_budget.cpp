#include "http/body_budget.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "http/server.h"
#include "sys/thread_guard.h"

namespace corral::http {

BodyRoom::~BodyRoom() {
  BodyBudget::Line gone;
  BodyBudget::Line served;
  {
    const Lock lock(budget_.mutex_);
    BodyBudget::Line& line = budget_.waiting_;
    for (auto at = line.begin(); at != line.end();) {
      const auto next = std::next(at);
      if (at->room == this) gone.splice(gone.end(), line, at);
      at = next;
    }
    budget_.set(*this, 0);
    if (budget_.favoured_ == this) budget_.favoured_ = nullptr;
    budget_.serve(served);
  }
  BodyBudget::tell(served);
}

bool BodyRoom::resize(std::size_t bytes, std::function<void()> granted) {
  BodyBudget::Line served;
  bytes -= std::min(bytes, BodyBudget::kFreeBytes);
  {
    const Lock lock(budget_.mutex_);
    // Bodies that already wait go first.
    const bool first = budget_.waiting_.empty() || budget_.favoured_ == this;
    if (bytes > held_ && !(first && budget_.grant(*this, bytes))) {
      if (granted)
        budget_.waiting_.push_back({.room = this, .bytes = bytes, .granted = std::move(granted)});
      return false;
    }
    budget_.set(*this, bytes);
    budget_.serve(served);
  }
  BodyBudget::tell(served);
  return true;
}

BodyBudget::BodyBudget(std::size_t total, std::size_t one_body, std::shared_ptr<Traffic> traffic)
    : shared_(total - one_body), one_body_(one_body), traffic_(std::move(traffic)) {}

// The others never go beyond shared_, so the room of the favoured one is always there.
bool BodyBudget::grant(BodyRoom& room, std::size_t bytes) {
  const bool fits = used_ + (bytes - room.held_) <= shared_;
  if (!fits && ((favoured_ != nullptr && favoured_ != &room) || bytes > one_body_)) return false;
  if (!fits) favoured_ = &room;
  set(room, bytes);
  return true;
}

void BodyBudget::set(BodyRoom& room, std::size_t bytes) {
  const std::size_t before = std::exchange(room.held_, bytes);
  used_ += bytes - before;
  // `traffic_` sums this and other budgets.
  const std::uint64_t all = traffic_->body_bytes += bytes - before;
  std::uint64_t most = traffic_->most_body_bytes;
  while (most < all && !traffic_->most_body_bytes.compare_exchange_weak(most, all)) {
  }
}

void BodyBudget::serve(Line& served) {
  while (!waiting_.empty() && grant(*waiting_.front().room, waiting_.front().bytes))
    served.splice(served.end(), waiting_, waiting_.begin());
}

// A connection that cannot be notified runs into its own deadline.
void BodyBudget::tell(const Line& served) {
  for (const Waiting& waiting : served) sys::guard_call("a request body", waiting.granted);
}

}  // namespace corral::http
