// Options from everywhere, and lists in every format.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/config_file.h"
#include "cli/destination.h"
#include "cli/ls.h"
#include "cli/run_plan.h"
#include "cli/table.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

namespace fs = sys::fs;

// A directory of its own; no configuration file or CORRAL_ variable except those that a test makes.
class ArgumentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(dir_);
    fs::current_path(dir_);
    ::setenv("XDG_CONFIG_HOME", (dir_ / "config").c_str(), 1);
    ::setenv("XDG_STATE_HOME", (dir_ / "state").c_str(), 1);
    for (const char* name : kVariables) ::unsetenv(name);
  }
  void TearDown() override {
    for (const char* name : kVariables) ::unsetenv(name);
    fs::current_path("/");
    fs::remove_all(dir_);
  }

  // Returns the result of `corral run WORDS`; standard error is kept in error_.
  std::optional<int> parse(std::vector<std::string> words, bool with_rest = false) {
    Arguments arguments("run", "About.", "  corral run\n");
    arguments.text("store", store_, "help");
    arguments.text("server", server_, "help");
    arguments.exclusive("store", "server");
    arguments.flag("quiet", quiet_, "help");
    arguments.choice("format", format_, {"table", "json", "csv"}, "help");
    arguments.texts("param", params_, "help");
    arguments.duration("interval", interval_, "help");
    arguments.bytes("spool-limit", limit_, "help");
    if (with_rest) arguments.rest("COMMAND...", rest_, nullptr);
    std::vector<char*> args;
    for (std::string& word : words) args.push_back(word.data());
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    const auto status = arguments.parse(args);
    output_ = ::testing::internal::GetCapturedStdout();
    error_ = ::testing::internal::GetCapturedStderr();
    return status;
  }
  void config(const std::string& text, const fs::path& path = "corral.toml") {
    fs::create_directories(fs::absolute(path).parent_path());
    ASSERT_TRUE(sys::replace_file(path, text));
    auto file = read_directory_config(path);
    ASSERT_TRUE(file && trust(*file));
  }
  [[nodiscard]] bool said(const std::string& part) const {
    return error_.find(part) != std::string::npos;
  }

  static constexpr std::array kVariables = {
      "CORRAL_STORE", "CORRAL_SERVER",   "CORRAL_QUIET",       "CORRAL_FORMAT",
      "CORRAL_PARAM", "CORRAL_INTERVAL", "CORRAL_SPOOL_LIMIT", "CORRAL_CONFIG"};
  fs::path dir_ = fs::temp_directory_path() / ("corral-cli-" + std::to_string(::getpid()));
  std::string store_ = "default";
  std::string server_;
  bool quiet_ = false;
  std::string format_ = "table";
  std::vector<std::string> params_;
  Nanos interval_{std::chrono::milliseconds(100)};
  std::int64_t limit_ = 7;
  std::vector<std::string> rest_;
  std::string output_;
  std::string error_;
};

TEST_F(ArgumentsTest, DefaultsStayWhenNobodySaysAnything) {
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_EQ(store_, "default");
  EXPECT_EQ(interval_, std::chrono::milliseconds(100));
  EXPECT_EQ(limit_, 7);
}

TEST_F(ArgumentsTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  config("store = \"of-file\"\ninterval = \"1s\"\nspool-limit = \"1k\"\n");
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_EQ(store_, "of-file");
  EXPECT_EQ(interval_, std::chrono::seconds(1));
  EXPECT_EQ(limit_, 1024);
  ::setenv("CORRAL_STORE", "of-environment", 1);
  ::setenv("CORRAL_INTERVAL", "2s", 1);
  ::setenv("CORRAL_SPOOL_LIMIT", "2k", 1);
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_EQ(store_, "of-environment");
  EXPECT_EQ(interval_, std::chrono::seconds(2));
  EXPECT_EQ(limit_, 2048);
  EXPECT_EQ(parse({"--store", "of-flag", "--interval=3s", "--spool-limit", "3k"}), std::nullopt);
  EXPECT_EQ(store_, "of-flag");
  EXPECT_EQ(interval_, std::chrono::seconds(3));
  EXPECT_EQ(limit_, 3072);
}

TEST_F(ArgumentsTest, OfTwoThatExcludeEachOtherTheStrongerStays) {
  config("store = \"of-file\"\n");
  ::setenv("CORRAL_SERVER", "of-environment", 1);
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_EQ(store_, "");
  EXPECT_EQ(server_, "of-environment");
  EXPECT_EQ(parse({"--store=of-flag"}), std::nullopt);
  EXPECT_EQ(store_, "of-flag");
  EXPECT_EQ(server_, "");
  EXPECT_EQ(parse({"--store", "a", "--server", "b"}), std::nullopt);
  EXPECT_EQ(store_ + server_, "ab") << "equally strong: the reader of both decides";
}

TEST_F(ArgumentsTest, AFilesSectionsAreTheSubcommands) {
  config("[run]\nstore = \"mine\"\n[serve]\nstore = \"theirs\"\nlisten = \"x\"\n");
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_EQ(store_, "mine");
  config("listen = \"x\"\nstore = \"top\"\n");
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_EQ(store_, "top");
}

TEST_F(ArgumentsTest, FlagsAndChoicesComeFromTheFileToo) {
  config("quiet = true\nformat = \"csv\"\n");
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_TRUE(quiet_);
  EXPECT_EQ(format_, "csv");
}

TEST_F(ArgumentsTest, TheFileIsTheOneNamedElseTheOneHereElseThePersons) {
  config("store = \"persons\"", dir_ / "config" / "corral" / "corral.toml");
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_EQ(store_, "persons");
  config("store = \"here\"");
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_EQ(store_, "here");
  config("store = \"named\"", dir_ / "named.toml");
  ::setenv("CORRAL_CONFIG", "named.toml", 1);
  EXPECT_EQ(parse({}), std::nullopt);
  EXPECT_EQ(store_, "named");
  config("store = \"flag\"", dir_ / "flag.toml");
  EXPECT_EQ(parse({"--config", "flag.toml"}), std::nullopt);
  EXPECT_EQ(store_, "flag");
}

TEST_F(ArgumentsTest, AFileThatIsWrongIsMisuseThatNamesFileAndLine) {
  config("[run]\nstoer = \"x\"\n");
  EXPECT_EQ(parse({}), kMisuse);
  EXPECT_TRUE(said("corral.toml") && said("'stoer'") && said("did you mean 'store'?")) << error_;
  config("# mine\nstoer = \"x\"\n");
  EXPECT_EQ(parse({}), kMisuse);
  EXPECT_TRUE(said("corral.toml:2: unknown option 'stoer'; did you mean 'store'?")) << error_;
  config("\n[serv]\nlisten = \"x\"\n");
  EXPECT_EQ(parse({}), kMisuse);
  EXPECT_TRUE(said("corral.toml:2: unknown section [serv]; did you mean 'serve'?")) << error_;
  config("[serve]\nlistn = \"x\"\n");
  EXPECT_EQ(parse({}), kMisuse);
  EXPECT_TRUE(said("corral.toml:2: unknown option 'listn'; did you mean 'listen'?")) << error_;
  config("interval = \"soon\"\n");
  EXPECT_EQ(parse({}), kMisuse);
  EXPECT_TRUE(said("corral.toml") && said("soon")) << error_;
  EXPECT_EQ(parse({"--config", "missing.toml"}), kMisuse);
  EXPECT_TRUE(said("missing.toml")) << error_;
}

TEST_F(ArgumentsTest, ALineOfTheFileThatCannotBeReadIsNamed) {
  for (const char* wrong : {"store: x", "store", "= 3", "store =", "store = # none", "[run",
                            "[run] # mine", "store = \"x", "store = \"x\" y", "store = two words",
                            "param = [\"a=1\"\n, \"b=2\"", "store = \"a#b\"", "st ore = 1"}) {
    config("# first\n" + std::string(wrong) + "\n");
    EXPECT_EQ(parse({}), kMisuse) << wrong;
    EXPECT_TRUE(said("corral.toml:2: '")) << wrong << error_;
  }
  config(
      "; mine\n\n[run]  \n store = \"a b\" # c\nparam = [\"a=1\", # one\n 'b=2']\nquiet = true\n");
  EXPECT_EQ(parse({}), std::nullopt) << error_;
  EXPECT_EQ(store_, "a b");
  EXPECT_EQ(params_, (std::vector<std::string>{"a=1", "b=2"}));
}

TEST_F(ArgumentsTest, AnOptionThatIsAFlagOnlyComesFromNowhereElse) {
  config("format = \"csv\"\n[run]\nformat = \"csv\"\n");
  ::setenv("CORRAL_FORMAT", "json", 1);
  std::string format = "table";
  const auto parsed = [&](std::vector<std::string> words) {
    Arguments arguments("run", "About.", "");
    arguments.choice("format", format, {"table", "json", "csv"}, "help");
    arguments.as_flag_only("format");
    std::vector<char*> args;
    for (std::string& word : words) args.push_back(word.data());
    ::testing::internal::CaptureStdout();
    const auto status = arguments.parse(args);
    output_ = ::testing::internal::GetCapturedStdout();
    return status;
  };
  EXPECT_EQ(parsed({}), std::nullopt);
  EXPECT_EQ(format, "table");
  EXPECT_EQ(parsed({"--format", "csv"}), std::nullopt);
  EXPECT_EQ(format, "csv");
  EXPECT_EQ(parsed({"--help"}), kDone);
  EXPECT_EQ(output_.find("CORRAL_FORMAT"), std::string::npos) << output_;
}

TEST_F(ArgumentsTest, AnUnknownOptionIsSpelledRight) {
  EXPECT_EQ(parse({"--stor", "x"}), kMisuse);
  EXPECT_TRUE(said("unknown option --stor; did you mean --store?")) << error_;
  EXPECT_EQ(parse({"--intervall=1s"}), kMisuse);
  EXPECT_TRUE(said("did you mean --interval?")) << error_;
  EXPECT_EQ(parse({"--something-else"}), kMisuse);
  EXPECT_TRUE(said("unknown option --something-else") && !said("did you mean")) << error_;
  EXPECT_EQ(parse({"--backend-store-uri", "x"}), kMisuse);
  EXPECT_TRUE(said("unknown option --backend-store-uri; did you mean --store?")) << error_;
  EXPECT_EQ(parse({"-p", "5910"}), kMisuse);
  EXPECT_TRUE(said("unknown option -p\n")) << error_;
  EXPECT_EQ(parse({"one", "two"}), kMisuse);
  EXPECT_TRUE(said("unexpected argument 'one'")) << error_;
}

TEST_F(ArgumentsTest, ValuesThatMakeNoSenseAreNamed) {
  EXPECT_EQ(parse({"--interval", "soon"}), kMisuse);
  EXPECT_TRUE(said("soon") && said("100ms")) << error_;
  EXPECT_EQ(parse({"--spool-limit", "much"}), kMisuse);
  EXPECT_TRUE(said("much") && said("2GiB")) << error_;
  EXPECT_EQ(parse({"--format", "xml"}), kMisuse);
  EXPECT_TRUE(said("xml")) << error_;
  EXPECT_EQ(parse({"--store"}), kMisuse);
  EXPECT_EQ(parse({"word"}), kMisuse);
  ::setenv("CORRAL_INTERVAL", "later", 1);
  EXPECT_EQ(parse({}), kMisuse);
  EXPECT_TRUE(said("later")) << error_;
}

TEST_F(ArgumentsTest, SomeMayBeRepeated) {
  EXPECT_EQ(parse({"--param", "a=1", "--param=b=2", "--param", "c=x,y"}), std::nullopt);
  EXPECT_EQ(params_, (std::vector<std::string>{"a=1", "b=2", "c=x,y"}));
}

TEST_F(ArgumentsTest, HelpIsPrintedAndDone) {
  EXPECT_EQ(parse({"--help"}, true), kDone);
  for (const char* part :
       {"corral run", "COMMAND...", "--store", "--spool-limit", "CORRAL_STORE", "Examples:"})
    EXPECT_NE(output_.find(part), std::string::npos) << part << output_;
}

// ---- the command behind the options
using Words = std::vector<std::string>;

TEST_F(ArgumentsTest, WhatFollowsTheFirstWordIsTheCommandsOwn) {
  EXPECT_EQ(parse({"--store", "s", "train.py", "--store", "x", "--help", "--", "-q"}, true),
            std::nullopt);
  EXPECT_EQ(store_, "s");
  EXPECT_EQ(rest_, (Words{"train.py", "--store", "x", "--help", "--", "-q"}));
}

TEST_F(ArgumentsTest, TwoDashesEndTheOptions) {
  EXPECT_EQ(parse({"--quiet", "--", "--strange", "--"}, true), std::nullopt);
  EXPECT_TRUE(quiet_);
  EXPECT_EQ(rest_, (Words{"--strange", "--"}));
}

TEST_F(ArgumentsTest, AFlagTakesNoWordOfTheCommand) {
  EXPECT_EQ(parse({"--quiet", "train.py"}, true), std::nullopt);
  EXPECT_EQ(rest_, Words{"train.py"});
}

TEST_F(ArgumentsTest, EmptyWordsSpacesAndDashesStay) {
  EXPECT_EQ(parse({"--param=a=1", "tool", "", "a b", "-", "--x="}, true), std::nullopt);
  EXPECT_EQ(rest_, (Words{"tool", "", "a b", "-", "--x="}));
}

TEST_F(ArgumentsTest, AnUnknownOptionBeforeTheCommandIsStillMisuse) {
  EXPECT_EQ(parse({"--stor", "x", "train.py"}, true), kMisuse);
  EXPECT_TRUE(said("did you mean --store?")) << error_;
}

TEST_F(ArgumentsTest, TheCommandsOwnConfigOptionIsNotOurs) {
  EXPECT_EQ(parse({"train.py", "--config", "missing.toml"}, true), std::nullopt);
  EXPECT_EQ(rest_.size(), 3u);
}

// ---- destination
TEST(Destination, IsAStoreOrAServerNeverBoth) {
  const auto of = [](const std::string& store, const std::string& server) {
    return parse_destination({.store = store, .server = server, .token_file = {}, .spool = {}});
  };
  EXPECT_EQ(of("/a/../b", "")->store, "/b");
  EXPECT_TRUE(of("relative", "")->store.is_absolute());
  EXPECT_EQ(of("", "http://h:5000/")->server, "http://h:5000");
  EXPECT_EQ(of("/a", "http://h").error().code, Code::kInvalidArgument);
  EXPECT_EQ(of("", "h:5000").error().code, Code::kInvalidArgument);
  EXPECT_EQ(of("mysql://u:secret@h/db", "").error().code, Code::kInvalidArgument);
  EXPECT_EQ(of("mysql://u:secret@h/db", "").error().message.find("secret"), std::string::npos);
}

TEST(Destination, OfADatabaseIsADirectoryThatItsPasswordDoesNotChange) {
  const auto of = [](const std::string& store) {
    return *parse_destination({.store = store, .server = {}, .token_file = {}, .spool = {}});
  };
  const auto one = of("postgresql://u:secret@h/db");
  EXPECT_EQ(one.database, "postgresql://u:secret@h/db");
  EXPECT_EQ(store_name(one), "postgresql://u@h/db");
  EXPECT_EQ(one.store, of("postgresql://u@h/db").store);
  EXPECT_NE(one.store, of("postgresql://u@h/other").store);
  EXPECT_EQ(store_name(of("postgres://h/db?password=secret&user=u")),
            "postgres://h/db?password=&user=u");
  EXPECT_EQ(store_name(of("postgresql://u:p@ss/wo:rd@h/db")), "postgresql://u@h/db");
  EXPECT_EQ(store_name(of("postgresql://u@[::1]:5432/db")), "postgresql://u@[::1]:5432/db");
}

TEST(Answers, AnEndingIsToldByItsOutcomeWhereThatSaysMore) {
  const auto told = [](const char* run) { return ending_text(Json::parse(run).value()); };
  EXPECT_EQ(told(R"({"status":"failed","outcome":"out-of-memory","exit_code":1})"),
            "failed: out-of-memory, exit status 1");
  EXPECT_EQ(told(R"({"status":"finished","outcome":"finished","exit_code":0})"),
            "finished, exit status 0");
  EXPECT_EQ(told(R"({"status":"running","outcome":"failed"})"), "running");
  EXPECT_EQ(told(R"({"status":"unknown","outcome":null})"),
            "unknown: it ended, but nobody was there to see how");
}

TEST(Answers, WorkloadsAreListedWithWhoSharedWhat) {
  const auto answer = Json::parse(
      R"({"workloads":[{"id":"0123456789abcdef","name":"7","experiment":"E","experiment_id":"1",)"
      R"("created_ns":"0","runs":["a","b"],"members":[)"
      R"({"id":"a","name":"one","letter":"0_A","collocation":"mps","status":"finished",)"
      R"("outcome":"finished","devices":[{"device":"0","profile":"3g.20gb"}],"cpus":"0-1"},)"
      R"({"id":"b","name":"two","letter":null,"collocation":"mps","status":"running",)"
      R"("outcome":null,"devices":[],"cpus":null}],)"
      R"("shared":[{"kind":"cpus","name":"0-1","runs":["b","a"]}]}]})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(workloads_table(*answer).print("csv"),
            "id,experiment,name,runs,collocation,devices,shared,outcomes,experiment_id,created_ns\n"
            "0123456789abcdef,E,7,\"[\"\"a\"\",\"\"b\"\"]\",mps,\"0:3g.20gb, cpus 0-1\","
            "cpus 0-1: 0_A + two,\"1 finished, 1 running\",1,0\n");
}

// ---- where the store is
TEST(Destination, AFileIsNoStore) {
  std::string pattern = ::testing::TempDir() + "corral-destination-XXXXXX";
  const fs::path home = ::mkdtemp(pattern.data());
  const std::string file = (home / "afile").string();
  ASSERT_TRUE(sys::replace_file(file, "x"));
  const auto refusal = [](const std::string& store) {
    const DestinationFlags flags{.store = store, .server = {}, .token_file = {}, .spool = {}};
    EXPECT_TRUE(parse_destination(flags));  // a run starts all the same
    const auto place = usable_destination(flags);
    return place ? std::string() : place.error().message;
  };
  EXPECT_EQ(refusal(file), "--store " + file + ": is a file, expected a directory");
  EXPECT_EQ(refusal(file + "/store"),
            "--store " + file + "/store: " + file + " is a file, expected a directory");
  EXPECT_EQ(refusal(home.string()), "");
  EXPECT_EQ(refusal((home / "not" / "yet").string()), "");
  EXPECT_EQ(refusal("postgresql://host/afile"), "");
  fs::remove_all(home);
}

TEST(Destination, AStoreOfAnotherUserIsNamedAsSuch) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() != 0) GTEST_SKIP() << "needs the right to be another user";
  const fs::path home = fs::path("/tmp") / ("corral-other-" + std::to_string(::getpid()));
  const fs::path store = home / "store";
  fs::create_directories(store);
  ASSERT_TRUE(sys::replace_file(store / "corral.db", "x", 0600));
  const auto refusal = [&] {
    EXPECT_EQ(::seteuid(kNobody), 0);
    const auto server =
        connect({.store = store.string(), .server = {}, .token_file = {}, .spool = home.string()});
    EXPECT_EQ(::seteuid(0), 0);
    return server ? std::string() : server.error().message;
  };
  ::chmod(store.c_str(), 0755);
  EXPECT_EQ(refusal().find(fmt::format("permission denied: {}/corral.db belongs to user root",
                                       store.string())),
            0u);
  ::chmod(store.c_str(), 0700);
  EXPECT_EQ(
      refusal().find(fmt::format("permission denied: {} belongs to user root", store.string())),
      0u);
  fs::remove(store / "corral.db");
  ::chmod(store.c_str(), 0755);
  EXPECT_EQ(refusal().find("there is no store at"), 0u);
  fs::remove_all(home);
}

// ---- tables
Table people() {
  Table table({{"name", "Name", false}, {"size", "Size", true}, {"note", "Note", false}});
  table.add({plain("été"), {.value = 12, .text = "12 B"}, plain("a,b")});
  table.add({plain("x"), {.value = 123456, .text = "120.6 KiB"}, plain(Json())});
  table.add({plain("say \"hi\""), plain(1), plain("two\nlines")});
  return table;
}

TEST(Table, AlignsByCharactersAndNumbersToTheRight) {
  Table table({{"name", "Name", false}, {"size", "Size", true}, {"note", "Note", false}});
  table.add({plain("été"), plain(12), plain("end")});
  table.add({plain("longer"), plain(123456), plain(Json())});
  EXPECT_EQ(table.print("table"),
            "Name      Size  Note\n"
            "été         12  end\n"
            "longer  123456  –\n");
}

TEST(Table, TonesAreColoursOnlyWhereTheyAreWanted) {
  Table table({{"state", "STATE", false}, {"n", "N", true}});
  table.add({{.value = "running", .text = "running", .tone = Tone::kGood}, plain(7)});
  table.add({{.value = "failed", .text = "failed", .tone = Tone::kBad}, plain(12)});
  EXPECT_EQ(table.print("table"), "STATE     N\nrunning   7\nfailed   12\n");
  EXPECT_EQ(table.print("table", true),
            "\x1b[1mSTATE\x1b[0m     \x1b[1mN\x1b[0m\n"
            "\x1b[32mrunning\x1b[0m   7\n"
            "\x1b[31mfailed\x1b[0m   12\n");
  EXPECT_EQ(table.print("csv", true), "state,n\nrunning,7\nfailed,12\n");
}

TEST(Table, TitlesAreDataToo) {
  Table table({{"params.a,b\"c", "a\x1b[31m", false}, {"n", "N", true}});
  table.add({plain("x"), plain(1)});
  EXPECT_EQ(table.print("table"), "a\\x1b[31m  N\nx          1\n");
  EXPECT_EQ(table.print("csv"), "\"params.a,b\"\"c\",n\nx,1\n");
}

TEST(Table, ControlCharactersDoNotReachATerminal) {
  Table table({{"name", "N", false}, {"note", "Note", false}});
  table.add({plain("a\x1b[31m\n"), plain("\t\r\x7f\u009bé\\")});
  EXPECT_EQ(table.print("table"),
            "N            Note\n"
            "a\\x1b[31m\\n  \\t\\r\\x7f\\x9bé\\\n");
}

TEST(Table, CsvQuotesWhatNeedsItAndHasTheValuesNotTheTexts) {
  EXPECT_EQ(people().print("csv"),
            "name,size,note\n"
            "été,12,\"a,b\"\n"
            "x,123456,\n"
            "\"say \"\"hi\"\"\",1,\"two\nlines\"\n");
}

TEST(Table, JsonIsAnArrayOfObjects) {
  const auto json = Json::parse(people().print("json"));
  ASSERT_TRUE(json);
  ASSERT_EQ(json->as_array()->size(), 3u);
  const Json& second = (*json->as_array())[1];
  EXPECT_EQ(second.get_int("size"), 123456);
  EXPECT_TRUE(second.find("note")->is_null());
  EXPECT_EQ((*json->as_array())[2].get_string("note"), "two\nlines");
}

TEST(Table, WithoutRowsThereIsStillAHeader) {
  const Table table({{"a", "A", false}, {"b", "B", true}});
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.print("csv"), "a,b\n");
  EXPECT_EQ(table.print("json"), "[]\n");
  EXPECT_EQ(table.print("table"), "A  B\n");
}

TEST(WithUnit, FourDigitsAndAPrefix) {
  EXPECT_EQ(with_unit(0.173, ""), "0.173");
  EXPECT_EQ(with_unit(1843, ""), "1.843 k");
  EXPECT_EQ(with_unit(-1843, "1/s"), "-1.843 k/s");
  EXPECT_EQ(with_unit(12, "cores"), "12 cores");
  EXPECT_EQ(with_unit(3.2 * (1ull << 30), "B"), "3.2 GiB");
  EXPECT_EQ(with_unit(-1536, "B"), "-1.5 KiB");
  EXPECT_EQ(with_unit(1536, "B/s"), "1.5 KiB/s");
  EXPECT_EQ(with_unit(1234, "s"), "1234 s");
  EXPECT_EQ(with_unit(std::nan(""), "B"), "nan");
}

TEST(Answers, WhatIsNotThereIsADash) {
  EXPECT_EQ(time_text(Json()), "–");
  EXPECT_EQ(time_text(Json("soon")), "–");
  EXPECT_EQ(duration_text(Json()), "–");
  EXPECT_EQ(duration_text(Json(12.34)), "12.3 s");
  EXPECT_TRUE(member(Json(3), "x").is_null());
}

TEST(Answers, PhasesAreToldAsExactlyAsTheyAreShort) {
  const auto told = [](double seconds) { return precise_duration_text(Json(seconds)); };
  EXPECT_EQ(told(0.063), "63 ms");
  EXPECT_EQ(told(1.2), "1.2 s");
  EXPECT_EQ(told(125), "2:05");
  EXPECT_EQ(told(0.9996), "1 s");
  EXPECT_EQ(told(0.0000125), "12.5 µs");
  EXPECT_EQ(told(4e-9), "4 ns");
  EXPECT_EQ(told(0), "0 s");
  EXPECT_EQ(precise_duration_text(Json()), "–");
  EXPECT_TRUE(precise_time_text(Json("1700000000007900000")).ends_with(":20.007"));
  EXPECT_EQ(precise_time_text(Json()), "–");
}

TEST(Answers, PhasesAreSummedByNameAndByTheOneAround) {
  const auto answer = Json::parse(
      R"({"runs":[{"run":"a","window_s":20.0,"left_out":0,"phases":[)"
      R"({"lane":"m","path":["epoch","step"],"count":3,"open":1,"total_s":6.0,"mean_s":2.0,"share":0.3},)"
      R"({"lane":"m","path":["epoch"],"count":1,"open":1,"total_s":8.0,"mean_s":null,"share":0.4},)"
      R"({"lane":"w","path":["step"],"count":2,"open":0,"total_s":4.0,"mean_s":2.0,"share":0.2}]}]})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(phase_summary(*answer).print("csv"),
            "name,within,count,total_s,mean_s,share\nepoch,,1,8,,0.4\nstep,epoch,3,6,2,0.3\n"
            "step,,2,4,2,0.2\n");
  EXPECT_EQ(phase_summary(*answer).print("table"),
            "NAME   WITHIN  COUNT  TOTAL  MEAN  OF THE RUN\n"
            "epoch              1    8 s     –      40.0 %\n"
            "step   epoch       3    6 s   2 s      30.0 %\n"
            "step               2    4 s   2 s      20.0 %\n");
}

TEST(Answers, HowARunEnded) {
  const auto ending = [](const char* json) { return ending_text(Json::parse(json).value()); };
  EXPECT_EQ(ending(R"({"status":"finished","exit_code":0,"exit_signal":null})"),
            "finished, exit status 0");
  EXPECT_EQ(ending(R"({"status":"failed","exit_code":null,"exit_signal":9})"),
            "failed, by signal 9");
  EXPECT_EQ(ending(R"({"status":"running","exit_code":null,"exit_signal":null})"), "running");
  EXPECT_EQ(ending(R"({"status":"unknown","exit_code":null,"exit_signal":null})").find("unknown"),
            0u);
}

TEST(Answers, WhatMayHaveDisturbedARun) {
  const auto noise = [](const char* json) { return noise_text(Json::parse(json).value()); };
  EXPECT_EQ(noise(R"({"info":{"at_start.load":20.12,"cpus":2,"set_up.governor":"powersave"},
                      "drops":{"ticks":7}})"),
            "load 20.1 at the start on 2 CPUs, governor powersave, 7 samples late or lost");
  EXPECT_EQ(noise(R"({"info":{"at_start.load":2.9,"cpus":64,"set_up.governor":"performance"},
                      "drops":{"ticks":0}})"),
            "");
  EXPECT_EQ(noise("{}"), "");
}

TEST(RunVariables, AreJudgedOneByOne) {
  EXPECT_EQ(run_variable_problem("CORRAL_INTERVAL", "soon"),
            "'soon': expected a duration, e.g. 100ms, 2s, 1.5m, 3h, 1d");
  EXPECT_EQ(run_variable_problem("CORRAL_INTERVAL", "2h"), "--interval 7200s: must be 10ms to 1h");
  for (const auto& [name, value] : {std::pair{"CORRAL_LEFTOVERS", "keep"},
                                    {"CORRAL_NO_MASK", "maybe"},
                                    {"CORRAL_KEEP_CODE", "all"},
                                    {"CORRAL_MAX_STEPS", "0"},
                                    {"CORRAL_MAX_TIME", "0s"},
                                    {"CORRAL_WATCH", "abc"},
                                    {"CORRAL_SPOOL_LIMIT", "much"}})
    EXPECT_NE(run_variable_problem(name, value), "") << name;
  for (const auto& [name, value] : {std::pair{"CORRAL_INTERVAL", "1s"},
                                    {"CORRAL_INTERVAL", ""},
                                    {"CORRAL_NO_MASK", "1"},
                                    {"CORRAL_STORE", "/tmp/store"},
                                    {"CORRAL_UNKNOWN", "x"},
                                    {"INTERVAL", "soon"}})
    EXPECT_EQ(run_variable_problem(name, value), "") << name << "=" << value;
}

}  // namespace
}  // namespace corral::cli
