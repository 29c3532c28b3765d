// A commit of a repository, checked out into a new directory. Git runs without hooks, templates,
// submodules and questions, and reads only repositories that check_repository() accepts. Blocks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "environment/environment.h"

namespace corral::cli {

struct GitCheckout {
  std::string commit{};                // hex digits
  std::vector<std::string> sources{};  // addresses or paths, the first that has the commit is taken
  std::filesystem::path directory{};   // empty; becomes the working tree
  std::string origin{};                // address to be noted in the new repository; empty: none
};

// The source that had the commit; kNotFound when none had, with the reason of each.
Result<std::string> check_out(const GitCheckout& wish, const environment::PrepareOptions& options);

}  // namespace corral::cli
