#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/text.h"
#include "environment/environment.h"

namespace corral::environment {
namespace {

// A word that may precede the "=".
struct Word {
  std::string_view word;
  Kind kind;
  std::string_view tool;    // Spec::tool
  std::string_view target;  // kind of value, for messages
};
constexpr std::array kWords{
    Word{"python", Kind::kVenv, "python", "a Python interpreter"},
    Word{"venv", Kind::kVenv, "", "the directory of a virtual environment"},
    Word{"conda", Kind::kConda, "", "an environment's name, directory or environment.yml"},
    Word{"mamba", Kind::kConda, "mamba", "an environment's name, directory or environment.yml"},
    Word{"micromamba", Kind::kConda, "micromamba",
         "an environment's name, directory or environment.yml"},
    Word{"uv", Kind::kUv, "", "a requirements.txt or pyproject.toml"},
    Word{"pip", Kind::kPip, "", "a requirements.txt"},
    Word{"docker", Kind::kContainer, "docker", "an image"},
    Word{"podman", Kind::kContainer, "podman", "an image"},
    Word{"apptainer", Kind::kContainer, "apptainer", "an image"},
    Word{"singularity", Kind::kContainer, "singularity", "an image"},
    Word{"mlproject", Kind::kMlproject, "", "a directory with a file MLproject"},
};

struct Option {
  std::string_view name;
  Kind kind;
  bool many = false;        // may stand several times
  std::string_view values;  // "a|b": one of these
};
constexpr std::array kOptions{
    Option{"python", Kind::kUv, false, ""},
    Option{"system-packages", Kind::kUv, false, "yes|no"},
    Option{"arg", Kind::kUv, true, ""},
    Option{"python", Kind::kPip, false, ""},
    Option{"system-packages", Kind::kPip, false, "yes|no"},
    Option{"arg", Kind::kPip, true, ""},
    Option{"mount", Kind::kContainer, true, ""},
    Option{"device", Kind::kContainer, true, ""},
    Option{"gpus", Kind::kContainer, false, ""},
    Option{"user", Kind::kContainer, false, ""},
    Option{"workdir", Kind::kContainer, false, ""},
    Option{"env", Kind::kContainer, true, ""},
    Option{"entrypoint", Kind::kContainer, false, ""},
    Option{"python", Kind::kContainer, false, ""},
    Option{"pull", Kind::kContainer, false, "missing|always|never"},
    Option{"global", Kind::kContainer, true, ""},
    Option{"arg", Kind::kContainer, true, ""},
};

// The candidate that differs least from `text`, when that is little enough to be meant.
template <class Range, class Name>
std::string nearest(std::string_view text, const Range& candidates, Name name_of) {
  std::string best;
  std::size_t least = 3;
  for (const auto& candidate : candidates) {
    const std::string_view name = name_of(candidate);
    if (name.empty()) continue;
    const std::size_t edits = edit_distance(text, name);
    if (edits < least && edits < name.size()) {
      least = edits;
      best = name;
    }
  }
  return best;
}

template <class Range, class Name>
std::string names_of(const Range& all, Name name_of) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const auto& one : all) names.emplace_back(name_of(one));
  return join(names, ", ");
}

const Word* word_of(const Spec& spec) {
  const auto* const found = std::ranges::find_if(
      kWords, [&](const Word& w) { return w.kind == spec.kind && w.tool == spec.tool; });
  return found == kWords.end() ? nullptr : found;
}

tl::unexpected<Error> unknown_word(std::string_view word, bool alone) {
  const auto name_of = [](const Word& w) { return w.word; };
  const std::string near = nearest(lower_ascii(word), kWords, name_of);
  std::string advice = near.empty() ? "it is one of local, " + names_of(kWords, name_of)
                                    : fmt::format("did you mean {}=?", near);
  if (alone && near.empty())
    advice += fmt::format("; a conda environment of that name is conda={}", word);
  return fail(Code::kInvalidArgument,
              fmt::format("environment '{}': no such kind; {}", word, advice));
}

tl::unexpected<Error> unknown_option(const Word& word, std::string_view name) {
  std::vector<std::string_view> own;
  for (const Option& o : kOptions)
    if (o.kind == word.kind) own.push_back(o.name);
  const auto same = [](std::string_view n) { return n; };
  const std::string near = nearest(lower_ascii(name), own, same);
  const std::string advice = own.empty()     ? fmt::format("{}= takes none", word.word)
                             : !near.empty() ? fmt::format("did you mean {}=?", near)
                                             : "it is one of " + names_of(own, same);
  return fail(Code::kInvalidArgument,
              fmt::format("environment: {}= has no option '{}'; {}", word.word, name, advice));
}

Result<> add_option(const Word& word, std::string_view text, Spec& spec) {
  const std::size_t equals = text.find('=');
  const std::string_view name = trim(text.substr(0, equals));
  const auto* const option = std::ranges::find_if(
      kOptions, [&](const Option& o) { return o.kind == word.kind && o.name == name; });
  if (option == kOptions.end()) return unknown_option(word, name);
  if (equals == std::string_view::npos)
    return fail(Code::kInvalidArgument,
                fmt::format("environment: option '{0}' has no value: {0}=…", name));
  const std::string_view value = trim(text.substr(equals + 1));
  if (value.empty() && name != "entrypoint")
    return fail(Code::kInvalidArgument, fmt::format("environment: option '{}=' is empty", name));
  if (!option->values.empty() && !std::ranges::count(split(option->values, '|'), value))
    return fail(Code::kInvalidArgument,
                fmt::format("environment: {}='{}': it is one of {}", name, value, option->values));
  const bool again = std::ranges::any_of(spec.options, [&](auto& o) { return o.first == name; });
  if (again && !option->many)
    return fail(Code::kInvalidArgument,
                fmt::format("environment: option '{}' is given twice", name));
  spec.options.emplace_back(name, value);
  return {};
}

}  // namespace

Result<Spec> parse(std::string_view text) {
  text = trim(text);
  if (text.empty() || text == "-" || text == "local") return Spec{};
  // Entries of a file or a variable; the executed and recorded words contain no such bytes.
  if (text.find_first_of(std::string_view("\0\n\r", 3)) != std::string_view::npos)
    return fail(Code::kInvalidArgument, "environment: it contains a line break or a NUL byte");
  const std::vector<std::string_view> parts = split(text, ';');
  const std::size_t equals = parts[0].find('=');
  const std::string_view given = trim(parts[0].substr(0, equals));
  const auto* const word =
      std::ranges::find_if(kWords, [&](const Word& w) { return w.word == lower_ascii(given); });
  if (word == kWords.end()) return unknown_word(given, equals == std::string_view::npos);
  Spec spec{.kind = word->kind, .tool = std::string(word->tool), .target = {}, .options = {}};
  if (equals != std::string_view::npos) spec.target = trim(parts[0].substr(equals + 1));
  if (spec.target.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("environment '{}': {}= names {}", text, word->word, word->target));
  for (const std::string_view part : std::span(parts).subspan(1))
    if (!trim(part).empty()) TRY(add_option(*word, part, spec));
  return spec;
}

std::string text_of(const Spec& spec) {
  const Word* const word = word_of(spec);
  if (spec.kind == Kind::kLocal || word == nullptr) return "local";
  std::string text = fmt::format("{}={}", word->word, spec.target);
  for (const auto& [name, value] : spec.options) text += fmt::format(";{}={}", name, value);
  return text;
}

}  // namespace corral::environment
