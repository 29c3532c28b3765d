// A Reader of everything, for tests.
#pragma once

#include "store/reader.h"
#include "store/store.h"

namespace corral::store {

inline Reader reader_of(Store& store) { return {store, Access::everything()}; }

}  // namespace corral::store
