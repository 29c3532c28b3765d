// Tests the keys that count from a corral.toml of a directory, before and after it is trusted.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <set>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/config_file.h"
#include "cli/config_keys.h"
#include "cli/config_text.h"
#include "cli/destination.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

namespace fs = sys::fs;

constexpr const char* kSources =
    "[exec.power]\ncommand = \"meter\"\ninterval = \"1s\"\n"
    "[prometheus.x]\nurl = \"http://127.0.0.1:1/metrics\"\n"
    "[statsd]\nlisten = \"127.0.0.1:0\"\n[otlp.app]\n"
    "[regex.loss]\npattern = \"(?P<loss>[0-9]+)\"\n[pressure]\nresources = []\n";

class ConfigTrustTest : public ::testing::Test {
 protected:
  struct Parsed {
    std::optional<int> status;
    DestinationFlags destination;
    std::string experiment;
    std::string environment;
    collect::foreign::Sources sources;
    std::string error;
  };

  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "corral-trust-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    ASSERT_EQ(::chmod(dir_.c_str(), 0755), 0);  // else others could not reach the files below
    fs::create_directories(dir_ / "here");
    fs::current_path(dir_ / "here");
    ::setenv("XDG_CONFIG_HOME", (dir_ / "config").c_str(), 1);
    ::setenv("XDG_STATE_HOME", (dir_ / "state").c_str(), 1);
    for (const char* name : kVariables) ::unsetenv(name);
  }
  void TearDown() override {
    for (const char* name : kVariables) ::unsetenv(name);
    fs::current_path("/");
    fs::remove_all(dir_);
  }

  static void write(const std::string& text, const fs::path& path = "corral.toml") {
    fs::create_directories(fs::absolute(path).parent_path());
    ASSERT_TRUE(sys::replace_file(path, text));
  }
  void own(const std::string& text) { write(text, own_); }
  static void trust_here() {
    auto file = read_directory_config("corral.toml");
    ASSERT_TRUE(file && trust(*file));
  }

  // As `corral run WORDS`, or as a command that only reads.
  static Parsed parse(std::vector<std::string> words = {}, bool runs = true) {
    Parsed parsed;
    Arguments arguments("run", "About.", "");
    add_destination(arguments, parsed.destination);
    arguments.text("experiment", parsed.experiment, "help");
    arguments.text("environment", parsed.environment, "help");
    arguments.sources(parsed.sources);
    if (runs) arguments.withholds(parsed.destination.withheld);
    std::vector<char*> args;
    for (std::string& word : words) args.push_back(word.data());
    ::testing::internal::CaptureStderr();
    parsed.status = arguments.parse(args);
    parsed.error = ::testing::internal::GetCapturedStderr();
    return parsed;
  }

  static constexpr std::array kVariables = {
      "CORRAL_STORE", "CORRAL_SERVER",     "CORRAL_CONFIG",      "CORRAL_TOKEN_FILE",
      "CORRAL_SPOOL", "CORRAL_EXPERIMENT", "CORRAL_ENVIRONMENT", kConfigFolder};
  fs::path dir_;
  fs::path own_ = fs::path("..") / "config" / "corral" / "corral.toml";
};

TEST(ConfigKeys, EveryOptionOfEveryCommandIsClassified) {
  // A command with an option that is missing in the table does not get as far as its help.
  const auto help = [](int (*command)(std::span<char* const>), std::vector<std::string> words) {
    words.emplace_back("--help");
    std::vector<char*> args;
    for (std::string& word : words) args.push_back(word.data());
    ::testing::internal::CaptureStdout();
    const int status = command(args);
    const std::string text = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, kDone) << text;
  };
  for (auto* command :
       {run_command, serve_command, ls_command, show_command, export_command, import_command,
        profile_command, undo_command, diff_command, rm_command, doctor_command, trust_command})
    help(command, {});
  for (const char* verb : {"check", "expand", "generate"}) help(plan_command, {verb});
  for (const char* verb : {"check", "stats", "backup", "load", "migrate", "rebuild", "gc", "prune"})
    help(store_command, {verb});
  help(bench_command, {"listeners"});
}

TEST(ConfigKeys, NoNameIsThereTwice) {
  for (const auto& names : {option_names(), section_names()})
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

TEST(ConfigKeys, WhatExecutesOrNamesAPlaceNeedsTrust) {
  for (const char* option : {"server", "store", "spool", "token-file", "environment", "notify",
                             "profile", "listen", "artifacts", "yes"})
    EXPECT_EQ(option_counts(option), Counts::kWhenTrusted) << option;
  EXPECT_EQ(option_counts("experiment"), Counts::kAlways);
  EXPECT_EQ(option_counts("serverr"), std::nullopt);
  // One starts profilers, the others end trainings.
  for (const char* name :
       {"listeners", "max-time", "grace", "max-steps", "max-epochs", "leftovers"})
    EXPECT_EQ(option_counts(name), Counts::kWhenTrusted) << name;
}

TEST_F(ConfigTrustTest, AnUntrustedFileGivesHarmlessOptionsAndSourcesAlone) {
  write(std::string("experiment = \"x\"\nspool = \"/evil\"\nenvironment = \"python=./evil\"\n") +
        kSources);
  const Parsed parsed = parse();
  EXPECT_EQ(parsed.status, std::nullopt);
  EXPECT_EQ(parsed.experiment, "x");
  EXPECT_EQ(parsed.destination.spool + parsed.environment, "");
  EXPECT_TRUE(parsed.sources.exec.empty() && parsed.sources.prometheus.empty() &&
              parsed.sources.statsd.empty() && parsed.sources.otlp.empty());
  EXPECT_EQ(parsed.sources.regex.size(), 1u);
  EXPECT_EQ(parsed.sources.pressure.size(), 1u);
  EXPECT_EQ(parsed.error,
            "corral: corral.toml is not trusted: ignored spool, environment, [exec.power], "
            "[prometheus.x], [statsd], [otlp.app]; corral trust shows and trusts it\n");
}

TEST_F(ConfigTrustTest, EachKindOfSourceIsTakenAwayAsTheTableSays) {
  const auto all = read_sources(kSources, "corral.toml");
  ASSERT_TRUE(all);
  auto rest = *all;
  std::size_t trusted = 0;
  for (const std::string_view kind : source_kinds())
    trusted += source_counts(kind) == Counts::kWhenTrusted ? 1 : 0;
  EXPECT_EQ(remove_untrusted(rest).size(), trusted);
}

TEST_F(ConfigTrustTest, TrustIsOfThePathAndTheContent) {
  write("spool = \"/mine\"\n");
  trust_here();
  EXPECT_EQ(parse().destination.spool, "/mine");
  EXPECT_EQ(parse().error, "");
  write("spool = \"/mind\"\n");
  EXPECT_EQ(parse().destination.spool, "");
  write("spool = \"/mine\"\n");
  EXPECT_EQ(parse().destination.spool, "/mine");
  fs::create_directories("elsewhere");
  fs::copy_file("corral.toml", "elsewhere/corral.toml");
  fs::current_path("elsewhere");
  EXPECT_EQ(parse().destination.spool, "");
}

TEST_F(ConfigTrustTest, OfALinkTheContentCounts) {
  write("spool = \"/mine\"\n", "target.toml");
  fs::create_symlink("target.toml", "corral.toml");
  trust_here();
  EXPECT_EQ(parse().destination.spool, "/mine");
  write("spool = \"/evil\"\n", "target.toml");
  EXPECT_EQ(parse().destination.spool, "");
}

TEST_F(ConfigTrustTest, ARecordThatOthersCanWriteTrustsNothing) {
  write("spool = \"/mine\"\n");
  trust_here();
  const fs::path record = dir_ / "state" / "corral" / "trusted";
  struct stat info {};
  ASSERT_EQ(::stat(record.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::chmod(record.c_str(), 0666), 0);
  EXPECT_EQ(parse().destination.spool, "/mine") << "others cannot enter its directory";
  for (const fs::path& open : {dir_ / "state", record.parent_path()})
    ASSERT_EQ(::chmod(open.c_str(), 0755), 0);
  EXPECT_EQ(parse().destination.spool, "");
}

TEST_F(ConfigTrustTest, TheUsersOwnFileCountsBeneathTheDirectorys) {
  own("spool = \"/own\"\nexperiment = \"own\"\n[regex.a]\npattern = \"(?P<a>1)\"\n");
  write("spool = \"/evil\"\nexperiment = \"here\"\n[regex.b]\npattern = \"(?P<b>1)\"\n");
  const Parsed parsed = parse();
  EXPECT_EQ(parsed.destination.spool, "/own");
  EXPECT_EQ(parsed.experiment, "here");
  EXPECT_EQ(parsed.sources.regex.size(), 2u);
}

TEST_F(ConfigTrustTest, AnOwnFileThatOthersCanWriteIsNotTrusted) {
  own("spool = \"/own\"\n");
  ASSERT_EQ(::chmod(own_.c_str(), 0606), 0);
  const Parsed parsed = parse();
  EXPECT_EQ(parsed.destination.spool, "");
  EXPECT_NE(parsed.error.find("is not trusted: others can write to it"), std::string::npos)
      << parsed.error;
  const Parsed named = parse({"--config", own_.string()});
  EXPECT_EQ(named.destination.spool, "/own");
  EXPECT_NE(named.error.find("others can write to it"), std::string::npos) << named.error;
}

TEST_F(ConfigTrustTest, WhatTheUserNamesCounts) {
  write("spool = \"/named\"\nserver = \"http://named\"\n", "named.toml");
  EXPECT_EQ(parse({"--config", "named.toml"}).destination.spool, "/named");
  ::setenv("CORRAL_CONFIG", "named.toml", 1);
  EXPECT_EQ(parse().destination.server, "http://named");
}

TEST_F(ConfigTrustTest, APlaceThatOnlyAnUntrustedFileNamesIsWithheld) {
  write("server = \"http://evil\"\n");
  own("store = \"/own\"\n");
  const Parsed run = parse();
  EXPECT_EQ(run.destination.server, "http://evil");
  EXPECT_EQ(run.destination.store, "");
  EXPECT_EQ(parse_destination(run.destination)->withheld, "corral.toml is not trusted");
  const Parsed reads = parse({}, false);
  EXPECT_EQ(reads.status, kFailed);
  EXPECT_NE(reads.error.find("corral trust"), std::string::npos) << reads.error;
  // A chosen store needs no trusted file.
  const Parsed chosen = parse({"--store", "/mine"}, false);
  EXPECT_EQ(chosen.status, std::nullopt);
  EXPECT_EQ(chosen.destination.store + chosen.destination.server + chosen.error, "/mine");
}

TEST_F(ConfigTrustTest, AUsersTokenIsKeptFromAServerThatTheDirectoryNames) {
  write("server = \"http://here\"\n");
  write("secret\n", "token");
  trust_here();
  ::setenv("CORRAL_TOKEN_FILE", "token", 1);
  Parsed parsed = parse();
  EXPECT_EQ(parsed.destination.server, "http://here");
  EXPECT_EQ(read_token(parsed.destination), "");
  EXPECT_EQ(read_token(parse({"--server", "http://here"}).destination), "secret");
  own("token-file = \"token\"\n");
  ::unsetenv("CORRAL_TOKEN_FILE");
  EXPECT_EQ(read_token(parse().destination), "");
  own("token-file = \"token\"\nserver = \"http://own\"\n");
  write("experiment = \"x\"\n");
  EXPECT_EQ(read_token(parse().destination), "secret");
  own("");
  write("server = \"http://here\"\ntoken-file = \"token\"\n");
  trust_here();
  EXPECT_EQ(read_token(parse().destination), "secret");
}

}  // namespace
}  // namespace corral::cli
