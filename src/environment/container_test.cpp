#include "environment/container.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/text.h"
#include "environment/test_support.h"

namespace corral::environment {
namespace {

Container container(const std::string& text) {
  const Spec spec = parse(text).value();
  Container c;
  c.tool = spec.tool;
  c.program = {"/usr/bin/" + spec.tool};
  c.image = "sha256:1234";
  add_option_flags(c, spec, {.directory = "/plan", .cache = {}, .progress = {}, .cancelled = {}});
  return c;
}

std::vector<std::string> wrapped(const std::string& text, const Inside& inside) {
  Prepared prepared;
  prepared.in_container = true;
  prepared.container = std::make_shared<const Container>(container(text));
  return wrap(prepared, {"train.py", "--lr", "1"}, inside);
}

Inside inside() {
  return {.spool = "/spool/00ff",
          .python_package = "/opt/corral",
          .working_directory = "/plan",
          .cgroup_parent = "",
          .environment = {"CORRAL_RUN_ID=00ff", "PATH=/bin", "SECRET=x"},
          .devices = {}};
}

TEST(Container, TheRunIsVisibleInside) {
  const auto words = wrapped("podman=x", inside());
  EXPECT_EQ(words[0], "/usr/bin/podman");
  EXPECT_EQ(words[1], "run");
  for (const char* flag :
       {"--rm", "--network=host", "--pid=host", "--name=corral-00ff",
        "--mount=type=bind,source=/spool/00ff,target=/spool/00ff",
        "--mount=type=bind,source=/opt/corral,target=/opt/corral,readonly",
        "--mount=type=bind,source=/plan,target=/plan", "--workdir=/plan", "--env=CORRAL_RUN_ID"})
    EXPECT_TRUE(holds(words, flag)) << flag;
  const std::vector<std::string> last(words.end() - 5, words.end());
  EXPECT_EQ(last, (std::vector<std::string>{"sha256:1234", "python3", "train.py", "--lr", "1"}));
}

TEST(Container, ValuesOfVariablesAreNotOnTheCommandLine) {
  const auto words = wrapped("docker=x", inside());
  EXPECT_TRUE(holds(words, "--env=SECRET"));
  EXPECT_FALSE(holds(words, "--env=PATH"));
  EXPECT_TRUE(std::none_of(words.begin(), words.end(),
                           [](const auto& w) { return w.find("SECRET=") != std::string::npos; }));
}

TEST(Container, OnlyVariablesThatMeanSomethingInsidePass) {
  EXPECT_EQ(passed_in({"CORRAL_RUN_ID=1", "HOME=/root", "RANK=0", "RANKING=1", "AWS_SECRET=x",
                       "CUDA_VISIBLE_DEVICES=GPU-1", "PYTHONPATH=/p"}),
            (std::vector<std::string>{"CORRAL_RUN_ID=1", "RANK=0", "CUDA_VISIBLE_DEVICES=GPU-1",
                                      "PYTHONPATH=/p"}));
  EXPECT_EQ(passed_in({"TOKEN=x", "TOKENS=y", "RANK=0"}, {"TOKEN", "MISSING"}),
            (std::vector<std::string>{"TOKEN=x", "RANK=0"}));
}

TEST(Container, WhatTheUserMountsIsMountedOnce) {
  const auto words = wrapped("docker=x;mount=./a:/plan:ro;mount=/data", inside());
  EXPECT_TRUE(holds(words, "--volume=/plan/a:/plan:ro"));
  EXPECT_TRUE(holds(words, "--volume=/data:/data"));
  EXPECT_FALSE(holds(words, "--mount=type=bind,source=/plan,target=/plan"));
}

TEST(Container, DevicesAsEachToolWantsThem) {
  Inside with = inside();
  with.devices = {"GPU-1", "GPU-2"};
  EXPECT_TRUE(holds(wrapped("docker=x", with), "--gpus=\"device=GPU-1,GPU-2\""));
  EXPECT_TRUE(holds(wrapped("podman=x", with), "--device=nvidia.com/gpu=GPU-2"));
  EXPECT_TRUE(holds(wrapped("apptainer=x", with), "--nv"));
  EXPECT_TRUE(holds(wrapped("docker=x;gpus=all", inside()), "--gpus=all"));
  EXPECT_FALSE(holds(wrapped("apptainer=x;gpus=none", with), "--nv"));
  Inside given = inside();
  given.environment.emplace_back("CUDA_VISIBLE_DEVICES=MIG-7");
  EXPECT_TRUE(holds(wrapped("podman=x", given), "--device=nvidia.com/gpu=MIG-7"));
  given.environment.back() = "CUDA_VISIBLE_DEVICES=0";
  EXPECT_FALSE(holds(wrapped("podman=x", given), "--device=nvidia.com/gpu=0"));
}

TEST(Container, SharingIsPassedIn) {
  Inside with = inside();
  with.environment.emplace_back("CUDA_MPS_PIPE_DIRECTORY=/run/mps");
  with.cgroup_parent = "/sys/fs/cgroup/memory/corral/1:/sys/fs/cgroup/cpuset/corral/1";
  with.cpus = "0-3";
  with.terminal = true;
  const auto words = wrapped("podman=x", with);
  for (const char* flag : {"--mount=type=bind,source=/run/mps,target=/run/mps",
                           "--cgroup-parent=/corral/1", "--cpuset-cpus=0-3", "--tty"})
    EXPECT_TRUE(holds(words, flag)) << flag;
}

TEST(Container, GroupsByTheirName) {
  EXPECT_EQ(group_name("/sys/fs/cgroup/corral/1"), "/corral/1");
  EXPECT_EQ(group_name("/sys/fs/cgroup/cpu,cpuacct/a"), "/a");
  EXPECT_EQ(group_name("user.slice"), "user.slice");
  EXPECT_EQ(group_name(""), "");
}

TEST(Container, TheUsersArgumentsComeLast) {
  const auto words = wrapped("podman=x;arg=--pid=private;arg=--shm-size=1g", inside());
  const auto image = std::find(words.begin(), words.end(), "sha256:1234");
  EXPECT_EQ(*(image - 1), "--shm-size=1g");
  EXPECT_EQ(*(image - 2), "--pid=private");
}

TEST(Container, RunsAsWhoeverRunsCorral) {
  const Container docker = container("docker=x");
  const Container podman = container("podman=x");
  EXPECT_TRUE(user_flags(docker, "", {.uid = 0, .gid = 0}).empty());
  EXPECT_EQ(user_flags(docker, "app:app", {.uid = 0, .gid = 0})[0], "--user=0:0");
  EXPECT_EQ(user_flags(docker, "", {.uid = 7, .gid = 8})[0], "--user=7:8");
  EXPECT_TRUE(user_flags(podman, "root", {.uid = 7, .gid = 8, .rootless = true}).empty());
  EXPECT_EQ(user_flags(podman, "app", {.uid = 7, .gid = 8, .rootless = true})[0],
            "--userns=keep-id");
}

TEST(Container, ImagesOfBothTools) {
  const auto podman = parse_image(R"([{"Id": "ab", "Digest": "sha256:cd", "User": "u",
                                       "Os": "linux", "Architecture": "amd64"}])");
  EXPECT_EQ(podman->digest, "sha256:cd");
  EXPECT_EQ(podman->platform, "linux/amd64");
  EXPECT_EQ(podman->user, "u");
  const auto docker = parse_image(
      R"([{"Id": "sha256:ab", "RepoDigests": ["r/i@sha256:ef"], "Config": {"User": "v"}}])");
  EXPECT_EQ(docker->digest, "sha256:ef");
  EXPECT_EQ(docker->user, "v");
  for (const char* bad : {"", "[]", "{}", "[{}]"}) EXPECT_FALSE(parse_image(bad)) << bad;
}

TEST(Container, AMissingImageIsPulledAndNamed) {
  Workshop shop;
  shop.program("docker",
               "case \"$1\" in --version) echo fake 1;; pull) echo Trying; echo 'manifest unknown' "
               ">&2; exit 1;;\n"
               "*) echo 'Error: No such image: nope' >&2; exit 1;; esac\n");
  const auto failed = shop.prepare("docker=nope");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message,
            "image nope is not present and cannot be pulled: docker failed "
            "with status 1: Trying | manifest unknown");
  EXPECT_TRUE(holds(shop.reported(), "pulling image nope"));
  EXPECT_NE(shop.prepare("docker=nope;pull=never").error().message.find("pull=never"),
            std::string::npos);
  EXPECT_NE(shop.prepare("docker=nope;mount=/no/such:/x").error().message.find("/no/such"),
            std::string::npos);
}

// Ctrl-C while the image is asked for its Python, which need not have one.
TEST(Container, WhoIsInterruptedDoesNotGoOnWithWhatWasThere) {
  Workshop shop;
  const fs::path asked = shop.root() / "asked";
  shop.program("docker", "case \"$1\" in --version) echo fake 1;; run) touch " + asked.string() +
                             "; exit 1;;\nimage) echo '[{\"Id\": \"ab\", \"Os\": \"linux\", "
                             "\"Architecture\": \"amd64\"}]';; esac\n");
  shop.options().cancelled = [&] { return fs::exists(asked); };
  const auto prepared = shop.prepare("docker=img;python=py");
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().message, "interrupted");
  EXPECT_TRUE(fs::is_empty(shop.root() / "cache/python")) << "it is no image without Python";
  shop.options().cancelled = {};
  EXPECT_TRUE(shop.prepare("docker=img;python=py"));
  EXPECT_FALSE(fs::is_empty(shop.root() / "cache/python"));
}

TEST(Container, AnApptainerImageIsAFileOrIsPulledOnce) {
  Workshop shop;
  shop.program(
      "apptainer",
      "echo \"$@\" >> " + (shop.root() / "calls").string() +
          "\ncase \"$1\" in --version) echo fake 1;; pull) echo sif > \"$2\";; *) exit 1;; esac\n");
  for (int i = 0; i < 2; ++i) {
    const auto prepared = shop.prepare("apptainer=docker://img");
    ASSERT_TRUE(prepared) << prepared.error().message;
    EXPECT_TRUE(recorded(*prepared, "image_digest").starts_with("sha256:"));
    EXPECT_EQ(stage(*prepared, {"true"}, inside()).error().code, Code::kUnsupported);
  }
  const std::string calls = sys::read_file(shop.root() / "calls").value();
  EXPECT_EQ(calls.find("pull", calls.find("pull") + 1), std::string::npos) << calls;
  EXPECT_NE(shop.prepare("apptainer=img.sif").error().message.find("docker://img.sif"),
            std::string::npos);
}

TEST(Container, OnlyContainersOfDeadSupervisorsAreSwept) {
  Workshop shop;
  const std::string own = maker_label().substr(maker_label().find('=') + 1);
  const std::string removed = (shop.root() / "removed").string();
  // Files of a run that is still to be finished.
  const std::string spool = (shop.root() / "my spool").string();
  fs::create_directories(spool);
  ASSERT_TRUE(sys::replace_file(fs::path(spool) / "manifest.json", "{}"));
  const std::string listed = "live|" + own + "|created|/s\\n" +
                             "dead|1.2.3|created|/s\\nodd\\nx y\\n"
                             "done|1.2.3|Exited (0) 2 hours ago|/no such/spool\\n"
                             "asked|1.2.3|exited|" +
                             spool + "\\nours|" + own + "|exited|/nowhere\\n";
  shop.program("docker", "case \"$1\" in\n ps) printf '" + listed + "';;\n rm) echo \"$3\" >> " +
                             removed + ";;\nesac\n");
  Container docker;
  docker.tool = "docker";
  docker.program = {(shop.root() / "bin/docker").string()};
  sweep(docker);
  EXPECT_EQ(sys::read_file(removed).value(), "dead\ndone\n");
}

RC_GTEST_PROP(Container, DirectoriesOfAnyNameAreMountedAsOneField, ()) {
  const auto name = *rc::gen::container<std::string>(rc::gen::element('a', ',', '"', ' ', '='));
  const std::string flag = bind_flag(container("docker=x"), "/" + name, true);
  // Commas outside quotes separate the three fields.
  std::size_t fields = 1;
  bool quoted = false;
  for (const char c : flag) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) ++fields;
  }
  RC_ASSERT(fields == 3);
  RC_ASSERT(!quoted);
}

}  // namespace
}  // namespace corral::environment
