#include "script/script.h"

#include <duktape.h>
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "core/text.h"

namespace corral::script {
namespace {

// Before each block of the engine's: its size. The engine wants its blocks aligned as malloc's.
constexpr std::size_t kHead = alignof(std::max_align_t);

std::size_t size_of(const std::byte* block) {
  std::size_t size = 0;
  std::memcpy(&size, block, sizeof size);
  return size;
}

// The engine writes a character beyond the basic plane as two surrogates of three bytes each. One
// alone is no character: a byte that is no UTF-8 stands for it until the end.
std::string joined_surrogates(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const auto surrogate = [&](std::size_t at, unsigned high) {
    return at + 2 < text.size() && byte(at) == 0xed && (byte(at + 1) & 0xf0u) == high;
  };
  const auto bits = [&](std::size_t at) {
    return (byte(at + 1) & 0x0fu) << 6u | (byte(at + 2) & 0x3fu);
  };
  std::string joined;
  for (std::size_t at = 0; at < text.size();) {
    const bool high = surrogate(at, 0xa0);
    if (!high && !surrogate(at, 0xb0)) {
      joined += text[at++];
      continue;
    }
    if (!high || !surrogate(at + 3, 0xb0)) {
      joined += '\xff';
      at += 3;
      continue;
    }
    const unsigned code = 0x10000u + (bits(at) << 10u) + (bits(at + 3) & 0x3ffu);
    for (const unsigned part : {0xf0u | code >> 18u, 0x80u | (code >> 12u & 0x3fu),
                                0x80u | (code >> 6u & 0x3fu), 0x80u | (code & 0x3fu)})
      joined += static_cast<char>(part);
    at += 6;
  }
  return to_utf8(joined);
}

}  // namespace

// The engine's errors are long jumps: no function between a protected call and the engine may hold
// an object with a destructor while it calls the engine.
struct Script::Engine {
  Limits limits;
  std::vector<Function> functions;
  std::size_t used = 0;
  bool memory_refused = false;  // in this call
  std::size_t refused = 0;      // bytes that were asked for then
  bool out_of_time = false;     // for ever
  std::chrono::steady_clock::time_point deadline;
  Result<std::string> answer{};  // the last called function's
  duk_context* context = nullptr;

  Engine(Limits some, std::vector<Function> all) : limits(some), functions(std::move(all)) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() {
    if (context != nullptr) duk_destroy_heap(context);
  }

  bool grants(std::size_t more) {
    out_of_time = out_of_time || std::chrono::steady_clock::now() > deadline;
    const bool fits = more <= limits.bytes && used <= limits.bytes - more;
    // The same is asked for again after garbage was collected: then nothing was refused.
    if (fits && more >= refused) memory_refused = false;
    if (!fits) {
      memory_refused = true;
      refused = more;
    }
    return fits && !out_of_time;
  }

  static void* allocate(void* engine, duk_size_t size) { return reallocate(engine, nullptr, size); }
  static void* reallocate(void* self, void* old, duk_size_t size) {
    auto& engine = *static_cast<Engine*>(self);
    auto* const block = old != nullptr ? static_cast<std::byte*>(old) - kHead : nullptr;
    const std::size_t before = block != nullptr ? size_of(block) : 0;
    if (size == 0) {
      release(self, old);
      return nullptr;
    }
    if (size > before && !engine.grants(size - before)) return nullptr;
    auto* const made = static_cast<std::byte*>(std::realloc(block, size + kHead));
    if (made == nullptr) return nullptr;
    engine.used += size - before;
    std::memcpy(made, &size, sizeof size);
    return made + kHead;
  }
  static void release(void* engine, void* old) {
    if (old == nullptr) return;
    auto* const block = static_cast<std::byte*>(old) - kHead;
    static_cast<Engine*>(engine)->used -= size_of(block);
    std::free(block);
  }
  // An error outside of every protected call would be a bug of this file.
  [[noreturn]] static void give_up(void* /*engine*/, const char* message) {
    fmt::print(stderr, "corral: the script engine: {}\n", message);
    std::abort();
  }

  static Engine& of(duk_context* context) {
    duk_memory_functions memory;
    duk_get_memory_functions(context, &memory);
    return *static_cast<Engine*>(memory.udata);
  }

  // `text`: the engine's own form of a string.
  void answer_to(std::size_t index, std::string_view bytes, bool text) noexcept {
    try {
      answer = functions[index].call(text ? joined_surrogates(bytes) : bytes);
    } catch (const std::exception& error) {
      answer = fail(Code::kInternal, error.what());
    }
  }

  // Pushes an ArrayBuffer.
  static void push(duk_context* context, const char* data, std::size_t size) {
    void* const to = duk_push_fixed_buffer(context, size);
    if (size > 0) std::memcpy(to, data, size);
    duk_push_buffer_object(context, -1, 0, size, DUK_BUFOBJ_ARRAYBUFFER);
  }

  static duk_ret_t forward(duk_context* context) {
    duk_size_t size = 0;
    const bool text = duk_is_string(context, 0);
    const void* const data =
        text ? duk_get_lstring(context, 0, &size) : duk_require_buffer_data(context, 0, &size);
    Engine& engine = of(context);
    engine.answer_to(static_cast<std::size_t>(duk_get_current_magic(context)),
                     {static_cast<const char*>(data), size}, text);
    if (engine.answer) {
      push(context, engine.answer->data(), engine.answer->size());
      return 1;
    }
    duk_push_error_object(context, DUK_ERR_ERROR, "%s", engine.answer.error().message.c_str());
    return duk_throw(context);
  }

  struct Source {
    const char* text;
    std::size_t size;
  };
  static duk_ret_t run(duk_context* context, void* given) {
    const Engine& engine = of(context);
    for (std::size_t i = 0; i < engine.functions.size(); ++i) {
      duk_push_c_function(context, forward, 1);
      duk_set_magic(context, -1, static_cast<duk_int_t>(i));
      duk_put_global_string(context, engine.functions[i].name.c_str());
    }
    const auto& source = *static_cast<const Source*>(given);
    duk_eval_lstring(context, source.text, source.size);
    return 1;
  }

  struct Call {
    const char *object, *function, *data;
    std::size_t size;
  };
  static duk_ret_t enter(duk_context* context, void* given) {
    const auto& call = *static_cast<const Call*>(given);
    duk_get_global_string(context, call.object);
    duk_get_prop_string(context, -1, call.function);
    push(context, call.data, call.size);
    duk_remove(context, -2);  // the plain buffer below its object
    duk_call(context, 1);
    duk_size_t size = 0;
    if (!duk_is_string(context, -1)) duk_require_buffer_data(context, -1, &size);
    return 1;
  }

  static duk_ret_t describe(duk_context* context, void* /*unused*/) {
    duk_safe_to_string(context, -1);
    return 1;
  }

  // Leaves the value or the error on the stack.
  bool protect(duk_safe_call_function body, void* given, int arguments = 0) {
    return duk_safe_call(context, body, given, arguments, 1) == DUK_EXEC_SUCCESS;
  }

  template <class Given>
  Result<std::string> attempt(duk_safe_call_function body, Given given) {
    deadline = std::chrono::steady_clock::now() + limits.time;
    memory_refused = false;
    answer = std::string();
    std::optional<Error> error;
    std::string bytes;
    if (protect(body, &given)) {
      duk_size_t size = 0;
      if (const char* const text = duk_get_lstring(context, -1, &size); text != nullptr)
        bytes = joined_surrogates({text, size});
      else if (const void* const data = duk_get_buffer_data(context, -1, &size); size > 0)
        bytes.assign(static_cast<const char*>(data), size);
    } else {
      error = thrown();
    }
    duk_pop(context);
    if (error) return tl::unexpected(*std::move(error));
    return bytes;
  }

  // The error on the stack.
  Error thrown() {
    if (out_of_time)
      return {Code::kTooLarge, fmt::format("the script took longer than {:g} s",
                                           std::chrono::duration<double>(limits.time).count())};
    if (memory_refused)
      return {Code::kTooLarge,
              fmt::format("the script needs more than {} MiB of memory", limits.bytes >> 20u)};
    const bool told = protect(describe, nullptr, 1);
    const char* const words = told ? duk_get_string(context, -1) : nullptr;
    std::string message = joined_surrogates(words != nullptr ? words : "an error without words");
    constexpr std::string_view kPlain = "Error: ";
    if (message.starts_with(kPlain)) message.erase(0, kPlain.size());
    if (!answer && answer.error().message == message) return answer.error();
    return {Code::kInternal, std::move(message)};
  }
};

Script::Script(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Script::Script(Script&&) noexcept = default;
Script& Script::operator=(Script&&) noexcept = default;
Script::~Script() = default;

Result<Script> Script::load(std::string_view source, Limits limits,
                            std::vector<Function> functions) {
  auto engine = std::make_unique<Engine>(limits, std::move(functions));
  engine->deadline = std::chrono::steady_clock::now() + limits.time;
  engine->context = duk_create_heap(Engine::allocate, Engine::reallocate, Engine::release,
                                    engine.get(), Engine::give_up);
  if (engine->context == nullptr)
    return fail(Code::kTooLarge, "too little memory for the script engine");
  TRY(engine->attempt(Engine::run, Engine::Source{source.data(), source.size()}));
  return Script(std::move(engine));
}

Result<std::string> Script::call(const char* object, const char* function, std::string_view bytes) {
  return engine_->attempt(Engine::enter,
                          Engine::Call{object, function, bytes.data(), bytes.size()});
}

}  // namespace corral::script
