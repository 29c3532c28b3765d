#include "collect/dcgm/entities.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "collect/dcgm/fields.h"
#include "collect/dcgm/watch.h"
#include "collect/nvidia/gpu_reader.h"
#include "collect/nvidia/nvml.h"

namespace corral::collect::dcgm {
namespace {

constexpr std::array<FieldId, 2> kIdentity = {kNvmlIndex, kUuid};

std::string text_of(const FieldValue& value) {
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
    if (value.field == kUuid) gpu->uuid = text_of(value);
    Blank blank = Blank::kNone;
    const double index = value.status == Status::kOk && value.field == kNvmlIndex
                             ? number_of(value, blank)
                             : std::nan("");
    if (index >= 0 && index < kMostGpus)
      gpu->source = nvidia::gpu_source(static_cast<unsigned>(index));
  }
  return found;
}

// MIG devices of a GPU instance, as NVML numbers them.
std::vector<std::string> sources_of(const MigEntity& instance,
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
    for (std::string& source : sources_of(instance, gpus)) {
      found.push_back({.entity = instance.entity, .source = std::move(source), .uuid = {}});
    }
  }
}

}  // namespace

std::vector<FoundEntity> find_entities(const Dcgm& dcgm, const ListenerContext& context,
                                       SeriesTable& table) {
  std::array<unsigned, kMostGpus> ids{};
  int count = 0;
  const Status status = dcgm.call().devices(dcgm.handle(), ids.data(), &count);
  if (status != Status::kOk || count <= 0) {
    table.unavailable("DCGM's fields", status == Status::kOk
                                           ? "the host engine of DCGM lists no device"
                                           : std::string(dcgm.words(status)));
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

}  // namespace corral::collect::dcgm
