#include "collect/dcgm/dcgm.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "sys/clock.h"

namespace corral::collect::dcgm {
namespace {

constexpr unsigned kConnectTimeoutMs = 3000;
constexpr std::string_view kUnixPrefix = "unix://";

// Unique among the host engine's clients: of this host, this process and this moment.
std::string unique_name() {
  static std::atomic<unsigned> count{0};
  return fmt::format("corral-{}-{}-{}", ::getpid(),
                     sys::system_clock().now().time_since_epoch().count(), ++count);
}

}  // namespace

Dcgm::Dcgm(const vendor::Library& library)
    : functions_{library},
      error_words_(reinterpret_cast<const char* (*)(Status)>(library.find({"errorString"}))) {}

Dcgm::~Dcgm() {
  if (connected_) functions_.disconnect(handle_);
  if (initialised_) functions_.shutdown();
}

Result<std::shared_ptr<const Dcgm>> Dcgm::connect(const Options& options) {
  const auto library = vendor::Library::open(options.library, {"libdcgm.so.4", "libdcgm.so.3"});
  if (!library) {
    return fail(Code::kUnsupported,
                "DCGM's library is not installed here: " + library.error().message);
  }
  const std::string address = options.address.empty() ? "localhost:5555" : options.address;
  std::shared_ptr<Dcgm> dcgm(new Dcgm(*library));
  const Status status = dcgm->open(address);
  if (status != Status::kOk) {
    return fail(Code::kUnavailable, "no host engine of DCGM answers at " + address + ": " +
                                        std::string(dcgm->words(status)));
  }
  return dcgm;
}

Status Dcgm::open(const std::string& address) {
  const Status started = functions_.init();
  if (started != Status::kOk) return started;
  initialised_ = true;
  const bool prefixed = address.starts_with(kUnixPrefix);
  ConnectOptions options{.version = kConnectVersion,
                         .keep_after_disconnect = 0,
                         .timeout_ms = kConnectTimeoutMs,
                         .address_is_unix_socket = prefixed || address.starts_with('/') ? 1U : 0U};
  const std::string target = prefixed ? address.substr(kUnixPrefix.size()) : address;
  const Status status = functions_.connect(target.c_str(), &options, &handle_);
  connected_ = status == Status::kOk;
  return status;
}

std::string_view Dcgm::words(Status status) const {
  if (status == Status::kFunctionNotFound) return "this version of the library lacks the function";
  const char* words = error_words_ != nullptr ? error_words_(status) : nullptr;
  return words != nullptr ? words : "unknown error of DCGM";
}

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
