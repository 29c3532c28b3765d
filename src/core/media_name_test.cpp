#include "core/media_name.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace corral {
namespace {

TEST(MediaName, NameStepAndKindAreInTheFileName) {
  EXPECT_EQ(media_path("val/samples", 12, "png"), "media/val=2Fsamples@12.png");
  EXPECT_EQ(media_path("a@b=c", {}, "table.json"), "media/a=40b=3Dc.table.json");
  const auto media = parse_media_name("val=2Fsamples@12.png");
  ASSERT_TRUE(media);
  EXPECT_EQ(media->name, "val/samples");
  EXPECT_EQ(media->kind, MediaKind::kImage);
  EXPECT_EQ(media->step, 12);
  EXPECT_EQ(parse_media_name("w@-3.histogram.json")->kind, MediaKind::kHistogram);
  EXPECT_EQ(parse_media_name("w@-3.histogram.json")->step, -3);
}

TEST(MediaName, OtherFilesAreReadAsFarAsTheyGo) {
  EXPECT_FALSE(parse_media_name("notes.json"));
  EXPECT_FALSE(parse_media_name("@3.png"));
  EXPECT_FALSE(parse_media_name(".png"));
  EXPECT_EQ(parse_media_name("Photo.JPG")->name, "Photo");
  EXPECT_EQ(parse_media_name("a@b.png")->name, "a@b");
  EXPECT_FALSE(parse_media_name("a@b.png")->step);
  // Only reserved characters are escaped.
  EXPECT_EQ(parse_media_name("a=41=2f=.txt")->name, "a=41=2f=");
  EXPECT_EQ(parse_media_name("a@99999999999999999999.txt")->name, "a@99999999999999999999");
}

TEST(MediaName, NamesThatNoFileCanHaveAreRefused) {
  EXPECT_FALSE(media_path("", 1, "png"));
  EXPECT_FALSE(media_path(std::string(kMediaNameBytes + 1, 'x'), 1, "png"));
  EXPECT_FALSE(media_path(std::string(kMediaNameBytes / 3 + 1, '/'), 1, "png"));
  EXPECT_FALSE(media_path("\xff", 1, "png"));
}

TEST(MediaName, AnyNameComesBack) {
  rc::check([](const std::string& name, std::int64_t step) {
    const auto path = media_path(name, step, "txt");
    RC_PRE(path.has_value());
    RC_ASSERT(path->substr(0, 6) == "media/");
    const std::string_view file = std::string_view(*path).substr(6);
    RC_ASSERT(file.find_first_of("/\\#%") == std::string_view::npos);
    const auto media = parse_media_name(file);
    RC_ASSERT(media.has_value());
    RC_ASSERT(media->name == name);
    RC_ASSERT(media->step == step);
  });
}

TEST(MediaName, AnyBytesAreReadWithoutHarm) {
  rc::check([](const std::string& bytes) {
    const auto media = parse_media_name(bytes + ".png");
    RC_ASSERT(!media || media->name.size() <= bytes.size());
  });
}

}  // namespace
}  // namespace corral
