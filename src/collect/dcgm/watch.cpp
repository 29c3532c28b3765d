#include "collect/dcgm/watch.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "sys/clock.h"

namespace corral::collect::dcgm {
namespace {

// Unique among the host engine's clients: of this host, this process and this moment.
std::string unique_name() {
  static std::atomic<unsigned> count{0};
  return fmt::format("corral-{}-{}-{}", ::getpid(),
                     sys::system_clock().now().time_since_epoch().count(), ++count);
}

}  // namespace

std::unique_ptr<Watch> Watch::open(const Dcgm& dcgm, const Request& request, Status& status) {
  std::unique_ptr<Watch> watch(new Watch(dcgm));
  status = watch->create(request);
  return status == Status::kOk ? std::move(watch) : nullptr;
}

Status Watch::create(const Request& request) {
  const DcgmFunctions& call = dcgm_->call();
  // Nothing is created that could not be removed again.
  if (!call.group_destroy.there() || !call.field_group_destroy.there() || !call.unwatch.there())
    return Status::kFunctionNotFound;
  const std::string name = unique_name();
  Status status = call.group_create(dcgm_->handle(), kEmptyGroup, name.c_str(), &group_);
  if (status != Status::kOk) return status;
  has_group_ = true;
  for (const Entity& entity : request.entities) {
    status = call.group_add(dcgm_->handle(), group_, entity.group, entity.id);
    if (status != Status::kOk) return status;
  }
  status = call.field_group_create(dcgm_->handle(), static_cast<int>(request.fields.size()),
                                   request.fields.data(), name.c_str(), &field_group_);
  if (status != Status::kOk) return status;
  has_field_group_ = true;
  return set_interval(request.interval);
}

Status Watch::set_interval(Nanos interval) {
  // Only the latest value is read; a second one is kept for a reader that comes late.
  constexpr int kKeptValues = 2;
  const Status status =
      dcgm_->call().watch(dcgm_->handle(), group_, field_group_,
                          std::chrono::duration_cast<std::chrono::microseconds>(interval).count(),
                          std::max(10.0, 3 * seconds(interval)), kKeptValues);
  if (status == Status::kOk) watching_ = true;
  return status;
}

Watch::~Watch() {
  const DcgmFunctions& call = dcgm_->call();
  if (watching_) call.unwatch(dcgm_->handle(), group_, field_group_);
  if (has_field_group_) call.field_group_destroy(dcgm_->handle(), field_group_);
  if (has_group_) call.group_destroy(dcgm_->handle(), group_);
}

}  // namespace corral::collect::dcgm
