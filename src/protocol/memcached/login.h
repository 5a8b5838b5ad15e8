// What a client that has yet to log in may send: memcached's ASCII authentication (-Y), or SASL in
// the binary dialect (-S) with its only mechanism here, PLAIN.
//
// Flow: Text: `set <any> <any> <any> <bytes>` with the data `user password`. Every other line is
//       refused, meta commands too. The first line of a request over HTTP ends the connection.
//       Binary: 0x20 lists the mechanisms, 0x21 logs in, 0x0b tells the version. Every other
//       opcode is refused, and the connection ends.
//
// A pure function over bytes, without state: an incomplete request is read again from its
// beginning.
// Threads: any.
// Lifetime: views point into the input.
// Limits: kMemcachedLineBytesMax bytes for a line, and for the data of a login or the body of a
// packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "protocol/memcached/command.h"

namespace rowsocket::memcached {

struct LoginStep {
  enum class Result : uint8_t {
    kNeedMore,
    kReply,        ///< `command` can be answered at once: an error, or the version.
    kMechanisms,   ///< The client asks which mechanisms there are.
    kCredentials,  ///< `user` and `password` have to be checked.
  };
  Result result = Result::kNeedMore;
  size_t consumed = 0;
  std::string_view user;
  std::string_view password;
};

/// Takes the next request off the front of `input`. `command` gets what its answer needs.
LoginStep NextLogin(std::string_view input, Command* command);

/// The bytes of input that NextLogin may need to see at once.
size_t LoginBytesMax();

/// Whether the input begins with a binary request that is about logging in, which may also come
/// after a login.
bool IsSasl(std::string_view input);

void AppendMechanisms(const Command& command, base::Buffer* out);
/// The answer to a login that was accepted.
void AppendLoggedIn(const Command& command, base::Buffer* out);

}  // namespace rowsocket::memcached
