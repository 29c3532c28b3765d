// Records of a segment -> the bodies of one bundle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "spool/segment_parse.h"

namespace corral::upload {

// Points that were logged at one time and step become a row; rows with the same series become a
// group. `source` is given to every series ("rank3"; empty for a process without a rank). Order
// within a series is kept.
codec::Bundle bundle_of(const std::vector<spool::Record>& records, const std::string& source);

}  // namespace corral::upload
