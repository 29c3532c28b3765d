// Conda environments as they lie on disk; pure but for reading the environment's own files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "environment/environment.h"

namespace corral::environment {

// "numpy-1.26.4-py311h64a7726_0.json" of conda-meta -> "numpy==1.26.4=py311h64a7726_0"; empty for
// other files.
std::string conda_package(std::string_view file);

// `conda env list --json` -> the directory of the environment called `name`; "base" is the first.
// kNotFound names the nearest one.
Result<fs::path> conda_prefix(std::string_view listing, const std::string& name);

// Variables of `conda env config vars set`: conda-meta/state -> "NAME=value".
std::vector<std::string> conda_variables(std::string_view state);

// Returns the differences between two outputs of `env -0`, as "NAME=value"; variables of the
// shell's own are left out.
std::vector<std::string> changed_variables(std::string_view before, std::string_view after);

Result<Prepared> prepare_conda(const Spec& spec, const PrepareOptions& options);
// Part of environment::check().
Result<> check_conda(const Spec& spec, const PrepareOptions& options);

}  // namespace corral::environment
