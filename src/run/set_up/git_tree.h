// A git working tree that may be somebody else's: nothing is asked of git that makes it run a
// program which the repository's own configuration names.
//
// Each call is one or two processes at idle priority, for at most a minute; kUnavailable when
// git fails or is not there. Lists are bounded (kTooLarge).
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
  // The tree that `directory` lies in.
  static Result<GitTree> open(const std::filesystem::path& directory);

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  // 40 hex digits; empty before the first commit.
  [[nodiscard]] const std::string& commit() const { return commit_; }
  // The repository names programs that git pipes file contents through: what reads the working tree
  // cannot be asked.
  [[nodiscard]] bool runs_filters() const { return runs_filters_; }
  [[nodiscard]] std::string branch() const;  // empty: none
  [[nodiscard]] std::string remote() const;  // origin's address without credentials; empty: none

  struct Tracked {
    std::string path;  // below root()
    bool submodule = false;
    bool unseen = false;  // git is told not to look whether it has changed
  };
  [[nodiscard]] Result<std::vector<Tracked>> tracked() const;
  // Neither tracked nor ignored. A repository inside of this one ends with a slash.
  [[nodiscard]] Result<std::vector<std::string>> untracked() const;

  struct Changes {
    std::vector<std::string> changed, deleted;  // tracked ones against the commit
  };
  // Not with runs_filters() nor without a commit.
  [[nodiscard]] Result<Changes> changes() const;
  [[nodiscard]] Result<bool> is_dirty() const;
  // The diff of tracked files against the commit, without the files `excluded`, piece by piece; all
  // from root().
  Result<> diff(const std::vector<std::string>& excluded,
                const std::function<bool(std::string_view)>& take) const;

  // Those of `names`, paths from `folder`, that git ignores there, and those whose name it would
  // quote. Fails where git does not answer, as outside of a repository.
  static Result<std::set<std::string>> ignored(const std::filesystem::path& folder,
                                               const std::vector<std::string>& names);

 private:
  std::filesystem::path root_;
  std::string commit_;
  bool runs_filters_ = true;
};

// `address` without a user and password (a user that ssh needs stays).
std::string without_login(std::string_view address);

}  // namespace corral::run::set_up
