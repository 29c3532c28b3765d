#include "collect/key_value_file.h"

#include <unistd.h>

#include <algorithm>

#include "collect/scan.h"

namespace corral::collect {

double page_bytes() {
  static const auto bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

void KeyValueFile::add(std::span<const Line> lines, const std::string& source, SeriesTable& table,
                       Missing missing) {
  if (!file_) return;
  for (const Line& line : lines) {
    key_index(line.key);
    if (!line.less_of.empty()) key_index(line.less_of);
  }
  const std::string_view text = file_->read();
  there_ = find_values(text, keys_, values_);
  note_end(text);
  for (const Line& line : lines) {
    Output out{.key = key_index(line.key), .less_of = key_index(line.key), .scale = line.scale};
    if (!line.less_of.empty()) out.less_of = key_index(line.less_of);
    if ((there_ >> out.key & 1u) != 0 && (there_ >> out.less_of & 1u) != 0) {
      out.column = table.add(line.metric, source);
      outputs_.push_back(out);
    } else if (missing == Missing::kReported) {
      table.unavailable(line.metric, "this kernel does not report " + std::string(line.key));
    }
  }
}

// The index of `key`, which is added when it is new.
std::size_t KeyValueFile::key_index(std::string_view key) {
  const auto at = static_cast<std::size_t>(std::ranges::find(keys_, key) - keys_.begin());
  if (at == keys_.size()) {
    keys_.push_back(key);
    values_.push_back(0);
  }
  return at;
}

void KeyValueFile::note_end(std::string_view text) {
  constexpr std::size_t kRoomToGrow = 256;  // a digit more in each of so many lines
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = Scanner(text.substr(at)).line();
    at += line.size() + 1;
    if (std::ranges::find(keys_, Scanner(line).word(':')) != keys_.end()) end = at;
  }
  enough_ = end + kRoomToGrow;
}

// The kernel writes line by line until it has enough bytes, and half of the lines are of no
// interest.
std::uint32_t KeyValueFile::read_values() {
  const std::uint32_t found = find_values(file_->read_beginning(enough_), keys_, values_);
  if ((found & there_) == there_) return found;
  const std::string_view text = file_->read();
  note_end(text);
  return find_values(text, keys_, values_);
}

void KeyValueFile::sample(Row& row) {
  if (!file_) return;
  const std::uint32_t found = read_values();
  for (const Output& out : outputs_) {
    if ((found >> out.key & 1u) == 0 || (found >> out.less_of & 1u) == 0) continue;
    const auto value = static_cast<double>(values_[out.key]);
    // The two lines of a difference are not read at one instant: it may be a little below 0.
    const double kept = out.less_of == out.key
                            ? value
                            : std::max(0.0, static_cast<double>(values_[out.less_of]) - value);
    row.set(out.column, kept * out.scale);
  }
}

}  // namespace corral::collect
