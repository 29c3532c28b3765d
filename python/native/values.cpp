#include "values.h"

#include "spool/segment_format.h"

namespace corral::python {
namespace {

// Replaces the pending exception by a TypeError that names the metric, with the first one as its
// cause.
void name_the_metric(PyObject* name, PyObject* value, const char* wanted) {
  PyObject* type = nullptr;
  PyObject* cause = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &cause, &traceback);
  PyErr_NormalizeException(&type, &cause, &traceback);
  const Ref type_name(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(value)), "__qualname__"));
  if (type_name) {
    PyErr_Format(PyExc_TypeError, "corral.log: metric %R: %s, not %U", name, wanted,
                 type_name.get());
  }
  PyObject* new_type = nullptr;
  PyObject* error = nullptr;
  PyObject* new_traceback = nullptr;
  PyErr_Fetch(&new_type, &error, &new_traceback);
  PyErr_NormalizeException(&new_type, &error, &new_traceback);
  if (error != nullptr && cause != nullptr) {
    if (traceback != nullptr) PyException_SetTraceback(cause, traceback);
    PyException_SetCause(error, cause);  // takes the reference
    cause = nullptr;
  }
  Py_XDECREF(type);
  Py_XDECREF(cause);
  Py_XDECREF(traceback);
  PyErr_Restore(new_type, error, new_traceback);
}

// A device error of a 0-d tensor is the script's business; that a tensor of many elements is no
// number is ours.
bool is_wrong_type(PyObject* value) {
  if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
      PyErr_ExceptionMatches(PyExc_OverflowError)) {
    return true;
  }
  if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) return false;
  PyObject* type = nullptr;
  PyObject* error = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  const Ref dimensions(PyObject_GetAttrString(value, "ndim"));
  const long ndim = dimensions ? PyLong_AsLong(dimensions.get()) : 0;
  PyErr_Clear();
  PyErr_Restore(type, error, traceback);
  return ndim > 0;
}

constexpr const char* kWantedValue = "a value must be a number or have __float__ or __index__";

}  // namespace

bool to_double(PyObject* name, PyObject* value, double& out) {
  if (PyUnicode_Check(value) ||
      PyBytes_Check(value)) {  // numpy's have __float__, which parses them
    name_the_metric(name, value, kWantedValue);
    return false;
  }
  out = PyFloat_AsDouble(value);
  if (out != -1.0 || PyErr_Occurred() == nullptr) return true;
  if (is_wrong_type(value)) name_the_metric(name, value, kWantedValue);
  return false;
}

bool to_step(PyObject* name, PyObject* step, std::int64_t& out, bool& has) {
  has = step != nullptr && step != Py_None;
  if (!has) return true;
  const Ref index(PyNumber_Index(step));
  int overflow = 0;
  if (index) out = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (index && overflow == 0 && (out != -1 || PyErr_Occurred() == nullptr)) return true;
  if (overflow != 0) {
    PyErr_Format(PyExc_ValueError, "corral.log: metric %R: a step must fit in 64 bits", name);
  } else if (is_wrong_type(step)) {
    name_the_metric(name, step, "a step must be an int or None");
  }
  return false;
}

bool to_text(PyObject* object, const char* what, std::size_t limit, spool::TextView& out) {
  if (!PyUnicode_Check(object)) {
    const Ref type_name(
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__qualname__"));
    if (type_name)
      PyErr_Format(PyExc_TypeError, "corral: a %s must be str, not %U", what, type_name.get());
    return false;
  }
  Py_ssize_t size = 0;
  out.data = PyUnicode_AsUTF8AndSize(object, &size);
  if (out.data == nullptr) return false;  // UnicodeEncodeError, a ValueError
  out.size = static_cast<std::size_t>(size);
  if (out.size <= limit) return true;
  PyErr_Format(PyExc_ValueError, "corral: a %s has at most %zu bytes, this one has %zd", what,
               limit, size);
  return false;
}

bool to_name(PyObject* object, const char* what, spool::TextView& out) {
  if (!to_text(object, what, spool::kSegmentNameBytes, out)) return false;
  if (out.size > 0) return true;
  PyErr_Format(PyExc_ValueError, "corral: a %s must not be empty", what);
  return false;
}

}  // namespace corral::python
