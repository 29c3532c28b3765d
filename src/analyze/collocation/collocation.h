// Collocation: how much slower trainings are beside others than alone, and what the hardware gains
// by it. docs/shared-hardware.md defines every number.
//
// A cell is the runs of a workload that were beside each other. Its runs are measured over the time
// in which all of them were steady, by whole steps (compare/unit_value.h). They are compared with
// runs of the same job (a command, or the value of another field) that were alone in their workload
// on the same host. Nothing is assumed for a job without one: it is named.
//
// Cells of the same jobs, shared in the same way, repeat each other. Copies of a job within a cell
// do not: the cell gives one value of each job.
// Sources: those of read_units, and GPUs' energy. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/compare/ratio.h"
#include "analyze/compare/unit_value.h"

namespace corral::analyze {

// One run of a cell, or one that was alone.
struct PlacedRun {
  RunId id;
  std::string name, outcome;
  std::string host;  // "node7"; with several GPUs "node7, 2 GPUs"
  std::size_t job = 0;
  std::string place;             // the part of the hardware that it may use; empty: all
  std::optional<double> step_s;  // time per step
  std::size_t steps = 0;         // in the whole run
  std::string unsteady;          // why it has no steady part; empty: it has
  double duration_s = 0;
  // Beside others, as ratios of times per step:
  std::optional<double> slowdown = {};      // to alone on all of the hardware
  std::optional<double> capacity = {};      // alone on its part, to alone on all
  std::optional<double> interference = {};  // beside the others, to alone on its part
};

struct Cell {
  std::string workload;         // its name
  std::string sharing;          // "mps", "naive", "3g.20gb"
  std::vector<PlacedRun> runs;  // two or more
  Window window;                // that they are measured over; empty if they are not
  std::string reason;           // why they are not
  double makespan_s = 0;
  std::size_t rounds_left_out = 0;  // a run that starts again counts with one
  std::optional<double> watts;      // power of the GPUs that they used, in the window
  // Known if the runs alone that they need are there for all of its runs:
  std::optional<double> throughput = {};  // STP: the sum of 1 / slowdown
  std::optional<double> turnaround = {};  // ANTT: mean slowdown
  std::optional<double> fairness = {};    // least by greatest 1 / slowdown
  // Durations alone, one after the other, by the makespan; of runs with as many steps as alone.
  std::optional<double> speedup = {};
  std::optional<double> energy = {};  // joules by those that the same steps take alone
};

// A run alone that could not be measured.
struct UnmeasuredRun {
  PlacedRun run;
  std::string reason;
};

// A job alone on one host and place.
struct AloneJob {
  std::size_t job = 0;
  std::string host, place;
  std::vector<double> step_logs;  // logarithms of times per step
  double step_s = 0;              // their geometric mean
  double duration_s = 0;          // mean
  double steps = 0;               // mean, of whole runs
  std::optional<double> watts;    // mean
  // Time per step by that on all of the hardware, if that is known.
  std::optional<double> against_all = {};
  bool smallest_slice =
      false;  // no smaller MIG instance has a measured run of the job on this host
};

// A job beside others, over the cells of one configuration.
struct Disturbance {
  std::size_t job = 0;
  std::string place, host;
  std::vector<std::size_t> beside;      // jobs, ascending
  RatioInterval slowdown;               // 95 %; without limits from fewer than two values on a side
  std::size_t alone = 0, together = 0;  // values
};

struct Configuration {
  std::string sharing;
  std::vector<std::size_t> jobs;           // ascending, a copy each
  std::vector<std::string> places, hosts;  // likewise
  std::vector<std::size_t> cells;          // indices
  std::size_t measured = 0;                // those cells that are
  // Geometric means over the cells that have one.
  std::optional<double> throughput, turnaround, fairness, speedup, energy;
  std::vector<Disturbance> disturbances;
};

struct Collocation {
  std::vector<std::string> jobs;  // by number: the command or other field
  std::vector<AloneJob> alone;
  std::vector<UnmeasuredRun> unmeasured;  // that were alone
  std::vector<Cell> cells;                // by start
  std::vector<Configuration> configurations;
  std::vector<std::string> missing;  // sentences: runs alone that would be needed
};

// The letters of a job: "A", ..., "Z", "AA", ....
std::string job_letters(std::size_t job);

struct CollocationOptions {
  // The same text for the same job; empty function: its command.
  std::function<std::string(const store::Run&)> job = {};
  Left left = {};
};

Result<Collocation> read_collocation(const store::Reader& store, std::span<const store::Run> runs,
                                     const CollocationOptions& options);

// A unit of runs with what is known of them, before they are compared.
struct MeasuredRuns {
  std::string workload, sharing;
  std::vector<PlacedRun> runs;
  std::size_t beside = 0;  // other runs of its workload that overlapped with them
  Window window;
  std::string reason;
  double makespan_s = 0;
  std::size_t rounds_left_out = 0;
  std::optional<double> watts;
};
// Pure. `jobs`: by PlacedRun::job.
Collocation compare_places(std::vector<std::string> jobs, std::vector<MeasuredRuns> all);

}  // namespace corral::analyze
