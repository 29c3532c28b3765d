// Reading plans: the headers, the cells, what is wrong and where.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/test_paths.h"
#include "plan/plan_file.h"
#include "sys/file.h"

namespace corral::plan {
namespace {

using Words = std::vector<std::string>;

std::string fixture(const std::string& name) {
  return sys::read_file(fs::path(source_dir()) / "tests/fixtures/plans" / name).value();
}

Plan read(std::string_view text, const Known& known = {}) {
  return parse_csv_plan(text, "/plans", known);
}
// One row below radT's header without the columns that the tests do not need.
Plan row_of(const std::string& columns, const std::string& cells) {
  return read("Experiment,Workload,File," + columns + "\n1,1,train.py," + cells + "\n");
}

Words complaints(const Plan& plan) {
  Words lines;
  for (const Problem& problem : plan.problems) lines.push_back(to_line(problem, "p"));
  return lines;
}
// Returns the problem of the one row; empty if there is none.
std::string complaint(const std::string& columns, const std::string& cells) {
  const Words lines = complaints(row_of(columns, cells));
  return lines.empty() ? "" : lines.front();
}
bool has(const Words& lines, const std::string& part) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

std::string param(const Row& row, const std::string& key) {
  const auto found = std::ranges::find(row.params, key, &Pairs::value_type::first);
  return found == row.params.end() ? "" : found->second;
}
Words letters(const Plan& plan) {
  Words all;
  for (const Row& row : plan.rows) all.push_back(row.letter);
  return all;
}

// ---- headers
TEST(PlanHeaders, ThePaper) {
  const Plan plan = read(fixture("paper.csv"));
  EXPECT_EQ(complaints(plan), Words{});
  ASSERT_EQ(plan.rows.size(), 3u);
  EXPECT_EQ(plan.rows[0].command, (Words{"resnet.py", "--data", "/data/cifar10", "--batch-size",
                                         "128", "--epochs", "5"}));
  EXPECT_EQ(plan.rows[1].command,
            (Words{"resnet.py", "--data", "/data/cifar10", "--batch-size", "32", "--epochs", "5"}));
  EXPECT_EQ(plan.rows[2].command, (Words{"resnet.py", "--batch-size", "32", "--amp"}));
  EXPECT_EQ(param(plan.rows[0], "data"), "/data/cifar10");
  EXPECT_EQ(param(plan.rows[0], "model"), "resnet.py");
  EXPECT_EQ(param(plan.rows[0], "batch-size"), "128");
  EXPECT_EQ(param(plan.rows[2], "amp"), "true");
  EXPECT_EQ(plan.rows[1].share.sharing, Sharing::kMps);
  EXPECT_EQ(letters(plan), (Words{"0", "0_A_mps", "0_B_mps"}));
}

TEST(PlanHeaders, TheTalkWithItsAlignedColumns) {
  const Plan plan = read(fixture("talk.csv"));
  EXPECT_EQ(complaints(plan), Words{});
  ASSERT_EQ(plan.rows.size(), 5u);
  EXPECT_EQ(plan.rows[2].share.profile, "3g.20gb");
  EXPECT_EQ(plan.rows[4].share.devices, (Words{"0", "1"}));
  EXPECT_EQ(plan.rows[0].listeners, "smi+top");
  EXPECT_EQ(letters(plan), (Words{"0", "1", "2_A_3g.20gb", "2_B_3g.20gb", "0+1"}));
}

TEST(PlanHeaders, Radt0230WithWhatItWroteItself) {
  const Plan plan = read(fixture("radt-0.2.30.csv"));
  EXPECT_EQ(complaints(plan), Words{});
  ASSERT_EQ(plan.rows.size(), 3u);
  EXPECT_EQ(parse_row_state(plan.rows[0].status), RowState::kFinished);
  EXPECT_EQ(plan.rows[0].run, "0f4c1b8e2a7d4f60b3a9c5d2e1f07788");
  EXPECT_EQ(plan.rows[2].name, "slow one");
  EXPECT_EQ(param(plan.rows[0], "params"), "--batch-size 128 --dataset cifar10");
  EXPECT_EQ(param(plan.rows[0], "file"), "train.py");
  EXPECT_EQ(param(plan.rows[0], "letter"), "0_A");
}

TEST(PlanHeaders, ASpreadsheetsExport) {
  const Plan plan = read(fixture("spreadsheet.csv"));
  ASSERT_EQ(plan.rows.size(), 2u);
  EXPECT_EQ(complaints(plan), Words{"p:1: cells are separated by semicolons and read that way"});
  EXPECT_EQ(plan.rows[0].name, "first; and best");
  EXPECT_EQ(plan.rows[0].command, (Words{"train.py", "--lr", "0,1"}));
  EXPECT_EQ(plan.rows[1].command, (Words{"train.py", "--note", "two words"}));
}

TEST(PlanHeaders, EveryColumn) {
  const Plan plan = read(fixture("everything.csv"));
  EXPECT_EQ(complaints(plan), Words{});
  ASSERT_EQ(plan.rows.size(), 3u);
  const Row& prepare = plan.rows[0];
  EXPECT_EQ(prepare.share.cpu_count, 4);
  EXPECT_EQ(prepare.share.numa_node, 0);
  EXPECT_TRUE(prepare.share.split_siblings);
  EXPECT_EQ(prepare.share.memory_bytes, 16ll << 30);
  EXPECT_EQ(prepare.limits.max_time, std::chrono::hours(2));
  EXPECT_EQ(prepare.share.cpu_quota, 1.5);
  EXPECT_EQ(prepare.share.io_weight, 500);
  EXPECT_EQ(prepare.share.cache, CacheState::kCold);
  EXPECT_EQ(prepare.letter, "cpu");
  const Row& train = plan.rows[1];
  EXPECT_EQ(train.share.mps_threads_percent, 50);
  EXPECT_EQ(train.share.mps_memory_bytes, 8ll << 30);
  EXPECT_EQ(train.share.mps_priority, 1);
  EXPECT_EQ(train.share.cpus, (std::vector{0, 1, 2, 3, 8}));
  EXPECT_EQ(train.share.sm_clock_mhz, 1410);
  EXPECT_EQ(train.share.memory_clock_mhz, 1215);
  EXPECT_EQ(train.share.power_watts, 250);
  EXPECT_EQ(train.limits.max_epochs, 5);
  EXPECT_EQ(train.limits.max_steps, 100);
  EXPECT_TRUE(train.baseline);
  EXPECT_TRUE(train.ends_workload);
  EXPECT_EQ(train.tags, (Pairs{{"model", "resnet"}, {"size", "m"}}));
  EXPECT_EQ(train.env, (Pairs{{"OMP_NUM_THREADS", "1"}, {"A_B", "x=y"}}));
  EXPECT_EQ(train.after, Words{"prepare"});
  EXPECT_EQ(train.environment, "venv=env");
  EXPECT_TRUE(plan.rows[2].loop);
  EXPECT_EQ(plan.rows[2].share.cpus, std::vector{5});
  EXPECT_EQ(plan.rows[2].share.mps_threads_percent, 50);
}

TEST(PlanHeaders, AnyOrderAnyCaseAndTabs) {
  const Plan plan = read("PARAMS\tfile\tworkload\tEXPERIMENT\n--lr 1\ttrain.py\t7\tmine\n");
  ASSERT_EQ(plan.rows.size(), 1u);
  EXPECT_TRUE(plan.usable());
  EXPECT_EQ(plan.rows[0].workload, "7");
  EXPECT_EQ(plan.rows[0].command, (Words{"train.py", "--lr", "1"}));
}

TEST(PlanHeaders, WhatIsNone) {
  EXPECT_EQ(complaints(read("")), Words{"p: the file has no header and no rows"});
  EXPECT_TRUE(
      has(complaints(read("1,2,train.py\n")), "p:1: this line is not the header of a plan"));
  EXPECT_EQ(
      complaints(read("Workload,Params\n")),
      (Words{"p: the file has no rows", "p:1: the header has no column Experiment",
             "p:1: the header has no column Model and no File; one of them names the script"}));
  EXPECT_EQ(
      complaints(read("Experiment,Worklod,File,Devices\n1,1,a.py,0\n1,2,a.py,0\n")),
      Words{"p:1:12: header 'Worklod': not a column of a plan, and the header has no Workload; "
            "did you mean Workload?"})
      << "and nothing of each row";
  EXPECT_EQ(complaints(read("Experiment,Workload,Params\n1,1,a\n1,2,b\n")),
            Words{"p:1: the header has no column Model and no File; one of them names the script"});
  EXPECT_TRUE(has(complaints(read("Experiment,Workload,File,Workload\n1,1,a.py,2\n")),
                  "p:1:26: header 'Workload': this column is given twice"));
  EXPECT_FALSE(read("\xff\xfe"
                    "E\0x")
                   .usable());
  EXPECT_TRUE(has(complaints(read("Experiment,Workload,File\n1,caf\xe9,a.py\n")),
                  "p:2:6: a byte that is not UTF-8"));
  EXPECT_FALSE(read(std::string_view("Experiment,Workload,File\n1,\0,a.py\n", 34)).usable());
}

// ---- form
TEST(PlanForm, ALineMayDeclareTheSeparator) {
  const Plan plan = read("sep=;\nExperiment;Workload;File;Params\n1;1;train.py;--a 1,2\n");
  EXPECT_EQ(complaints(plan), Words{});
  ASSERT_EQ(plan.rows.size(), 1U);
  EXPECT_EQ(plan.rows[0].line, 3);
  EXPECT_EQ(plan.rows[0].command.back(), "1,2");
  EXPECT_EQ(complaints(read("sep=,\nExperiment,Workload,File\n1,1,a;b;c;d;e.py\n")), Words{});
}

TEST(PlanForm, LinesThatEndInCrAloneAreOneError) {
  EXPECT_EQ(complaints(read("Experiment,Workload,File\r1,1,train.py\r")),
            Words{"p:1: lines end in CR alone, as on old Macs; save the file with LF or CRLF"});
}

TEST(PlanForm, CurlyQuotesInTheHeaderAreOneError) {
  const Words said = complaints(read("“Experiment”,“Workload”,“File”\n1,1,train.py\n"));
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(has(said, "p:1: the header holds curly quotes, which quote nothing")) << said[0];
}

TEST(PlanForm, EqualMistakesAreSaidOnceWithTheirNumber) {
  std::string text = "Experiment,Workload,File,Memory\n";
  for (int i = 0; i < 500; ++i) text += fmt::format("1,{},train.py,lots\n", i);
  text += "1,500,train.py,more\n";
  const Words said = complaints(read(text));
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0],
            "p:2:14: Memory 'lots': not an amount of memory … and 499 more like it; such as 512M "
            "or 16G");
  EXPECT_TRUE(has(said, "p:502: Memory 'more'")) << said[1];
}

TEST(PlanForm, CommentsBlankLinesAndQuotedBreaks) {
  const Plan plan = read(
      "# a plan\n\nExperiment,Workload,File,Params\n  # note, with a comma\n"
      "1,1,train.py,\"--note 'a\nb'\"\n\n,,,\n1,2,train.py,\n");
  EXPECT_EQ(complaints(plan), Words{});
  ASSERT_EQ(plan.rows.size(), 2u);
  EXPECT_EQ(plan.rows[0].line, 5);
  EXPECT_EQ(plan.rows[0].command.back(), "a\nb");
  EXPECT_EQ(plan.rows[1].line, 9);
}

TEST(PlanForm, BrokenQuotesHideNoOtherRow) {
  const Plan plan =
      read("Experiment,Workload,File,Params\n1,1,\"train.py,--a\n1,2,\"tr\"ain.py,\n1,3,,\n");
  EXPECT_EQ(complaints(plan),
            (Words{"p:2:5: 'train.py,--a': the quote is never closed",
                   "p:3:5: 'tr': something follows the closing quote; a quote inside of quotes is "
                   "written twice",
                   "p:4:5: File: names no script; Model or File: a script, program or project"}));
}

TEST(PlanForm, MoreAndFewerCellsThanTheHeader) {
  EXPECT_TRUE(has(complaints(read("Experiment,Workload,File,Cpus,Params\n1,1,a.py,0,3,x\n")),
                  "p:2:14: 'x': a cell more than the header has (5); a value that contains"));
  const Plan fewer = read("Experiment,Workload,File,Params\n1,1,a.py\n");
  EXPECT_TRUE(fewer.usable());
  EXPECT_EQ(complaints(fewer), Words{"p:2: 3 cells, the header has 4: the last ones are empty"});
}

// ---- cells
TEST(PlanCells, WhatIsRefused) {
  EXPECT_EQ(complaint("Devices,Collocation", "0,nan"), "") << "radT writes empty cells back so";
  EXPECT_EQ(complaint("Devices,Collocation", "0,3g.21gb"),
            "p:2:16: Collocation '3g.21gb': no such MIG profile; did you mean 3g.20gb?");
  EXPECT_EQ(complaint("Devices,Collocation", "0,naiv"),
            "p:2:16: Collocation 'naiv': unknown way of sharing; did you mean naive?");
  EXPECT_EQ(complaint("Collocation", "mps"),
            "p:2:14: Collocation 'mps': needs a device; name one in Devices");
  EXPECT_EQ(complaint("Devices,Collocation", "0,mps=150"),
            "p:2:16: Collocation 'mps=150': the share of threads is a percentage, 1 to 100");
  EXPECT_EQ(complaint("Devices,Collocation", "0,mps:thread=5"),
            "p:2:16: Collocation 'mps:thread=5': unknown key 'thread'; did you mean threads?");
  EXPECT_EQ(complaint("Devices", "0+0"), "p:2:14: Devices '0+0': device 0 is given twice");
  EXPECT_TRUE(complaint("Devices", "zero").starts_with("p:2:14: Devices 'zero': 'zero' is no"));
  EXPECT_TRUE(complaint("Cpus", "0-x").find("'0-x' is neither a CPU") != std::string::npos);
  EXPECT_TRUE(complaint("Cpus", "3-0").find("'3-0' is neither a CPU") != std::string::npos);
  EXPECT_TRUE(complaint("Cpus", "0-3;smt=split").find("a set of CPUs already says") !=
              std::string::npos);
  EXPECT_EQ(complaint("Memory", "lots"),
            "p:2:14: Memory 'lots': not an amount of memory; such as 512M or 16G");
  EXPECT_EQ(complaint("Limits", "tine=2h"),
            "p:2:14: Limits 'tine=2h': unknown key 'tine'; did you mean time?");
  EXPECT_TRUE(complaint("Limits", "2h").find("'2h' is not key=value") != std::string::npos);
  EXPECT_FALSE(complaint("Limits", "io=0").empty());
  EXPECT_FALSE(complaint("Limits", "cpu=nan").empty());
  EXPECT_EQ(complaint("Cache", "hold"),
            "p:2:14: Cache 'hold': not a state of the page cache; did you mean cold?");
  EXPECT_FALSE(complaint("Repeat", "0").empty());
  EXPECT_FALSE(complaint("Baseline", "maybe").empty());
  EXPECT_FALSE(complaint("End", "last").empty());
  EXPECT_FALSE(complaint("Tags", "a=1;a=2").empty());
  EXPECT_FALSE(complaint("Env", "1A=2").empty());
  EXPECT_FALSE(complaint("Devices,Clocks", "0,fast").empty());
  EXPECT_FALSE(complaint("Power", "250W").empty());
  EXPECT_FALSE(complaint("Params", "--note 'open").empty());
  EXPECT_EQ(complaint("Model", "b.py"),
            "p:2:5: File 'train.py': Model already names a script; empty one of them");
  EXPECT_EQ(complaint("Data,Params", "/d,--data /e"),
            "p:2:14: Data '/d': Params contain --data, too; empty one of them");
}

TEST(PlanCells, ParamsAsAShellWouldSplitThem) {
  const Row row =
      row_of("Params",
             R"("-b 32 --lr=1e-3 --shift -0.5 --betas 0.9 0.99 --name ""a b"" x=1 --dry")")
          .rows.at(0);
  EXPECT_EQ(row.command, (Words{"train.py", "-b", "32", "--lr=1e-3", "--shift", "-0.5", "--betas",
                                "0.9", "0.99", "--name", "a b", "x=1", "--dry"}));
  EXPECT_EQ(param(row, "b"), "32");
  EXPECT_EQ(param(row, "lr"), "1e-3");
  EXPECT_EQ(param(row, "shift"), "-0.5");
  EXPECT_EQ(param(row, "betas"), "0.9 0.99");
  EXPECT_EQ(param(row, "dry"), "true");
}

TEST(PlanProblems, WarningsAreMarkedForPeople) {
  const Plan plan = read("Experiment,Workload,File,Parms\n,1,a.py,x\n");
  ASSERT_EQ(plan.problems.size(), 2u);
  EXPECT_TRUE(to_message(plan.problems[0], "p").starts_with("warning: p:1:26: header 'Parms'"));
  EXPECT_TRUE(to_message(plan.problems[1], "p").starts_with("p:2:1: Experiment: is empty"));
}

TEST(PlanProblems, MoreRunsThanAnybodyCanHaveAreRefused) {
  std::string text = "Experiment,Workload,File,Repeat\n";
  for (int i = 0; i < 60; ++i) text += std::to_string(i) + ",1,train.py,10000\n";
  EXPECT_EQ(
      complaints(read(text)),
      Words{"p:52:15: Repeat '10000': with its repetitions the plan has more than 500000 runs"});
}

// ---- what the caller knows
Known known_machine() {
  Known known;
  known.listener_problem = [](std::string_view word) {
    return word == "smi" ? ""
                         : "listener '" + std::string(word) + "' is unknown, did you mean smi?";
  };
  known.environment_problem = [](std::string_view text) {
    return text == "venv=env" ? "" : "no such environment";
  };
  known.exists = [](const fs::path& path) {
    return path == "/plans/train.py" || path == "/bin/sh" || path == "/plans/project" ||
           path == "/plans/project/MLproject";
  };
  known.names_in = [](const fs::path&) { return Words{"train.py", "plan.csv"}; };
  known.path = "/usr/bin:/bin";
  known.devices =
      std::vector<KnownDevice>{{"0", "GPU-11111111-2222", "00000000:65:00.0", "A100", {}},
                               {"1", "GPU-33333333-4444", "00000000:B3:00.0", "A100", {}}};
  known.cpus = 4;
  return known;
}
Words complaints_here(const std::string& columns, const std::string& cells,
                      const Known& known = known_machine()) {
  return complaints(read("Experiment,Workload," + columns + "\n1,1," + cells + "\n", known));
}

TEST(PlanKnown, WhatThisMachineHasNot) {
  EXPECT_EQ(complaints_here("File", "trian.py"),
            Words{"p:2:5: File 'trian.py': no such file in the plan's folder; did "
                  "you mean train.py?"});
  EXPECT_EQ(complaints_here("File", "sh -c true"), Words{});
  EXPECT_EQ(complaints_here("File", "shh -c true").size(), 1u);
  EXPECT_EQ(complaints_here("File,Environment", "shh,podman=image"),
            (Words{"p:2:9: Environment 'podman=image': no such environment"}));
  EXPECT_EQ(complaints_here("File,Listeners", "train.py,smi+tpo"),
            Words{"p:2:14: Listeners 'smi+tpo': listener 'tpo' is unknown, did you mean smi?"});
  EXPECT_EQ(complaints_here("File,Listeners", "train.py,none"), Words{});
  EXPECT_EQ(complaints_here("File,Devices", "train.py,GPU-33333333-4444"), Words{});
  EXPECT_EQ(complaints_here("File,Devices", "train.py,65:00.0"), Words{});
  EXPECT_EQ(
      complaints_here("File,Devices", "train.py,2"),
      Words{"p:2:14: Devices '2': this machine has no device 2; there are 0 (A100), 1 (A100)"});
  EXPECT_EQ(complaints_here("File,Cpus", "train.py,0-7"),
            Words{"p:2:14: Cpus '0-7': this machine has no CPU 7; there are 0 to 3"});
}

TEST(PlanKnown, WhatMayNotBeExecuted) {
  Known known = known_machine();
  known.exists = [](const fs::path& path) {
    return path == "/plans/train.py" || path == "/plans/run.sh" || path == "/plans/tool" ||
           path == "/plans/sh" || path == "/plans/sh/." || path == "/plans/data.d" ||
           path == "/plans/data.d/." || path == "/bin/sh" || path == "/usr/bin/sh";
  };
  known.executable = [](const fs::path& path) { return path == "/bin/sh"; };
  EXPECT_EQ(complaints_here("File", "train.py", known), Words{});
  EXPECT_EQ(complaints_here("File", "run.sh --fast", known),
            Words{"p:2:5: File 'run.sh --fast': is a file that may not be executed; chmod +x "
                  "run.sh, or an interpreter before it: sh run.sh"});
  EXPECT_EQ(complaints_here("Model", "tool", known),
            Words{"p:2:5: Model 'tool': is a file that may not be executed; chmod +x tool, or an "
                  "interpreter before it: INTERPRETER tool"});
  EXPECT_EQ(complaints_here("File", "data.d", known),
            Words{"p:2:5: File 'data.d': is a folder without an MLproject file; name a script or a "
                  "program in it"});
  EXPECT_EQ(complaints_here("File", "sh train.py", known), Words{})
      << "the program, not the folder";
  EXPECT_EQ(complaints_here("File,Environment", "run.sh,podman=image", known).size(), 1u);
  known.environment_problem = {};
  EXPECT_EQ(complaints_here("File,Environment", "/in/the/image.py,Singularity=image", known),
            Words{});
  known.executable = {};
  EXPECT_EQ(complaints_here("File", "run.sh", known), Words{});
}

TEST(PlanKnown, WithoutAGpuDevicesAreAWarning) {
  Known known = known_machine();
  known.devices->clear();
  const Plan plan =
      read("Experiment,Workload,File,Devices\n1,1,train.py,0\n1,2,train.py,0\n", known);
  EXPECT_TRUE(plan.usable());
  EXPECT_EQ(complaints(plan),
            Words{"p:2:14: Devices '0': this machine has no GPU, so no device 0 (2 rows)"});
}

TEST(PlanKnown, WithoutAGpuWhatSharesOneIsAnError) {
  Known known = known_machine();
  known.runs_here = true;
  known.devices->clear();
  const Plan plan =
      read("Experiment,Workload,File,Devices,Collocation\n1,1,train.py,0,mps\n1,2,train.py,0,mps\n",
           known);
  EXPECT_FALSE(plan.usable());
  EXPECT_TRUE(has(complaints(plan), "Collocation 'mps': needs a GPU, and this machine has none"));
}

TEST(PlanKnown, AnEnvironmentThatIsNotHereIsSaidOnce) {
  Known known = known_machine();
  int asked = 0;
  known.environment_problem = [](std::string_view) { return std::string(); };
  known.environment_lack = [&](std::string_view text, const fs::path&) -> std::optional<Lack> {
    ++asked;
    if (text == "conda=nope") return Lack{.reason = "no such environment"};
    if (text == "docker=far") return Lack{.reason = "not here", .certain = false};
    return std::nullopt;
  };
  const std::string head = "Experiment,Workload,File,Environment\n";
  const Plan plan = read(head + "1,1,train.py,conda=nope\n1,2,train.py,conda=nope\n", known);
  EXPECT_FALSE(plan.usable());
  EXPECT_EQ(complaints(plan),
            Words{"p:2:14: Environment 'conda=nope': no such environment (2 rows)"});
  EXPECT_EQ(asked, 1);
  const Plan may_come = read(head + "1,1,train.py,docker=far\n1,2,train.py,conda=base\n", known);
  EXPECT_TRUE(may_come.usable());
  EXPECT_EQ(complaints(may_come).size(), 1U);
}

TEST(PlanKnown, AVariableThatARunRefuses) {
  Known known = known_machine();
  known.variable_problem = [](const std::string& name, const std::string& value) {
    return name == "CORRAL_INTERVAL" && value == "soon" ? std::string("'soon': expected a duration")
                                                        : std::string();
  };
  const std::string text =
      "Experiment,Workload,File,Env\n"
      "1,1,train.py,CORRAL_INTERVAL=1s\n"
      "1,2,train.py,LR=soon;CORRAL_INTERVAL=soon\n";
  const Plan plan = read(text, known);
  EXPECT_FALSE(plan.usable());
  EXPECT_EQ(complaints(plan),
            Words{"p:3:14: Env 'LR=soon;CORRAL_INTERVAL=soon': CORRAL_INTERVAL: 'soon': expected a "
                  "duration; correct or remove it"});
}

TEST(PlanKnown, AVariableThatAColumnOverrides) {
  Known known = known_machine();
  known.variable_problem = [](const std::string& name, const std::string&) {
    return name == "CORRAL_LISTENERS" ? std::string("unknown") : std::string();
  };
  const std::string head = "Experiment,Workload,File,Listeners,Env\n";
  EXPECT_TRUE(read(head + "1,1,train.py,smi,CORRAL_LISTENERS=typo\n", known).usable());
  EXPECT_FALSE(read(head + "1,1,train.py,,CORRAL_LISTENERS=typo\n", known).usable());
}

TEST(PlanKnown, WhatDoesNotReachAContainer) {
  Known known = known_machine();
  known.environment_problem = {};
  const Plan plan = read(
      "Experiment,Workload,File,Environment,Env\n1,1,train.py,podman=image,A=1;PATH=/x\n"
      "1,2,train.py,podman=image,A=1;PATH=/x\n1,3,train.py,venv=env,PATH=/x\n",
      known);
  EXPECT_TRUE(plan.usable());
  EXPECT_EQ(complaints(plan),
            Words{"p:2:27: Env 'A=1;PATH=/x': a container has PATH of its image: this value does "
                  "not reach it (2 rows); env=PATH=... in Environment sets it there"});
}

TEST(PlanKnown, AProjectIsItsOwnEnvironment) {
  const Plan plan = read("Experiment,Workload,Model,Params\n1,1,project,lr=0.1\n", known_machine());
  EXPECT_EQ(plan.rows.at(0).environment, "mlproject=project");
  EXPECT_EQ(plan.rows.at(0).command, (Words{"main", "--lr", "0.1"}));
}

TEST(PlanKnown, CpusOfAWorkloadTogether) {
  const std::string header = "Experiment,Workload,File,Cpus\n";
  EXPECT_EQ(complaints(read(header + "1,1,train.py,2\n1,1,train.py,2\n", known_machine())),
            Words{});
  EXPECT_TRUE(has(complaints(read(header + "1,1,train.py,0-1\n1,1,train.py,3\n", known_machine())),
                  "workload 1 requests 5 CPUs together, this machine has 4"));
}

// ---- rows together
TEST(PlanTogether, MigOfThePublishedStudy) {
  const Plan plan = read(fixture("study-mig.csv"));
  const Words lines = complaints(plan);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(
      lines[0],
      "p:8:10: Collocation '4g.20gb': workload 2 requests 4g.20gb + 2g.10gb + 2g.10gb on device "
      "2, which do not fit together: 4 + 2 + 2 = 8 compute slices, the device (A100 40GB) has "
      "7");
  EXPECT_TRUE(has(lines, "workload 3 requests 1g.5gb + 1g.5gb + 2g.10gb + 4g.20gb"));
  EXPECT_TRUE(has(lines, "1 + 1 + 1 + 2 + 4 = 9 compute slices"));
}

TEST(PlanTogether, OneDeviceInTwoWays) {
  const std::string header = "Experiment,Workload,File,Devices,Collocation,Clocks\n";
  EXPECT_TRUE(has(complaints(read(header + "1,1,a.py,0,3g.20gb,\n1,1,a.py,0,-,\n")),
                  "p:3:12: Collocation '-': line 2 of the same workload requests device 0 in MIG"));
  const Plan mps = read(header + "1,1,a.py,0,mps,\n1,1,a.py,0,-,\n");
  EXPECT_TRUE(mps.usable());
  EXPECT_TRUE(has(complaints(mps), "uses MPS on device 0"));
  EXPECT_TRUE(
      has(complaints(read(header + "1,1,a.py,0,,900\n1,1,a.py,0,,\n1,1,a.py,0,,1000\n")),
          "p:4:13: Clocks '1000': line 2 of the same workload requests another of the device"));
  EXPECT_TRUE(read(header + "1,1,a.py,0,3g.20gb,\n1,2,a.py,0,-,\n").usable());
}

TEST(PlanTogether, AfterEndsAndLoops) {
  const std::string header = "Experiment,Workload,File,After,End,Loop\n";
  EXPECT_TRUE(has(complaints(read(header + "1,next,a.py,trian,,\n1,train,a.py,,,\n")),
                  "After 'trian': experiment 1 has no workload trian; did you mean train?"));
  EXPECT_TRUE(has(complaints(read(header + "1,a,a.py,a,,\n")), "cannot come after itself"));
  EXPECT_EQ(complaints(read(header + "1,a,a.py,b,,\n1,b,a.py,c,,\n1,c,a.py,a,,\n1,d,a.py,a,,\n")),
            Words{"p:4:10: After 'a': workloads wait for each other: a after b after c after a"});
  EXPECT_TRUE(has(complaints(read(header + "1,a,a.py,,first,\n1,a,a.py,,this,\n")),
                  "p:3:11: End 'this': line 2 of the same workload contradicts"));
  EXPECT_TRUE(has(complaints(read(header + "1,a,a.py,,,x\n1,a,a.py,,,x\n")), "it never ends"));
  EXPECT_FALSE(read(header + "1,a,a.py,,this,x\n").usable());
}

TEST(PlanTogether, StatusRunsAndCopies) {
  const std::string header = "Experiment,Workload,File,Status,Run\n";
  const std::string run = "0f4c1b8e2a7d4f60b3a9c5d2e1f07788";
  EXPECT_TRUE(has(complaints(read(header + "1,1,a.py,FINISHED x," + run + "\n1,2,a.py,FINISHED x," +
                                  run + "\n")),
                  "p:3:21: Run '" + run + "': line 2 has the same run"));
  EXPECT_TRUE(has(complaints(read(header + "1,1,a.py,DONE,x1\n")), "is not FINISHED"));
  EXPECT_TRUE(has(complaints(read(header + "1,1,a.py,DONE,x1\n")), "is not a run's id"));
  EXPECT_TRUE(has(complaints(read(header + "1,1,a.py,FINISHED,\n1,1,a.py,,\n")),
                  "1 of the 2 rows of workload 1 are FINISHED"));
  EXPECT_TRUE(has(complaints(read(header + "1,1,a.py,,\n1,2,a.py,,\n1,1,a.py,,\n")),
                  "p:4:3: Workload '1': equals line 2"));
  EXPECT_EQ(complaints(read(header + "1,1,a.py,,\n1,1,a.py,,\n")), Words{});
}

TEST(PlanTogether, OneReasonIsSaidOnce) {
  const Plan plan = read(
      "Experiment, Workload, File\n1, 1, gone.py\n1, 2, gone.py\n1, 3, lost.py\n", known_machine());
  EXPECT_EQ(complaints(plan),
            (Words{"p:2:7: File 'gone.py': no such file in the plan's folder (2 rows)",
                   "p:4:7: File 'lost.py': no such file in the plan's folder"}));
}

TEST(PlanTogether, EveryProblemAtOnce) {
  const Words lines = complaints(read(fixture("wrong.csv"), known_machine()));
  for (const char* part :
       {"p:1:45: header 'Colocation': not a column of a plan", "p:2:11: Collocation '3g.21gb'",
        "p:3:8: Devices '0+0'", "p:3:15: Listeners 'smi+tpo'", "p:3:33: Cpus '0-x'",
        "p:4:8: Devices '9'", "p:4:14: File 'trian.py'", "p:4:23: Params", "p:4:37: Repeat '0'",
        "p:5:3: Workload: is empty", "p:5:9: Collocation 'mps': needs a device",
        "p:5:26: After '99'", "p:6:1: Experiment: is empty", "p:6:5: Status 'DONE'",
        "p:6:10: Run 'abc'", "p:6:17: Collocation 'naiv'", "workloads wait for each other",
        "p:9:33: 'extra': a cell more"})
    EXPECT_TRUE(has(lines, part)) << part;
}

TEST(PlanTogether, WorkloadsAndRepetitions) {
  const Plan plan = read(
      "Experiment,Workload,File,Repeat,End,After\n1,a,a.py,2,,\n1,b,a.py,,this,a\n1,a,b.py,3,,\n");
  EXPECT_TRUE(plan.usable());
  EXPECT_TRUE(has(complaints(plan), "p:2:10: Repeat '2': a workload repeats as a whole: 3 times"));
  Words order;
  for (const Workload& workload : workloads_of(plan.rows))
    order.push_back(workload.recorded_name() + "/" + std::to_string(workload.rows.size()));
  EXPECT_EQ(order, (Words{"a#1/2", "b/1", "a#2/2", "a#3/2"}));
  EXPECT_EQ(workloads_of(plan.rows)[1].end, WorkloadEnd::kNamed);
  EXPECT_EQ(workloads_of(plan.rows)[1].after, Words{"a"});
}

TEST(PlanTogether, KeysStayWhenOnlyTheFormChanges) {
  const Plan a = read("Experiment,Workload,File,Params\n1,1,a.py,-x\n1,1,a.py,-x\n1,2,b.py,\n");
  const Plan b = read(
      "# moved\nRun,Params,Status,Workload,Note,File,Experiment\n,,,2,n,b.py,1\n"
      "id,-x,RUNNING,1,,a.py,1\n,\"-x\",, 1,,a.py,1\n");
  ASSERT_EQ(a.rows.size(), 3u);
  EXPECT_NE(a.rows[0].key, a.rows[1].key);
  EXPECT_EQ(a.rows[0].key.size(), 16u);
  EXPECT_EQ(a.rows[2].key, b.rows[0].key);
  EXPECT_EQ(a.rows[0].key, b.rows[1].key);
  EXPECT_EQ(a.rows[1].key, b.rows[2].key);
}

TEST(PlanTogether, MoreLettersThanTheAlphabet) {
  std::string text = "Experiment,Workload,File,Devices\n";
  for (int i = 0; i < 28; ++i) text += "1,1,a.py,0\n";
  const Plan plan = read(text);
  EXPECT_EQ(plan.rows[25].letter, "0_Z");
  EXPECT_EQ(plan.rows[26].letter, "0_AA");
}

TEST(PlanFiles, ReadsFromDiskAndSaysWhatIsNone) {
  EXPECT_EQ(read_plan("/nowhere/plan.csv", {}).error().code, Code::kNotFound);
  EXPECT_EQ(read_plan("/", {}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(
      read_plan(fs::path(source_dir()) / "tests/fixtures/plans/talk.csv", {}).value().rows.size(),
      5u);
  EXPECT_EQ(plan_id("host", "/a/b.csv").size(), 32u);
  EXPECT_EQ(plan_id("host", "/a/b.csv"), plan_id("host", "/a/x/../b.csv"));
  EXPECT_NE(plan_id("host", "/a/b.csv"), plan_id("other", "/a/b.csv"));
}

}  // namespace
}  // namespace corral::plan
