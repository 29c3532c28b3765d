#include "cli/toml_value.h"

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace corral::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

class ValueReader {
 public:
  explicit ValueReader(std::string_view text) : rest_(text) {}

  Result<TomlValue> value() {
    TomlValue value;
    skip();
    if (rest_.empty()) return wrong("has no value");
    if (rest_.front() == '[') {
      value.array = true;
      TRY(array(value.items));
    } else {
      value.items.push_back(TRY(item()));
    }
    skip();
    if (!rest_.empty()) return wrong("has something after its value");
    return value;
  }

  bool array_is_open() {
    skip();
    if (rest_.empty() || rest_.front() != '[') return false;
    std::vector<std::string> items;
    [[maybe_unused]] const auto read = array(items);
    return open_;
  }

 private:
  static tl::unexpected<Error> wrong(std::string what) {
    return fail(Code::kInvalidArgument, std::move(what));
  }

  // Blanks, line ends and comments.
  void skip() {
    for (;;) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
      if (rest_.empty() || rest_.front() != '#') return;
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    }
  }

  Result<> array(std::vector<std::string>& items) {
    rest_.remove_prefix(1);
    for (;;) {
      skip();
      if (rest_.empty()) {
        open_ = true;
        return wrong("has a bracket that is not closed");
      }
      if (rest_.front() == ']') break;
      items.push_back(TRY(item()));
      skip();
      if (!rest_.empty() && rest_.front() == ',') {
        rest_.remove_prefix(1);
      } else if (!rest_.empty() && rest_.front() != ']') {
        return wrong("needs a comma between the items of its array");
      }
    }
    rest_.remove_prefix(1);
    return {};
  }

  Result<std::string> item() {
    const char first = rest_.front();
    if (first == '"') return basic();
    if (first == '\'') return literal();
    const std::size_t end = std::min(rest_.find_first_of(" \t\r\n,]#"), rest_.size());
    if (end == 0 || rest_.substr(0, end).find_first_of("[{\"'=") != std::string_view::npos)
      return wrong("has a value that is not a text, a number or an array of texts");
    return std::string(take(end));
  }

  Result<std::string> literal() {
    const std::size_t end = rest_.find_first_of("'\n", 1);
    if (end == std::string_view::npos || rest_[end] != '\'')
      return wrong("has a quote that is not closed");
    const std::string_view quoted = take(end + 1);
    return std::string(quoted.substr(1, quoted.size() - 2));
  }

  Result<std::string> basic() {
    std::string text;
    for (std::size_t i = 1; i < rest_.size() && rest_[i] != '\n'; ++i) {
      if (rest_[i] == '"') {
        take(i + 1);
        return text;
      }
      if (rest_[i] != '\\') {
        text += rest_[i];
        continue;
      }
      constexpr std::string_view kLetters = "\"\\ntr";
      constexpr std::string_view kMeant = "\"\\\n\t\r";
      const std::size_t which = ++i < rest_.size() ? kLetters.find(rest_[i]) : kLetters.npos;
      if (which == kLetters.npos)
        return wrong(
            "has an unknown escape in its \"text\": a 'text' takes backslashes as they are");
      text += kMeant[which];
    }
    return wrong("has a quote that is not closed");
  }

  std::string_view take(std::size_t n) {
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  std::string_view rest_;
  bool open_ = false;
};

}  // namespace

bool goes_on(std::string_view value) { return ValueReader(value).array_is_open(); }

Result<TomlValue> parse_toml_value(std::string_view text) { return ValueReader(text).value(); }

}  // namespace corral::cli
