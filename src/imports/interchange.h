// Interchange: lines of JSON in which the Python package gives the runs of tools whose files only
// Python can read (python/corral/_import.py).
//
// A line is an object with one member, which says what it is:
//   {"run": {"identity", "name", "experiment", "start_ns"}}      a run begins
//   {"part": "NAME"}                                             a part of it
//   {"points": {"metric", "source", "times_ns": [], "steps": [], "values": []}}
//                 lists of one length; a step may be null, a value "NaN", "Infinity" or "-Infinity"
//   {"event": {"time_ns", "name", "attributes": {}}}
//   {"param": ["KEY", "VALUE"]}, {"tag": ["KEY", "VALUE"]}
//   {"end": {"end_ns", "running"}}                               the run ends
//   {"table": {"identity", "name"}}                              a table begins
//   {"rows": [["CELL", ...], ...]}                               its rows; the first is the header
//   {"end_table": true}
//   {"left_out": ["WHAT", COUNT]}, {"note": "TEXT"}, {"progress": [DONE, TOTAL]}
//   {"error": "TEXT"}                                            why it goes no further
// Nothing is trusted: a line that is none of these is an error. Pure but for its Importer, one
// thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "imports/imported_run.h"
#include "imports/points_table.h"
#include "imports/source.h"

namespace corral::imports {

class Interchange {
 public:
  Interchange(ImportOptions options, Importer& importer)
      : options_(std::move(options)), importer_(importer) {}

  // Takes the next bytes, of any number.
  Result<> add(std::string_view bytes);
  // kUnavailable: the lines end inside of a run or a table.
  Result<> finish();

 private:
  Result<> line(std::string_view text);
  Result<> member(const std::string& name, const Json& value);
  Result<> begin_run(const Json& run);
  Result<> begin_table(const Json& table);
  Result<> points(const Json& points);
  Result<> event(const Json& event);
  Result<> rows(const Json& rows);
  Result<> end_run(const Json& end);
  Result<> end_table();
  Result<> note(const std::string& name, const Json& value);

  const ImportOptions options_;
  Importer& importer_;
  std::string bytes_;  // a line whose end is to come
  std::unique_ptr<RunSink> sink_;
  bool in_part_ = false;
  std::optional<TableImport> table_;
  std::int64_t rows_ = 0;
  int runs_ = 0;
};

}  // namespace corral::imports
