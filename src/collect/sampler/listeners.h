// The listeners that this build has, and which of them a user's words select, radT's names
// included. Pure, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/listener.h"
#include "core/result.h"

namespace corral::collect {

// In the order in which they are sampled.
std::span<const ListenerEntry> listeners();
const ListenerEntry* find_listener(std::string_view name);
// kInvalidArgument names the nearest right spelling, of `also` as well, and all there are.
Result<const ListenerEntry*> require_listener(std::string_view name,
                                              std::span<const std::string_view> also = {});

// `words` is joined by + or commas; empty: every listener there is, of which those that have
// nothing to measure here say why. Names of listeners() without repetition, in its order.
// kInvalidArgument for an unknown word, with the nearest right one and all there are; kUnsupported
// for one of radT's that no listener stands for, with what to do.
Result<std::vector<std::string>> select_listeners(std::string_view words);

}  // namespace corral::collect
