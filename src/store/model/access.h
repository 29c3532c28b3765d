// Access: the part of a store that a reader may see. Every Reader is made with one.
//
// It has a single value today. everything() is called by cli/, by the server's wiring and by tests
// alone (tools/check_layers.py); all other code passes on the Reader that it was given.
#pragma once

namespace corral::store {

class Access {
 public:
  static Access everything() { return {}; }

 private:
  Access() = default;
};

}  // namespace corral::store
