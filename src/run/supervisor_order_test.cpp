#include "run/supervisor_order.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace corral::run {
namespace {

constexpr const char* kRun = "0123456789abcdef0123456789abcdef";

SupervisorOrder full_order() {
  return {.run = kRun,
          .gate = {.release = 0, .reports = 1, .last_word = "/state/ends/r.json"},
          .experiment = "E",
          .workload = "7#2",
          .name = "(7#2 0_A) träin",
          .directory = "/plans/caf\xe9",
          .environment = "venv=env",
          .passed = {"A"},
          .params = {{"lr", "0.1"}, {"lr", "a=b"}},
          .tags = {{"corral.loop", "1"}},
          .placement = {.groups = {"/g"}, .cpus = {0, 5}},
          .settings = {.interval = std::chrono::milliseconds(250), .no_mask = true},
          .command = {"train.py", "", "\xff"}};
}

std::string error_of(std::string_view text) {
  const auto order = parse_order(text);
  return order ? "" : order.error().message;
}

TEST(SupervisorOrder, ComesBackAsItWasWritten) {
  const SupervisorOrder written = full_order();
  const auto read = parse_order(dump_order(written));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(dump_order(*read), dump_order(written));
  EXPECT_EQ(read->command, written.command);
  EXPECT_EQ(read->directory, written.directory);
  EXPECT_EQ(read->params, written.params);
  EXPECT_EQ(read->placement.groups, written.placement.groups);
  EXPECT_EQ(read->placement.cpus, written.placement.cpus);
  EXPECT_EQ(read->gate.last_word, written.gate.last_word);
  EXPECT_EQ(read->settings.interval, written.settings.interval);
  EXPECT_EQ(read->settings.grace, std::nullopt);
  EXPECT_EQ(read->settings.no_mask, true);
}

// An order that an older or newer program of version 1 wrote.
TEST(SupervisorOrder, UnknownKeysAreIgnoredAndMissingOnesHaveDefaults) {
  const auto order = parse_order(
      R"({"version":1,"run":"0123456789abcdef0123456789abcdef","command":["true"],"later":{}})");
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(order->gate.release, -1);
  EXPECT_EQ(order->gate.reports, -1);
  EXPECT_FALSE(order->adopt);
}

TEST(SupervisorOrder, ABadDocumentIsNamed) {
  const std::string head = R"({"version":1,"run":"0123456789abcdef0123456789abcdef",)";
  EXPECT_NE(error_of(""), "");
  EXPECT_EQ(error_of("{}"), "missing 'version'");
  EXPECT_EQ(error_of(R"({"version":2})"), "unsupported version 2; expected 1");
  EXPECT_EQ(error_of(R"({"version":1,"run":"x"})"), "'run' is not the id of a run");
  EXPECT_EQ(error_of(head + R"("adopt":false})"), "missing 'command'");
  EXPECT_EQ(error_of(head + R"("adopt":true,"command":["a"]})"), "an adopted run has no 'command'");
  EXPECT_EQ(error_of(head + R"("command":[1]})"), "invalid value of 'command'");
  EXPECT_EQ(error_of(head + R"("command":["a"],"tags":[["a"]]})"), "invalid value of 'tags'");
  EXPECT_EQ(error_of(head + R"("command":["a"],"groups":["g"]})"), "invalid value of 'groups'");
  EXPECT_EQ(error_of(head + R"("command":["a"],"cpus":[0,8192]})"),
            "invalid value of 'cpus': expected numbers below 8192, found 8192");
  EXPECT_EQ(error_of(head + R"("command":["a"],"gate":7})"), "invalid value of 'gate'");
  EXPECT_EQ(error_of(head + R"("command":["a"],"gate":{"release":99999}})"),
            "'gate' names a descriptor that is not open");
  EXPECT_EQ(error_of(head + R"("command":["a"],"settings":{"grace_ns":-1}})"),
            "invalid value of 'grace_ns'");
}

TEST(SupervisorOrder, ValuesAreCheckedAsTheFlagsAre) {
  const auto error_of_settings = [](const std::string& settings) {
    return error_of(R"({"version":1,"run":"0123456789abcdef0123456789abcdef","command":["a"],)"
                    R"("settings":{)" +
                    settings + "}}");
  };
  EXPECT_EQ(error_of_settings(R"("leftovers":"wait","spool_limit":0)"), "");
  EXPECT_EQ(error_of_settings(R"("leftovers":"")"),
            "invalid value of 'leftovers': expected leave or wait, found ''");
  EXPECT_EQ(error_of_settings(R"("leftovers":"kill")"),
            "invalid value of 'leftovers': expected leave or wait, found 'kill'");
  EXPECT_EQ(error_of_settings(R"("spool_limit":-1)"),
            "invalid value of 'spool_limit': expected a number of bytes, found -1");
  EXPECT_EQ(error_of_settings(R"("keep_code":-1)"),
            "invalid value of 'keep_code': expected a number of bytes, found -1");
  EXPECT_EQ(error_of_settings(R"("profile":"torch\u0000")"),
            "invalid value of 'profile': a NUL byte");
  SupervisorOrder order = full_order();
  order.command.emplace_back("a\0b", 3);
  EXPECT_EQ(error_of(dump_order(order)), "invalid value of 'command': a NUL byte");
  order = full_order();
  order.tags = {{"k", std::string("\0", 1)}};
  EXPECT_EQ(error_of(dump_order(order)), "invalid value of 'tags': a NUL byte");
}

TEST(SupervisorOrder, IsReadFromADescriptorThatIsClosedThen) {
  const int file = ::memfd_create("order", 0);
  const std::string text = dump_order(full_order());
  ASSERT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::lseek(file, 0, SEEK_SET);
  const auto order = read_order(file);
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(order->name, full_order().name);
  EXPECT_EQ(read_order(file).error().message,
            "descriptor " + std::to_string(file) + " is not open");
}

}  // namespace
}  // namespace corral::run
