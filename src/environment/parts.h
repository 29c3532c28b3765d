// Parts that the kinds of environment share; private to this folder.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "environment/environment.h"

namespace corral::environment {

Result<Prepared> prepare_venv(const Spec& spec, const PrepareOptions& options);
Result<Prepared> prepare_requirements(const Spec& spec, const PrepareOptions& options);
Result<Prepared> prepare_conda(const Spec& spec, const PrepareOptions& options);
Result<Prepared> prepare_container(const Spec& spec, const PrepareOptions& options);
Result<Prepared> prepare_mlproject(const Spec& spec, const PrepareOptions& options);

// Parts of check().
Result<> check_conda(const Spec& spec, const PrepareOptions& options);
Result<> check_container(const Spec& spec, const PrepareOptions& options);

// Returns the first value of an option, else the fallback; options_of() returns all values.
std::string option_of(const Spec& spec, std::string_view name, std::string_view fallback = "");
std::vector<std::string> options_of(const Spec& spec, std::string_view name);

// Resolves `name` against the plan's folder; expands "~/" and removes "." and "..".
fs::path resolved(std::string_view name, const PrepareOptions& options);

// Returns the first 32 hex digits of the SHA-256.
std::string content_hash(std::string_view text);
// Returns all 64.
std::string sha256_hex(std::string_view text);

void note(Prepared& prepared, std::string_view key, std::string value);

}  // namespace corral::environment
