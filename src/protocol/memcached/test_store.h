// A memcached in a map in memory: enough to compare parser and encoders with the answers of a real
// memcached. For tests.
//
// Time stands still. It has the statistics that the vectors ask for.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/buffer.h"
#include "model/limits.h"
#include "protocol/memcached/command.h"
#include "protocol/memcached/encoder.h"

namespace rowsocket::memcached {

class TestStore {
 public:
  TestStore(int64_t now_s, const model::Limits& limits) : now_s_(now_s), limits_(limits) {}

  /// Executes the command and appends its reply.
  void Execute(const Command& command, base::Buffer* out);

 private:
  struct Entry {
    std::string value;
    uint32_t client_flags = 0;
    uint64_t cas = 0;
    int64_t expires_s = 0;  ///< 0: the entry never expires.
    bool fetched = false;
    bool stale = false;
    bool won = false;
  };

  void Get(const Command& command, base::Buffer* out);
  void GetOne(const Command& command, std::string_view key, base::Buffer* out);
  void Store(const Command& command, base::Buffer* out);
  void Join(const Command& command, base::Buffer* out);
  void Delete(const Command& command, base::Buffer* out);
  void Count(const Command& command, base::Buffer* out);
  void Stats(const Command& command, base::Buffer* out);
  void Touch(const Command& command, base::Buffer* out);
  void Debug(const Command& command, base::Buffer* out);

  /// The entry, if it exists and has not expired; otherwise null.
  Entry* Find(std::string_view key);
  /// When an entry with this exptime expires; the exptime is as on the wire.
  int64_t ExpiresAt(int64_t exptime) const;
  /// The facts about an entry for a reply.
  Item Describe(const Entry& entry) const;
  void Change(const Command& command, Entry* entry);

  const int64_t now_s_;
  const model::Limits limits_;
  std::map<std::string, Entry, std::less<>> entries_;
  uint64_t last_cas_ = 100;
};

}  // namespace rowsocket::memcached
