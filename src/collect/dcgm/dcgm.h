// Dcgm: the client library of NVIDIA's data centre GPU manager, and a connection to a host engine
// that already runs.
//
// Nothing is started, configured or reset, and objects that another client made are not touched;
// the host engine removes this connection's objects when it ends, however it ends. Calls are round
// trips to the host engine and may block. One thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "collect/dcgm/dcgm_types.h"
#include "collect/vendor/library.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::collect::dcgm {

template <class... Arguments>
using Function = vendor::Function<Status, Status::kFunctionNotFound, Arguments...>;

struct DcgmFunctions {
  vendor::Library library;
  Function<> init{library, {"dcgmInit"}};
  Function<> shutdown{library, {"dcgmShutdown"}};
  Function<const char*, ConnectOptions*, Handle*> connect{library, {"dcgmConnect_v2"}};
  Function<Handle> disconnect{library, {"dcgmDisconnect"}};
  // room for kMostGpus
  Function<Handle, unsigned*, int*> devices{library, {"dcgmGetAllSupportedDevices"}};
  Function<Handle, MigHierarchy*> mig_hierarchy{library, {"dcgmGetGpuInstanceHierarchy"}};
  Function<Handle, int, const char*, GroupId*> group_create{library, {"dcgmGroupCreate"}};
  Function<Handle, GroupId, EntityGroup, unsigned> group_add{library, {"dcgmGroupAddEntity"}};
  Function<Handle, GroupId> group_destroy{library, {"dcgmGroupDestroy"}};
  Function<Handle, int, const FieldId*, const char*, FieldGroupId*> field_group_create{
      library, {"dcgmFieldGroupCreate"}};
  Function<Handle, FieldGroupId> field_group_destroy{library, {"dcgmFieldGroupDestroy"}};
  // Period in us, longest age of values in s, most values (0: any number).
  Function<Handle, GroupId, FieldGroupId, long long, double, int> watch{library,
                                                                        {"dcgmWatchFields"}};
  Function<Handle, GroupId, FieldGroupId> unwatch{library, {"dcgmUnwatchFields"}};
  // 1: waits for the update
  Function<Handle, int> update_all{library, {"dcgmUpdateAllFields"}};
  // Entities and their number, fields and theirs, flags, room for a value of each.
  Function<Handle, const Entity*, unsigned, const FieldId*, unsigned, unsigned, FieldValue*> latest{
      library, {"dcgmEntitiesGetLatestValues"}};
};

class Dcgm {
 public:
  struct Options {
    std::string library;  // empty: the system's
    std::string address;  // HOST[:PORT], or the path of a Unix socket; empty: localhost:5555
  };
  // kUnsupported: no library; kUnavailable: no host engine there.
  static Result<std::shared_ptr<const Dcgm>> connect(const Options& options);
  ~Dcgm();
  Dcgm(const Dcgm&) = delete;
  Dcgm& operator=(const Dcgm&) = delete;

  [[nodiscard]] const DcgmFunctions& call() const { return functions_; }
  [[nodiscard]] Handle handle() const { return handle_; }
  // The library's words for a status; lives as long as this.
  [[nodiscard]] std::string_view words(Status status) const;

 private:
  explicit Dcgm(const vendor::Library& library);
  Status open(const std::string& address);

  DcgmFunctions functions_;
  const char* (*error_words_)(Status) = nullptr;
  Handle handle_ = 0;
  bool initialised_ = false;
  bool connected_ = false;
};

// Watch: fields of some entities that the host engine keeps reading for us, as long as this lives.
//
// It has a group and a field group of its own, with unique names, and removes just those.
class Watch {
 public:
  struct Request {
    std::span<const Entity> entities;
    std::span<const FieldId> fields;
    Nanos interval;
  };
  // Returns null with the status of the rejected call.
  static std::unique_ptr<Watch> open(const Dcgm& dcgm, const Request& request, Status& status);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Status set_interval(Nanos interval);

 private:
  explicit Watch(const Dcgm& dcgm) : dcgm_(&dcgm) {}
  Status create(const Request& request);

  const Dcgm* dcgm_;
  GroupId group_ = 0;
  FieldGroupId field_group_ = 0;
  bool has_group_ = false;
  bool has_field_group_ = false;
  bool watching_ = false;
};

}  // namespace corral::collect::dcgm
