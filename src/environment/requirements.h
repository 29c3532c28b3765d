// Requirement files of pip and uv: their content, and the reasons of failed installations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "environment/environment.h"

namespace corral::environment {

// Everything that a requirements file stands for, as a text to be hashed: its own content, that of
// the files it includes (-r, -c), size and time of the local archives and projects that it names.
Result<std::string> requirements_content(const fs::path& file);

// Returns the package that a tool's error output names ("numpy==9.9"), or "". For pip, uv, conda,
// mamba and micromamba.
std::string blamed_package(std::string_view output);

// "PACKAGE cannot be installed: …" or, when none is named, the tool's last lines.
std::string blame(std::string_view output);

Result<Prepared> prepare_requirements(const Spec& spec, const PrepareOptions& options);
// Part of environment::check().
Result<> check_requirements(const Spec& spec, const PrepareOptions& options);

}  // namespace corral::environment
