#include "imports/points_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "imports/test_importer.h"

namespace corral::imports {
namespace {

namespace fs = sys::fs;
using Lines = std::vector<std::string>;

// Rows as "line: cell|cell", in pieces; the error's message comes last.
Lines rows_of(std::string_view text, std::size_t piece) {
  Lines lines;
  CsvStream stream;
  const auto take = [&](const CsvRow& row) -> Result<> {
    std::string line = std::to_string(row.line) + ":";
    for (const auto& cell : row.cells) line += cell.value + "|";
    lines.push_back(line);
    return {};
  };
  for (std::size_t at = 0; at < text.size(); at += piece) {
    if (const auto read = stream.add(text.substr(at, piece), take); !read) {
      lines.push_back(read.error().message);
      return lines;
    }
  }
  if (const auto read = stream.finish(take); !read) lines.push_back(read.error().message);
  return lines;
}

TEST(CsvStream, PiecesOfAnySizeGiveTheSameRows) {
  const std::string text = "a;b\r\n# no row\n1;\"x\ny;z\"\r\n\n3;\"\"\"\"\n4;5";
  const Lines expected = {"1:a|b|", "3:1|x\ny;z|", "6:3|\"|", "7:4|5|"};
  for (const std::size_t piece : {1UL, 2UL, 3UL, 7UL, 100UL})
    EXPECT_EQ(rows_of(text, piece), expected) << piece;
}

TEST(CsvStream, EveryCutGivesTheRowsBeforeIt) {
  const std::string text = "a,b\n1,\"x\ny\"\n3,4\n";
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const Lines rows = rows_of(text.substr(0, cut), 5);
    if (cut >= 4) {
      EXPECT_EQ(rows.at(0), "1:a|b|") << cut;
    }
    if (cut >= 12) {
      EXPECT_EQ(rows.at(1), "2:1|x\ny|") << cut;
    }
  }
}

TEST(CsvStream, AnOpenQuoteIsAnErrorWithItsPlace) {
  for (const std::size_t piece : {1UL, 4UL, 100UL}) {
    EXPECT_EQ(rows_of("a,b\n1,2\n3,\"x\n", piece),
              (Lines{"1:a|b|", "2:1|2|", "line 3, column 3: the quote is never closed"}));
  }
}

TEST(TimeCells, ReadsSecondsByTheirSizeAndTexts) {
  const auto ns = [](std::string_view text, bool exact = false) {
    const auto time = TimeCells(exact).read(text);
    return time ? ns_of(*time) : -1;
  };
  EXPECT_EQ(ns("1700000000.123456789"), 1'700'000'000'123'456'789);
  EXPECT_EQ(ns("1700000000123"), 1'700'000'000'123'000'000);
  EXPECT_EQ(ns("1700000000123.5"), 1'700'000'000'123'500'000);
  EXPECT_EQ(ns("1700000000123456"), 1'700'000'000'123'456'000);
  EXPECT_EQ(ns("1700000000123456789"), 1'700'000'000'123'456'789);
  EXPECT_EQ(ns("1.5e3"), 1'500'000'000'000);
  EXPECT_EQ(ns("17", true), 17);
  EXPECT_EQ(ns("1970-01-02"), 86'400'000'000'000);
  EXPECT_EQ(ns("1970-01-01 00:00:01.25"), 1'250'000'000);
  EXPECT_EQ(ns("1970-01-01T01:00:01+01:00"), 1'000'000'000);
  EXPECT_EQ(ns("1970-01-01T00:00:01Z"), 1'000'000'000);
  for (const char* text : {"", "x", "nan", "inf", "1970-13-01", "1970-01-01T25:00", "1970-01-01T",
                           "1970-01-01T00:00:01+1", "1.5.2", "-"})
    EXPECT_EQ(ns(text), -1) << text;
}

TEST(NumberOf, TakesWhatToolsWrite) {
  EXPECT_EQ(number_of("+1.5"), 1.5);
  EXPECT_EQ(number_of("-Infinity"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(number_of("NaN").value()));
  for (const char* text : {"", "+", "+-1", "1,5", "True", "0x10", "1 "})
    EXPECT_FALSE(number_of(text)) << text;
}

class CsvImport : public ::testing::Test {
 protected:
  CsvImport()
      : file(fs::path(::testing::TempDir()) /
             (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
              ".csv")) {}
  ~CsvImport() override { fs::remove(file); }

  // The error's message, or "".
  std::string import(std::string_view text) {
    EXPECT_TRUE(sys::replace_file(file, text));
    KeepingImporter now;
    for (const KeptRun& run : importer.before) now.before.push_back(run);
    for (const KeptRun& run : importer.runs) now.before.push_back(run);
    importer = now;
    const auto done = import_csv(file, {}, importer);
    return done ? "" : done.error().message.substr(file.string().size() + 2);
  }
  const KeptRun& run(std::size_t at = 0) { return importer.runs.at(at); }

  const fs::path file;
  KeepingImporter importer;
};

TEST_F(CsvImport, WideTable) {
  EXPECT_EQ(
      import("epoch,step,timestamp,loss,model\n0,10,1700000000,0.5,r18\n0,20,1700000001,,r18\n"),
      "");
  EXPECT_EQ(run().details.name, "WideTable");
  EXPECT_EQ(run().points,
            (Lines{"1 epoch  10 1700000000000000000 0", "1 loss  10 1700000000000000000 0.5",
                   "1 epoch  20 1700000001000000000 0"}));
  EXPECT_EQ(importer.left_out().at("cells of column 'model' that are not numbers"), 2U);
  EXPECT_EQ(importer.notes().at(0), "column 'timestamp' is read as Unix seconds");
  EXPECT_EQ(ns_of(run().ending->end), 1'700'000'001'000'000'000);
}

TEST_F(CsvImport, WithoutATimeTheOrderIsKept) {
  EXPECT_EQ(import("epoch,loss\n0,3\n1,2\n1.5,1\n"), "");
  EXPECT_EQ(run().points,
            (Lines{"1 loss  0 0 3", "1 loss  1 1000000000 2", "1 loss  - 2000000000 1"}));
  EXPECT_EQ(importer.left_out().at("fractional epochs as steps"), 1U);
}

TEST_F(CsvImport, CommasBetweenSemicolonsAreDecimal) {
  EXPECT_EQ(import("step;time;loss;note\n1,0;1700000000,5;0,25;a,b\n2;1700000001;1.500;x\n"
                   "3;1700000002;-1,5e-3;\n4;1700000003;7;\n"),
            "");
  EXPECT_EQ(run().points,
            (Lines{"1 loss  1 1700000000500000000 0.25", "1 loss  3 1700000002000000000 -0.0015",
                   "1 loss  4 1700000003000000000 7"}));
  EXPECT_EQ(importer.left_out().at("cells of column 'loss' that are not numbers"), 1U);
  EXPECT_EQ(importer.notes().at(0), "numbers are read with decimal commas: 0,5 is a half");
  EXPECT_EQ(import("metric;value\na;0,5\n"), "");
  EXPECT_EQ(run().points, Lines{"1 a  - 0 0.5"});
  // The decimal point of the first number holds, too: commas may stand between thousands.
  EXPECT_EQ(import("loss;acc\n0.5;1,250\n"), "");
  EXPECT_EQ(run().points, Lines{"1 loss  - 0 0.5"});
  // Between other separators a comma is no decimal sign.
  EXPECT_EQ(import("loss\tacc\n0.5\t1,5\n"), "");
  EXPECT_EQ(run().points, Lines{"1 loss  - 0 0.5"});
}

TEST_F(CsvImport, LongTableOfSeveralRuns) {
  EXPECT_EQ(import("run,metric,source,time_ns,step,value\n"
                   "b,loss,rank0,5,1,0.1\na,loss,,6,,NaN\nb,\"x,y\",,7,2,-Infinity\nb,loss,,9,,\n"),
            "");
  ASSERT_EQ(importer.runs.size(), 2U);
  EXPECT_EQ(run(0).details.name, "b");
  EXPECT_EQ(run(0).points, (Lines{"1 loss rank0 1 5 0.1", "1 x,y  2 7 -inf"}));
  EXPECT_EQ(run(1).points, Lines{"1 loss  - 6 nan"});
  EXPECT_EQ(importer.left_out().at("rows without a value"), 1U);
}

TEST_F(CsvImport, ErrorsNameLineAndColumnAndKeepTheRowsBefore) {
  EXPECT_EQ(import("metric,value\na,1\nb, x\n"), "line 3, column 3: value 'x' is not a number");
  EXPECT_EQ(run().points.size(), 1U);
  EXPECT_TRUE(run().ending.has_value());
  EXPECT_EQ(import("a,b\n1,2,3\n"), "line 2, column 5: 3 cells, but the header has 2");
  EXPECT_EQ(import("a,b,a\n"), "line 1, column 5: a second column 'a'");
  EXPECT_EQ(import("step,a\nx,2\n"), "line 2, column 1: step 'x' is not an integer");
  EXPECT_EQ(import("time,a\n,2\n"),
            "line 2, column 1: '' is no time; expected Unix seconds or ISO 8601");
  EXPECT_EQ(import("step\n1\n"),
            "line 1: no column of a metric; expected a column for each metric, or 'metric' and "
            "'value'");
  EXPECT_EQ(import(""), "there is no header");
}

TEST_F(CsvImport, AFileThatGrewIsTheSameRun) {
  ASSERT_EQ(import("a\n1\n"), "");
  const std::string first = run().details.identity;
  ASSERT_EQ(import("a\n1\n2\n"), "");
  EXPECT_EQ(run().details.identity, first);
  EXPECT_EQ(run().points.size(), 2U);
  // Another first row.
  ASSERT_EQ(import("a\n3\n2\n"), "");
  EXPECT_NE(run().details.identity, first);
}

TEST_F(CsvImport, ALastLineThatGoesOnWasAnotherNumber) {
  ASSERT_EQ(import("a\n1\n2"), "");
  const std::string first = run().details.identity;
  ASSERT_EQ(import("a\n1\n2"), "");
  EXPECT_EQ(run().details.identity, first);
  ASSERT_EQ(import("a\n1\n23\n"), "");
  EXPECT_NE(run().details.identity, first);
}

TEST_F(CsvImport, ACorrectedFileGoesOn) {
  ASSERT_NE(import("metric,value\na,1\nb,x\n"), "");
  const std::string first = run().details.identity;
  ASSERT_EQ(import("metric,value\na,1\nb,2\n"), "");
  EXPECT_EQ(run().details.identity, first);
}

}  // namespace
}  // namespace corral::imports
