# corral_unity(TARGET): with CORRAL_UNITY, several sources are compiled as one (tools/unity.py says which and writes
# these), so that the headers they share are read once: a build from nothing takes half the time. Without it (preset dev), a
# change compiles one source. Sources with options of their own stay alone. Not CMake's UNITY_BUILD: that includes by
# absolute paths, which no other clone finds in the compiler's cache.
function(corral_unity target)
  if(CORRAL_UNITY)
    # At the end of its folder: sources get their options after the target is made.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL corral_make_unity ${target})")
  endif()
endfunction()

function(corral_make_unity target)
  get_target_property(sources ${target} SOURCES)
  set(together)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(source MATCHES "\\.cpp$" AND NOT IS_ABSOLUTE ${source} AND NOT options AND NOT definitions)
      list(APPEND together ${source})
    endif()
  endforeach()
  list(REMOVE_ITEM sources ${together})
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/unity.py ${CMAKE_CURRENT_BINARY_DIR}/unity/${target} ${together}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE units COMMAND_ERROR_IS_FATAL ANY)
  set_property(TARGET ${target} PROPERTY SOURCES ${sources} ${units})
endfunction()
