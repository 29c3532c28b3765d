#include "cli/git_checkout.h"

#include <fmt/core.h>

#include "cli/kept_code.h"
#include "core/text.h"
#include "environment/tool.h"

namespace corral::cli {
namespace {

class Git {
 public:
  Git(const GitCheckout& wish, const environment::PrepareOptions& options)
      : wish_(wish), options_(options) {}

  Result<> run(const std::vector<std::string>& words) const {
    const std::string tree = wish_.directory.string();
    environment::Tool tool{
        .argv = {"git", "--git-dir=" + tree + "/.git", "--work-tree=" + tree, "-c",
                 "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c",
                 "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false", "-c",
                 "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false"},
        .environment = {"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh",
                        "GIT_INDEX_FILE=" + tree + "/.git/index"},
        .directory = wish_.directory};
    tool.argv.insert(tool.argv.end(), words.begin(), words.end());
    TRY(environment::run_checked(tool, options_));
    return {};
  }

  // The commit alone where the server gives it, else all branches and tags.
  Result<> fetch(const std::string& source) const {
    TRY(check_repository(source));
    const std::vector<std::string> common{"fetch", "--quiet", "--no-recurse-submodules"};
    std::vector<std::string> one = common, all = common;
    for (const std::string& word : {std::string("--depth=1"), std::string("--no-tags"),
                                    std::string("--"), source, wish_.commit})
      one.push_back(word);
    if (run(one)) return {};
    for (const std::string& word :
         {std::string("--"), source, std::string("+refs/heads/*:refs/remotes/origin/*"),
          std::string("+refs/tags/*:refs/tags/*")})
      all.push_back(word);
    TRY(run(all));
    if (run({"cat-file", "-e", wish_.commit + "^{commit}"})) return {};
    return fail(Code::kNotFound, "does not have commit " + wish_.commit);
  }

 private:
  const GitCheckout& wish_;
  const environment::PrepareOptions& options_;
};

}  // namespace

Result<std::string> check_out(const GitCheckout& wish, const environment::PrepareOptions& options) {
  const Git git(wish, options);
  TRY(git.run({"init", "--quiet", "--template="}));
  std::string reasons;
  for (const std::string& source : wish.sources) {
    const auto fetched = git.fetch(source);
    if (environment::is_cancelled(options)) return fail(Code::kUnavailable, "interrupted");
    if (!fetched) {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ",
                             printable(environment::without_credentials(source)),
                             printable(fetched.error().message));
      continue;
    }
    TRY(git.run({"checkout", "--quiet", "--detach", wish.commit}));
    if (check_repository(wish.origin)) TRY(git.run({"remote", "add", "origin", wish.origin}));
    return source;
  }
  return fail(Code::kNotFound,
              fmt::format("commit {} is in no repository that is known here ({}); name one with "
                          "--repository",
                          wish.commit, reasons.empty() ? "none was recorded" : reasons));
}

}  // namespace corral::cli
