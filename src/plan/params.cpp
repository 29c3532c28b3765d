#include "plan/params.h"

#include <algorithm>

#include "core/text.h"

namespace corral::plan {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_key(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/';
  });
}

class WordSplitter {
 public:
  explicit WordSplitter(std::string_view text) : text_(text) {}

  std::optional<std::vector<std::string>> split() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        finish();
      } else if (!append(c)) {
        return std::nullopt;
      }
    }
    finish();
    return std::move(words_);
  }

 private:
  bool append(char c) {
    open_ = true;
    if (c == '\'') return append_single_quoted();
    if (c == '"') return append_double_quoted();
    if (c == '\\' && at_ < text_.size()) c = text_[at_++];
    word_ += c;
    return true;
  }
  bool append_single_quoted() {
    const std::size_t close = text_.find('\'', at_);
    if (close == std::string_view::npos) return false;
    word_ += text_.substr(at_, close - at_);
    at_ = close + 1;
    return true;
  }
  bool append_double_quoted() {
    while (at_ < text_.size()) {
      char c = text_[at_++];
      if (c == '"') return true;
      // Inside, a backslash escapes itself and the quote alone.
      const bool escapes =
          c == '\\' && at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\\');
      if (escapes) c = text_[at_++];
      word_ += c;
    }
    return false;
  }
  void finish() {
    if (open_) words_.push_back(std::move(word_));
    word_.clear();
    open_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool open_ = false;
  std::vector<std::string> words_;
};

// A word that is an option's name and no negative number.
bool is_option(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  const std::string_view name = word.substr(word[1] == '-' ? 2 : 1);
  return !name.empty() && is_letter(name[0]);
}

void record(Pairs& pairs, std::string_view key, std::string value) {
  const auto same = std::ranges::find(pairs, key, &Pairs::value_type::first);
  if (same == pairs.end()) {
    pairs.emplace_back(key, std::move(value));
  } else {
    same->second = std::move(value);
  }
}

}  // namespace

std::optional<std::vector<std::string>> shell_words(std::string_view text) {
  return WordSplitter(text).split();
}

std::optional<std::vector<std::string>> paper_words(std::string_view text) {
  std::vector<std::string> words;
  std::string joined(text);
  std::ranges::replace(joined, ';', ',');
  std::ranges::replace(joined, ' ', ',');
  for (const std::string_view part : split(joined, ',')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || !is_key(part.substr(0, equals))) return std::nullopt;
    words.push_back("--" + std::string(part.substr(0, equals)));
    words.emplace_back(part.substr(equals + 1));
  }
  return words;
}

Pairs parse_params(const std::vector<std::string>& words) {
  Pairs pairs;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::size_t equals = word.find('=');
    if (is_option(word)) {
      const std::string_view name = word.substr(word[1] == '-' ? 2 : 1);
      if (equals != std::string_view::npos) {
        record(pairs, name.substr(0, name.find('=')), std::string(word.substr(equals + 1)));
        continue;
      }
      std::string value;
      for (; i + 1 < words.size() && !is_option(words[i + 1]); ++i)
        value += (value.empty() ? "" : " ") + words[i + 1];
      record(pairs, name, value.empty() ? "true" : std::move(value));
    } else if (equals != std::string_view::npos && is_key(word.substr(0, equals))) {
      record(pairs, word.substr(0, equals), std::string(word.substr(equals + 1)));
    }
  }
  return pairs;
}

}  // namespace corral::plan
