// TensorBoard's log directories as runs.
//
// A directory that holds event files itself is one run. In a directory that holds none, each
// directory of the first level with event files in or below it is a run, unless they all are parts
// of one training (Keras' "train" and "validation"): these are one run together. Directories below
// a run are its sources. Each event file is a part of the run; the files of a source follow one
// another in the order of their names. The run's identity is that of its oldest file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "imports/imported_run.h"
#include "imports/source.h"
#include "sys/file.h"

namespace corral::imports {

struct EventFile {
  sys::fs::path path;
  std::string source;  // the directory below the run's; empty: the run's own
};
struct LogRun {
  std::string name;
  std::vector<EventFile> files;  // sorted by source and name
};

// Sorts event files below `directory` into runs, by their paths alone.
std::vector<LogRun> runs_of_log(const sys::fs::path& directory,
                                const std::vector<sys::fs::path>& files);

// Returns the name of the host in an event file's name; empty if there is none.
std::string host_of_event_file(std::string_view name);

// Imports a log directory or one event file. kNotFound: there are no event files.
Result<> import_tensorboard(const sys::fs::path& path, const ImportOptions& options,
                            Importer& importer);

}  // namespace corral::imports
