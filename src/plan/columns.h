// Columns: the fields of a plan, one table for all headers and for the keys of a sweep.
//
//   radT's paper  Experiment, Workload, Status, Run, Devices, Collocation, Environment, Model,
//   Data,
//                 Listeners, Params
//   its talk      Experiment, Workload, Status, Run, Devices, Collocation, File, Listeners, Params
//   radT 0.2.30   Experiment, Workload, Name, Status, Run, Devices, Collocation, Listeners, File,
//                 Params
//
// Corral's own stand beside them. Found by name in any order, upper and lower case alike.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/csv.h"
#include "plan/plan.h"

namespace corral::plan {

enum class Field : std::size_t {
  kExperiment,
  kWorkload,
  kName,
  kStatus,
  kRun,
  kDevices,
  kCollocation,
  kEnvironment,
  kModel,
  kFile,
  kData,
  kListeners,
  kParams,
  kCpus,
  kMemory,
  kLimits,
  kClocks,
  kPower,
  kCache,
  kRepeat,
  kBaseline,
  kTags,
  kEnv,
  kAfter,
  kEnd,
  kLoop,
};
inline constexpr std::size_t kFields = static_cast<std::size_t>(Field::kLoop) + 1;

struct Column {
  Field field;
  std::string_view name;
};
// In the order of Field.
inline constexpr std::array<Column, kFields> kColumns = {{
    {Field::kExperiment, "Experiment"},
    {Field::kWorkload, "Workload"},
    {Field::kName, "Name"},
    {Field::kStatus, "Status"},
    {Field::kRun, "Run"},
    {Field::kDevices, "Devices"},
    {Field::kCollocation, "Collocation"},
    {Field::kEnvironment, "Environment"},
    {Field::kModel, "Model"},
    {Field::kFile, "File"},
    {Field::kData, "Data"},
    {Field::kListeners, "Listeners"},
    {Field::kParams, "Params"},
    {Field::kCpus, "Cpus"},
    {Field::kMemory, "Memory"},
    {Field::kLimits, "Limits"},
    {Field::kClocks, "Clocks"},
    {Field::kPower, "Power"},
    {Field::kCache, "Cache"},
    {Field::kRepeat, "Repeat"},
    {Field::kBaseline, "Baseline"},
    {Field::kTags, "Tags"},
    {Field::kEnv, "Env"},
    {Field::kAfter, "After"},
    {Field::kEnd, "End"},
    {Field::kLoop, "Loop"},
}};

std::string_view name_of(Field field);
std::optional<Field> field_of(std::string_view name);
// Returns the column that was probably meant, or "" if none is similar.
std::string nearest_column(std::string_view name);

// The field of each cell of a record.
struct Header {
  std::array<std::optional<std::size_t>, kFields> cell_of;
  std::size_t width = 0;  // columns up to the last one with a name
  // The problem that says that a cell was probably meant to be this field.
  std::array<std::optional<std::size_t>, kFields> misspelt;
  [[nodiscard]] std::optional<std::size_t> at(Field field) const {
    return cell_of[static_cast<std::size_t>(field)];
  }
};
// Appends its problems.
Header read_header(std::string_view text, const CsvRecord& record, std::vector<Problem>& problems);

}  // namespace corral::plan
