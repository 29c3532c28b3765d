# Turns an exploited bug into a crash: stack protector, control-flow protection, and relocations that are read-only from
# the start, for every target. Debian's compiler makes position independent programs by itself. Checked calls of libc
# (corral_fortify) are for what ships: they need optimisation, and the sanitizers check the same and more.
include(CheckCXXCompilerFlag)
add_compile_options(-fstack-protector-strong)
check_cxx_compiler_flag(-fcf-protection CORRAL_HAS_CF_PROTECTION)  # x86 alone
if(CORRAL_HAS_CF_PROTECTION)
  add_compile_options(-fcf-protection)
endif()
add_link_options(-Wl,-z,relro,-z,now)

function(corral_fortify target)
  if(NOT CORRAL_SANITIZE AND CMAKE_CXX_FLAGS MATCHES "-O[123s]")
    target_compile_options(${target} PRIVATE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  endif()
endfunction()
