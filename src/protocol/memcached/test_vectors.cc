#include "protocol/memcached/test_vectors.h"

#include <algorithm>
#include <stdexcept>

#include "protocol/memcached/numbers.h"
#include "protocol/memcached/test_packets.h"
#include "protocol/test_vector_files.h"

namespace rowsocket::memcached {

namespace {

using protocol::BytesOf;

constexpr std::string_view kMarkBegin = "\xe2\x9f\xa8";
constexpr std::string_view kMarkEnd = "\xe2\x9f\xa9";

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char byte : text) {
    if (byte == ' ') {
      words.emplace_back();
    } else {
      words.back() += byte;
    }
  }
  return words;
}

/// Takes the bytes before the next mark, and the mark; `mark` is empty after the last mark.
std::string TakePiece(std::string_view* text, std::vector<std::string>* mark) {
  mark->clear();
  const size_t begin = std::min(text->find(kMarkBegin), text->size());
  std::string bytes = BytesOf(text->substr(0, begin));
  text->remove_prefix(begin);
  if (text->empty()) return bytes;
  const size_t end = text->find(kMarkEnd);
  if (end == std::string_view::npos) throw std::runtime_error("a mark without an end");
  *mark = Words(text->substr(kMarkBegin.size(), end - kMarkBegin.size()));
  text->remove_prefix(end + kMarkEnd.size());
  return bytes;
}

/// The bytes of a mark that always stands for the same bytes.
bool FixedBytes(const std::vector<std::string>& mark, std::string* bytes) {
  bytes->clear();
  if (mark[0] == "hex") {
    std::string digits;
    for (size_t i = 1; i < mark.size(); ++i) digits += mark[i];
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      *bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    }
    return true;
  }
  if (mark[0] != "repeat") return false;
  std::string unit = mark.at(2);
  for (size_t i = 3; i < mark.size(); ++i) unit += ' ' + mark[i];
  for (int i = std::stoi(mark[1]); i > 0; --i) *bytes += BytesOf(unit);
  return true;
}

std::string_view TakeDigits(std::string_view* bytes) {
  size_t size = bytes->starts_with('-') ? 1 : 0;
  while (size < bytes->size() && (*bytes)[size] >= '0' && (*bytes)[size] <= '9') ++size;
  const std::string_view digits = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return digits;
}

Vector ParseVector(std::string name, const nlohmann::json& json) {
  Vector vector{std::move(name), {}};
  const std::string end = json.value("end", "in step");
  if (end == "closed") vector.end = Vector::End::kClosed;
  if (end == "open") vector.end = Vector::End::kOpen;
  for (const nlohmann::json& step : json.at("steps")) {
    const char* const answer = step.contains("ours") ? "ours" : "recv";
    vector.steps.push_back(
        {step.at("send").get<std::string>(), step.at(answer).get<std::string>()});
  }
  return vector;
}

}  // namespace

std::string Marks::Bytes(std::string_view text) const {
  std::string all;
  while (!text.empty()) {
    std::vector<std::string> mark;
    all += TakePiece(&text, &mark);
    std::string bytes;
    if (mark.empty() || FixedBytes(mark, &bytes)) {
      all += bytes;
    } else if (mark[0] == "clock") {
      all += std::to_string(now_s_ + std::stoll(mark.at(1)));
    } else {
      uint64_t cas = cas_numbers_.at(mark.at(1));
      if (mark.size() > 2) cas += static_cast<uint64_t>(std::stoll(mark[2]));
      all += mark[0] == "token8" ? BigEndian(cas) : std::to_string(cas);
    }
  }
  return all;
}

bool Marks::Match(std::string_view text, std::string_view bytes) {
  while (!text.empty()) {
    std::vector<std::string> mark;
    const std::string literal = TakePiece(&text, &mark);
    if (!bytes.starts_with(literal)) return false;
    bytes.remove_prefix(literal.size());
    if (!mark.empty() && !MatchMark(mark, &bytes)) return false;
  }
  return bytes.empty();
}

bool Marks::MatchMark(const std::vector<std::string>& mark, std::string_view* bytes) {
  std::string fixed;
  if (FixedBytes(mark, &fixed)) {
    if (!bytes->starts_with(fixed)) return false;
    bytes->remove_prefix(fixed.size());
    return true;
  }
  if (mark[0] == "text") {
    bytes->remove_prefix(std::min(bytes->find_first_of("\r\n"), bytes->size()));
    return true;
  }
  if (mark[0] == "bytes" || mark[0] == "token8") {
    const size_t size = mark[0] == "token8" ? sizeof(uint64_t) : std::stoul(mark.at(1));
    if (bytes->size() < size) return false;
    const std::string_view taken = bytes->substr(0, size);
    bytes->remove_prefix(size);
    return mark[0] == "bytes" || MatchCas(mark.at(1), LoadBigEndian<uint64_t>(taken.data()));
  }
  const std::string_view digits = TakeDigits(bytes);
  if (mark[0] == "token") {
    uint64_t cas = 0;
    return ParseUnsigned(digits, &cas) && MatchCas(mark.at(1), cas);
  }
  const size_t dots = mark[0].find("..");
  int64_t number = 0;
  return dots != std::string::npos && ParseSigned(digits, &number) &&
         number >= std::stoll(mark[0].substr(0, dots)) &&
         number <= std::stoll(mark[0].substr(dots + 2));
}

bool Marks::MatchCas(const std::string& name, uint64_t cas) {
  if (cas == 0) return false;
  for (const auto& [other, value] : cas_numbers_) {
    if (other != name && value == cas) return false;
  }
  return cas_numbers_.emplace(name, cas).first->second == cas;
}

std::vector<Vector> LoadVectors() {
  return protocol::LoadVectorFiles(ROWSOCKET_VECTORS_DIR, ParseVector);
}

}  // namespace rowsocket::memcached
