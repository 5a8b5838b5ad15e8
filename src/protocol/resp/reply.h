// Writes replies of RESP2 and RESP3.
//
// Threads: none of their own.
// Lifetime: no argument is kept.
// Errors of replies are one line: bytes that would end the line are replaced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"

namespace rowsocket::resp {

enum class Version : uint8_t { k2 = 2, k3 = 3 };

/// `+text`. REQUIRES: no line ends in it.
void AppendSimple(std::string_view text, base::Buffer* out);
/// `-text`: the first word is the prefix by which clients tell errors apart.
void AppendError(std::string_view text, base::Buffer* out);
void AppendInteger(int64_t number, base::Buffer* out);
void AppendBulk(std::string_view text, base::Buffer* out);
/// A missing value: `$-1`, or `_` in RESP3.
void AppendNil(Version version, base::Buffer* out);
/// EXEC that was not applied: `*-1`, or `_` in RESP3.
void AppendNilArray(Version version, base::Buffer* out);
void AppendArray(size_t count, base::Buffer* out);
/// The beginning of a map of `pairs` pairs; in RESP2, an array of twice as many elements.
void AppendMap(size_t pairs, Version version, base::Buffer* out);
/// The beginning of a set of `count` elements; in RESP2, an array.
void AppendSet(size_t count, Version version, base::Buffer* out);
/// What a client may get without asking: in RESP2 an array.
void AppendPush(size_t count, Version version, base::Buffer* out);
/// Text for people: in RESP2 a bulk string.
void AppendVerbatim(std::string_view text, Version version, base::Buffer* out);

}  // namespace rowsocket::resp
