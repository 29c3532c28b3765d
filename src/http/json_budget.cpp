#include "http/json_budget.h"

#include <fmt/core.h>

#include "core/json.h"

namespace corral::http {

Result<JsonBudget::Room> JsonBudget::acquire(std::string_view body, Nanos patience) {
  if (body.size() <= kFreeBytes) return Room();
  const std::size_t bytes = json_memory(body);
  if (bytes > total_) {
    return fail(Code::kTooLarge,
                fmt::format("the body has too many values: read as JSON it may take {} MiB of "
                            "memory, and the server has {} MiB for that; split it",
                            bytes >> 20, total_ >> 20));
  }
  Lock lock(mutex_);
  const auto own = waiting_.insert(waiting_.end(), bytes);
  const bool granted = changed_.wait_for(lock.native(), patience, [&]() REQUIRES(mutex_) {
    return own == waiting_.begin() && bytes <= total_ - used_;
  });
  waiting_.erase(own);
  if (granted) used_ += bytes;
  changed_.notify_all();
  if (granted) return Room(this, {bytes});
  return fail(Code::kUnavailable, "the server's memory for reading JSON is in use: retry later");
}

void JsonBudget::release(std::size_t bytes) {
  const Lock lock(mutex_);
  used_ -= bytes;
  changed_.notify_all();
}

}  // namespace corral::http
