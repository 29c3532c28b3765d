// GitTree: a git working tree that may belong to another user. Git never runs a program that the
// repository's own configuration names.
//
// Each call is one or two processes at idle priority, for at most a minute; kUnavailable if git
// fails or is missing. Lists are bounded (kTooLarge).
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::run::set_up {

class GitTree {
 public:
  // Opens the tree that contains `directory`.
  static Result<GitTree> open(const std::filesystem::path& directory);

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  // Returns 40 hex digits; empty before the first commit.
  [[nodiscard]] const std::string& commit() const { return commit_; }
  // True if the repository names programs that git pipes file contents through. Queries that read
  // the working tree are not possible then.
  [[nodiscard]] bool runs_filters() const { return runs_filters_; }
  [[nodiscard]] std::string branch() const;  // empty: none
  [[nodiscard]] std::string remote() const;  // origin's address without credentials; empty: none

  struct Tracked {
    std::string path;  // below root()
    bool submodule = false;
    bool unseen = false;  // git is told to ignore its changes
  };
  [[nodiscard]] Result<std::vector<Tracked>> tracked() const;
  // Returns paths that are neither tracked nor ignored. A repository inside of this one ends with a
  // slash.
  [[nodiscard]] Result<std::vector<std::string>> untracked() const;

  struct Changes {
    std::vector<std::string> changed, deleted;  // tracked ones against the commit
  };
  // Do not call it if runs_filters() is true, or without a commit.
  [[nodiscard]] Result<Changes> changes() const;
  [[nodiscard]] Result<bool> is_dirty() const;
  // Passes on the diff of tracked files against the commit, piece by piece, without the files
  // `excluded`; all paths are relative to root().
  Result<> diff(const std::vector<std::string>& excluded,
                const std::function<bool(std::string_view)>& take) const;

  // Returns those of `names`, paths from `folder`, that git ignores there, and those whose name it
  // would quote. Fails if git does not answer, e.g. outside of a repository.
  static Result<std::set<std::string>> ignored(const std::filesystem::path& folder,
                                               const std::vector<std::string>& names);

 private:
  std::filesystem::path root_;
  std::string commit_;
  bool runs_filters_ = true;
};

// Returns `address` without user and password (a user that ssh needs stays).
std::string without_login(std::string_view address);

}  // namespace corral::run::set_up
