#include "collect/dcgm/dcgm_listener.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collect/dcgm/reader.h"
#include "collect/nvidia/gpu_reader.h"
#include "collect/nvidia/nvidia_listener.h"
#include "collect/nvidia/nvml.h"

namespace corral::collect {
namespace dcgm {
namespace {

constexpr Nanos kShortest = std::chrono::milliseconds(100);  // shorter ones are no windows
constexpr Nanos kSlow = std::chrono::seconds(1);
constexpr int kTicks = 5;  // until the run's pace is known

// ---- The GPUs and GPU instances that a host engine knows, with the names that they have
// elsewhere.
//
// A GPU is called after NVML's index ("gpu0"), an instance after the MIG devices that belong to it
// ("gpu0.mig1"): the same source as that of listener "nvidia".
struct FoundEntity {
  Entity entity;
  std::string source;
  std::string uuid;  // the GPU's
};

constexpr std::array<FieldId, 2> kIdentity = {kNvmlIndex, kUuid};

std::string read_text(const FieldValue& value) {
  const auto* end = std::ranges::find(value.content, '\0');
  std::string text(value.content.begin(), end);
  return value.type == 's' && value.status == Status::kOk && !text.starts_with("<<<")
             ? text
             : std::string();
}

// Index and UUID of each GPU; without them from the host engine, it keeps DCGM's own number.
std::vector<FoundEntity> identify(const Dcgm& dcgm, std::span<const unsigned> ids) {
  std::vector<Entity> entities;
  entities.reserve(ids.size());
  for (const unsigned id : ids) entities.push_back({.group = EntityGroup::kGpu, .id = id});
  std::vector<FoundEntity> found;
  found.reserve(ids.size());
  for (const Entity& entity : entities) {
    found.push_back(
        {.entity = entity, .source = nvidia::gpu_source(entity.id), .uuid = std::string()});
  }
  Status status = Status::kOk;
  const auto watch = Watch::open(
      dcgm, {.entities = entities, .fields = kIdentity, .interval = std::chrono::hours(1)}, status);
  if (watch == nullptr) return found;
  dcgm.call().update_all(dcgm.handle(), 1);
  std::vector<FieldValue> values(entities.size() * kIdentity.size());
  for (FieldValue& value : values) value.version = kFieldValueVersion;
  status = dcgm.call().latest(dcgm.handle(), entities.data(),
                              static_cast<unsigned>(entities.size()), kIdentity.data(),
                              static_cast<unsigned>(kIdentity.size()), 0, values.data());
  if (status != Status::kOk) return found;
  for (const FieldValue& value : values) {
    const auto gpu = std::ranges::find(found, value.entity, &FoundEntity::entity);
    if (gpu == found.end()) continue;
    if (value.field == kUuid) gpu->uuid = read_text(value);
    Blank blank = Blank::kNone;
    const double index = value.status == Status::kOk && value.field == kNvmlIndex
                             ? read_number(value, blank)
                             : std::nan("");
    if (index >= 0 && index < kMostGpus)
      gpu->source = nvidia::gpu_source(static_cast<unsigned>(index));
  }
  return found;
}

// MIG devices of a GPU instance, as NVML numbers them.
std::vector<std::string> find_sources(const MigEntity& instance,
                                      const std::vector<nvidia::FoundGpu>& gpus) {
  std::vector<std::string> sources;
  for (const nvidia::FoundGpu& gpu : gpus) {
    if (gpu.index != instance.gpu_index) continue;
    for (const auto& device : gpu.instances) {
      if (device.gpu_instance == instance.gpu_instance) {
        sources.push_back(nvidia::gpu_source(gpu.index) + ".mig" + std::to_string(device.index));
      }
    }
  }
  return sources;
}

void add_instances(const Dcgm& dcgm, const std::vector<nvidia::FoundGpu>& gpus,
                   std::vector<FoundEntity>& found) {
  const auto hierarchy = std::make_unique<MigHierarchy>();
  hierarchy->version = kMigHierarchyVersion;
  if (dcgm.call().mig_hierarchy(dcgm.handle(), hierarchy.get()) != Status::kOk) return;
  const std::size_t count = std::min<std::size_t>(hierarchy->count, hierarchy->entities.size());
  for (std::size_t i = 0; i < count; ++i) {
    const MigEntity& instance = hierarchy->entities[i];
    if (instance.entity.group != EntityGroup::kGpuInstance) continue;
    for (std::string& source : find_sources(instance, gpus)) {
      found.push_back({.entity = instance.entity, .source = std::move(source), .uuid = {}});
    }
  }
}

// Those that the context requests; unreachable ones are reported to the table.
std::vector<FoundEntity> find_entities(const Dcgm& dcgm, const ListenerContext& context,
                                       SeriesTable& table) {
  std::array<unsigned, kMostGpus> ids{};
  int count = 0;
  const Status status = dcgm.call().devices(dcgm.handle(), ids.data(), &count);
  if (status != Status::kOk || count <= 0) {
    table.unavailable("DCGM's fields", status == Status::kOk
                                           ? "the host engine of DCGM lists no device"
                                           : dcgm.words(status));
    return {};
  }
  std::vector<FoundEntity> found =
      identify(dcgm, std::span(ids).first(std::min(static_cast<unsigned>(count), kMostGpus)));
  const auto nvml = nvidia::Nvml::open(context.library_path);
  std::vector<nvidia::FoundGpu> gpus;
  SeriesTable unreachable;  // reported by listener "nvidia"
  if (nvml) gpus = nvidia::find_gpus(**nvml, context.device_uuids, unreachable);
  std::erase_if(found, [&](const FoundEntity& gpu) {
    const auto& wanted = context.device_uuids;
    const bool by_driver = std::ranges::any_of(gpus, [&](const nvidia::FoundGpu& other) {
      return nvidia::gpu_source(other.index) == gpu.source;
    });
    return !wanted.empty() && !by_driver && std::ranges::find(wanted, gpu.uuid) == wanted.end();
  });
  add_instances(dcgm, gpus, found);
  return found;
}

// ---- the fields to request
using SeriesNames = std::set<std::pair<std::string_view, std::string>>;

// The series that listener "nvidia" would record here.
SeriesNames driver_series(ListenerContext context, sys::Clock& clock) {
  context.news = nullptr;
  SeriesTable table;
  const auto listener = nvidia::open_listener(context, table, nvidia::clocks_on(clock));
  SeriesNames names;
  for (const collect::Group group : {kFastGroup, kSlowGroup}) {
    for (const SeriesInfo& series : table.series(group))
      names.emplace(series.metric->name, series.source);
  }
  return names;
}

// Nothing smaller would be taken either.
bool refuses_all(Status status) {
  return status == Status::kRequiresRoot || status == Status::kNoPermission ||
         status == Status::kModuleNotLoaded || status == Status::kConnectionNotValid ||
         status == Status::kFunctionNotFound || status == Status::kTimeout;
}

// Fields to request from the entities that lack the same fields.
struct Request {
  std::vector<const FoundEntity*> found;
  std::vector<Field> fields;
};

std::vector<Request> make_requests(std::span<const FoundEntity> entities, EntityGroup group,
                                   std::span<const Field> fields, const SeriesNames& known) {
  std::vector<Request> all;
  for (const FoundEntity& entity : entities) {
    if (entity.entity.group != group) continue;
    std::vector<Field> wanted;
    for (const Field& field : fields) {
      if (!known.contains({field.metric, entity.source})) wanted.push_back(field);
    }
    if (wanted.empty()) continue;
    const auto same = std::ranges::find_if(all, [&](const Request& request) {
      return std::ranges::equal(request.fields, wanted, {}, &Field::id, &Field::id);
    });
    if (same != all.end()) {
      same->found.push_back(&entity);
    } else {
      all.push_back({.found = {&entity}, .fields = std::move(wanted)});
    }
  }
  return all;
}

// The fields of one pace: their watch, and their reads.
class Part {
 public:
  Part(const Dcgm& dcgm, std::shared_ptr<News> news, Nanos interval)
      : dcgm_(&dcgm), interval_(interval), reader_(dcgm, std::move(news)) {}

  void open(const Request& request, SeriesTable& table) {
    Status status = Status::kOk;
    if (auto all = watch(request, status); all != nullptr) return add(request, std::move(all));
    for (const FoundEntity* one : request.found) {
      if (!refuses_all(status)) {
        open_one_by_one(*one, request.fields, table);
        continue;
      }
      table.unavailable(std::string(request.fields.front().metric) + " and the like", one->source,
                        "DCGM: " + std::string(dcgm_->words(status)));
    }
  }

  void prepare(SeriesTable& table) { reader_.prepare(table); }
  [[nodiscard]] bool empty() const { return reader_.empty(); }
  void sample(Row& row) { reader_.sample(row); }
  void set_interval(Nanos interval) {
    for (const auto& watch : watches_) watch->set_interval(interval);
  }

 private:
  std::unique_ptr<Watch> watch(const Request& request, Status& status) const {
    std::vector<Entity> entities;
    for (const FoundEntity* one : request.found) {
      // MIG devices may share a GPU instance.
      if (std::ranges::find(entities, one->entity) == entities.end())
        entities.push_back(one->entity);
    }
    std::vector<FieldId> fields;
    std::ranges::transform(request.fields, std::back_inserter(fields), &Field::id);
    return Watch::open(*dcgm_, {.entities = entities, .fields = fields, .interval = interval_},
                       status);
  }

  void add(const Request& request, std::unique_ptr<Watch> watch) {
    watches_.push_back(std::move(watch));
    for (const FoundEntity* one : request.found) {
      for (const Field& field : request.fields)
        reader_.add({.entity = one->entity, .field = field, .source = one->source});
    }
  }

  // One field or device that is not supported makes the host engine refuse the whole list.
  void open_one_by_one(const FoundEntity& entity, std::span<const Field> fields,
                       SeriesTable& table) {
    Request taken{.found = {&entity}, .fields = {}};
    Status status = Status::kOk;
    for (const Field& field : fields) {
      if (watch({.found = {&entity}, .fields = {field}}, status) != nullptr) {
        taken.fields.push_back(field);
      } else {
        table.unavailable(field.metric, entity.source,
                          "DCGM: " + std::string(dcgm_->words(status)));
      }
    }
    if (taken.fields.empty()) return;
    if (auto all = watch(taken, status); all != nullptr) return add(taken, std::move(all));
    // Each alone but not together: the device has not room for all at once.
    table.unavailable("DCGM's fields", entity.source, dcgm_->words(status));
  }

  const Dcgm* dcgm_;
  Nanos interval_;
  std::vector<std::unique_ptr<Watch>> watches_;
  Reader reader_;
};

class DcgmListener final : public Listener {
 public:
  DcgmListener(std::shared_ptr<const Dcgm> dcgm, const ListenerContext& context, sys::Clock& clock)
      : dcgm_(std::move(dcgm)),
        clock_(&clock),
        fast_(*dcgm_, context.news, kShortest),
        slow_(*dcgm_, context.news, kSlow) {}

  void open(std::span<const FoundEntity> entities, const SeriesNames& known, SeriesTable& table) {
    const auto open_fields = [&](Part& part, EntityGroup group, std::span<const Field> fields) {
      for (const Request& request : make_requests(entities, group, fields, known))
        part.open(request, table);
    };
    open_fields(fast_, EntityGroup::kGpu, profiling_fields());
    open_fields(fast_, EntityGroup::kGpuInstance, instance_fields());
    open_fields(fast_, EntityGroup::kGpu, device_fields());
    open_fields(slow_, EntityGroup::kGpu, slow_device_fields());
    dcgm_->call().update_all(dcgm_->handle(), 1);
    fast_.prepare(table);
    slow_.prepare(table);
  }

  [[nodiscard]] bool empty() const { return fast_.empty() && slow_.empty(); }

  void sample_fast(Row& row) override {
    const BootTime now = clock_->now();
    if (last_read_ != BootTime{} && now - last_read_ < kShortest / 2) return;
    if (last_read_ != BootTime{}) keep_pace(now - last_read_);
    last_read_ = now;
    fast_.sample(row);
  }
  void sample_slow(Row& row) override { slow_.sample(row); }

 private:
  // The host engine renews its values as often as they are read. One tick may come late: the
  // shortest of several is the run's.
  void keep_pace(Nanos tick) {
    if (ticks_ == kTicks) return;
    shortest_tick_ = std::min(shortest_tick_, tick);
    if (++ticks_ < kTicks) return;
    const Nanos whole = (shortest_tick_ + kShortest / 2) / kShortest * kShortest;
    if (whole > kShortest) fast_.set_interval(whole);
  }

  std::shared_ptr<const Dcgm> dcgm_;  // first: outlives the watches
  sys::Clock* clock_;
  Part fast_;
  Part slow_;
  BootTime last_read_{};
  Nanos shortest_tick_ = Nanos::max();
  int ticks_ = 0;
};

}  // namespace

std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
                                        const Dcgm::Options& options, sys::Clock& clock) {
  auto dcgm = Dcgm::connect(options);
  if (!dcgm) {
    table.unavailable("DCGM's fields",
                      dcgm.error().message + "; metrics of NVML and GPM are recorded without it");
    return nullptr;
  }
  const auto entities = find_entities(**dcgm, context, table);
  if (entities.empty()) return nullptr;
  const std::size_t reported = table.missing().size();
  auto listener = std::make_unique<DcgmListener>(std::move(*dcgm), context, clock);
  listener->open(entities, driver_series(context, clock), table);
  if (!listener->empty()) return listener;
  if (table.missing().size() == reported) {
    table.unavailable("DCGM's fields",
                      "the driver's own library (NVML, GPM) provides all of them "
                      "here: the host engine is not used");
  }
  return nullptr;
}

}  // namespace dcgm

std::unique_ptr<Listener> open_dcgm_listener(const ListenerContext& context, SeriesTable& table) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  return dcgm::open_listener(
      context, table,
      {.library = variable("CORRAL_DCGM_LIBRARY"), .address = variable("CORRAL_DCGM_ADDRESS")},
      sys::system_clock());
}

}  // namespace corral::collect
