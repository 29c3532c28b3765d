// The command's output: every byte stored once, the file's size its own business, its disk space
// given back.
#include "spool/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/limits.h"
#include "spool/test_spool.h"

namespace corral::spool {
namespace {

struct Spooled {
  TestDirectory root;
  RunDirectory directory = RunDirectory::create(root.path(), test_manifest()).value();
  Journal journal = Journal::open(directory, 1ll << 30).value();
  [[nodiscard]] OutputFile open(codec::LogStream stream = codec::LogStream::kStdout) const {
    return OutputFile::open(directory, stream).value();
  }
  [[nodiscard]] std::vector<codec::LogBody> stored() const {
    std::vector<codec::LogBody> all;
    const std::vector<codec::Bytes> frames =
        FrameLogReader(directory.files()).read(0, 1u << 30).value();
    for (const codec::Bytes& bytes : frames) {
      all.push_back(codec::decode_log(codec::decode_frame(bytes).value()).value());
    }
    return all;
  }
};

void print(const OutputFile& output, std::string_view text) {
  const sys::Fd command = output.writer().value();
  ASSERT_TRUE(sys::write_all(command.get(), text));
}
std::string joined(const std::vector<codec::LogBody>& chunks) {
  std::string all;
  for (const codec::LogBody& chunk : chunks) {
    EXPECT_EQ(chunk.offset, static_cast<std::int64_t>(all.size()));
    EXPECT_LE(chunk.bytes.size(), limits::kLogChunkBytes);
    all += chunk.bytes;
  }
  return all;
}
std::int64_t blocks(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return std::int64_t{info.st_blocks} * 512;
}

TEST(OutputFile, StoresWhatTheCommandPrintedByteByByte) {
  Spooled run;
  OutputFile output = run.open();
  EXPECT_FALSE(output.store(run.journal, 10));
  print(output, "epoch 1\n");
  EXPECT_FALSE(output.store(run.journal, 10));
  std::string nasty = std::string("\0\xFF\r", 3) + std::string(200'000, 'y');
  print(output, nasty);
  EXPECT_TRUE(output.store(run.journal, 2));  // some is left
  EXPECT_FALSE(output.store(run.journal, 10));
  EXPECT_EQ(joined(run.stored()), "epoch 1\n" + nasty);
  EXPECT_EQ(output.stored(), output.size());
}

TEST(OutputFile, TheTwoStreamsAreApart) {
  Spooled run;
  OutputFile out = run.open();
  OutputFile error = run.open(codec::LogStream::kStderr);
  print(out, "o");
  print(error, "e");
  error.store(run.journal, 1);
  out.store(run.journal, 1);
  const auto stored = run.stored();
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].stream, codec::LogStream::kStderr);
  EXPECT_EQ(stored[0].bytes, "e");
  EXPECT_EQ(stored[1].stream, codec::LogStream::kStdout);
}

TEST(OutputFile, ASuccessorGoesOnFromTheMark) {
  Spooled run;
  {
    OutputFile output = run.open();
    print(output, "before ");
    output.store(run.journal, 10);
    print(output, "after");
  }
  OutputFile successor = run.open();
  EXPECT_EQ(successor.stored(), 7);
  successor.store(run.journal, 10);
  EXPECT_EQ(joined(run.stored()), "before after");
}

TEST(OutputFile, ReservingAndGivingBackLeaveSizeAndUnstoredBytesAlone) {
  Spooled run;
  OutputFile output = run.open();
  const fs::path path = run.directory.path() / output_name(codec::LogStream::kStdout);
  EXPECT_EQ(output.size(), 0);
  if (blocks(path) == 0) GTEST_SKIP() << "this filesystem reserves nothing";
  EXPECT_GE(blocks(path), 4 << 20);
  const std::string text(3'500'000, 'z');
  print(output, text);
  output.store(run.journal, 1000);
  print(output, "tail");
  const std::int64_t before = blocks(path);
  output.tidy(1 << 30);  // all that is stored
  EXPECT_EQ(output.size(), static_cast<std::int64_t>(text.size() + 4));
  EXPECT_LE(blocks(path), before - (3 << 20) + (4 << 20));
  std::array<char, 4> tail{};
  ASSERT_EQ(output.read(static_cast<std::int64_t>(text.size()), tail), 4u);
  EXPECT_EQ(std::string_view(tail.data(), 4), "tail");
  std::array<char, 1> hole{'?'};
  EXPECT_EQ(output.read(0, hole), 1u);
  EXPECT_EQ(hole[0], '\0');  // given back
  print(output, "more");     // appends at the end as before
  EXPECT_EQ(output.size(), static_cast<std::int64_t>(text.size() + 8));
}

TEST(OutputFile, NothingUnstoredIsEverGivenBack) {
  Spooled run;
  OutputFile output = run.open();
  print(output, std::string(3 << 20, 'z'));
  output.tidy(1 << 30);
  std::array<char, 1> first{};
  EXPECT_EQ(output.read(0, first), 1u);
  EXPECT_EQ(first[0], 'z');
}

TEST(OutputFile, ACommandMayTruncateItsOwnOutput) {
  Spooled run;
  OutputFile output = run.open();
  print(output, "long ago");
  output.store(run.journal, 10);
  fs::resize_file(run.directory.path() / output_name(codec::LogStream::kStdout), 0);
  EXPECT_FALSE(output.store(run.journal, 10));
  print(output, "new");
  output.store(run.journal, 10);
  EXPECT_EQ(run.stored().back().bytes, "new");
  EXPECT_EQ(run.stored().back().offset, 0);
}

}  // namespace
}  // namespace corral::spool
