#include "run/set_up/set_up.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "core/ids.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"
#include "run/set_up/data_sets.h"
#include "run/set_up/noise.h"
#include "run/set_up/packages.h"
#include "sys/process.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;
using codec::Fact;
using codec::FactKind;

// A directory of files for one test.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("set_up." + RunId::random().hex())) {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  Folder& put(const std::string& name, const std::string& text = "") {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return *this;
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Returns for each key the JSON text, or "!" and the reason why it is missing.
std::map<std::string, std::string> by_key(const std::vector<Fact>& facts) {
  std::map<std::string, std::string> found;
  for (const Fact& fact : facts)
    found[fact.key] = (fact.kind == FactKind::kUnavailable ? "!" : "") + fact.value;
  return found;
}

// ---- noise

TEST(Noise, AServerSetUpForSpeed) {
  Folder root;
  const std::string cpu = "sys/devices/system/cpu/";
  root.put(cpu + "cpufreq/policy0/scaling_governor", "performance\n")
      .put(cpu + "cpufreq/policy4/scaling_governor", "powersave\n")
      .put(cpu + "cpufreq/policy0/scaling_cur_freq", "2000000\n")
      .put(cpu + "cpufreq/policy4/scaling_cur_freq", "3000000\n")
      .put(cpu + "intel_pstate/no_turbo", "1\n")
      .put(cpu + "smt/control", "off\n")
      .put(cpu + "isolated", "\n")
      .put("sys/devices/system/node/node0/meminfo")
      .put("sys/devices/system/node/node1/meminfo")
      .put("sys/devices/system/node/power/control")
      .put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
      .put("sys/class/thermal/thermal_zone0/temp", "41500\n")
      .put("sys/class/thermal/thermal_zone1/temp", "38000\n")
      .put("proc/sys/kernel/randomize_va_space", "2\n")
      .put("proc/sys/kernel/numa_balancing", "1\n")
      .put("proc/sys/vm/swappiness", "60\n")
      .put("proc/loadavg", "0.52 0.58 0.59 3/1185 91250\n")
      .put("proc/self/status", "Name:\tcorral\nCpus_allowed_list:\t0-3,8\n")
      .put("proc/meminfo",
           "MemAvailable:   100 kB\nSwapTotal:       2048 kB\nSwapFree:  1024 kB\n");
  const auto found = by_key(noise(root.path(), {.clock_synchronised = true, .disk_free_bytes = 7}));
  const std::map<std::string, std::string> expected{
      {"set_up.governor", R"("performance+powersave")"},
      {"set_up.turbo", "false"},
      {"set_up.smt", R"("off")"},
      {"set_up.isolated_cpus", R"("none")"},
      {"set_up.cpus_allowed", R"("0-3,8")"},
      {"set_up.numa_nodes", "2"},
      {"set_up.numa_balancing", "true"},
      {"set_up.huge_pages", R"("madvise")"},
      {"set_up.huge_page_defrag", "!a kernel without it"},
      {"set_up.aslr", R"("full")"},
      {"set_up.swap_bytes", "2097152"},
      {"set_up.swappiness", "60"},
      {"set_up.clock_source", "!the kernel does not say"},
      {"set_up.clock_synchronised", "true"},
      {"at_start.load", "0.52"},
      {"at_start.runnable", "3"},
      {"at_start.memory_available_bytes", "102400"},
      {"at_start.swap_used_bytes", "1048576"},
      {"at_start.cpu_mhz", "2500"},
      {"at_start.temperature_celsius", "41.5"},
      {"at_start.disk_free_bytes", "7"},
  };
  EXPECT_EQ(found, expected);
}

TEST(Noise, NothingToReadIsNotAvailableWithAReason) {
  const Folder root;
  for (const Fact& fact : noise(root.path(), {})) {
    EXPECT_EQ(fact.kind, FactKind::kUnavailable) << fact.key;
    EXPECT_FALSE(fact.value.empty()) << fact.key;
  }
}

TEST(Noise, NonsenseIsNotAvailableEither) {
  Folder root;
  root.put("proc/loadavg", "x\n")
      .put("proc/sys/vm/swappiness", "many")
      .put("proc/meminfo", "SwapTotal: lots\n:\n")
      .put("proc/cpuinfo", "cpu MHz\n")
      .put("sys/class/thermal/thermal_zone0/temp", "\n");
  const auto found = by_key(noise(root.path(), {}));
  for (const auto* key : {"at_start.load", "at_start.runnable", "set_up.swappiness",
                          "set_up.swap_bytes", "at_start.cpu_mhz", "at_start.temperature_celsius"})
    EXPECT_EQ(found.at(key)[0], '!') << key;
}

TEST(Noise, OfThisMachine) {
  const auto found = by_key(noise("/", read_outside("/")));
  EXPECT_NE(found.at("at_start.load")[0], '!');
  EXPECT_NE(found.at("at_start.disk_free_bytes")[0], '!');
  EXPECT_NE(found.at("set_up.clock_synchronised")[0], '!');
}

// ---- variables

TEST(Variables, OnlyThoseOfTheListAndNeverSecrets) {
  for (const auto* name : {"OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "PYTHONHASHSEED",
                           "SLURM_JOB_ID", "NCCL_DEBUG", "XLA_FLAGS"})
    EXPECT_TRUE(is_recorded(name)) << name;
  for (const auto* name :
       {"HOME", "PATH", "PWD", "AWS_SECRET_ACCESS_KEY", "TF_API_KEY", "TORCH_HUB_TOKEN",
        "CUDA_PASSWORD", "NCCL_SECRET", "SLURM_JWT", "XLA_AUTH", "omp_num_threads", ""})
    EXPECT_FALSE(is_recorded(name)) << name;
}

TEST(Variables, OneALineInOrderLongOnesCut) {
  Mask mask(true);
  EXPECT_EQ(
      recorded_variables({"OMP_NUM_THREADS=4", "CUDA_VISIBLE_DEVICES=", "no equals",
                          "XLA_FLAGS=a\nb=c", "HOME=/root", "LD_PRELOAD=" + std::string(5000, 'x')},
                         mask),
      "CUDA_VISIBLE_DEVICES=\nLD_PRELOAD=" + std::string(1000, 'x') +
          "…\nOMP_NUM_THREADS=4\nXLA_FLAGS=a b=c\n");
}

TEST(Variables, CredentialsWithinThemAreMasked) {
  Mask mask(true);
  EXPECT_EQ(
      recorded_variables({"PYTHONPATH=/a:https://ann:s3cret@host/b", "TF_X=token=abc d"}, mask),
      "PYTHONPATH=/a:https://ann:***@host/b\nTF_X=token=*** d\n");
  EXPECT_EQ(mask.masked(), 2U);
}

// ---- packages

TEST(Packages, FromTheNamesOfTheirMetadata) {
  Folder path;
  path.put("first/numpy-1.26.4.dist-info/METADATA")
      .put("first/PyYAML-6.0.egg-info")
      .put("first/six-1.16.0-py3.11.egg-info/PKG-INFO")
      .put("first/here.egg-info/PKG-INFO")
      .put("first/numpy/__init__.py")
      .put("second/numpy-1.0.dist-info/METADATA")
      .put("second/typing_extensions-4.4.0.dist-info/METADATA");
  EXPECT_EQ(python_packages(
                {"", path.path() / "first", path.path() / "none.zip", path.path() / "second"}),
            "here\nnumpy==1.26.4\npyyaml==6.0\nsix==1.16.0\ntyping-extensions==4.4.0\n");
}

TEST(Packages, OfConda) {
  Folder prefix;
  prefix.put("conda-meta/python-3.11.5-h955ad1f_0.json")
      .put("conda-meta/pip-tools-7.0-py311_0.json")
      .put("conda-meta/history")
      .put("conda-meta/odd.json");
  EXPECT_EQ(conda_packages(prefix.path()), "pip-tools==7.0=py311_0\npython==3.11.5=h955ad1f_0\n");
  EXPECT_EQ(conda_packages(prefix.path() / "none"), "");
}

TEST(Packages, ALongListSaysHowMuchIsLeftOut) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "package" + std::to_string(i) + "==1.0\n";
  EXPECT_EQ(cut_lines(lines, lines.size()), lines);
  const std::string cut = cut_lines(lines, 300);
  EXPECT_LE(cut.size(), 300U);
  const auto kept = static_cast<std::size_t>(std::count(cut.begin(), cut.end(), '\n')) - 1;
  EXPECT_TRUE(cut.ends_with("… (" + std::to_string(100 - kept) + " more)\n")) << cut;
}

// ---- data sets

TEST(DataSets, OptionsWithDataInTheirName) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(data_options({"train.py", "--lr", "1", "--data-dir", "/a", "--valData=b", "-d", "x",
                          "data", "--dataset", "--amp", "--data"}),
            (Pairs{{"data-dir", "/a"}, {"valData", "b"}}));
}

TEST(DataSets, FilesAndBytesOfWhatIsThere) {
  Folder here;
  here.put("set/a.bin", std::string(10, 'x')).put("set/deep/b.bin", std::string(5, 'x'));
  here.put("one.npz", "1234");
  const auto found = by_key(
      data_sets({{"data-dir", "set"}, {"data", "one.npz"}, {"dataset", "cifar10"}, {"data2", ""}},
                here.path(), {}));
  const std::map<std::string, std::string> expected{{"data.data-dir.files", "2"},
                                                    {"data.data-dir.bytes", "15"},
                                                    {"data.data.files", "1"},
                                                    {"data.data.bytes", "4"}};
  EXPECT_EQ(found, expected);
}

TEST(DataSets, ALargeOneIsNotCounted) {
  Folder here;
  for (int i = 0; i < 5; ++i) here.put("set/" + std::to_string(i));
  EXPECT_EQ(by_key(data_sets({{"data", "set"}}, here.path(), {.files = 3})).at("data.data"),
            "!more than 3 files");
}

TEST(DataHash, IsWhatSha256sumSays) {
  Folder here;
  const auto never = [] { return false; };
  here.put("set/b.bin", "two").put("set/a/z.bin", "one").put("set/a.bin", "");
  // cd set; find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum | sha256sum
  const std::string expected = "e1c6e44746785a7c6fff20e127b1a593936df477487bcaf13b9ee0275af45e8a";
  EXPECT_EQ(data_hash(here.path() / "set", never).value(), expected);
  EXPECT_EQ(data_hash(here.path() / "set/b.bin", never).value(),
            "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3");
  here.put("set/a/z.bin", "One");
  EXPECT_NE(data_hash(here.path() / "set", never).value(), expected);
}

TEST(DataHash, EndsWithTheRunAndSaysWhatItLacks) {
  Folder here;
  here.put("set/a.bin", "one");
  const std::vector<std::pair<std::string, std::string>> options{{"data", "set"},
                                                                 {"data2", "none"}};
  const auto found = by_key(data_hashes(options, here.path(), [] { return false; }));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at("data.data.hash").size(), 66U);
  EXPECT_EQ(by_key(data_hashes(options, here.path(), [] { return true; })).at("data.data.hash"),
            "!not finished");
}

// ---- the whole set-up

std::vector<Fact> of_folder(const Folder& folder) {
  return facts({.interpreter = "/usr/bin/python3",
                .prepared = {},
                .command = {"train.py", "--data", "set"},
                .root = folder.path(),
                .directory = folder.path()});
}

TEST(SetUp, SaysTheInterpreterItsPackagesAndVariables) {
  const Folder folder;
  const auto found = by_key(of_folder(folder));
  EXPECT_TRUE(found.at("interpreter_version").starts_with("\"Python 3."))
      << found.at("interpreter_version");
  EXPECT_TRUE(found.contains("environment.variables"));
  EXPECT_TRUE(found.contains("environment.packages"));
  EXPECT_EQ(found.at("git"), "!not in a git repository");
  EXPECT_EQ(found.at("set_up.hash").size(), 18U);
}

TEST(SetUp, TheCpusAreTheCommands) {
  Folder folder;
  folder.put("proc/self/status", "Name:\tcorral\nCpus_allowed_list:\t0-3\n");
  Subject subject{.interpreter = "", .root = folder.path(), .directory = folder.path()};
  EXPECT_EQ(by_key(facts(subject)).at("set_up.cpus_allowed"), R"("0-3")");
  subject.cpus = "2";
  EXPECT_EQ(by_key(facts(subject)).at("set_up.cpus_allowed"), R"("2")") << "not this process's";
}

TEST(SetUp, AnInterpreterThatSaysNothing) {
  const auto found = by_key(
      facts({.interpreter = "/bin/false", .prepared = {}, .command = {}, .root = "/nowhere"}));
  EXPECT_FALSE(found.contains("interpreter_version"));
  EXPECT_EQ(found.at("environment.packages")[0], '!');
}

TEST(SetUp, APreparedEnvironmentIsNotAskedAgainAndBelongsToTheHash) {
  const Folder folder;
  const auto with = [&](const std::string& packages) {
    return by_key(facts({.interpreter = "/usr/bin/python3",
                         .prepared = {{"environment.packages", packages}},
                         .command = {},
                         .root = folder.path(),
                         .directory = folder.path()}));
  };
  const auto one = with("numpy==1.26.4");
  EXPECT_FALSE(one.contains("environment.packages"));
  EXPECT_EQ(one.at("set_up.hash"), with("numpy==1.26.4").at("set_up.hash"));
  EXPECT_NE(one.at("set_up.hash"), with("numpy==2.0").at("set_up.hash"));
}

TEST(SetUp, TheHashIsThatOfSettingsNotOfHowThingsStood) {
  const std::vector<Fact> facts{{FactKind::kInfo, "set_up.aslr", "\"full\""},
                                {FactKind::kInfo, "at_start.load", "0.5"},
                                {FactKind::kInfo, "environment.packages", "\"a\""}};
  auto other = facts;
  other[1].value = "7";
  std::swap(other[0], other[2]);
  EXPECT_EQ(set_up_hash(facts), set_up_hash(other));
  other[0].value = "\"b\"";
  EXPECT_NE(set_up_hash(facts), set_up_hash(other));
}

void git(const fs::path& directory, std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@t"});
  int code = 1;
  const auto done =
      sys::capture_output({.argv = words, .directory = directory, .idle = false}, &code);
  ASSERT_TRUE(done && code == 0) << join(words, " ");
}

TEST(SetUp, WhatWasChangedInTheCode) {
  Folder folder;
  folder.put("train.py", "lr = 1\n");
  git(folder.path(), {"init", "-q"});
  git(folder.path(), {"add", "."});
  git(folder.path(), {"commit", "-q", "-m", "first"});
  const auto clean = by_key(of_folder(folder));
  EXPECT_EQ(clean.at("git_dirty"), "false");
  EXPECT_FALSE(clean.contains("git_diff"));
  folder.put("train.py", "lr = 2\n");
  const auto dirty = by_key(of_folder(folder));
  EXPECT_EQ(dirty.at("git_dirty"), "true");
  EXPECT_NE(dirty.at("git_diff").find("+lr = 2"), std::string::npos);
  EXPECT_NE(dirty.at("set_up.hash"), clean.at("set_up.hash"));
  folder.put("train.py", "x = '" + std::string(100'000, '"') + "'\n");
  EXPECT_LE(by_key(of_folder(folder)).at("git_diff").size(), limits::kFactBytes);
}

TEST(SetUp, NoProgramThatARepositoryNamesIsRun) {
  Folder folder;
  folder.put("train.py", "lr = 1\n");
  git(folder.path(), {"init", "-q"});
  git(folder.path(), {"add", "."});
  git(folder.path(), {"commit", "-q", "-m", "first"});
  folder.put("train.py", "lr = 2\n");
  const fs::path ran = folder.path() / "ran";
  git(folder.path(), {"config", "core.fsmonitor", "touch " + ran.string() + " #"});
  EXPECT_EQ(by_key(of_folder(folder)).at("git_dirty"), "true");
  EXPECT_FALSE(fs::exists(ran));
  git(folder.path(), {"config", "filter.x.clean", "touch " + ran.string() + "; cat"});
  folder.put(".gitattributes", "*.py filter=x\n");
  EXPECT_NE(by_key(of_folder(folder)).at("git_dirty").find("filters"), std::string::npos);
  EXPECT_FALSE(fs::exists(ran));
}

}  // namespace
}  // namespace corral::run::set_up
