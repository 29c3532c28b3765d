#include "environment/tool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "core/text.h"
#include "environment/test_support.h"

namespace corral::environment {
namespace {

Tool shell(const std::string& script) { return {.argv = {"/bin/sh", "-c", script}}; }

TEST(Tool, GivesOutputErrorAndStatus) {
  const auto done = run_tool(shell("echo out; echo err >&2; exit 3"), {});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->out, "out\n");
  EXPECT_EQ(done->err, "err\n");
  EXPECT_EQ(done->code, 3);
  EXPECT_EQ(run_tool(shell("kill -9 $$"), {})->code, 128 + 9);
}

TEST(Tool, TellsItsLinesButNoPasswords) {
  Workshop shop;
  Tool tool = shell("printf 'a\\nfrom https://u:p@h/x\\n10%%\\r20%%\\nend'");
  tool.reports_output = true;
  ASSERT_TRUE(run_tool(tool, shop.options()));
  EXPECT_EQ(shop.reported(), (std::vector<std::string>{"a", "from https://h/x", "20%", "end"}));
}

TEST(Tool, AFailureEndsWithItsLastLines) {
  const auto failed = run_checked(shell("echo one >&2; echo two >&2; exit 1"), {});
  EXPECT_EQ(failed.error().message, "sh failed with status 1: one | two");
}

TEST(Tool, MissingOnesAreNamedWithAdvice) {
  EXPECT_EQ(find_tool("corral-no-such-tool", "install it").error().message,
            "corral-no-such-tool: command not found; install it");
}

TEST(Tool, AnInterruptionEndsAllThatItStarted) {
  Workshop shop;
  const fs::path pids = shop.root() / "pids";
  // The child of the tool ignores SIGTERM.
  const std::string inner =
      "trap '' TERM; echo $$ >> " + pids.string() + "; while :; do sleep 1; done";
  PrepareOptions options = shop.options();
  options.cancelled = [&] { return !sys::read_file(pids).value_or("").empty(); };
  const auto ended = run_tool(shell("sh -c \"" + inner + "\"; true"), options);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kUnavailable);
  const auto pid = parse_int(trim(sys::read_file(pids).value()));
  ASSERT_TRUE(pid);
  // Its parent is gone: the process that inherits it reaps it.
  for (int i = 0; i < 500 && ::kill(static_cast<pid_t>(*pid), 0) == 0; ++i) {
    const auto state = sys::read_file("/proc/" + std::to_string(*pid) + "/stat");
    if (!state || state->find(") Z ") != std::string::npos) break;
    ::usleep(10'000);
  }
  const auto state = sys::read_file("/proc/" + std::to_string(*pid) + "/stat");
  EXPECT_TRUE(!state || state->find(") Z ") != std::string::npos);
}

TEST(Tool, TimeIsLimited) {
  Tool tool = shell("sleep 60");
  tool.limit = std::chrono::milliseconds(50);
  EXPECT_EQ(run_tool(tool, {}).error().message, "/bin/sh did not end in time");
}

TEST(Tool, DoesNotWaitForWhatItLeavesBehind) {
  const auto done = run_tool(shell("sleep 20 & echo $!"), {});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->code, 0);
  ::kill(static_cast<pid_t>(parse_int(trim(done->out)).value()), SIGKILL);
}

}  // namespace
}  // namespace corral::environment
