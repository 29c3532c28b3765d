// Selection: which listeners a person's words mean, radT's names included.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::collect {

// `words` is joined by + or commas; empty: every listener there is, of which those that have
// nothing to measure here say why. Names of listeners() without repetition, in its order.
// kInvalidArgument for an unknown word, with the nearest right one and all there are; kUnsupported
// for one of radT's that no listener stands for, with what to do.
Result<std::vector<std::string>> select_listeners(std::string_view words);

}  // namespace corral::collect
