// libFuzzer target: a connection that speaks the binary dialect; see memcached_fuzz.h.
#include "memcached_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rowsocket::memcached;
  if (size < 2) return 0;
  std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  input[0] = kRequestMagic;
  FuzzConnection(data[0], input);
  return 0;
}
