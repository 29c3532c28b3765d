// The belongings of series, for groups: owners, physical things, and whether the owners repeat
// one another.
//
// Runs repeat one another if their experiment, host, command and parameters are equal (the latter
// two without random seeds), and if the same holds for the runs of their workloads that shared the
// hardware with them. Runs that ran at the same time in one workload do not repeat one another,
// because they disturbed each other. Workloads repeat one another if their runs do. Reads the runs'
// facts; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

struct Belonging {
  std::string owner;  // id of the run or workload
  std::string thing;  // host, metric and source
};

struct Ownership {
  std::vector<Belonging> series;  // as the infos
  bool repetitions = false;
};

// Compares repetitions only with `of_repetitions`; less is read without it.
Result<Ownership> find_ownership(const store::Reader& store, std::span<const store::Series> infos,
                                 bool of_repetitions);

// Everything of a run that a repetition has in common with it, as one text; seeds (`--seed 7`,
// `--data-seed=7`, a parameter `seed` or `torch_seed`) are not part of it.
std::string run_conditions(const store::Run& run);
// A parameter that is a random seed: "seed", "torch_seed", "data-seed".
bool names_seed(std::string_view name);
// A command, a JSON array of words, without the options that are random seeds and their values.
std::string without_seeds(const std::string& command);

}  // namespace corral::analyze
