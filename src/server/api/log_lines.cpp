#include "server/api/log_lines.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace corral::server::api {
namespace {

using codec::LogStream;

constexpr std::int64_t kPatternMemory = 8ll << 20;
constexpr std::size_t kLead = 200;  // bytes before the match in a line that is too long

bool ends_line(char c) { return c == '\n' || c == '\r'; }

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// The nearest begin of a character at or before the place; bytes that are no UTF-8 stay as they
// are.
std::size_t character_at(std::string_view line, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && begin < line.size() && at - begin < 3 && continues_character(line[begin]))
    --begin;
  return begin < line.size() && continues_character(line[begin]) ? at : begin;
}

// As JavaScript counts: characters beyond the first plane (four bytes of UTF-8) are two.
std::size_t utf16_length(std::string_view utf8) {
  std::size_t length = 0;
  for (const char c : utf8) {
    if (continues_character(c)) continue;
    length += static_cast<unsigned char>(c) >= 0xF0U ? 2 : 1;
  }
  return length;
}

// Fills in the line and where the match, bytes [at, at + length) of it, stands in what is given.
void set_excerpt(LogMatch& match, std::string_view line, std::size_t at, std::size_t length) {
  std::size_t begin = 0;
  std::size_t end = line.size();
  if (line.size() > kMostExcerpt) {
    begin = character_at(line, at > kLead ? at - kLead : 0);
    end = character_at(line, std::min(line.size(), begin + kMostExcerpt));
  }
  const std::size_t match_end = std::clamp(at + length, at, end);
  const std::string before = to_utf8(line.substr(begin, at - begin));
  const std::string found = to_utf8(line.substr(at, match_end - at));
  match.offset += static_cast<std::int64_t>(begin);
  match.column = utf16_length(before);
  match.length = utf16_length(found);
  match.line = before + found + to_utf8(line.substr(match_end, end - match_end));
}

}  // namespace

Result<std::unique_ptr<const RE2>> compile(const LogPattern& pattern) {
  RE2::Options options(RE2::Quiet);
  options.set_literal(!pattern.regex);
  options.set_case_sensitive(pattern.case_sensitive);
  options.set_max_mem(kPatternMemory);
  auto compiled = std::make_unique<const RE2>(pattern.text, options);
  if (compiled->ok()) return compiled;
  return fail(Code::kInvalidArgument,
              fmt::format("text must be a regular expression of RE2: {}", compiled->error()));
}

bool LogSearch::add(const store::LogChunk& chunk) {
  State& own = state(chunk.stream);
  if (chunk.offset > own.end) {
    end_line(chunk.stream, 0);
    searched_[chunk.stream] = chunk.offset;
    own.end = chunk.offset;
  }
  std::string_view rest = chunk.bytes;
  rest.remove_prefix(std::min(rest.size(), static_cast<std::size_t>(own.end - chunk.offset)));
  while (!rest.empty()) {
    if (full()) return false;
    if (own.line.empty()) {
      own.row = chunk.row - 1;
      own.time = chunk.time;
    }
    const auto* const found = std::ranges::find_if(rest, ends_line);
    const auto whole = static_cast<std::size_t>(found - rest.begin());
    const std::size_t part = std::min(whole, kMostLine - own.line.size());
    const bool ended = part == whole && whole < rest.size();
    own.line += rest.substr(0, part);
    rest.remove_prefix(part + (ended ? 1 : 0));
    own.end += static_cast<std::int64_t>(part + (ended ? 1 : 0));
    if (ended) {
      end_line(chunk.stream, 1);
    } else if (own.line.size() == kMostLine) {
      cut_line(chunk.stream);
    }
  }
  return true;
}

void LogSearch::finish() {
  for (const auto stream : store::page::kLogStreams) end_line(stream, 0);
}

void LogSearch::end_line(LogStream stream, std::size_t separator) {
  State& own = state(stream);
  if (own.line.size() > own.seen) search_line(stream);
  searched_[stream] += static_cast<std::int64_t>(own.line.size() + separator);
  own.line.clear();
  own.seen = 0;
}

void LogSearch::cut_line(LogStream stream) {
  State& own = state(stream);
  search_line(stream);
  const std::size_t done = own.line.size() - kOverlap;
  own.line.erase(0, done);
  searched_[stream] += static_cast<std::int64_t>(done);
  own.seen = kOverlap;
}

void LogSearch::search_line(LogStream stream) {
  const State& own = state(stream);
  const re2::StringPiece line(own.line);
  re2::StringPiece found;
  for (std::size_t from = 0; from <= line.size();) {
    if (!pattern_.Match(line, from, line.size(), RE2::UNANCHORED, &found, 1)) return;
    const auto at = static_cast<std::size_t>(found.data() - line.data());
    if (at + found.size() > own.seen || own.seen == 0) {
      LogMatch match{.stream = stream,
                     .offset = searched_[stream],
                     .line = {},
                     .row = own.row,
                     .time = own.time};
      set_excerpt(match, own.line, at, found.size());
      matches_.push_back(std::move(match));
      return;
    }
    from = at + std::max<std::size_t>(1, found.size());
  }
}

}  // namespace corral::server::api
