#include "collocate/nvidia/mig_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <sstream>

#include "collocate/nvidia/fake/models.h"
#include "core/test_paths.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::collocate::nvidia {
namespace {

std::vector<Profile> read_profiles(std::string_view model) {
  std::vector<Profile> profiles;
  for (const fake::ModelProfile& p : fake::find_model(model)->profiles) {
    profiles.push_back({.id = p.id,
                        .name = p.name,
                        .slices = p.slices,
                        .most = p.most,
                        .memory_mib = p.memory_mib,
                        .placements = p.placements});
  }
  return profiles;
}

// The bytes behind "0:" in a word of the fixture, as `Info`; nullopt for another status.
template <class Info>
std::optional<Info> answer(const std::string& word) {
  if (!word.starts_with("0:")) return std::nullopt;
  Info info{};
  for (std::size_t i = 0; i < sizeof info; ++i)
    reinterpret_cast<std::uint8_t*>(&info)[i] =
        static_cast<std::uint8_t>(std::stoul(word.substr(2 + 2 * i, 2), nullptr, 16));
  return info;
}

// The answers of a real driver, read with the structs that Corral uses.
TEST(MigProfiles, AreReadFromAnH100AndLikeTheFakes) {
  std::istringstream lines(
      sys::read_file(source_dir() + "/tests/fixtures/nvml/h100/profiles.txt").value());
  const fake::Model& model = *fake::find_model("h100");
  std::size_t known = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string_view> words = split(line, ' ');
    const auto number = static_cast<unsigned>(std::stoul(std::string(words[0])));
    const auto fake = std::ranges::find(model.profiles, number, &fake::ModelProfile::number);
    const auto v1 = answer<ProfileInfoV1>(std::string(words[1]));
    const auto v2 = answer<ProfileInfoV2>(std::string(words[2]));
    ASSERT_EQ(v1.has_value(), fake != model.profiles.end()) << number;
    if (!v1) continue;
    ASSERT_TRUE(v2);
    ++known;
    const auto compare = [&](const auto& info) {
      EXPECT_EQ(info.id, fake->id);
      EXPECT_EQ(info.slices, fake->slices);
      EXPECT_EQ(info.most, fake->most);
      EXPECT_EQ(info.memory_mib, fake->memory_mib);
    };
    compare(*v1);
    compare(*v2);
    EXPECT_EQ(profile_name(v2->name), fake->name);
    EXPECT_EQ(profile_name(*v1, number, model.memory_mib), fake->name);
  }
  EXPECT_EQ(known, model.profiles.size());
}

std::vector<WantedInstance> wanted(const std::vector<std::string>& names) {
  std::vector<WantedInstance> all;
  all.reserve(names.size());
  for (const std::string& name : names) all.push_back({.run = all.size(), .profile = name});
  return all;
}

Result<std::vector<PlacedInstance>> place_names(std::string_view model,
                                                const std::vector<std::string>& names,
                                                const std::vector<Occupied>& there = {}) {
  return place(read_profiles(model), there, wanted(names), "GPU 0 (test)");
}

// Returns "run@start" for each instance in order of creation.
std::string layout(std::string_view model, const std::vector<std::string>& names) {
  const auto placed = place_names(model, names);
  if (!placed) return placed.error().message;
  std::string text;
  for (const PlacedInstance& p : *placed) {
    text +=
        (text.empty() ? "" : " ") + std::to_string(p.run) + "@" + std::to_string(p.placement.start);
  }
  return text;
}

TEST(MigPlanTest, PlacesTheLargestFirst) {
  EXPECT_EQ(layout("a100-40", {"1g.5gb", "4g.20gb", "2g.10gb"}), "1@0 2@4 0@6");
  EXPECT_EQ(layout("a100-40", {"7g.40gb"}), "0@0");
  EXPECT_EQ(layout("a100-40", std::vector<std::string>(7, "1g.5gb")),
            "0@0 1@1 2@2 3@3 4@4 5@5 6@6");
  EXPECT_EQ(layout("h200", {"3g.71gb", "3g.71gb"}), "0@0 1@4");
  EXPECT_EQ(layout("h100", {"1g.20gb", "1g.20gb", "1g.20gb", "1g.20gb"}), "0@0 1@2 2@4 3@6");
  EXPECT_EQ(layout("a100-80", {"4g.40gb", "3g.40gb"}), "0@0 1@4");
}

TEST(MigPlanTest, FindsThePlacesThatOnlyAnotherOrderLeaves) {
  // With the 3g at 0 only one 2g would find a place.
  EXPECT_EQ(layout("a100-40", {"3g.20gb", "2g.10gb", "2g.10gb"}), "0@4 1@0 2@2");
  EXPECT_EQ(layout("a100-40", {"2g.10gb", "2g.10gb", "3g.20gb"}), "2@4 0@0 1@2");
}

TEST(MigPlanTest, SaysWhichRunDoesNotFitAndWhy) {
  EXPECT_EQ(layout("a100-40", {"3g.20gb", "3g.20gb", "1g.5gb"}),
            "run 2: MIG 1g.5gb does not fit on GPU 0 (test) beside run 0 (3g.20gb), run 1 "
            "(3g.20gb): together 9 of 8 memory slices");
  EXPECT_EQ(layout("a100-40", {"4g.20gb", "4g.20gb"}),
            "run 1: MIG 4g.20gb does not fit on GPU 0 (test) beside run 0 (4g.20gb): at most 1 of "
            "4g.20gb");
  EXPECT_EQ(layout("a100-40", {"2g.10gb", "2g.10gb", "2g.10gb", "1g.10gb", "1g.5gb"}),
            "run 4: MIG 1g.5gb does not fit on GPU 0 (test) beside run 0 (2g.10gb), run 1 "
            "(2g.10gb), run 2 (2g.10gb), run 3 (1g.10gb): together 9 of 8 memory slices");
  EXPECT_EQ(layout("a100-40", {"1g.5gb+me", "1g.5gb+me"}),
            "run 1: MIG 1g.5gb+me does not fit on GPU 0 (test) beside run 0 (1g.5gb+me): at most 1 "
            "of 1g.5gb+me");
}

TEST(MigPlanTest, NamesTheProfilesThatThereAreInstead) {
  const std::string text = layout("h100", {"3g.20gb", "1g.5gb"});
  EXPECT_NE(text.find("run 0: GPU 0 (test) has no MIG profile 3g.20gb; it has 1g.10gb, 2g.20gb"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nrun 1: GPU 0 (test) has no MIG profile 1g.5gb"), std::string::npos);
}

TEST(MigPlanTest, LeavesWhatIsThere) {
  const std::vector<Occupied> there{{.profile = 9, .placement = {0, 4}}};
  const auto placed = place_names("a100-40", {"3g.20gb"}, there);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->front().placement, (Placement{4, 4}));
  const auto second = place_names("a100-40", {"3g.20gb", "1g.5gb"}, there);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("beside run 0 (3g.20gb), 1 instance that is there already"),
            std::string::npos)
      << second.error().message;
  // There are enough free slices, but none at which the profile may start.
  const auto third = place_names("a100-40", {"2g.10gb"},
                                 {{.profile = 19, .placement = {0, 1}},
                                  {.profile = 19, .placement = {2, 1}},
                                  {.profile = 19, .placement = {4, 1}}});
  ASSERT_FALSE(third);
  EXPECT_NE(third.error().message.find("2g.10gb starts at slice 0, 2, 4 only"), std::string::npos)
      << third.error().message;
}

// Tries all arrangements, in any order.
bool fits_somehow(const std::vector<Profile>& profiles, const std::vector<const Profile*>& pieces) {
  const std::function<bool(std::size_t, unsigned)> from = [&](std::size_t i, unsigned taken) {
    if (i == pieces.size()) return true;
    return std::ranges::any_of(pieces[i]->placements, [&](const Placement& at) {
      const unsigned bits = ((1U << at.size) - 1) << at.start;
      return (taken & bits) == 0 && from(i + 1, taken | bits);
    });
  };
  unsigned slices = 0;
  std::map<const Profile*, unsigned> count;
  for (const Profile* piece : pieces) {
    slices += piece->slices;
    if (++count[piece] > piece->most) return false;
  }
  return !profiles.empty() && slices <= 7 && from(0, 0);
}

class EveryModel : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryModel, FindsAnArrangementExactlyWhenThereIsOne) {
  const std::vector<Profile> profiles = read_profiles(GetParam());
  std::mt19937 random(7);
  int fitted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> names;
    std::vector<const Profile*> pieces;
    const auto count = 1 + random() % 7;
    for (unsigned i = 0; i < count; ++i) {
      const Profile& profile = profiles[random() % profiles.size()];
      names.push_back(profile.name);
      pieces.push_back(&profile);
    }
    const auto placed = place_names(GetParam(), names);
    ASSERT_EQ(placed.has_value(), fits_somehow(profiles, pieces))
        << ::testing::PrintToString(names);
    if (!placed) continue;
    ++fitted;
    ASSERT_EQ(placed->size(), names.size());
    unsigned taken = 0;
    std::uint32_t last = 8;
    std::vector<bool> seated(names.size());
    for (const PlacedInstance& p : *placed) {
      const Profile& profile = *std::ranges::find(profiles, p.profile, &Profile::id);
      ASSERT_EQ(profile.name, names[p.run]);
      ASSERT_NE(std::ranges::find(profile.placements, p.placement), profile.placements.end());
      const unsigned bits = ((1U << p.placement.size) - 1) << p.placement.start;
      ASSERT_EQ(taken & bits, 0U);
      ASSERT_LE(p.placement.size, last);
      taken |= bits;
      last = p.placement.size;
      seated[p.run] = true;
    }
    ASSERT_EQ(std::ranges::count(seated, true), std::ssize(names));
  }
  EXPECT_GT(fitted, 100);
}
INSTANTIATE_TEST_SUITE_P(Models, EveryModel,
                         ::testing::Values("a100-40", "a100-80", "h100", "h200"),
                         [](const auto& model) {
                           std::string name = model.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(MigPlanTest, NamesAProfileAsTheDriverDoes) {
  EXPECT_EQ(profile_name("MIG 3g.20gb"), "3g.20gb");
  EXPECT_EQ(profile_name("NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb"), "1c.3g.20gb");
  EXPECT_EQ(profile_name("1g.5gb+me"), "1g.5gb+me");
  // Names that an old driver lacks, from the reports of A100 (40 and 80 GB) and H200.
  const auto name = [](std::uint32_t slices, std::uint64_t mib, std::uint64_t all,
                       std::uint32_t number) {
    ProfileInfoV1 info{};
    info.slices = slices;
    info.memory_mib = mib;
    return profile_name(info, number, all);
  };
  EXPECT_EQ(name(1, 4864, 40960, 0), "1g.5gb");
  EXPECT_EQ(name(3, 19968, 40960, 2), "3g.20gb");
  EXPECT_EQ(name(7, 40192, 40960, 4), "7g.40gb");
  EXPECT_EQ(name(1, 9856, 81920, 7), "1g.10gb+me");
  EXPECT_EQ(name(4, 72704, 144384, 3), "4g.71gb");
}

}  // namespace
}  // namespace corral::collocate::nvidia
