// corral._native: the log calls of the Python package, straight onto a segment
// (src/spool/segment_writer.h).
//
// Hand-written against the limited C API of 3.10: one abi3 file for every CPython from there on. No
// exception crosses it, it links nothing but libc. The environment is read once, at import (but the
// rank at each process's first call); without CORRAL_SEGMENT_DIR every call is a no-op that looks
// at none of its arguments. corral/_pure.py is its twin: same functions, same messages.
#include "name_cache.h"
#include "spool/segment_format.h"
#include "spool/segment_identity.h"

namespace corral::python {
namespace {

constexpr std::size_t kValueBytes = 6000;         // as core/limits.h
constexpr std::size_t kAttributesBytes = 60'000;  // with name, type and lane within a text record
constexpr std::size_t kPathBytes = 1000;

struct State {
  explicit State(const spool::WriterOptions& options) : writer(options) {}
  spool::SegmentWriter writer;
  NameCache names;
};

// Made by the module's import, never destroyed: other threads may log while the interpreter goes
// down.
State& state() {
  alignas(State) static unsigned char memory[sizeof(State)];
  static State* made = nullptr;
  if (made == nullptr)
    made = ::new (static_cast<void*>(memory)) State(spool::options_from_environment());
  return *made;
}

PyObject* none() { return Py_NewRef(Py_None); }

bool is_argument(PyObject* given, const char* name) {
  return PyUnicode_CompareWithASCIIString(given, name) == 0;
}

struct LogArguments {
  PyObject* name = nullptr;  // or the mapping
  PyObject* value = nullptr;
  PyObject* step = nullptr;
};

bool parse_log(PyObject* const* arguments, Py_ssize_t count, PyObject* keywords,
               LogArguments& out) {
  PyObject** targets[] = {&out.name, &out.value, &out.step};
  if (count > 3) {
    PyErr_Format(PyExc_TypeError, "corral.log takes at most 3 arguments (%zd given)", count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) *targets[i] = arguments[i];
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_Size(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* keyword = PyTuple_GetItem(keywords, i);
    PyObject** target = is_argument(keyword, "step")    ? &out.step
                        : is_argument(keyword, "value") ? &out.value
                        : is_argument(keyword, "name")  ? &out.name
                                                        : nullptr;
    if (target == nullptr || *target != nullptr) {
      PyErr_Format(PyExc_TypeError, "corral.log: unexpected or repeated argument %R", keyword);
      return false;
    }
    *target = arguments[count + i];
  }
  if (out.name == nullptr)
    PyErr_SetString(PyExc_TypeError, "corral.log: a name and a value, or a mapping, is needed");
  return out.name != nullptr;
}

// The items() of an arbitrary object may return anything.
bool is_pair(PyObject* item) {
  const bool pair = PyTuple_Check(item) && PyTuple_Size(item) == 2;
  if (!pair) PyErr_SetString(PyExc_TypeError, "corral.log: the items of a mapping must be pairs");
  return pair;
}

// All values are looked at before the first is written: a wrong one leaves nothing behind. They
// share one time.
PyObject* log_mapping(const LogArguments& arguments) {
  if (arguments.value != nullptr && arguments.value != Py_None) {
    PyErr_SetString(PyExc_TypeError,
                    "corral.log: a mapping takes no value, and a step only by keyword");
    return nullptr;
  }
  const Ref items(PyMapping_Items(arguments.name));
  if (!items) return nullptr;
  const Py_ssize_t count = PyList_Size(items.get());
  const auto bytes = static_cast<std::size_t>(count > 0 ? count : 1) * sizeof(double);
  auto* values = static_cast<double*>(PyMem_Malloc(bytes));
  if (values == nullptr) return PyErr_NoMemory();
  bool good = true;
  std::int64_t step = 0;
  bool has_step = false;
  for (Py_ssize_t i = 0; good && i < count; ++i) {
    PyObject* item = PyList_GetItem(items.get(), i);
    spool::TextView name;
    good = is_pair(item) && to_name(PyTuple_GetItem(item, 0), "metric name", name) &&
           to_double(PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1), values[i]);
  }
  good = good && to_step(arguments.name, arguments.step, step, has_step);
  const std::int64_t time = spool::SegmentWriter::now();
  State& s = state();
  for (Py_ssize_t i = 0; good && i < count; ++i) {
    spool::Series* series =
        s.names.find(s.writer, PyTuple_GetItem(PyList_GetItem(items.get(), i), 0));
    if (series != nullptr) s.writer.point(series, time, values[i], has_step ? &step : nullptr);
    good = PyErr_Occurred() == nullptr;
  }
  PyMem_Free(values);
  return good ? none() : nullptr;
}

PyObject* log(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  State& s = state();
  if (!s.writer.enabled()) return none();
  LogArguments parsed;
  if (!parse_log(arguments, count, keywords, parsed)) return nullptr;
  if (!PyUnicode_Check(parsed.name) && PyObject_HasAttrString(parsed.name, "items") != 0)
    return log_mapping(parsed);
  if (parsed.value == nullptr) {
    PyErr_Format(PyExc_TypeError, "corral.log: metric %R: the value is missing", parsed.name);
    return nullptr;
  }
  double value = 0;
  std::int64_t step = 0;
  bool has_step = false;
  if (!to_double(parsed.name, parsed.value, value) ||
      !to_step(parsed.name, parsed.step, step, has_step)) {
    return nullptr;
  }
  spool::Series* series = s.names.find(s.writer, parsed.name);
  if (series == nullptr) return PyErr_Occurred() != nullptr ? nullptr : none();
  s.writer.point(series, spool::SegmentWriter::now(), value, has_step ? &step : nullptr);
  return none();
}

// param(key, text), tag(key, text): the package has made text of the value.
PyObject* keyed(PyObject* const* arguments, Py_ssize_t count, bool is_param) {
  State& s = state();
  if (!s.writer.enabled()) return none();
  spool::TextView key;
  spool::TextView value;
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "corral._native: a key and a text are needed");
    return nullptr;
  }
  if (!to_name(arguments[0], is_param ? "param name" : "tag name", key) ||
      !to_text(arguments[1], is_param ? "param value" : "tag value", kValueBytes, value)) {
    return nullptr;
  }
  if (is_param) {
    s.writer.param(key, value);
  } else {
    s.writer.tag(key, value);
  }
  return none();
}

PyObject* param(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return keyed(arguments, count, true);
}
PyObject* tag(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return keyed(arguments, count, false);
}

PyObject* event(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  State& s = state();
  if (!s.writer.enabled()) return none();
  spool::TextView name;
  spool::TextView attributes;
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError,
                    "corral._native.event: a name and its attributes as JSON are needed");
    return nullptr;
  }
  if (!to_name(arguments[0], "event name", name) ||
      !to_text(arguments[1], "event's attributes", kAttributesBytes, attributes)) {
    return nullptr;
  }
  s.writer.event(name, attributes);
  return none();
}

// phase_begin(name, kind, parent, type, lane, attributes, time=now()) -> id
PyObject* phase_begin(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  State& s = state();
  if (!s.writer.enabled()) return PyLong_FromLong(0);
  if (count != 6 && count != 7) {
    PyErr_SetString(PyExc_TypeError, "corral._native.phase_begin takes 6 or 7 arguments");
    return nullptr;
  }
  spool::PhaseBegin phase;
  if (!to_name(arguments[0], "phase name", phase.name) ||
      !to_text(arguments[3], "phase type", kPathBytes, phase.type) ||
      !to_text(arguments[4], "phase lane", kPathBytes, phase.lane) ||
      !to_text(arguments[5], "phase's attributes", kAttributesBytes, phase.attributes)) {
    return nullptr;
  }
  phase.kind = static_cast<std::uint8_t>(PyLong_AsUnsignedLong(arguments[1]));
  phase.parent = PyLong_AsUnsignedLongLong(arguments[2]);
  if (count == 7) phase.time = PyLong_AsLongLong(arguments[6]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return PyLong_FromUnsignedLongLong(s.writer.phase_begin(phase));
}

// phase_end(id, time=now())
PyObject* phase_end(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 1 && count != 2) {
    PyErr_SetString(PyExc_TypeError, "corral._native.phase_end takes 1 or 2 arguments");
    return nullptr;
  }
  const std::uint64_t number = PyLong_AsUnsignedLongLong(arguments[0]);
  const std::int64_t time = count == 2 ? PyLong_AsLongLong(arguments[1]) : 0;
  if (PyErr_Occurred() != nullptr) return nullptr;
  state().writer.phase_end(number, time);
  return none();
}

PyObject* now(PyObject*, PyObject*) { return PyLong_FromLongLong(spool::SegmentWriter::now()); }

PyObject* session_key(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(state().writer.session_key());
}
PyObject* dropped(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(state().writer.dropped());
}
// The environment now says where to write, which it did not at the import; else nothing happens.
PyObject* attach(PyObject*, PyObject*) {
  State& s = state();
  if (!s.writer.enabled()) {
    s.~State();
    ::new (&s) State(spool::options_from_environment());
  }
  return none();
}
// The environment's run has ended for this process: every later call is a no-op. Calls of other
// threads cannot be inside the writer, because none lets go of the GIL there.
PyObject* detach(PyObject*, PyObject*) {
  State& s = state();
  if (s.writer.enabled()) {
    s.names.clear();
    s.~State();
    ::new (&s) State(spool::WriterOptions{});
  }
  return none();
}
PyObject* enabled(PyObject*, PyObject*) {
  return PyBool_FromLong(state().writer.enabled() ? 1 : 0);
}

constexpr const char* kLogDoc =
    "log(name, value=None, step=None)\n--\n\n"
    "Records one value, or one of each name in a mapping, at this moment.\n\n"
    "A value is an int, a float, a bool or anything with __float__ or __index__ (a 0-d tensor, a "
    "numpy\n"
    "scalar); NaN and infinities are kept. Anything else is a TypeError that names the metric.\n"
    "Outside `corral run` this does nothing and looks at nothing.";

template <class Function>
PyCFunction as_function(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef kMethods[] = {
    {"log", as_function(log), METH_FASTCALL | METH_KEYWORDS, kLogDoc},
    {"param", as_function(param), METH_FASTCALL, nullptr},
    {"tag", as_function(tag), METH_FASTCALL, nullptr},
    {"event", as_function(event), METH_FASTCALL, nullptr},
    {"phase_begin", as_function(phase_begin), METH_FASTCALL, nullptr},
    {"phase_end", as_function(phase_end), METH_FASTCALL, nullptr},
    {"now", now, METH_NOARGS, "CLOCK_BOOTTIME in ns, as the times of all records."},
    {"session_key", session_key, METH_NOARGS,
     "Names this process's session; 0 before its first call."},
    {"dropped", dropped, METH_NOARGS, "Calls of this process that were refused."},
    {"attach", attach, METH_NOARGS,
     "Reads the environment again, if it said nothing at the import."},
    {"detach", detach, METH_NOARGS, "Ends this process's session: later calls do nothing."},
    {"enabled", enabled, METH_NOARGS, "Whether this process runs under `corral run`."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT,
    "corral._native",
    nullptr,
    -1,
    kMethods,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace
}  // namespace corral::python

PyMODINIT_FUNC PyInit__native() {
  corral::python::state();
  return PyModule_Create(&corral::python::kModule);
}
