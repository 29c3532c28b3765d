// The conda of these tests is a fake: no registry here offers a real one.
#include "environment/conda.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "environment/test_support.h"

namespace corral::environment {
namespace {

constexpr const char* kListing =
    R"({"envs": ["/opt/conda", "/opt/conda/envs/torch", "/home/u/envs/tf"]})";

TEST(Conda, FindsAnEnvironmentByItsName) {
  EXPECT_EQ(conda_prefix(kListing, "torch").value(), "/opt/conda/envs/torch");
  EXPECT_EQ(conda_prefix(kListing, "base").value(), "/opt/conda");
  EXPECT_NE(conda_prefix(kListing, "torhc").error().message.find("did you mean torch?"),
            std::string::npos);
  EXPECT_FALSE(conda_prefix("no json", "torch"));
}

TEST(Conda, ReadsPackagesAndVariables) {
  EXPECT_EQ(conda_package("numpy-1.26.4-py311h64a7726_0.json"), "numpy==1.26.4=py311h64a7726_0");
  EXPECT_EQ(conda_package("ca-certificates-2024.2.2-hbcca054_0.json"),
            "ca-certificates==2024.2.2=hbcca054_0");
  for (const char* other : {"history", "state", "x.json", "-.json", "a-b.json", "--.json"})
    EXPECT_EQ(conda_package(other), "") << other;
  EXPECT_EQ(conda_variables(R"({"env_vars": {"A": "1", "B": 2}})"),
            std::vector<std::string>{"A=1"});
  EXPECT_TRUE(conda_variables("[").empty());
}

TEST(Conda, TakesOverWhatActivationChanged) {
  using namespace std::string_literals;
  EXPECT_EQ(changed_variables("A=1\0B=2\0SHLVL=1\0"s, "A=1\0B=3\0C=4\0SHLVL=2\0junk\0"s),
            (std::vector<std::string>{"B=3", "C=4"}));
}

// A prefix as conda lays it out, with a real interpreter.
fs::path make_prefix(const Workshop& shop, const std::string& name) {
  shop.file(name + "/conda-meta/numpy-1.26.4-py311_0.json", "{}");
  shop.file(name + "/conda-meta/state", R"({"env_vars": {"FROM_STATE": "1"}})");
  shop.file(name + "/etc/conda/activate.d/one.sh",
            "echo hello; export FROM_SCRIPT=\"of $CONDA_PREFIX\"\n");
  fs::create_directories(shop.root() / name / "bin");
  fs::create_symlink("/usr/bin/python3", shop.root() / name / "bin" / "python");
  return shop.root() / name;
}

TEST(Conda, ADirectoryIsUsedWithoutAnyTool) {
  Workshop shop;
  const fs::path prefix = make_prefix(shop, "envs/my env");
  const auto prepared = shop.prepare("conda=envs/my env");
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(prepared->python, (prefix / "bin/python").string());
  EXPECT_TRUE(prepared->prefix.empty());
  EXPECT_TRUE(holds(prepared->environment, "FROM_STATE=1"));
  EXPECT_TRUE(holds(prepared->environment, "FROM_SCRIPT=of " + prefix.string()));
  EXPECT_TRUE(holds(prepared->environment, "CONDA_PREFIX=" + prefix.string()));
  EXPECT_EQ(recorded(*prepared, "conda"), "numpy==1.26.4=py311_0");
  EXPECT_TRUE(recorded(*prepared, "python_version").starts_with("3."));
}

TEST(Conda, ANameIsAskedOfTheFakeTool) {
  Workshop shop;
  const fs::path prefix = make_prefix(shop, "envs/torch");
  shop.program("mamba", "echo '{\"envs\": [\"/opt/c\", \"" + prefix.string() + "\"]}'\n");
  const auto prepared = shop.prepare("mamba=torch");
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(recorded(*prepared, "prefix"), prefix.string());
  EXPECT_NE(shop.prepare("mamba=trch").error().message.find("did you mean torch?"),
            std::string::npos);
}

TEST(Conda, AFileIsBuiltOnceByTheFakeTool) {
  Workshop shop;
  shop.file("environment.yml", "dependencies: [numpy]\n");
  shop.program("micromamba",
               "echo \"$@\" >> " + (shop.root() / "calls").string() +
                   "\nwhile [ \"$1\" != --prefix ]; do shift; done\nmkdir -p \"$2/conda-meta\"\n");
  for (int i = 0; i < 2; ++i) {
    const auto prepared = shop.prepare("micromamba=environment.yml");
    ASSERT_TRUE(prepared) << prepared.error().message;
    EXPECT_EQ(prepared->python, "");
  }
  const std::string calls = sys::read_file(shop.root() / "calls").value();
  EXPECT_EQ(std::count(calls.begin(), calls.end(), '\n'), 1) << calls;
  EXPECT_TRUE(calls.starts_with("create --yes --prefix ")) << calls;
}

TEST(Conda, AFailureNamesThePackageAndLeavesNothing) {
  Workshop shop;
  shop.file("environment.yml", "dependencies: [nope]\n");
  shop.program("conda",
               "mkdir -p \"$4/x\"; printf 'ResolvePackageNotFound: \\n  - nope\\n' >&2; exit 1\n");
  const auto failed = shop.prepare("conda=environment.yml");
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("package nope cannot be installed"), std::string::npos)
      << failed.error().message;
  for (const auto& entry : fs::directory_iterator(shop.options().cache))
    EXPECT_FALSE(entry.is_directory()) << entry.path();
}

}  // namespace
}  // namespace corral::environment
