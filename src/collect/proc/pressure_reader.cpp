#include "collect/proc/pressure_reader.h"

#include <utility>

#include "collect/proc/parse.h"

namespace corral::collect::proc {

void PressureReader::add(const File& file, SeriesTable& table) {
  auto opened = open_or_report(file.path, file.metric + ".*", table);
  if (!opened) return;
  Resource& resource = resources_.emplace_back(Resource{.file = *std::move(opened)});
  const Pressure now = parse_pressure(resource.file.read());
  if (now.has_some) resource.some = table.add(file.metric + ".some", file.source);
  if (now.has_full && file.has_full) resource.full = table.add(file.metric + ".full", file.source);
}

void PressureReader::sample(Row& row) {
  constexpr double kMicro = 1e-6;
  for (Resource& resource : resources_) {
    const Pressure now = parse_pressure(resource.file.read());
    if (now.has_some) row.set(resource.some, static_cast<double>(now.some_us) * kMicro);
    if (now.has_full) row.set(resource.full, static_cast<double>(now.full_us) * kMicro);
  }
}

}  // namespace corral::collect::proc
