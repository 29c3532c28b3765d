# corral_unity(TARGET): with CORRAL_UNITY, several sources are compiled as one (tools/unity.py says which), so that the headers they
# share are read once: a build from nothing takes half the time. Without it (preset dev), a change compiles one source.
# Sources with options of their own stay alone, as CMake's UNITY_BUILD says.
function(corral_unity target)
  if(NOT CORRAL_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/unity.py ${sources}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  foreach(source group IN ZIP_LISTS sources groups)
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${target}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
