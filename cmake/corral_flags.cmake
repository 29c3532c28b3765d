# Flags of every target: warnings are errors; sanitizers by CORRAL_SANITIZE.
add_library(corral_flags INTERFACE)
# -iquote, not -I: the folder sys/ must not stand in for the system's <sys/...> headers.
target_compile_options(corral_flags INTERFACE "SHELL:-iquote \"${CMAKE_SOURCE_DIR}/src\"")
# Of one compiler alone: what clang, which builds for fuzzing, calls a conversion or a shadow differs.
set(corral_strict_warnings -Wpedantic -Wshadow -Wconversion -Werror)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(corral_strict_warnings)
endif()
target_compile_options(corral_flags INTERFACE -Wall -Wextra ${corral_strict_warnings} -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(corral_flags INTERFACE -Wno-restrict)  # false positives of gcc 12 on string concatenation
endif()
if(CORRAL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Says of every source but the one on the command line that its unnamed namespaces are seen elsewhere.
  target_compile_options(corral_flags INTERFACE -Wno-subobject-linkage)
endif()
if(CORRAL_SANITIZE STREQUAL "address")
  set(corral_sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(CORRAL_SANITIZE STREQUAL "thread")
  # gcc 12 says so of every std::atomic_thread_fence under TSan, used or not.
  set(corral_sanitize_flags -fsanitize=thread -Wno-tsan)
endif()
if(CORRAL_SANITIZE)
  target_compile_options(corral_flags INTERFACE ${corral_sanitize_flags})
  target_link_options(corral_flags INTERFACE ${corral_sanitize_flags})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT CMAKE_CROSSCOMPILING)
  add_library(corral_fmt_clang STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_clang.cpp)
  target_compile_features(corral_fmt_clang PRIVATE cxx_std_20)
  target_link_libraries(corral_flags INTERFACE corral_fmt_clang)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Checks the GUARDED_BY of core/mutex.h; gcc has no such check.
  target_compile_options(corral_flags INTERFACE -Wthread-safety -Werror=thread-safety)
endif()
