// A YAML sweep as rows of cells, for reading a plan and for marking one: both see the same rows.
//
//   name: lr                    method: grid | random         status:
//   experiment: 1               parameters:                     0: "FINISHED <run> (--lr 0.1)"
//   devices: 0                    lr: {values: [0.1, 0.01]}
//   file: train.py              parent: <run>
//
// One workload for each combination, the last key varying fastest, numbered from 000. Beside radT's
// keys those of Corral's columns are taken, and `seed` and `count` for method random.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plan/raw_row.h"

namespace corral::plan {

struct SweepEntry {
  std::string status;  // "FINISHED"
  std::string run;
  std::string params;  // "--lr 0.1"
};

struct Sweep {
  std::vector<RawRow> raws;  // the views are of `texts`
  std::string parent;        // run that all are to be below; empty: none
  std::string name;
  std::map<std::int64_t, SweepEntry> status;  // as the file has it
  std::vector<std::int64_t> numbers;          // number of the workload of each row
  std::vector<std::string> params;            // the params of the row's combination
  std::vector<std::unique_ptr<std::string>> texts;
};

// Reads the text of `problems` and appends every fault.
Sweep read_sweep(ProblemList& problems);

}  // namespace corral::plan
