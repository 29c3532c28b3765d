// OutputScanner: the output of a script -> metrics, by regular expressions.
//
// Bytes of both streams, in any pieces -> lines (each state of a progress bar is one) -> without
// colours -> every pattern of that stream. A line that does not match costs one pass of RE2's
// automaton per pattern and allocates nothing. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collect/foreign/config.h"
#include "collect/foreign/emitter.h"
#include "collect/foreign/pattern.h"
#include "collect/foreign/text.h"

namespace corral::collect::foreign {

// Appends the line without terminal sequences (colours, cursor moves, titles) to an emptied `out`.
void strip_terminal(std::string_view line, std::string& out);

class OutputPattern {
 public:
  static Result<std::unique_ptr<OutputPattern>> create(const RegexSource& source, PointQueue& queue,
                                                       ProblemBox& problems);
  [[nodiscard]] bool reads(Stream stream) const {
    return stream_ == Stream::kBoth || stream == Stream::kBoth || stream_ == stream;
  }
  void search(std::string_view line, BootTime time);

 private:
  struct Group {
    std::string name;
    std::size_t index;
  };
  OutputPattern(const RegexSource& source, std::unique_ptr<const re2::RE2> pattern,
                PointQueue& queue, ProblemBox& problems);
  [[nodiscard]] std::string_view matched(std::size_t group) const;
  void emit(std::string_view name, std::string_view text, Reading reading, BootTime time);

  Stream stream_;
  std::string unit_;
  std::unique_ptr<const re2::RE2> pattern_;
  std::vector<Group> metrics_;
  std::size_t step_ = 0;    // groups; 0: there is none
  std::size_t metric_ = 0;  // names what `value` holds
  std::size_t value_ = 0;
  std::size_t unit_group_ = 0;
  std::vector<re2::StringPiece> found_;  // groups of the last match; [0] is all of it
  Emitter emitter_;
};

class OutputScanner {
 public:
  explicit OutputScanner(std::vector<std::unique_ptr<OutputPattern>> patterns);
  // kBoth: of a terminal, where the two are one.
  void feed(Stream stream, std::string_view bytes, BootTime time);
  void finish(BootTime time);

 private:
  void search(Stream stream, std::string_view line, BootTime time);
  std::vector<std::unique_ptr<OutputPattern>> patterns_;
  LineSplitter out_;
  Stream out_is_ = Stream::kOut;
  LineSplitter err_;
  std::string plain_;
};

}  // namespace corral::collect::foreign
