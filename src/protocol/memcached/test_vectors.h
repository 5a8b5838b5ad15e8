// The golden vectors of spec/vectors/memcached, for tests; spec/vectors/README.md says what they
// are made of and what the marks between ⟨ and ⟩ stand for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::memcached {

struct VectorStep {
  std::string send;  ///< With marks.
  std::string recv;  ///< With marks: `ours` where that is given.
};

struct Vector {
  enum class End : uint8_t { kInStep, kOpen, kClosed };

  std::string name;  ///< With its file's name before it.
  std::vector<VectorStep> steps;
  End end = End::kInStep;
};

/// All vectors of the folder. Throws when it is not there or a file in it is not as it should be.
std::vector<Vector> LoadVectors();

/// What the marks of one vector stand for.
class Marks {
 public:
  explicit Marks(int64_t now_s) : now_s_(now_s) {}

  /// The bytes of a `send`.
  std::string Bytes(std::string_view text) const;
  /// Whether `bytes` are what a `recv` says; remembers the tokens in them.
  bool Match(std::string_view text, std::string_view bytes);

 private:
  bool MatchMark(const std::vector<std::string>& mark, std::string_view* bytes);
  bool MatchToken(const std::string& name, uint64_t token);

  const int64_t now_s_;
  std::map<std::string, uint64_t> tokens_;
};

}  // namespace rowsocket::memcached
