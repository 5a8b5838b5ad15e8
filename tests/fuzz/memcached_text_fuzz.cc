// libFuzzer target: a connection that speaks classic text and meta; see memcached_fuzz.h.
#include "memcached_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rowsocket::memcached;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size < 2 || input[1] == kRequestMagic) return 0;
  FuzzConnection(data[0], input.substr(1));
  return 0;
}
