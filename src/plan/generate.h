// A specification of a matrix -> a plan file (docs/plan-generate.md).
//
// Each experiment is a product: its axes x what runs together x how many x how they share. A block
// holds each cell once; `order: random` shuffles the cells of each block. Pure: the same
// specification and seed give the same bytes everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace corral::plan {

// A plan is read again at every workload's start.
inline constexpr std::size_t kMaxGeneratedRows = 100'000;

struct GenerateOptions {
  std::string name;                   // name of the specification, for the comment
  std::optional<std::uint64_t> seed;  // stronger than the specification's; asks for random order
  std::uint64_t drawn = 0;            // the seed where neither gives one
};

struct Generated {
  std::string csv;
  std::size_t runs = 0, workloads = 0;
  std::optional<std::uint64_t> seed;  // seed of the order; none: as written
  std::vector<Problem> problems;      // problems of the specification; then there is no csv
};

Generated generate(std::string_view yaml, const GenerateOptions& options);

}  // namespace corral::plan
