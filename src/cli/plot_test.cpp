#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/png.h"
#include "cli/test_call.h"
#include "server/ui/page.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// fontconfig keeps its lists of fonts until the process ends.
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig"; }
#endif
#endif

namespace corral::cli {
namespace {

class Plot : public CommandTest {};

TEST_F(Plot, RefusesOptionsThatContradict) {
  const auto said = [](std::vector<std::string> words) {
    const Output output = call(plot_command, std::move(words));
    EXPECT_EQ(output.status, kMisuse);
    return output.error;
  };
  EXPECT_TRUE(holds(said({"--metric", "loss"}), "run"));
  EXPECT_TRUE(holds(said({"@1"}), "expected --metric once, or twice"));
  EXPECT_TRUE(holds(said({"@1", "--metric", "a", "--metric", "b", "--metric", "c"}),
                    "expected --metric once, or twice"));
  EXPECT_TRUE(holds(said({"@1", "--metric", "a", "-o", "figure.jpg"}),
                    "--output 'figure.jpg': expected a name that ends in .svg, .pdf or .png"));
  EXPECT_TRUE(holds(said({"@1", "--metric", "a", "--format", "gif"}), "gif"));
  EXPECT_TRUE(holds(said({"@1", "--metric", "a", "--data", "-"}), "name a file with --output"));
  EXPECT_TRUE(holds(said({"@1", "--metric", "a", "--axis", "days"}), "days"));
}

TEST_F(Plot, SaysThatItWasBuiltWithoutThePage) {
  const Output output = call(plot_command, {"@1", "--metric", "loss"});
  EXPECT_EQ(output.status, kFailed);
  EXPECT_EQ(holds(output.error, "this corral was built without its page"),
            server::ui::embedded_assets().empty())
      << output.error;
}

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(at, 4)) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

TEST(Png, IsAsLargeAsItShouldBe) {
  const auto png =
      png_of(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 1"><text>é</text></svg>)",
             {.width = 20, .height = 10}, {});
  ASSERT_TRUE(png) << png.error().message;
  EXPECT_TRUE(png->starts_with("\x89PNG\r\n"));
  EXPECT_EQ(big_endian(*png, 16), 20);
  EXPECT_EQ(big_endian(*png, 20), 10);
}

TEST(Png, SaysWhatIsWrong) {
  const auto message = [](std::string_view svg, PngSize size,
                          const std::vector<std::string_view>& fonts = {}) {
    const auto png = png_of(svg, size, fonts);
    return png ? "no error" : png.error().message;
  };
  EXPECT_TRUE(message("<svg", {.width = 1, .height = 1}).starts_with("librsvg cannot read"));
  EXPECT_TRUE(message("", {.width = 1, .height = 1}).starts_with("librsvg cannot read"));
  EXPECT_TRUE(message("<p/>", {.width = 1, .height = 1}).starts_with("librsvg cannot"));
  constexpr std::string_view kEmpty = "<svg xmlns='http://www.w3.org/2000/svg'/>";
  EXPECT_EQ(message(kEmpty, {.width = 100000, .height = 1}),
            "a picture of 100000 × 1 pixels is too large for cairo");
  EXPECT_EQ(message(kEmpty, {.width = 1, .height = 1}, {"no font"}),
            "fontconfig does not take the figure's font");
}

}  // namespace
}  // namespace corral::cli
