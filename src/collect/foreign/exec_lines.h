// ExecLines: the lines that a command prints -> readings.
//
// plain: `name value [unit]`. json: {"name": ..., "value": ..., "unit", "source", "kind", "step"},
// or any object, whose numbers are metrics named by their path ("temp.cpu", "cores.0"). csv: a
// header, then rows; units in the header ("power.draw [W]") or behind the values ("35.2 W"). In
// all, `step` is the step of its line's other values; blank lines and # comments are skipped. Pure;
// one object per process of the command, one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/foreign/config.h"
#include "collect/foreign/emitter.h"
#include "core/json.h"

namespace corral::collect::foreign {

class ExecLines {
 public:
  ExecLines(Format format, std::string source_key)
      : format_(format), source_key_(std::move(source_key)) {}

  // Valid during the call.
  using Take = std::function<void(const Reading&)>;
  // False for a line that says nothing that is understood.
  bool read(std::string_view line, const Take& take);

 private:
  struct Column {
    std::string name;  // empty: not recorded
    std::string unit;
  };
  Format guess_format(std::string_view line);
  bool read_json(std::string_view line, const Take& take) const;
  bool read_csv(std::string_view line, const Take& take);
  void read_header();
  bool read_row(const Take& take) const;

  Format format_;
  std::string source_key_;
  std::vector<Column> columns_;  // columns of CSV; empty before its header
  std::vector<std::string> fields_;
};

}  // namespace corral::collect::foreign
