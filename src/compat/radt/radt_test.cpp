#include "compat/radt/radt.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

#include <map>
#include <string>
#include <vector>

#include "compat/mlflow/wire/times.h"

namespace corral::mlflow {
namespace {

using Params = std::vector<std::pair<std::string, std::string>>;

// As radT 0.2.30 sends them.
Params params_of_a_row() {
  return {{"letter", "0_A"},         {"workload", "7"},    {"listeners", "smi+top"},
          {"workload_listener", ""}, {"file", "train.py"}, {"params", "--epochs 1"}};
}

TEST(Radt, TellsWorkloadAndLetter) {
  const auto run = radt_run(params_of_a_row());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->workload, "7");
  EXPECT_EQ(run->letter, "0_A");
}

TEST(Radt, AScriptsOwnParamsAreNotRadts) {
  EXPECT_FALSE(radt_run({}));
  EXPECT_FALSE(radt_run(Params{{"workload", "a"}}));
  EXPECT_FALSE(radt_run(Params{{"workload", "a"}, {"letter", "b"}}));
  EXPECT_FALSE(radt_run(Params{{"letter", "b"}, {"listeners", "smi"}}));
}

TEST(Radt, AWorkloadNeedsAName) {
  Params params = params_of_a_row();
  params[1].second.clear();
  EXPECT_FALSE(radt_run(params));
  params[1].second = std::string(251, 'w');
  EXPECT_FALSE(radt_run(params));
}

std::string zipped(std::string text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct ReadFile {
  Result<RadtBatch> batch;
  std::vector<codec::PhaseRecord> phases;
};
ReadFile read(std::string_view file) {
  std::vector<codec::PhaseRecord> phases;
  auto batch = read_radt_spans(file, [&](std::span<const codec::PhaseRecord> some) -> Result<> {
    phases.insert(phases.end(), some.begin(), some.end());
    return {};
  });
  return {std::move(batch), std::move(phases)};
}

constexpr std::string_view kLines =
    R"(["s",1,null,1,"epoch",{"thread_id":7,"out_flow_id":"f-1","lr":0.5},1700000000000000000]
["s",2,1,1,"batch",{"in_flow_id":"f-1"},1700000000100000000]
["e",2,1700000000200000000]
["e",1,1700000000300000000]
["e",99,1700000000300000000]
["s",3,null,3,"killed",null,1700000000400000000]
)";

TEST(RadtSpans, BeginsAndEndsMeet) {
  const auto [batch, phases] = read(zipped(std::string(kLines)));
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->begins, 3);
  EXPECT_EQ(batch->ends, 3);
  EXPECT_EQ(batch->bad, 0);
  EXPECT_FALSE(batch->truncated);
  ASSERT_EQ(phases.size(), 4U);
  EXPECT_EQ(phases[0].name, "epoch");
  EXPECT_EQ(phases[0].lane, "radt/thread 7");
  EXPECT_EQ(kClientAnchor.to_utc(*phases[0].begin), utc_time(1'700'000'000'000'000'000));
  EXPECT_EQ(kClientAnchor.to_utc(*phases[0].end), utc_time(1'700'000'000'300'000'000));
  EXPECT_EQ(phases[0].attributes[2], std::pair(std::string("lr"), std::string("0.5")));
  EXPECT_EQ(phases[1].parent, 1U);
  EXPECT_EQ(phases[1].lane, "radt");
  EXPECT_EQ(phases[1].links, std::vector<std::uint64_t>{1});
  EXPECT_EQ(phases[2].id, 99U);  // its begin was in another batch
  EXPECT_FALSE(phases[2].begin);
  EXPECT_EQ(phases[3].name, "killed");
  EXPECT_FALSE(phases[3].end);
}

TEST(RadtSpans, LinesThatAreNoRecordsAreCounted) {
  const auto [batch, phases] = read(
      zipped("nonsense\n\n{}\n[]\n[\"s\"]\n[\"x\",1,2]\n[\"e\",0,5]\n[\"e\",-1,5]\n[\"e\",1.5,5]\n"
             "[\"s\",5,null,5,6,null,7]\n[\"s\",8,null,8,\"last\",null,9]"));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->bad, 9);
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_EQ(phases[0].name, "last");
}

TEST(RadtSpans, ALineThatIsTooLongIsLeftAside) {
  const auto [batch, phases] =
      read(zipped("[\"s\",1,null,1,\"" + std::string(3 << 20, 'x') + "\",null,5]\n[\"e\",1,6]\n"));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->bad, 1);
  EXPECT_EQ(batch->ends, 1);
}

TEST(RadtSpans, WhatIsWholeOfACutFileIsTaken) {
  std::string text;
  for (int i = 1; i <= 20'000; ++i) {
    text += "[\"s\"," + std::to_string(i) + ",null,1,\"n" + std::to_string(i * 7919) + "\",null," +
            std::to_string(1'000'000'000LL * i) + "]\n";
  }
  const std::string file = zipped(text);
  const auto [whole, all] = read(file);
  ASSERT_TRUE(whole);
  EXPECT_EQ(all.size(), 20'000U);
  const auto [cut, some] = read(std::string_view(file).substr(0, file.size() / 2));
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->truncated);
  EXPECT_EQ(cut->bad, 0);
  EXPECT_GT(some.size(), 5'000U);
  EXPECT_LT(some.size(), 15'000U);
  for (std::size_t i = 0; i < some.size(); ++i) ASSERT_EQ(some[i], all[i]);
}

TEST(RadtSpans, WhatIsNoGzipIsRefused) {
  EXPECT_EQ(read("[\"e\",1,2]\n").batch.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(read("").batch->truncated);
}

TEST(RadtSpans, ABombIsRefusedWhileItUnfolds) {
  const auto bomb = read(zipped(std::string(32u << 20, '\n')));
  ASSERT_FALSE(bomb.batch);
  EXPECT_EQ(bomb.batch.error().code, Code::kTooLarge);
}

TEST(RadtSpans, AnErrorOfTheTakerEndsIt) {
  const auto batch = read_radt_spans(
      zipped(std::string(kLines)),
      [](std::span<const codec::PhaseRecord>) -> Result<> { return fail(Code::kNoSpace, "full"); });
  EXPECT_EQ(batch.error().code, Code::kNoSpace);
}

RC_GTEST_PROP(RadtSpans, DamageEnds, ()) {
  std::string file = zipped(std::string(kLines));
  const auto at = *rc::gen::inRange<std::size_t>(0, file.size());
  file[at] = *rc::gen::arbitrary<char>();
  const auto result = read(file);
  RC_ASSERT(result.batch || result.batch.error().code == Code::kInvalidArgument);
}

TEST(RadtSpans, KnowsItsFiles) {
  EXPECT_TRUE(is_radt_batch("radt-trace/spans-000001.jsonl.gz"));
  for (const char* path : {"radt-trace/manifest.json", "spans-000001.jsonl.gz",
                           "radt-trace/a/spans-1.jsonl.gz", "radt-trace/spans-1.jsonl"})
    EXPECT_FALSE(is_radt_batch(path)) << path;
}

}  // namespace
}  // namespace corral::mlflow
