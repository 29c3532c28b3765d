// Environments that are really built: venv and pip with a package that the test makes.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "environment/cache.h"
#include "environment/python.h"
#include "environment/test_support.h"
#include "environment/tool.h"

namespace corral::environment {
namespace {

TEST(Cache, BuildsOnceAndLeavesNothingOfAFailure) {
  Workshop shop;
  int built = 0;
  Build build{.key = "k", .words = "it", .made_from = "x", .make = [&](const fs::path& place) {
                ++built;
                fs::create_directories(place / "sub");
                return built == 1 ? Result<>(fail(Code::kIo, "no")) : Result<>();
              }};
  EXPECT_FALSE(build_once(build, shop.options()));
  EXPECT_FALSE(fs::exists(shop.options().cache / "k"));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(build_once(build, shop.options()).value(), shop.options().cache / "k");
  EXPECT_EQ(built, 2);
}

TEST(Cache, RemainsOfAKilledBuilderAreBuiltAnew) {
  Workshop shop;
  shop.file("cache/k/half", "x");
  const auto place = build_once({.key = "k",
                                 .words = "it",
                                 .made_from = "x",
                                 .make = [](const fs::path& p) -> Result<> {
                                   EXPECT_FALSE(fs::exists(p));
                                   return sys::make_directories(p);
                                 }},
                                shop.options());
  ASSERT_TRUE(place);
  EXPECT_FALSE(fs::exists(*place / "half"));
}

TEST(Cache, OthersWaitForTheBuilder) {
  Workshop shop;
  std::atomic<int> built = 0;
  const Build build{.key = "k", .words = "it", .made_from = "x", .make = [&](const fs::path& p) {
                      ++built;
                      ::usleep(200'000);
                      return sys::make_directories(p);
                    }};
  PrepareOptions quiet = shop.options();
  quiet.progress = {};
  std::jthread other([&] { EXPECT_TRUE(build_once(build, quiet)); });
  EXPECT_TRUE(build_once(build, quiet));
  other.join();
  EXPECT_EQ(built, 1);
}

TEST(Python, IsAskedAgainOnlyAfterAChange) {
  Workshop shop;
  fs::create_directories(shop.root() / "site");
  const fs::path python =
      shop.program("counted", "echo x >> " + (shop.root() / "calls").string() +
                                  "\nPYTHONPATH=" + (shop.root() / "site").string() +
                                  " exec /usr/bin/python3 \"$@\"\n");
  const auto ask = [&] { return ask_python({.python = python.string()}, shop.options()).value(); };
  EXPECT_TRUE(ask().version.starts_with("3."));
  ask();
  EXPECT_EQ(sys::read_file(shop.root() / "calls").value(), "x\n");
  shop.file("site/fine-1.5.dist-info/METADATA", "Name: Fine\nVersion: 1.5\n");
  EXPECT_NE(ask().packages.find("Fine==1.5"), std::string::npos);
  EXPECT_EQ(sys::read_file(shop.root() / "calls").value(), "x\nx\n");
}

TEST(Python, OneThatIsNoneIsSaid) {
  Workshop shop;
  const fs::path python = shop.program("notpython", "echo hello\n");
  EXPECT_NE(shop.prepare("python=" + python.string()).error().message.find("does not behave"),
            std::string::npos);
  EXPECT_NE(shop.prepare("venv=nowhere").error().message.find("python3 -m venv"),
            std::string::npos);
}

// Environments, finished or begun, in a cache.
int built_in(const fs::path& cache) {
  constexpr std::size_t kHashDigits = 32;
  std::error_code error;
  int found = 0;
  for (const auto& entry : fs::directory_iterator(cache, error))
    if (entry.is_directory() && entry.path().filename().string().size() == kHashDigits) ++found;
  return found;
}

// A wheel is a zip file with three texts: made here, so that nothing is fetched.
fs::path make_wheel(const Workshop& shop) {
  const fs::path script = shop.file("wheel.py", R"(
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/fleet-2.0-py3-none-any.whl", "w") as z:
    z.writestr("fleet.py", "SHIPS = 7\n")
    z.writestr("fleet-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: fleet\nVersion: 2.0\n")
    z.writestr("fleet-2.0.dist-info/WHEEL",
               "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("fleet-2.0.dist-info/RECORD", "")
)");
  EXPECT_TRUE(
      run_checked({.argv = {"/usr/bin/python3", script.string(), shop.root().string()}}, {}));
  return shop.root() / "fleet-2.0-py3-none-any.whl";
}

TEST(Pip, BuildsAnEnvironmentFromALocalPackage) {
  Workshop shop;
  make_wheel(shop);
  shop.file("requirements.txt", "./fleet-2.0-py3-none-any.whl\n");
  const std::string text = "pip=requirements.txt;python=/usr/bin/python3;arg=--no-index";
  const auto prepared = shop.prepare(text);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_NE(recorded(*prepared, "packages").find("fleet==2.0"), std::string::npos);
  EXPECT_EQ(recorded(*prepared, "requirements"), "./fleet-2.0-py3-none-any.whl\n");
  const auto said =
      run_checked({.argv = {prepared->python, "-c", "import fleet; print(fleet.SHIPS)"}}, {});
  EXPECT_EQ(said->out, "7\n");
  const std::size_t lines = shop.reported().size();
  EXPECT_EQ(shop.prepare(text)->python, prepared->python);
  EXPECT_EQ(shop.reported().size(), lines) << "nothing is built twice";
}

TEST(Pip, AFailureNamesThePackageAndLeavesNothing) {
  Workshop shop;
  shop.file("requirements.txt", "nope==9\n");
  // An interpreter whose pip finds nothing.
  const fs::path python = shop.program(
      "python-empty",
      "case \"$1 $2\" in '-m venv') mkdir -p \"$3/bin\"; cp \"$0\" \"$3/bin/python\";;\n"
      "'-m pip') echo 'ERROR: No matching distribution found for nope==9' >&2; exit 1;;\n"
      "*) exec /usr/bin/python3 \"$@\";; esac\n");
  const auto failed = shop.prepare("pip=requirements.txt;python=" + python.string());
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("requirements.txt: package nope==9 cannot be installed"),
            std::string::npos)
      << failed.error().message;
  EXPECT_EQ(built_in(shop.options().cache), 0);
}

TEST(Pip, AnInterruptionLeavesNothing) {
  Workshop shop;
  shop.file("requirements.txt", "six\n");
  shop.program("python-slow",
               "[ \"$1\" = -c ] && exec /usr/bin/python3 \"$@\"\nmkdir -p \"$3\"; sleep 60\n");
  shop.options().cancelled = [&] { return built_in(shop.options().cache) > 0; };
  const auto ended =
      shop.prepare("pip=requirements.txt;python=" + (shop.root() / "bin/python-slow").string());
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "interrupted");
  EXPECT_EQ(built_in(shop.options().cache), 0);
}

}  // namespace
}  // namespace corral::environment
