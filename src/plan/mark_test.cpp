// Marking plans: only the cells Status and Run change, and the file is replaced at once.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "core/test_paths.h"
#include "plan/csv.h"
#include "plan/csv_plan.h"
#include "plan/plan_file.h"
#include "sys/file.h"

namespace corral::plan {
namespace {

std::string fixture(const std::string& name) {
  return sys::read_file(fs::path(source_dir()) / "tests/fixtures/plans" / name).value();
}

Plan read(std::string_view text) { return parse_csv_plan(text, "/", {}); }
std::string marked(std::string_view text, const std::vector<Mark>& marks) {
  Marked result;
  auto out = mark_csv(text, marks, result);
  return out ? *out : "error: " + out.error().message;
}
// The row of that number gets this status and run.
std::string marked_row(std::string_view text, std::size_t row, const std::string& status,
                       const std::string& run) {
  return marked(text, {{read(text).rows.at(row).key, status, run}});
}

// ---- by example
TEST(PlanMarks, ChangeTwoCells) {
  const std::string text =
      "\xef\xbb\xbf# mine\r\nExperiment;Run;Workload; File;Status;Own\r\n\r\n"
      "1;;1; a.py;;\"x;y\"\r\n1;old;2; \"a.py\" ;FAILED limit;z";
  EXPECT_EQ(
      marked_row(text, 0, "FINISHED (1 0) \"n\"", "ab"),
      "\xef\xbb\xbf# mine\r\nExperiment;Run;Workload; File;Status;Own\r\n\r\n"
      "1;ab;1; a.py;\"FINISHED (1 0) \"\"n\"\"\";\"x;y\"\r\n1;old;2; \"a.py\" ;FAILED limit;z");
  EXPECT_EQ(marked_row(text, 1, "a\nb", ""),
            "\xef\xbb\xbf# mine\r\nExperiment;Run;Workload; File;Status;Own\r\n\r\n"
            "1;;1; a.py;;\"x;y\"\r\n1;;2; \"a.py\" ;a b;z");
  EXPECT_EQ(marked_row(text, 1, "FAILED limit", "old"), text);
}

TEST(PlanMarks, KeepAlignedColumnsAsFarAsThereIsRoom) {
  const std::string text = "Experiment,Workload,Status , Run,File\n1,1,       ,    ,a.py\n";
  EXPECT_EQ(marked_row(text, 0, "FAILED", "0123"),
            "Experiment,Workload,Status , Run,File\n1,1, FAILED,0123,a.py\n");
  EXPECT_EQ(marked_row(text, 0, "", ""), text);
}

TEST(PlanMarks, AddColumnsThatAreNotThere) {
  Marked result;
  const std::string text = "Experiment,Workload,File,\n# note\n1,1,a.py,\n1,2\n,,,\n1,3,c.py\n";
  const auto plan = read(text);
  const auto out = mark_csv(text, {{plan.rows[0].key, "RUNNING", "r"}}, result);
  EXPECT_TRUE(result.added_columns);
  EXPECT_EQ(
      out.value(),
      "Experiment,Workload,File,Status,Run,\n# note\n1,1,a.py,RUNNING,r,\n1,2\n,,,\n1,3,c.py,,\n");
  const Plan again = read(*out);
  EXPECT_EQ(again.rows[0].status, "RUNNING");
  EXPECT_EQ(again.rows[2].command, std::vector<std::string>{"c.py"});
}

TEST(PlanMarks, FillShortRows) {
  const std::string text = "Experiment,Workload,File,Params,Run,Status\n1,1,a.py\n1,2,b.py\n";
  EXPECT_EQ(marked_row(text, 0, "RUNNING", ""),
            "Experiment,Workload,File,Params,Run,Status\n1,1,a.py,,,RUNNING\n1,2,b.py\n");
}

TEST(PlanMarks, SayWhichRowsAreGoneAndRefuseWhatIsNoPlan) {
  Marked result;
  EXPECT_EQ(mark_csv("Experiment,Workload,File\n1,1,a.py\n", {{"nobody", "x", ""}}, result).value(),
            "Experiment,Workload,File\n1,1,a.py\n");
  EXPECT_EQ(result.lost, std::vector<std::string>{"nobody"});
  EXPECT_FALSE(result.added_columns);
  EXPECT_EQ(mark_csv("nothing\n", {{"nobody", "x", ""}}, result).error().code,
            Code::kInvalidArgument);
}

// ---- any file
struct File {
  std::string text;
  std::size_t rows = 0;
};

// Cells that need quotes, and some that do not but have them.
std::string written_cell(const std::string& value, char separator) {
  const std::string cell = csv_cell(value, separator);
  return *rc::gen::weightedOneOf<std::string>(
      {{4, rc::gen::just(cell)},
       {1, rc::gen::just(cell.starts_with('"') ? " " + cell + "  " : "\"" + cell + "\"")}});
}

File any_file() {
  const char separator = *rc::gen::element(',', ';', '\t');
  const std::string eol = *rc::gen::element<std::string>("\n", "\r\n");
  std::vector<std::string> columns = {"Experiment", "Workload", "File"};
  for (const char* more : {"Status", "Run", "Params", "Note", "x\"y", "Name"})
    if (*rc::gen::weightedElement<bool>({{3, true}, {1, false}})) columns.push_back(more);
  for (std::size_t i = columns.size(); i > 1; --i)
    std::swap(columns[i - 1], columns[*rc::gen::inRange<std::size_t>(0, i)]);
  File file;
  file.text = *rc::gen::element<std::string>("", "\xef\xbb\xbf", "# a, plan; here\n");
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      file.text += (i > 0 ? std::string(1, separator) : "") + written_cell(cells[i], separator);
    file.text += eol;
  };
  line(columns);
  file.rows = *rc::gen::inRange<std::size_t>(1, 6);
  for (std::size_t r = 0; r < file.rows; ++r) {
    if (*rc::gen::inRange(0, 4) == 0)
      file.text += *rc::gen::element<std::string>("\n", " # no row\r\n");
    std::vector<std::string> cells;
    for (const std::string& column : columns) {
      const bool name = column == "Experiment" || column == "Workload";
      cells.push_back(
          name ? "n" + std::to_string(*rc::gen::inRange(0, 3))
               : *rc::gen::element<std::string>("", "a", "b c", "q\"q", "a,b;c\td", "é"));
    }
    if (*rc::gen::inRange(0, 5) == 0) cells.resize(std::max<std::size_t>(cells.size() - 1, 3));
    line(cells);
  }
  if (*rc::gen::arbitrary<bool>()) file.text.erase(file.text.size() - eol.size());
  return file;
}

// Every cell of every record, but for those two columns.
std::vector<std::vector<std::string>> other_cells(const std::string& text) {
  ProblemList problems(text);
  const CsvPlan plan = read_csv_plan(problems);
  const auto status = plan.header.at(Field::kStatus);
  const auto run = plan.header.at(Field::kRun);
  std::vector<std::vector<std::string>> all;
  for (const CsvRecord& record : plan.table.records) {
    auto& cells = all.emplace_back();
    for (std::size_t i = 0; i < record.cells.size(); ++i) {
      const CsvCell& cell = record.cells[i];
      if (i != status && i != run) cells.push_back(text.substr(cell.begin, cell.end - cell.begin));
    }
    // A short row may have been filled up.
    while (!cells.empty() && cells.back().empty()) cells.pop_back();
  }
  return all;
}
// Comments, blank lines and whatever else is between the records.
std::string between_records(const std::string& text) {
  std::string rest;
  std::size_t at = 0;
  for (const CsvRecord& record : read_csv(text).records) {
    rest += text.substr(at, record.begin - at) + "|";
    at = record.end;
  }
  return rest + text.substr(at);
}

RC_GTEST_PROP(PlanMarks, OnlyStatusAndRunChange, ()) {
  const File file = any_file();
  const Plan plan = read(file.text);
  RC_PRE(!plan.rows.empty());
  std::map<std::string, Mark> wanted;
  for (const Row& row : plan.rows) {
    if (*rc::gen::arbitrary<bool>())
      wanted[row.key] = {
          row.key,
          *rc::gen::element<std::string>("", "RUNNING", "FINISHED (1 0) a, b", "x;\"y\"\t"),
          *rc::gen::element<std::string>("", "0123abcd")};
  }
  std::vector<Mark> marks;
  marks.reserve(wanted.size());
  for (const auto& [key, mark] : wanted) marks.push_back(mark);
  Marked result;
  const auto out = mark_csv(file.text, marks, result);
  RC_ASSERT(out.has_value());
  RC_ASSERT(result.lost.empty());
  RC_ASSERT(other_cells(*out) == other_cells(file.text));
  RC_ASSERT(between_records(*out) == between_records(file.text));
  const Plan after = read(*out);
  RC_ASSERT(after.rows.size() == plan.rows.size());
  for (std::size_t i = 0; i < after.rows.size(); ++i) {
    RC_ASSERT(after.rows[i].key == plan.rows[i].key);
    const auto mark = wanted.find(plan.rows[i].key);
    RC_ASSERT(after.rows[i].status ==
              (mark == wanted.end() ? plan.rows[i].status : std::string(mark->second.status)));
    RC_ASSERT(after.rows[i].run == (mark == wanted.end() ? plan.rows[i].run : mark->second.run));
  }
  // Saying the same again changes nothing.
  RC_ASSERT(mark_csv(*out, marks, result).value() == *out);
}

// ---- sweeps
Plan sweep(std::string_view text) { return parse_sweep(text, "/", {}); }
std::string marked_sweep(const std::string& text, std::size_t row, const std::string& status,
                         const std::string& run) {
  Marked result;
  const auto out = mark_sweep(text, {{sweep(text).rows.at(row).key, status, run}}, result);
  return out ? *out : "error: " + out.error().message;
}

TEST(SweepMarks, AppendAMapAndEditItsEntries) {
  const std::string text = fixture("sweep.yaml");
  const std::string one = marked_sweep(text, 0, "RUNNING", "aa");
  EXPECT_EQ(one, text + "status:\n  0: \"RUNNING aa (--lr 0.1 --batch-size 32 --amp True)\"\n");
  EXPECT_EQ(sweep(one).rows[0].status, "RUNNING");
  EXPECT_EQ(sweep(one).rows[0].run, "aa");
  const std::string two = marked_sweep(one, 4, "FAILED limit", "bb");
  EXPECT_EQ(two, one + "  4: \"FAILED bb (--lr 0.01 --batch-size 64 --amp True)\"\n");
  const std::string three = marked_sweep(two, 0, "FINISHED (000 0) n (0)", "aa");
  EXPECT_EQ(three, text +
                       "status:\n  0: \"FINISHED aa (--lr 0.1 --batch-size 32 --amp True)\"\n"
                       "  4: \"FAILED bb (--lr 0.01 --batch-size 64 --amp True)\"\n");
  EXPECT_EQ(marked_sweep(three, 0, "FINISHED (000 0) n (0)", "aa"), three);
}

TEST(SweepMarks, KeepWhatIsAroundTheMap) {
  const std::string head = "experiment: 1\r\nfile: a.py\r\n";
  const std::string tail = "# values\r\nparameters:\r\n  x: {values: [1, 2]}\r\n";
  const std::string folded = head + "status:\r\n    1: FINISHED cc (--x\r\n      2)\r\n\r\n" + tail;
  EXPECT_EQ(sweep(folded).rows[1].run, "cc");
  EXPECT_EQ(marked_sweep(folded, 0, "RUNNING", "dd"),
            head +
                "status:\r\n    1: FINISHED cc (--x\r\n      2)\r\n    0: \"RUNNING dd (--x "
                "1)\"\r\n\r\n" +
                tail);
  EXPECT_EQ(marked_sweep(folded, 1, "FAILED", "dd"),
            head + "status:\r\n    1: \"FAILED dd (--x 2)\"\r\n\r\n" + tail);
  const std::string braces = head + "status: {1: \"FINISHED cc (--x 2)\"}\r\n" + tail;
  EXPECT_EQ(
      marked_sweep(braces, 0, "RUNNING", "dd"),
      head + "status:\r\n  0: \"RUNNING dd (--x 1)\"\r\n  1: \"FINISHED cc (--x 2)\"\r\n" + tail);
  const std::string empty = head + "status:\r\n" + tail;
  EXPECT_EQ(marked_sweep(empty, 0, "RUNNING", "dd"),
            head + "status:\r\n  0: \"RUNNING dd (--x 1)\"\r\n" + tail);
}

TEST(SweepMarks, RefuseWhatCannotBeEdited) {
  EXPECT_TRUE(
      marked_sweep("{experiment: 1, file: a.py, parameters: {x: {values: [1]}}}", 0, "RUNNING", "a")
          .starts_with("error: "));
}

// ---- the file
class MarkedFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "corral-plan-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    file_ = folder_ / "plan.csv";
    ASSERT_TRUE(sys::replace_file(file_, kText, 0640));
  }
  void TearDown() override { fs::remove_all(folder_); }

  static constexpr std::string_view kText = "Experiment,Workload,File,Status,Run\n1,1,a.py,,\n";
  static constexpr std::string_view kMarked =
      "Experiment,Workload,File,Status,Run\n1,1,a.py,RUNNING,r\n";
  static std::vector<Mark> marks() { return {{read(kText).rows[0].key, "RUNNING", "r"}}; }
  [[nodiscard]] std::string text() const { return sys::read_file(file_).value(); }

  fs::path folder_, file_;
};

TEST_F(MarkedFile, KeepsModeAndLinkAndLeavesNothingBeside) {
  fs::create_symlink("plan.csv", folder_ / "link.csv");
  // A leftover of a killed writer is no obstacle.
  ASSERT_TRUE(sys::replace_file(folder_ / ".plan.csv.corral-tmp", "half of a plan, and mo"));
  ASSERT_TRUE(mark_rows(folder_ / "link.csv", marks()));
  EXPECT_EQ(text(), kMarked);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.csv"));
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  EXPECT_EQ(sys::list_directory(folder_), (std::vector<std::string>{"link.csv", "plan.csv"}));
}

TEST_F(MarkedFile, IsNotWrittenWhenNothingDiffers) {
  ASSERT_TRUE(mark_rows(file_, marks()));
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(::stat(file_.c_str(), &before), 0);
  ASSERT_TRUE(mark_rows(file_, marks()));
  ASSERT_EQ(::stat(file_.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(MarkedFile, TakesAnEditThatCameBetween) {
  int calls = 0;
  const auto done = change_file(file_, [&](std::string_view old) -> Result<std::string> {
    if (++calls == 1) {
      EXPECT_TRUE(sys::replace_file(file_, "theirs\n"));
    }
    return std::string(old) + "ours\n";
  });
  EXPECT_TRUE(done);
  EXPECT_EQ(text(), "theirs\nours\n");
  EXPECT_EQ(change_file(file_,
                        [&](std::string_view old) -> Result<std::string> {
                          EXPECT_TRUE(sys::replace_file(file_, std::string(old) + "x"));
                          return std::string(old) + "ours";
                        })
                .error()
                .code,
            Code::kConflict);
  EXPECT_EQ(sys::list_directory(folder_), std::vector<std::string>{"plan.csv"});
}

TEST_F(MarkedFile, StaysAsItIsWhenItCannotBeReplaced) {
  EXPECT_EQ(mark_rows(folder_ / "none.csv", marks()).error().code, Code::kNotFound);
  ASSERT_TRUE(sys::replace_file(file_, "no plan\n"));
  EXPECT_EQ(mark_rows(file_, marks()).error().code, Code::kInvalidArgument);
  EXPECT_EQ(text(), "no plan\n");
}

}  // namespace
}  // namespace corral::plan
