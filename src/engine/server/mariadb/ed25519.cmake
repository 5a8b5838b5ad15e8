# What the client of the server's plugin ed25519 does with a password, from the server's own source:
# a signature by a password of any length, which no library of the system makes.
set(ed25519_dir ${ROWSOCKET_SERVER_SOURCE}/plugin/auth_ed25519)
file(GLOB ed25519_sources ${ed25519_dir}/ref10/*.c)
add_library(rowsocket_ed25519 STATIC ${ed25519_sources})
set_target_properties(rowsocket_ed25519 PROPERTIES POSITION_INDEPENDENT_CODE ON
  C_VISIBILITY_PRESET hidden)
target_compile_options(rowsocket_ed25519 PRIVATE -w)
target_include_directories(rowsocket_ed25519 SYSTEM PRIVATE ${ed25519_dir} ${ROWSOCKET_SERVER_BUILD}/include
  ${ROWSOCKET_SERVER_SOURCE}/include)

