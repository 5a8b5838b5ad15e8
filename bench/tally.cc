#include "bench/tally.h"

#include <algorithm>

namespace rowsocket::bench {

void Tally::CountError(std::string_view text) {
  ++errors;
  text = text.substr(0, kExampleBytesMax);
  const auto known = error_texts.find(text);
  if (known != error_texts.end()) {
    ++known->second;
  } else if (error_texts.size() < kErrorTextsMax) {
    error_texts.emplace(text, 1);
  }
}

void Tally::CountMismatch(uint64_t key, std::string_view reply) {
  ++mismatches;
  if (mismatch_examples.size() >= kExamplesMax) return;
  std::string text = "row " + std::to_string(key) + ": ";
  for (const char c : reply.substr(0, kExampleBytesMax)) {
    text += c == '\t' ? ' ' : (c >= 0x20 && c < 0x7f) ? c : '?';
  }
  mismatch_examples.push_back(std::move(text));
}

void Tally::Merge(const Tally& other) {
  requests += other.requests;
  rows += other.rows;
  applied += other.applied;
  not_applied += other.not_applied;
  errors += other.errors;
  mismatches += other.mismatches;
  latency_ns.Merge(other.latency_ns);
  for (const auto& [text, count] : other.error_texts) error_texts[text] += count;
  for (const std::string& example : other.mismatch_examples) {
    if (mismatch_examples.size() < kExamplesMax) mismatch_examples.push_back(example);
  }
}

void BeforeImages::Merge(const BeforeImages& other) {
  images_.insert(images_.end(), other.images_.begin(), other.images_.end());
}

BeforeImages::Result BeforeImages::Check() {
  std::sort(images_.begin(), images_.end());
  Result result;
  result.collected = images_.size();
  for (size_t i = 0; i < images_.size(); ++i) {
    const uint64_t value = images_[i] & kValueMax;
    const bool new_row = i == 0 || images_[i] >> 40 != images_[i - 1] >> 40;
    if (i != 0 && images_[i] == images_[i - 1]) continue;
    ++result.distinct;
    result.rows += new_row;
    result.without_gaps = result.without_gaps && (new_row || images_[i] == images_[i - 1] + 1);
    result.least = i == 0 ? value : std::min(result.least, value);
    result.most = std::max(result.most, value);
  }
  return result;
}

}  // namespace rowsocket::bench
