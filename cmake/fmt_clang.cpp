// A function of fmt for clang: the library that Debian builds with gcc has it under another name,
// because the two compilers mangle the alias template in its type differently.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

template void fmt::detail::vformat_to<char>(
    buffer<char>&, basic_string_view<char>,
    basic_format_args<buffer_context<type_identity_t<char>>>, locale_ref);
