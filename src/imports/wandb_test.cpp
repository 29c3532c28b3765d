#include "imports/wandb.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "codec/protobuf.h"
#include "core/test_paths.h"
#include "imports/test_importer.h"
#include "imports/wandb_file.h"

namespace corral::imports {
namespace {

namespace fs = sys::fs;
using codec::ProtoWriter;
using Lines = std::vector<std::string>;

constexpr std::size_t kBlock = 32768;

// A file as W&B writes it.
class File {
 public:
  File() : bytes_(":W&B\xe1\xbe\0", 7) {}

  File& record(std::string_view content) {
    bool first = true;
    do {
      std::size_t left = kBlock - bytes_.size() % kBlock;
      if (left < 7) {
        bytes_.append(left, '\0');
        left = kBlock;
      }
      const auto part = content.substr(0, left - 7);
      content.remove_prefix(part.size());
      add(static_cast<char>(first ? (content.empty() ? 1 : 2) : (content.empty() ? 4 : 3)), part);
      first = false;
    } while (!content.empty());
    return *this;
  }
  File& record(const ProtoWriter& message) { return record(message.text()); }
  // A part of a record, as it is.
  File& add(char type, std::string_view part) {
    auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(&type), 1);
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(part.size()));
    for (int i = 0; i < 4; ++i) bytes_ += static_cast<char>(crc >> (8 * i));
    for (int i = 0; i < 2; ++i) bytes_ += static_cast<char>(part.size() >> (8 * i));
    bytes_ += type;
    bytes_ += part;
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Sizes of all records of bytes that come in pieces; the error's message comes last.
Lines sizes_of(std::string_view bytes, std::size_t piece) {
  Lines found;
  WandbRecords records;
  for (std::size_t at = 0; at <= bytes.size(); at += piece) {
    records.add(bytes.substr(at, piece));
    for (;;) {
      const auto next = records.next();
      if (!next) {
        found.push_back(next.error().message);
        return found;
      }
      if (!*next) break;
      found.push_back(std::to_string((*next)->size()));
    }
  }
  return found;
}

TEST(WandbRecords, RecordsOverBlocksInPiecesOfAnySize) {
  // The second ends three bytes before a block does, the fourth exactly with one.
  const std::size_t to_end = kBlock - 7 - (7 + 10) - 7 - 3;
  File file;
  file.record(std::string(10, 'a')).record(std::string(to_end, 'b'));
  file.record(std::string(100'000, 'c'));
  file.record(std::string(kBlock - file.bytes().size() % kBlock - 7, 'd')).record("e");
  for (const std::size_t piece : {1UL, 13UL, 4096UL, 1'000'000UL}) {
    const Lines sizes = sizes_of(file.bytes(), piece);
    ASSERT_EQ(sizes.size(), 5U) << piece;
    EXPECT_EQ(sizes[1], std::to_string(to_end));
    EXPECT_EQ(sizes[2], "100000");
    EXPECT_EQ(sizes[4], "1");
  }
}

TEST(WandbRecords, ACutAnywhereLosesTheLastRecordOnly) {
  File file;
  file.record("first");
  const std::size_t first = file.bytes().size();
  file.record("second");
  for (std::size_t cut = 0; cut <= file.bytes().size(); ++cut) {
    const Lines sizes = sizes_of(std::string_view(file.bytes()).substr(0, cut), 5);
    EXPECT_EQ(sizes.size(), cut == file.bytes().size() ? 2U : cut >= first ? 1U : 0U) << cut;
  }
}

TEST(WandbRecords, AnyChangedByteIsFound) {
  File file;
  file.record("first");
  const std::size_t first = file.bytes().size();
  file.record("second");
  for (std::size_t at = first; at < file.bytes().size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = file.bytes();
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      const Lines sizes = sizes_of(changed, 1000);
      EXPECT_EQ(sizes[0], "5");
      // A greater size may ask for bytes that are not there: then the records end before it.
      const bool found = sizes.back().starts_with("the record at byte ");
      EXPECT_TRUE(found || sizes.size() == 1) << at << " " << sizes.back();
    }
  }
}

TEST(WandbRecords, PartsOutOfOrderAreDamage) {
  EXPECT_EQ(sizes_of(File().add(3, "x").bytes(), 100),
            Lines{"the record at byte 7 is damaged: its parts are out of order"});
  EXPECT_EQ(sizes_of(File().add(2, "x").add(1, "y").bytes(), 100),
            Lines{"the record at byte 15 is damaged: its parts are out of order"});
  EXPECT_EQ(sizes_of(File().bytes() + std::string(100, '\0'), 100),
            Lines{"the record at byte 7 is damaged: its head is impossible"});
  EXPECT_EQ(sizes_of("something else", 100),
            Lines{"it does not begin as an offline file of W&B, version 0"});
}

// ---- records
ProtoWriter item(std::string_view key, std::string_view json) {
  return ProtoWriter().bytes(1, key).bytes(16, json);
}
ProtoWriter nested(std::initializer_list<std::string_view> path, std::string_view json) {
  ProtoWriter message;
  for (const std::string_view key : path) message.bytes(2, key);
  return message.bytes(16, json);
}
ProtoWriter run_record(const ProtoWriter& config = {}) {
  ProtoWriter run;
  run.bytes(1, "id").bytes(3, "project").message(4, config).bytes(8, "name");
  run.message(17, ProtoWriter().number(1, 100));
  return ProtoWriter().message(17, run);
}

class WandbImport : public ::testing::Test {
 protected:
  WandbImport()
      : folder(fs::path(::testing::TempDir()) /
               ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~WandbImport() override { fs::remove_all(folder); }

  void import(const File& file) {
    ASSERT_TRUE(sys::replace_file(folder / "run-id.wandb", file.bytes()));
    const auto done = import_wandb(folder, {}, importer);
    ASSERT_TRUE(done) << done.error().message;
  }

  const fs::path folder;
  KeepingImporter importer;
};

TEST_F(WandbImport, HistoryInEveryForm) {
  const auto row = [](std::initializer_list<ProtoWriter> items) {
    ProtoWriter history;
    for (const ProtoWriter& one : items) history.message(1, one);
    return ProtoWriter().message(2, history);
  };
  File file;
  file.record(run_record());
  file.record(row({item("_step", "3"), item("_timestamp", "101.5"), item("loss", "0.5"),
                   item("deep", R"({"a":{"b":2},"img":{"_type":"image","width":3},"t":"x"})")}));
  file.record(row({item("_step", "4"), item("_runtime", "7"), nested({"x", "y"}, "NaN"),
                   item("i", "\"Infinity\""), nested({"h", "_type"}, "\"histogram\""),
                   nested({"h", "min"}, "1")}));
  file.record(row({item("_step", "5"), item("lost", "1")}));
  // Numbers as such, and the step beside the items.
  ProtoWriter typed;
  typed.message(1, item("_timestamp", "102")).message(2, ProtoWriter().number(1, 9));
  typed.message(1, ProtoWriter().bytes(1, "n").number(5, 5))
      .message(1, ProtoWriter().bytes(1, "f").real(6, 0.25));
  file.record(ProtoWriter().message(2, typed));
  import(file);
  EXPECT_EQ(importer.runs.at(0).points,
            (Lines{"1 loss  3 101500000000 0.5", "1 deep.a.b  3 101500000000 2",
                   "1 x.y  4 107000000000 nan", "1 i  4 107000000000 inf", "1 n  9 102000000000 -3",
                   "1 f  9 102000000000 0.25"}));
  EXPECT_EQ(importer.left_out().at("values of type image"), 1U);
  EXPECT_EQ(importer.left_out().at("values of type histogram"), 1U);
  EXPECT_EQ(importer.left_out().at("values of the history that are not numbers"), 1U);
  EXPECT_EQ(importer.left_out().at("rows of the history without a time"), 1U);
}

TEST_F(WandbImport, ConfigIsFlatAndItsLastValueCounts) {
  ProtoWriter config;
  config.message(1, item("lr", "0.10")).message(1, item("model", R"({"a":1,"b":{"c":"x"}})"));
  config.message(1, item("gone", "1"))
      .message(1, item("list", "[1,2]"))
      .message(1, item("_wandb", "{}"));
  ProtoWriter update;
  update.message(1, item("model", R"({"a":2})"))
      .message(2, item("gone", ""))
      .message(1, item("flag", "true"));
  import(File().record(run_record(config)).record(ProtoWriter().message(5, update)));
  const std::map<std::string, std::string> expected = {
      {"flag", "true"}, {"list", "[1,2]"}, {"lr", "0.10"}, {"model.a", "2"}};
  EXPECT_EQ(importer.runs.at(0).params, expected);
}

TEST_F(WandbImport, TheEndIsTheExitRecords) {
  import(File().record(run_record()));
  EXPECT_FALSE(importer.runs.at(0).ending->exit_code);
  import(File()
             .record(run_record())
             .record(ProtoWriter().message(18, ProtoWriter().number(1, 3).number(2, 60))));
  EXPECT_EQ(importer.runs.at(1).ending->exit_code, 3);
  EXPECT_EQ(ns_of(importer.runs.at(1).ending->end), 160'000'000'000);
  EXPECT_EQ(importer.runs.at(0).details.identity, importer.runs.at(1).details.identity);
}

TEST_F(WandbImport, AResumedRunHasTwoParts) {
  ASSERT_TRUE(sys::make_directories(folder / "a"));
  ProtoWriter later;
  later.bytes(1, "id").bytes(3, "project").message(17, ProtoWriter().number(1, 50));
  File file;
  file.record(ProtoWriter().message(17, later));
  ASSERT_TRUE(sys::replace_file(folder / "a" / "run-id.wandb", file.bytes()));
  import(File().record(run_record()));
  ASSERT_EQ(importer.runs.size(), 1U);
  EXPECT_EQ(importer.runs[0].parts, (Lines{"50000000000 ", "100000000000 "}));
  EXPECT_EQ(ns_of(*importer.runs[0].ending->start), 50'000'000'000);
}

// No cut of a real record makes the reader fail or read beyond.
TEST_F(WandbImport, SurvivesEveryCutOfARealFile) {
  const fs::path path = fs::path(source_dir()) /
                        "tests/fixtures/imports/wandb/offline-run-20261127_160257-abc12345" /
                        "run-abc12345.wandb";
  ASSERT_TRUE(import_wandb(path, {}, importer));
  const KeptRun& kept = importer.runs.at(0);
  EXPECT_EQ(kept.details.experiment, "fixture");
  EXPECT_EQ(kept.points.size(), 135U);
  EXPECT_EQ(kept.params.at("model.layers"), "3");
  EXPECT_EQ(kept.tags.at("summary.best"), "0.25");
  EXPECT_FALSE(kept.tags.contains("summary.hist._type"));
  EXPECT_EQ(kept.ending->exit_code, 0);
  WandbRecords records;
  records.add(sys::read_file(path).value());
  while (const auto record = records.next().value()) {
    for (std::size_t cut = 0; cut < record->size(); ++cut) {
      KeepingImporter other;
      auto sink = other.begin({.identity = {}, .name = {}, .experiment = {}}).value();
      WandbRun run(other);
      EXPECT_TRUE(run.read(std::string(record->substr(0, cut)), sink.get()));
    }
  }
}

}  // namespace
}  // namespace corral::imports
