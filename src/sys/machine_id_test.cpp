#include "sys/machine_id.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <optional>
#include <string>

#include "sys/file.h"

namespace corral::sys {
namespace {

class MachineId : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "corral-machine-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
    kept_.emplace(PrivateDirectory::open(path_).value());
  }
  void TearDown() override { fs::remove_all(path_); }
  std::string id_of(const std::string& text) {
    EXPECT_TRUE(replace_file(path_ / "etc", text));
    return machine_id(path_ / "etc", *kept_);
  }

  fs::path path_;
  std::optional<PrivateDirectory> kept_;
};

TEST_F(MachineId, IsTheSystemsHashedAndAlwaysTheSame) {
  const std::string raw = "0123456789abcdef0123456789abcdef";
  const std::string id = id_of(raw + "\n");
  EXPECT_EQ(id.size(), 32u);
  EXPECT_NE(id, raw) << "it does not leave the machine";
  EXPECT_EQ(id_of(raw), id);
  EXPECT_NE(id_of("1123456789abcdef0123456789abcdef"), id);
  EXPECT_FALSE(kept_->exists("machine-id"));
}

TEST_F(MachineId, IsMadeOnceWhereTheSystemHasNone) {
  const std::string id = machine_id(path_ / "nothing", *kept_);
  EXPECT_EQ(id.size(), 32u);
  EXPECT_EQ(machine_id(path_ / "nothing", *kept_), id);
  for (const char* none : {"", "uninitialized\n", "00000000000000000000000000000000\n", "abc"})
    EXPECT_EQ(id_of(none), id) << none;
}

}  // namespace
}  // namespace corral::sys
