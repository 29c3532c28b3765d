#include "collect/dcgm/dcgm.h"

namespace corral::collect::dcgm {
namespace {

constexpr unsigned kConnectTimeoutMs = 3000;
constexpr std::string_view kUnixPrefix = "unix://";

}  // namespace

Dcgm::Dcgm(const vendor::Library& library) {
  DcgmFunctions& f = functions_;
  error_words_ = reinterpret_cast<const char* (*)(Status)>(library.find({"errorString"}));
  f.init.bind(library.find({"dcgmInit"}));
  f.shutdown.bind(library.find({"dcgmShutdown"}));
  f.connect.bind(library.find({"dcgmConnect_v2"}));
  f.disconnect.bind(library.find({"dcgmDisconnect"}));
  f.devices.bind(library.find({"dcgmGetAllSupportedDevices"}));
  f.mig_hierarchy.bind(library.find({"dcgmGetGpuInstanceHierarchy"}));
  f.group_create.bind(library.find({"dcgmGroupCreate"}));
  f.group_add.bind(library.find({"dcgmGroupAddEntity"}));
  f.group_destroy.bind(library.find({"dcgmGroupDestroy"}));
  f.field_group_create.bind(library.find({"dcgmFieldGroupCreate"}));
  f.field_group_destroy.bind(library.find({"dcgmFieldGroupDestroy"}));
  f.watch.bind(library.find({"dcgmWatchFields"}));
  f.unwatch.bind(library.find({"dcgmUnwatchFields"}));
  f.update_all.bind(library.find({"dcgmUpdateAllFields"}));
  f.latest.bind(library.find({"dcgmEntitiesGetLatestValues"}));
}

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

}  // namespace corral::collect::dcgm
