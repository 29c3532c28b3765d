# corral_embed_assets(TARGET DIST) adds the files of DIST to the target (tools/embed.py). They may come, change and go between builds:
# the folder is looked at in every build. An empty DIST embeds nothing.
function(corral_embed_assets target dist)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/assets)
  set(files)
  if(dist)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${dist}/*)
  else()
    set(dist ${out}/none)
  endif()
  add_custom_command(
    OUTPUT ${out}/assets.S ${out}/assets.cpp
    COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tools/embed.py ${dist} ${out}
    DEPENDS ${CMAKE_SOURCE_DIR}/tools/embed.py ${files}
    COMMENT "Embedding the page"
    VERBATIM)
  target_sources(${target} PRIVATE ${out}/assets.S ${out}/assets.cpp)
endfunction()
