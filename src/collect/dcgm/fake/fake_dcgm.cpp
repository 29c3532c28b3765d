// A libdcgm.so.4 for tests, with the host engine in it: answers from a timeline file, and is as
// strict as the real ones about version words, unknown groups, names that are taken and fields that
// nobody watches. Never installed.
//
// Keys: engine.address, engine.gone; gpus; gpuN.index|uuid; gpuN.FIELD and giN.FIELD (a number, or
// "blank:CODE", or "status:CODE"); gis; giN.gpu|instance; refuse.FIELD and gpuN.refuse (the status
// of a watch with it); call.FUNCTION.status.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "collect/dcgm/dcgm_types.h"
#include "collect/dcgm/fake/control.h"
#include "collect/nvidia/fake/timeline.h"

namespace corral::collect::dcgm::fake {
namespace {

using nvidia::fake::Timeline;
using nvidia::fake::Value;

constexpr Handle kHandle = 0x1234;
constexpr std::uintptr_t kForeign = 7;

struct Watched {
  double since = 0;
  double interval = 0;
  bool updated = false;
};

struct Engine {
  Timeline timeline;
  double now = 0;
  int users = 0;
  bool connected = false;
  std::uintptr_t next = kForeign + 1;
  std::map<std::uintptr_t, std::pair<std::string, std::vector<Entity>>> groups;
  std::map<std::uintptr_t, std::pair<std::string, std::vector<FieldId>>> field_groups;
  std::map<std::pair<std::uintptr_t, std::uintptr_t>, Watched> watches;
  std::map<std::string, unsigned long> calls;
  long interval_us = 0;
};

Engine& engine() {
  static Engine one;
  return one;
}

const Value* find(const std::string& key) { return engine().timeline.find(key, engine().now); }
int number(const std::string& key, int otherwise) {
  const Value* value = find(key);
  return value != nullptr ? static_cast<int>(value->number) : otherwise;
}

Status enter(const char* function) {
  ++engine().calls[function];
  return static_cast<Status>(number("call." + std::string(function) + ".status", 0));
}
// Entry of calls that need the connection.
Status enter(const char* function, Handle handle) {
  const Status status = enter(function);
  if (status != Status::kOk) return status;
  if (number("engine.gone", 0) != 0 || !engine().connected || handle != kHandle)
    return Status::kConnectionNotValid;
  return Status::kOk;
}

std::string name_of(const Entity& entity) {
  return (entity.group == EntityGroup::kGpu ? "gpu" : "gi") + std::to_string(entity.id);
}

const Watched* watch_of(const Entity& entity, FieldId field) {
  const Watched* found = nullptr;
  for (const auto& [key, watched] : engine().watches) {
    const auto& entities = engine().groups.at(key.first).second;
    const auto& fields = engine().field_groups.at(key.second).second;
    const bool holds = std::find(entities.begin(), entities.end(), entity) != entities.end() &&
                       std::find(fields.begin(), fields.end(), field) != fields.end();
    if (holds && (found == nullptr || watched.interval < found->interval)) found = &watched;
  }
  return found;
}

bool is_text(FieldId field) { return field == 54; }
bool is_real(FieldId field) {
  return field == 155 || field == 157 || (field >= 1001 && field <= 1008) ||
         (field >= 1013 && field <= 1016);
}

template <class T>
void put(FieldValue& out, char type, T content) {
  out.type = static_cast<unsigned short>(type);
  std::memcpy(out.content.data(), &content, sizeof content);
}

void put_number(FieldValue& out, const Value& value) {
  const double number = value.at(engine().now);
  if (is_real(out.field)) {
    put(out, 'd', number);
  } else {
    put(out, 'i', static_cast<std::int64_t>(number));
  }
}

void put_blank(FieldValue& out, int code) {
  if (is_real(out.field)) {
    put(out, 'd', kRealBlank + code);
  } else {
    put(out, 'i', kIntegerBlank + code);
  }
}

void fill(FieldValue& out) {
  out.unused = 0;
  out.time_us = 0;
  out.status = Status::kNotWatched;
  const Watched* watched = watch_of(out.entity, out.field);
  if (watched == nullptr) return;
  const double age = engine().now - watched->since;
  const double rounds = std::floor(age / watched->interval + 1e-6);
  out.status = Status::kNoData;
  if (rounds < 1 && !watched->updated) return;
  out.status = Status::kOk;
  out.time_us = static_cast<std::int64_t>((watched->since + rounds * watched->interval) * 1e6) + 1;
  const std::string key = name_of(out.entity) + ".";
  const Value* value = find(key + (out.field == 52   ? "index"
                                   : out.field == 54 ? "uuid"
                                                     : std::to_string(out.field)));
  if (value == nullptr) {
    put_blank(out, 2);
  } else if (is_text(out.field)) {
    out.type = 's';
    std::strncpy(out.content.data(), value->text.c_str(), out.content.size() - 1);
  } else if (value->text.starts_with("blank:")) {
    put_blank(out, std::atoi(value->text.c_str() + 6));
  } else if (value->text.starts_with("status:")) {
    out.status = static_cast<Status>(std::atoi(value->text.c_str() + 7));
  } else {
    put_number(out, *value);
  }
}

template <class Map>
bool taken(const Map& map, const std::string& name) {
  for (const auto& [id, one] : map) {
    if (one.first == name) return true;
  }
  return false;
}

Status refusal(GroupId group, FieldGroupId fields) {
  for (const FieldId field : engine().field_groups.at(fields).second) {
    if (const int status = number("refuse." + std::to_string(field), 0); status != 0)
      return static_cast<Status>(status);
  }
  for (const Entity& entity : engine().groups.at(group).second) {
    if (const int status = number(name_of(entity) + ".refuse", 0); status != 0)
      return static_cast<Status>(status);
  }
  return Status::kOk;
}

}  // namespace
}  // namespace corral::collect::dcgm::fake

using namespace corral::collect::dcgm;        // NOLINT
using namespace corral::collect::dcgm::fake;  // NOLINT

extern "C" {

void corral_fake_dcgm_begin(const char* timeline_path) {
  engine() = Engine{};
  if (!engine().timeline.load(timeline_path)) std::abort();
  engine().groups[kForeign] = {"another's", {}};
  engine().field_groups[kForeign] = {"another's", {}};
}
void corral_fake_dcgm_set_time(double seconds) { engine().now = seconds; }
unsigned long corral_fake_dcgm_calls(const char* function) { return engine().calls[function]; }
long corral_fake_dcgm_state(const char* what) {
  const std::string_view word = what;
  if (word == "groups") return static_cast<long>(engine().groups.size());
  if (word == "field_groups") return static_cast<long>(engine().field_groups.size());
  if (word == "watches") return static_cast<long>(engine().watches.size());
  if (word == "connections") return engine().connected ? 1 : 0;
  if (word == "interval_us") return engine().interval_us;
  return engine().groups.contains(kForeign) && engine().field_groups.contains(kForeign) ? 2 : 0;
}

const char* errorString(Status status) {
  switch (status) {
    case Status::kOk:
      return "Success";
    case Status::kConnectionNotValid:
      return "Host engine connection invalid/disconnected";
    case Status::kGpuIsLost:
      return "GPU is lost";
    case Status::kRequiresRoot:
      return "This request requires root";
    case Status::kProfilingNotSupported:
      return "Profiling is not supported for this group";
    case Status::kVersionMismatch:
      return "API version mismatch";
    case Status::kNotSupported:
      return "This request is not supported";
    default:
      return nullptr;
  }
}

Status dcgmInit() {
  ++engine().users;
  return enter("dcgmInit");
}
Status dcgmShutdown() {
  --engine().users;
  return enter("dcgmShutdown");
}

Status dcgmConnect_v2(const char* address, ConnectOptions* options, Handle* handle) {
  if (const Status status = enter("dcgmConnect_v2"); status != Status::kOk) return status;
  if (engine().users == 0) return static_cast<Status>(-10);
  if (options->version != 0x02000010) return Status::kVersionMismatch;
  const Value* mine = find("engine.address");
  const std::string here = mine != nullptr ? mine->text : "localhost:5555";
  const bool unix_socket = here.starts_with('/');
  if (here != address || (options->address_is_unix_socket != 0) != unix_socket ||
      number("engine.gone", 0) != 0)
    return Status::kConnectionNotValid;
  engine().connected = true;
  *handle = kHandle;
  return Status::kOk;
}
Status dcgmDisconnect(Handle handle) {
  const Status status = enter("dcgmDisconnect", handle);
  engine().connected = false;
  return status;
}

Status dcgmGetAllSupportedDevices(Handle handle, unsigned* ids, int* count) {
  if (const Status s = enter("dcgmGetAllSupportedDevices", handle); s != Status::kOk) return s;
  *count = number("gpus", 0);
  for (int i = 0; i < *count; ++i) ids[i] = static_cast<unsigned>(i);
  return Status::kOk;
}

Status dcgmGetGpuInstanceHierarchy(Handle handle, MigHierarchy* out) {
  if (const Status s = enter("dcgmGetGpuInstanceHierarchy", handle); s != Status::kOk) return s;
  if (out->version != (2U << 24 | (8 + 448 * 164))) return Status::kVersionMismatch;
  out->count = static_cast<unsigned>(number("gis", 0));
  for (unsigned i = 0; i < out->count; ++i) {
    const std::string name = "gi" + std::to_string(i);
    const auto gpu = static_cast<unsigned>(number(name + ".gpu", 0));
    out->entities[i] = {.entity = {.group = EntityGroup::kGpuInstance, .id = i},
                        .parent = {.group = EntityGroup::kGpu, .id = gpu},
                        .gpu_uuid = {},
                        .gpu_index = gpu,
                        .gpu_instance = static_cast<unsigned>(number(name + ".instance", 0)),
                        .compute_instance = ~0U,
                        .profile = 0,
                        .slices = 1};
  }
  return Status::kOk;
}

Status dcgmGroupCreate(Handle handle, int type, const char* name, GroupId* group) {
  if (const Status s = enter("dcgmGroupCreate", handle); s != Status::kOk) return s;
  if (type != kEmptyGroup || taken(engine().groups, name)) return Status::kBadParameter;
  *group = engine().next++;
  engine().groups[*group].first = name;
  return Status::kOk;
}
Status dcgmGroupAddEntity(Handle handle, GroupId group, EntityGroup kind, unsigned id) {
  if (const Status s = enter("dcgmGroupAddEntity", handle); s != Status::kOk) return s;
  if (group == kForeign || !engine().groups.contains(group)) return Status::kNotConfigured;
  auto& entities = engine().groups[group].second;
  const Entity entity{.group = kind, .id = id};
  if (std::find(entities.begin(), entities.end(), entity) != entities.end())
    return Status::kBadParameter;
  entities.push_back(entity);
  return Status::kOk;
}
Status dcgmGroupDestroy(Handle handle, GroupId group) {
  if (const Status s = enter("dcgmGroupDestroy", handle); s != Status::kOk) return s;
  return engine().groups.erase(group) == 1 ? Status::kOk : Status::kNotConfigured;
}
Status dcgmFieldGroupCreate(Handle handle, int count, const FieldId* fields, const char* name,
                            FieldGroupId* group) {
  if (const Status s = enter("dcgmFieldGroupCreate", handle); s != Status::kOk) return s;
  if (count < 1 || count > 128 || taken(engine().field_groups, name)) return Status::kBadParameter;
  *group = engine().next++;
  engine().field_groups[*group] = {name, {fields, fields + count}};
  return Status::kOk;
}
Status dcgmFieldGroupDestroy(Handle handle, FieldGroupId group) {
  if (const Status s = enter("dcgmFieldGroupDestroy", handle); s != Status::kOk) return s;
  return engine().field_groups.erase(group) == 1 ? Status::kOk : Status::kBadParameter;
}

Status dcgmWatchFields(Handle handle, GroupId group, FieldGroupId fields, long long interval_us,
                       double keep_age, int keep_samples) {
  if (const Status s = enter("dcgmWatchFields", handle); s != Status::kOk) return s;
  if (!engine().groups.contains(group) || !engine().field_groups.contains(fields) ||
      interval_us < 100'000 || keep_age <= 0 || keep_samples < 0)
    return Status::kBadParameter;
  if (const Status refused = refusal(group, fields); refused != Status::kOk) return refused;
  Watched& watched = engine().watches[{group, fields}];
  watched.since = engine().now;
  watched.interval = static_cast<double>(interval_us) * 1e-6;
  engine().interval_us = interval_us;
  return Status::kOk;
}
Status dcgmUnwatchFields(Handle handle, GroupId group, FieldGroupId fields) {
  if (const Status s = enter("dcgmUnwatchFields", handle); s != Status::kOk) return s;
  return engine().watches.erase({group, fields}) == 1 ? Status::kOk : Status::kBadParameter;
}
Status dcgmUpdateAllFields(Handle handle, int) {
  if (const Status s = enter("dcgmUpdateAllFields", handle); s != Status::kOk) return s;
  for (auto& [key, watched] : engine().watches) watched.updated = true;
  return Status::kOk;
}

Status dcgmEntitiesGetLatestValues(Handle handle, const Entity* entities, unsigned entity_count,
                                   const FieldId* fields, unsigned field_count, unsigned flags,
                                   FieldValue* values) {
  if (const Status s = enter("dcgmEntitiesGetLatestValues", handle); s != Status::kOk) return s;
  if (entity_count > 64 || field_count > 128 || flags != 0) return Status::kBadParameter;
  for (unsigned i = 0; i < entity_count; ++i) {
    for (unsigned f = 0; f < field_count; ++f) {
      FieldValue& out = values[i * field_count + f];
      if (out.version != 0x02001020) return Status::kVersionMismatch;
      out.entity = entities[i];
      out.field = fields[f];
      fill(out);
    }
  }
  return Status::kOk;
}
}
