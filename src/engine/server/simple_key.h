// Key values that become key bytes without a detour: integers within their column's range, and
// texts that a VARCHAR holds as they are.
//
// For these the stored value is the given one, so that a search by `=`, `<`, `<=`, `>` or `>=`
// needs no comparison with rows. Whatever else a client may send (a text that is no number, 300 for
// a TINYINT, NULL, a letter that is not ASCII) is refused here, and left to key_scan.h.
//
// Threads: the session's.
// Lifetime: as long as the table is open.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "api.h"
#include "engine/server/hash_key.h"
#include "model/value.h"

namespace rowsocket::engine::server {

class SimpleKey {
 public:
  /// Notes the parts of a key, up to the first part that is never simple.
  void Learn(const KEY& key);

  /// Writes the key image of `values`; returns its bytes, or 0 when not all of them are simple.
  /// REQUIRES: room for kBytesMax.
  uint Write(std::span<const model::Value> values, uchar* to) const;

  static constexpr size_t kBytesMax = MAX_KEY_LENGTH + 3 * MAX_REF_PARTS;

 private:
  struct Part {
    bool is_integer;
    bool is_unsigned;
    bool is_binary;  ///< A text of bytes, not of characters.
    bool maybe_null;
    uint8_t integer_bytes;
    uint chars_max;  ///< Characters of the longest text; bytes, when binary.
    uint store_length;
  };

  static bool LearnPart(const KEY_PART_INFO& key_part, Part* part);
  static bool WriteInteger(const Part& part, std::string_view text, uchar* to);
  static bool WriteText(const Part& part, std::string_view text, uchar* to);

  std::vector<Part> parts_;
};

}  // namespace rowsocket::engine::server
