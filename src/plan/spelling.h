// Spelling: "did you mean X?" for a word that is none of those that are known.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace corral::plan {

// The known word that is nearest, where it is near enough to be meant; empty: none. Ignores case.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);

// "did you mean cold?", else `otherwise`, by default "there are as-is, cold, warm".
std::string suggest(std::string_view word, std::span<const std::string_view> known);
std::string suggest(std::string_view word, std::span<const std::string_view> known,
                    std::string_view otherwise);

}  // namespace corral::plan
