// Python values -> the content of a segment: numbers, steps and names, with the exceptions that a
// script sees.
//
// Every function needs the GIL and returns false with an exception set. Limited API of 3.10 only.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

#include "spool/segment_writer.h"

namespace corral::python {

// Owns one reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* object) : object_(object) {}
  ~Ref() { Py_XDECREF(object_); }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  [[nodiscard]] PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// int, float, bool or anything with __float__ or __index__; TypeError that names the metric for
// everything else.
bool to_double(PyObject* name, PyObject* value, double& out);
// None (has = false), int or anything with __index__, within 64 bits.
bool to_step(PyObject* name, PyObject* step, std::int64_t& out, bool& has);
// `what` is "metric name", "param name", ... The view lives as long as the object.
bool to_name(PyObject* object, const char* what, spool::TextView& out);
// Text of at most `limit` bytes; ValueError with `what` beyond.
bool to_text(PyObject* object, const char* what, std::size_t limit, spool::TextView& out);

}  // namespace corral::python
