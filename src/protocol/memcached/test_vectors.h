// The golden vectors of spec/vectors/memcached, for tests; spec/vectors/README.md describes them
// and the marks between ⟨ and ⟩.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::memcached {

struct VectorStep {
  std::string send;  ///< The bytes to send, with marks.
  std::string recv;  ///< The expected answer, with marks; Rowsocket's own (`ours`) if the vector
                     ///< has one.
};

struct Vector {
  enum class End : uint8_t { kInStep, kOpen, kClosed };

  std::string name;  ///< The name, after the name of its file.
  std::vector<VectorStep> steps;
  End end = End::kInStep;
};

/// All vectors of the folder. Throws when the folder is missing or a file in it is not well-formed.
std::vector<Vector> LoadVectors();

/// The meanings of the marks in one vector.
class Marks {
 public:
  explicit Marks(int64_t now_s) : now_s_(now_s) {}

  /// The bytes of a `send`.
  std::string Bytes(std::string_view text) const;
  /// Whether `bytes` are the answer that a `recv` describes; remembers the cas numbers in them.
  bool Match(std::string_view text, std::string_view bytes);

 private:
  bool MatchMark(const std::vector<std::string>& mark, std::string_view* bytes);
  bool MatchCas(const std::string& name, uint64_t cas);

  const int64_t now_s_;
  std::map<std::string, uint64_t> cas_numbers_;
};

}  // namespace rowsocket::memcached
