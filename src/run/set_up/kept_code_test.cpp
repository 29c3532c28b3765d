#include "run/set_up/kept_code.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "core/text.h"
#include "run/set_up/set_up.h"
#include "spool/outbox.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPython = "/usr/bin/python3";

// A project and a spool for one test.
class Project {
 public:
  Project()
      : home_(fs::canonical(fs::temp_directory_path()) / ("code." + RunId::random().hex())),
        spool_(sys::PrivateDirectory::make(home_ / "spool").value()) {
    fs::create_directories(path());
  }
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;
  ~Project() { fs::remove_all(home_); }

  [[nodiscard]] fs::path path() const { return home_ / "project"; }
  Project& put(const fs::path& name, const std::string& text) {
    fs::create_directories((path() / name).parent_path());
    std::ofstream(path() / name) << text;
    return *this;
  }
  void git(std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@t"});
    int code = 0;
    ASSERT_TRUE(
        sys::capture_output({.argv = std::move(words), .directory = path(), .idle = false}, &code));
    ASSERT_EQ(code, 0);
  }
  void commit() {
    git({"init", "-q", "-b", "main"});
    git({"add", "."});
    git({"commit", "-q", "-m", "first"});
  }
  [[nodiscard]] CodeSubject subject(std::vector<std::string> words) const {
    return {.words = std::move(words),
            .interpreter = kPython,
            .directory = path(),
            .limit = 1 << 20,
            .started_ns = sys::utc_now().time_since_epoch().count() + 1'000'000'000};
  }
  KeptCode keep(CodeSubject subject) {
    KeptCode code(std::move(subject), spool_, RunId::random());
    code.keep();
    code.list();
    return code;
  }
  // Artifacts by their path; the last one of a path counts.
  [[nodiscard]] std::map<std::string, std::string> kept() const {
    std::map<std::string, std::string> found;
    for (const auto& artifact : spool::waiting_artifacts(spool_)) {
      const auto file = spool::open_artifact(spool_, artifact).value();
      found[artifact.path] = sys::read_all(file, artifact.path, 1u << 24).value();
    }
    return found;
  }
  [[nodiscard]] Json list() const { return Json::parse(kept().at("corral/code.json")).value(); }

 private:
  fs::path home_;
  sys::PrivateDirectory spool_;
};

// Returns for each path the value of `key`.
std::map<std::string, std::string> said(const Json& list, std::string_view part,
                                        std::string_view key) {
  std::map<std::string, std::string> found;
  for (const Json& entry : *list.find(part)->as_array())
    found[entry.get_string("path")] = entry.get_string(key);
  return found;
}

std::string hash_of(const KeptCode& code) {
  const auto facts = code.facts();
  EXPECT_EQ(facts.front().kind, codec::FactKind::kInfo) << facts.front().value;
  return facts.front().value;
}

using Said = std::map<std::string, std::string>;

TEST(KeptCode, OutsideOfGitTheScriptAndWhatItImports) {
  Project project;
  project.put("train.py", "import helper, os\nfrom pkg.deep import thing\n")
      .put("helper.py", "def f():\n    import late\n")
      .put("late.py", "")
      .put("pkg/__init__.py", "from . import inner\n")
      .put("pkg/inner.py", "")
      .put("pkg/deep/thing.py",
           "from .. import inner\nimport importlib\n"
           "importlib.import_module('named')\n")
      .put("named.py", "")
      .put("unused.py", "");
  const KeptCode code = project.keep(project.subject({"train.py"}));
  const Said expected{{"train.py", "script"},     {"helper.py", "import"},
                      {"late.py", "import"},      {"pkg/__init__.py", "import"},
                      {"pkg/inner.py", "import"}, {"pkg/deep/thing.py", "import"},
                      {"named.py", "import"}};
  EXPECT_EQ(said(project.list(), "files", "why"), expected);
  EXPECT_EQ(project.kept().at("corral/code/helper.py"), "def f():\n    import late\n");
  EXPECT_TRUE(project.list().find("git")->is_null());
  EXPECT_EQ(project.list().get_string("root"), project.path().string());
  EXPECT_EQ(Json::parse(hash_of(code)).value().as_string()->size(), 16u);
  EXPECT_EQ(code.notice(), "");
}

TEST(KeptCode, OneLineMoreIsAnotherHashInAndOutsideOfGit) {
  for (const bool in_git : {false, true}) {
    Project project;
    project.put("old.py", "");
    if (in_git) project.commit();
    project.put("new.py", "lr = 1\n");
    const std::string first = hash_of(project.keep(project.subject({"new.py"})));
    EXPECT_EQ(hash_of(project.keep(project.subject({"new.py"}))), first);
    project.put("new.py", "lr = 1\nlr = 2\n");
    EXPECT_NE(hash_of(project.keep(project.subject({"new.py"}))), first);
    EXPECT_EQ(project.kept().at("corral/code/new.py"), "lr = 1\nlr = 2\n");
  }
}

TEST(KeptCode, OfARepositoryWhatDiffersFirstAndTheRestIfItFits) {
  Project project;
  project.put("train.py", "import ignored\n")
      .put("same.py", "same\n")
      .put("edited.py", "1\n")
      .put("gone.py", "")
      .put(".gitignore", "ignored.py\n");
  project.commit();
  project.git({"remote", "add", "origin", "https://me:secret@example.org/a.git"});
  fs::remove(project.path() / "gone.py");
  project.put("edited.py", "2\n").put("ignored.py", "x = 1\n").put("notes.txt", "n\n");
  const std::string first = hash_of(project.keep(project.subject({"train.py"})));
  const Said expected{{"train.py", "script"},
                      {"same.py", "tracked"},
                      {".gitignore", "tracked"},
                      {"edited.py", "changed"},
                      {"notes.txt", "untracked"}};
  const Json list = project.list();
  EXPECT_EQ(said(list, "files", "why"), expected);
  const auto kept = project.kept();
  for (const Json& file : *list.find("files")->as_array()) {
    const bool together = file.get_string("why") == "tracked";
    const std::int64_t at = file.get_int("at", -1);
    EXPECT_EQ(at >= 0, together);
    EXPECT_EQ(kept.contains("corral/code/" + file.get_string("path")), !together);
    if (together && file.get_string("path") == "same.py") {
      EXPECT_EQ(kept.at("corral/together").substr(static_cast<std::size_t>(at), 5), "same\n");
    }
  }
  EXPECT_EQ(said(list, "left_out", "reason"), (Said{{"ignored.py", "git ignores it"}}));
  EXPECT_EQ(list.find("left_out")->as_array()->front().get_string("sha256").size(), 64u);
  EXPECT_EQ(list.find("git")->get_string("remote"), "https://example.org/a.git");
  EXPECT_EQ(list.find("git")->get_string("branch"), "main");
  EXPECT_EQ(*list.find("git")->find("deleted")->as_array()->front().as_string(), "gone.py");
  EXPECT_FALSE(*list.find("whole")->as_bool());  // the script does not run without ignored.py
  project.put("ignored.py", "x = 2\n");
  EXPECT_NE(hash_of(project.keep(project.subject({"train.py"}))), first);
}

TEST(KeptCode, WhatLooksLikeASecretIsLeftOut) {
  Project project;
  const std::string key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n";
  project.put("train.py", "import settings\n")
      .put("settings.py", "password = 'correct-horse'\n")
      .put(".env", "A=1\n")
      .put("deploy.pem", "x\n")
      .put("key.txt", key)
      .put("token.txt", "t ghp_0123456789abcdefghijklmnopqrstuvwxyz\n")
      .put("fine.py", "token = tokenizer\npassword = args.password\n");
  project.git({"init", "-q"});
  const std::string first = hash_of(project.keep(project.subject({"train.py"})));
  const Said expected{{"settings.py", "holds a password or token in quotes; --no-mask keeps it"},
                      {".env", "looks like credentials"},
                      {"deploy.pem", "looks like credentials"},
                      {"key.txt", "holds a private key"},
                      {"token.txt", "holds a token"}};
  EXPECT_EQ(said(project.list(), "left_out", "reason"), expected);
  EXPECT_TRUE(project.kept().contains("corral/code/fine.py"));
  for (const auto& [path, text] : project.kept()) {
    EXPECT_EQ(text.find("correct-horse"), std::string::npos) << path;
    EXPECT_EQ(text.find("PRIVATE KEY"), std::string::npos) << path;
  }
  // The file is still part of the executed code.
  project.put("settings.py", "password = 'battery-staple'\n");
  EXPECT_NE(hash_of(project.keep(project.subject({"train.py"}))), first);
  auto unmasked = project.subject({"train.py"});
  unmasked.mask = false;
  project.keep(std::move(unmasked));
  EXPECT_TRUE(project.kept().contains("corral/code/settings.py"));
  EXPECT_FALSE(project.kept().contains("corral/code/key.txt"));
}

TEST(KeptCode, LinksPipesAndOtherRepositoriesAreNotRead) {
  Project project;
  project.put("train.py", "import helper, shadow\n").put("inner/x.py", "");
  project.git({"init", "-q"});
  project.git({"-C", "inner", "init", "-q"});
  fs::create_symlink("/etc/shadow", project.path() / "shadow.py");
  ASSERT_EQ(::mkfifo((project.path() / "helper.py").c_str(), 0600), 0);
  project.keep(project.subject({"train.py"}));
  const Json list = project.list();
  EXPECT_EQ(said(list, "files", "link").at("shadow.py"), "/etc/shadow");
  EXPECT_FALSE(project.kept().contains("corral/code/shadow.py"));
  const Said left = said(list, "left_out", "reason");
  EXPECT_EQ(left.at("inner"), "another git repository");
  EXPECT_EQ(left.count("helper.py"), 0u);  // git does not list pipes
  EXPECT_EQ(said(list, "files", "why").count("helper.py"), 0u);
}

TEST(KeptCode, TheLimitHoldsInTheOrderOfWhatMatters) {
  Project project;
  project.put("train.py", "import helper\n" + std::string(100, '#'))
      .put("helper.py", std::string(900, '#'))
      .put("small.txt", "s\n");
  project.git({"init", "-q"});
  auto subject = project.subject({"train.py"});
  subject.limit = 500;
  const KeptCode code = project.keep(subject);
  EXPECT_EQ(said(project.list(), "files", "why"),
            (Said{{"train.py", "script"}, {"small.txt", "untracked"}}));
  EXPECT_NE(code.notice().find("over the limit of 500 B (--keep-code): helper.py"),
            std::string::npos)
      << code.notice();
  const std::string first = hash_of(code);
  project.put("helper.py", std::string(900, ' '));
  EXPECT_NE(hash_of(project.keep(subject)), first);
}

TEST(KeptCode, WithoutALimitOnlyTheHashIsMade) {
  Project project;
  project.put("train.py", "").put("empty.txt", "");
  project.git({"init", "-q"});
  auto subject = project.subject({"train.py"});
  const std::string kept = hash_of(project.keep(subject));
  Project other;
  other.put("train.py", "").put("empty.txt", "");
  other.git({"init", "-q"});
  subject = other.subject({"train.py"});
  subject.limit = 0;
  const KeptCode code = other.keep(subject);
  EXPECT_EQ(hash_of(code), kept);
  EXPECT_TRUE(other.kept().empty());
  EXPECT_EQ(code.notice(), "");
}

TEST(KeptCode, WhatChangedAfterTheStartIsSaid) {
  Project project;
  project.put("train.py", "import helper\n").put("helper.py", "");
  auto subject = project.subject({"train.py"});
  subject.started_ns = 1;
  const KeptCode code = project.keep(subject);
  EXPECT_EQ(code.notice(), "code: changed after the command had started: train.py, helper.py");
  const Json list = project.list();
  EXPECT_TRUE(*list.find("files")->as_array()->front().find("changed_meanwhile")->as_bool());
}

TEST(KeptCode, ModulesThatOnlyTheCommandKnows) {
  Project project;
  project.put("train.py", "__import__('pl' + 'ugin')\n")
      .put("plugin.py", "x\n")
      .put("untracked.py", "y\n");
  KeptCode code = project.keep(project.subject({"train.py"}));
  const std::string first = hash_of(code);
  EXPECT_FALSE(code.add({project.path() / "train.py", "/usr/lib/python3/x.py", "relative.py"}));
  EXPECT_TRUE(code.add({project.path() / "plugin.py"}));
  code.list();
  EXPECT_NE(hash_of(code), first);
  EXPECT_EQ(said(project.list(), "files", "why").at("plugin.py"), "import");
  EXPECT_TRUE(project.kept().contains("corral/code/plugin.py"));
}

TEST(KeptCode, FiltersOfTheRepositoryAreNotRun) {
  Project project;
  const fs::path ran = project.path().parent_path() / "ran";
  project.put("train.py", "").put("data.py", "1\n").put(".gitattributes", "*.py filter=x\n");
  project.commit();
  project.git({"config", "filter.x.clean", "touch " + ran.string() + "; cat"});
  project.put("data.py", "2\n");
  const std::string first = hash_of(project.keep(project.subject({"train.py"})));
  project.put("data.py", "3\n");
  EXPECT_NE(hash_of(project.keep(project.subject({"train.py"}))), first);
  EXPECT_FALSE(fs::exists(ran));
  EXPECT_EQ(project.kept().at("corral/code/data.py"), "3\n");
}

TEST(KeptCode, NothingOfASubmoduleIsRun) {
  Project project, inner;
  const fs::path ran = project.path().parent_path() / "ran";
  inner.put("x.py", "1\n");
  inner.commit();
  project.put("train.py", "import sub.x\n");
  project.commit();
  project.git(
      {"-c", "protocol.file.allow=always", "submodule", "add", "-q", inner.path().string(), "sub"});
  project.git({"commit", "-q", "-m", "second"});
  project.git({"-C", "sub", "config", "filter.x.clean", "touch " + ran.string() + "; cat"});
  project.git({"config", "diff.submodule", "diff"});
  project.put("sub/.gitattributes", "*.py filter=x\n").put("sub/x.py", "2\n");
  project.keep(project.subject({"train.py"}));
  const GitTree tree = GitTree::open(project.path()).value();
  EXPECT_FALSE(tree.is_dirty().value());
  EXPECT_TRUE(tree.diff({}, [](std::string_view) { return true; }));
  EXPECT_FALSE(fs::exists(ran));
  const Said left = said(project.list(), "left_out", "reason");
  EXPECT_EQ(left.at("sub"), "a submodule: another git repository");
  EXPECT_EQ(left.at("sub/x.py"), "in another git repository");
}

TEST(KeptCode, FilesOfPythonPathLieOutside) {
  Project project, library;
  project.put("train.py", "import shared\n");
  library.put("shared.py", "1\n");
  auto subject = project.subject({"train.py"});
  subject.python_path = "/usr/lib/python3:" + library.path().string();
  project.keep(std::move(subject));
  const std::string path = (library.path() / "shared.py").string();
  EXPECT_EQ(said(project.list(), "files", "why").at(path), "import");
  EXPECT_EQ(project.kept().at("corral/code/outside" + path), "1\n");
}

TEST(Script, OfACommand) {
  Project project;
  project.put("train.py", "")
      .put("run.sh", "")
      .put("gpus.yaml", "")
      .put("kernel.json", "")
      .put("run", "")
      .put("pkg/train.py", "")
      .put("pkg/__main__.py", "")
      .put("data.csv", "");
  const auto found = [&](std::vector<std::string> words) -> std::string {
    const auto script = find_script(words, project.path());
    return script ? script->path.lexically_relative(project.path()).string() : "";
  };
  EXPECT_EQ(found({"train.py"}), "train.py");
  EXPECT_EQ(found({"python3.11", "-u", "train.py", "data.csv"}), "train.py");
  EXPECT_EQ(found({"python", "-m", "pkg.train"}), "pkg/train.py");
  EXPECT_EQ(found({"python", "-m", "pkg"}), "pkg/__main__.py");
  EXPECT_EQ(found({"python", "-m", "torch.distributed.run", "train.py"}), "train.py");
  EXPECT_EQ(found({"torchrun", "--nproc-per-node", "2", "train.py"}), "train.py");
  EXPECT_EQ(found({"accelerate", "launch", "--config_file", "gpus.yaml", "train.py"}), "train.py");
  EXPECT_EQ(found({"bash", "run.sh", "train.py"}), "run.sh");
  EXPECT_EQ(found({"./run.sh"}), "run.sh");
  EXPECT_EQ(found({"mpirun", "-n", "2", "./run", "data.csv"}), "run");
  EXPECT_EQ(found({"python", "-m", "ipykernel_launcher", "-f", "kernel.json"}), "");
  EXPECT_EQ(found({"/bin/cat", "data.csv"}), "");
  EXPECT_EQ(found({"bash", "-c", "true"}), "");
}

TEST(Script, WhatIsInstalledIsNotTheUsers) {
  for (const char* path : {"/usr/bin/python3", "/bin/sh",
                           "/home/a/x/lib/python3/site-packages/y.py", "/etc/shadow", "/"})
    EXPECT_TRUE(is_installed(path)) << path;
  for (const char* path : {"/home/a/bin/train", "/usr/src/app/train.py", "/opt/project/train.py"})
    EXPECT_FALSE(is_installed(path)) << path;
}

TEST(GitTree, AddressesWithoutCredentials) {
  EXPECT_EQ(without_login("https://a:b@example.org/x.git"), "https://example.org/x.git");
  EXPECT_EQ(without_login("https://token@example.org/x@y"), "https://example.org/x@y");
  EXPECT_EQ(without_login("ssh://git:pw@host:22/x"), "ssh://git@host:22/x");
  EXPECT_EQ(without_login("git@github.com:a/b.git"), "git@github.com:a/b.git");
}

TEST(KeptCode, OfManyFilesMostGoTogether) {
  Project project;
  project.put("train.py", "");
  project.commit();
  for (int i = 0; i < 150; ++i) project.put(fmt::format("new{:03}.txt", i), std::to_string(i));
  project.keep(project.subject({"train.py"}));
  const auto kept = project.kept();
  EXPECT_EQ(kept.size(), 102u) << "100 of their own, the others, and the list";
  const Json list = project.list();
  for (const Json& file : *list.find("files")->as_array()) {
    const std::int64_t at = file.get_int("at", -1);
    const std::string path = file.get_string("path");
    const std::string bytes =
        at < 0 ? kept.at("corral/code/" + path)
               : kept.at("corral/together")
                     .substr(static_cast<std::size_t>(at),
                             static_cast<std::size_t>(file.get_int("bytes", -1)));
    if (path != "train.py") {
      EXPECT_EQ(fmt::format("new{:03}.txt", std::stoi(bytes)), path);
    }
  }
}

TEST(KeptCode, AFileThatGitIsToldNotToLookAtCountsAsChanged) {
  Project project;
  project.put("train.py", "").put("conf.yaml", "a\n");
  project.commit();
  project.git({"update-index", "--assume-unchanged", "conf.yaml"});
  const std::string first = hash_of(project.keep(project.subject({"train.py"})));
  project.put("conf.yaml", "b\n");
  EXPECT_NE(hash_of(project.keep(project.subject({"train.py"}))), first);
  EXPECT_EQ(project.kept().at("corral/code/conf.yaml"), "b\n");
}

TEST(KeptCode, CredentialsThatAreNoLongerTrackedAreNotInTheDiff) {
  Project project;
  project.put("train.py", "").put(".netrc", "x").put("settings.py", "x").put("gone.py", "x");
  project.commit();
  project.git({"rm", "-q", "--cached", "settings.py"});
  project.put(".gitignore", "settings.py\n");
  fs::remove(project.path() / ".netrc");
  fs::remove(project.path() / "gone.py");
  EXPECT_EQ(project.keep(project.subject({"train.py"})).refused(),
            (std::vector<std::string>{".netrc", "settings.py"}));
}

TEST(KeptCode, AnotherRepositoryIsAskedWhatItIgnores) {
  Project project;
  project.put("train.py", "import keys\nimport fine\n")
      .put("lib/keys.py", "DB = 1\n")
      .put("lib/fine.py", "")
      .put("lib/.gitignore", "keys.py\n");
  CodeSubject subject = project.subject({"train.py"});
  subject.python_path = project.path() / "lib";
  project.git({"init", "-q", "lib"});
  project.keep(subject);
  EXPECT_EQ(said(project.list(), "left_out", "reason"), (Said{{"lib/keys.py", "git ignores it"}}));
  // Nothing is kept of a repository for which git does not answer.
  std::ofstream(project.path() / "lib/.git/HEAD") << "damaged";
  project.keep(subject);
  const Said left_out = said(project.list(), "left_out", "reason");
  EXPECT_EQ(left_out.size(), 2u);
  EXPECT_EQ(left_out.at("lib/fine.py"), "git does not say whether it is ignored");
}

TEST(KeptCode, NoHookOfARepositoryRuns) {
  Project project;
  project.put("train.py", "").put("other.py", "");
  project.commit();
  const fs::path hook = project.path() / ".git/hooks/post-index-change";
  const fs::path mark = project.path().parent_path() / "ran";
  fs::create_directories(hook.parent_path());
  std::ofstream(hook) << "#!/bin/sh\ntouch " << mark.string() << "\n";
  fs::permissions(hook, fs::perms::owner_all);
  fs::last_write_time(project.path() / "other.py",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  project.keep(project.subject({"train.py"}));
  EXPECT_FALSE(fs::exists(mark));
}

TEST(KeptCode, WhatAPartialCloneLacksIsNotFetched) {
  Project project;
  project.put("train.py", "").put("other.py", "1\n");
  project.commit();
  const fs::path mark = project.path().parent_path() / "ran";
  project.git({"config", "core.repositoryformatversion", "1"});
  project.git({"config", "extensions.partialClone", "origin"});
  project.git({"config", "remote.origin.promisor", "true"});
  project.git({"config", "remote.origin.url", "ssh://host/x"});
  project.git({"config", "core.sshCommand", "touch " + mark.string() + "; false"});
  project.put("other.py", "2\n");
  // The object of "1\n".
  fs::remove(project.path() / ".git/objects/d0/0491fd7e5bb6fa28c517a0bb32b8b506539d4d");
  project.keep(project.subject({"train.py"}));
  const auto tree = GitTree::open(project.path());
  ASSERT_TRUE(tree);
  EXPECT_FALSE(tree->diff({}, [](std::string_view) { return true; }));
  EXPECT_FALSE(fs::exists(mark));
}

TEST(KeptCode, AGitFileThatNamesSomebodyElsesRepositoryIsNotFollowed) {
  Project other, project;
  other.put("private.txt", "secret\n");
  other.commit();
  project.put("train.py", "").put(".git", "gitdir: " + (other.path() / ".git").string() + "\n");
  project.keep(project.subject({"train.py"}));
  EXPECT_EQ(project.list().find("git")->as_object(), nullptr);
  EXPECT_EQ(said(project.list(), "files", "why"), (Said{{"train.py", "script"}}));
  // A worktree is known to its repository.
  other.git({"worktree", "add", "-q", (project.path() / "tree").string()});
  CodeSubject subject = project.subject({"private.txt"});
  subject.directory = project.path() / "tree";
  other.keep(subject);
  EXPECT_NE(other.list().find("git")->as_object(), nullptr);
}

TEST(KeptCode, ALinkThatLeadsOutIsKeptOnlyWhenItWasImported) {
  Project project;
  const fs::path diary = project.path().parent_path() / "diary.txt";
  std::ofstream(diary) << "dear\n";
  project.put("train.py", "if 0:\n  import notes\n");
  fs::create_symlink(diary, project.path() / "notes.py");
  KeptCode code = project.keep(project.subject({"train.py"}));
  EXPECT_EQ(said(project.list(), "left_out", "reason"),
            (Said{{diary.string(), "a link leads out of the project to it"}}));
  EXPECT_TRUE(code.add({project.path() / "notes.py"}));
  code.list();
  EXPECT_EQ(said(project.list(), "left_out", "reason"), Said{});
}

TEST(KeptCode, WhatIsNotKnownHasNoHash) {
  Project project;
  project.put("train.py", "");
  KeptCode code = project.keep(project.subject({"train.py"}));
  EXPECT_EQ(code.facts().front().kind, codec::FactKind::kInfo);
  EXPECT_TRUE(code.add({"/"}));
  EXPECT_EQ(code.facts().front().kind, codec::FactKind::kUnavailable);
  const auto facts = changed_code_facts({}, {.interpreter = "", .code = code.facts()});
  EXPECT_EQ(facts.back().key, "set_up.hash");
  EXPECT_EQ(facts.back().kind, codec::FactKind::kUnavailable);
}

TEST(KeptCode, ANameThatNoArtifactHasIsLeftOutWithItsHash) {
  Project project;
  project.put("train.py", "").put("Icon\r", "x").put("m\xff.py", "y");
  project.commit();
  project.put("new\n.txt", "z");
  project.keep(project.subject({"train.py"}));
  EXPECT_EQ(said(project.list(), "files", "why"), (Said{{"train.py", "script"}}));
  EXPECT_FALSE(*project.list().find("whole")->as_bool());
}

}  // namespace
}  // namespace corral::run::set_up
