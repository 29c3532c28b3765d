#include "collect/sampler/listeners.h"

#include <gtest/gtest.h>

namespace corral::collect {
namespace {

using Names = std::vector<std::string>;

TEST(Selection, NoWordMeansEveryListener) {
  const auto all = select_listeners("").value();
  ASSERT_EQ(all.size(), listeners().size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], listeners()[i].name);
}

TEST(Selection, WordsAreJoinedByPlusOrCommaInAnyOrder) {
  for (const char* words : {"proc+tree", "tree,proc", " tree , proc,", "proc+tree+proc"})
    EXPECT_EQ(select_listeners(words).value(), (Names{"proc", "tree"})) << words;
}

TEST(Selection, TakesRadtsNames) {
  EXPECT_EQ(select_listeners("top").value(), (Names{"proc", "tree"}));
  EXPECT_EQ(select_listeners("ps").value(), Names{"tree"});
  EXPECT_EQ(select_listeners("iostat+free").value(), Names{"proc"});
  EXPECT_EQ(select_listeners("smi").value(), Names{"nvidia"});
  for (const char* gpu : {"dcgmi", "dcgm"})
    EXPECT_EQ(select_listeners(gpu).value(), (Names{"nvidia", "dcgm"})) << gpu;
}

TEST(Selection, SaysWhatToDoForWhatIsNoListenerYet) {
  for (const char* word : {"macmon", "nsys", "nsysraw", "ncu", "ncuraw", "ncuattach"}) {
    const auto refused = select_listeners(std::string("top+") + word);
    ASSERT_FALSE(refused) << word;
    EXPECT_EQ(refused.error().code, Code::kUnsupported);
    EXPECT_NE(refused.error().message.find(word), std::string::npos) << refused.error().message;
  }
  EXPECT_NE(select_listeners("ncu").error().message.find("--profile"), std::string::npos);
}

TEST(Selection, RefusesAnUnknownWordAndNamesTheNearest) {
  const auto refused = select_listeners("proc+tere");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().message.find("unknown listener 'tere', did you mean 'tree'?"), 0u)
      << refused.error().message;
  const std::string radts = select_listeners("smii").error().message;
  EXPECT_EQ(radts.find("unknown listener 'smii', did you mean 'smi'?"), 0u) << radts;
  const std::string far = select_listeners("nosuch").error().message;
  EXPECT_EQ(far.find("unknown listener 'nosuch'; there are: proc, tree"), 0u) << far;
  EXPECT_NE(far.find("; and radT's smi, dcgmi, top, ps, "), std::string::npos) << far;
}

}  // namespace
}  // namespace corral::collect
