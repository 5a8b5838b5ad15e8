#include "bench/keys.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>

namespace rowsocket::bench {
namespace {

// Ranks are spread over the table by multiplying with this prime: popular rows do not share pages.
constexpr uint64_t kSpread = 2'654'435'761;

uint64_t SpreadOver(uint64_t rank, uint64_t rows) {
  uint64_t factor = kSpread;
  while (std::gcd(factor, rows) != 1) ++factor;
  return 1 + static_cast<uint64_t>((static_cast<unsigned __int128>(rank) * factor) % rows);
}

template <typename T>
bool ParseWhole(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15;
    uint64_t mixed = seed;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    word = mixed ^ (mixed >> 31);
  }
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

Zipf::Zipf(uint64_t n, double theta) : n_(n), theta_(theta), alpha_(1 / (1 - theta)), zeta_n_(0) {
  for (uint64_t rank = 1; rank <= n; ++rank) {
    zeta_n_ += 1 / std::pow(static_cast<double>(rank), theta);
  }
  const double zeta_2 = 1 + std::pow(0.5, theta);
  eta_ = (1 - std::pow(2 / static_cast<double>(n), 1 - theta)) / (1 - zeta_2 / zeta_n_);
}

uint64_t Zipf::Next(Random* random) const {
  const double unit = random->Unit();
  const double scaled = unit * zeta_n_;
  if (scaled < 1 || n_ == 1) return 1;
  if (scaled < 1 + std::pow(0.5, theta_) || n_ == 2) return 2;
  const double rank = 1 + static_cast<double>(n_) * std::pow(eta_ * unit - eta_ + 1, alpha_);
  return std::min(n_, static_cast<uint64_t>(rank));
}

std::optional<Keys> ParseKeys(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  Keys keys;
  if (text == "uniform") return keys;
  if (name == "zipf") {
    keys.kind = Keys::Kind::kZipf;
    if (colon == std::string_view::npos) return keys;
    if (!ParseWhole(rest, &keys.theta) || !(keys.theta > 0 && keys.theta < 1)) return std::nullopt;
    return keys;
  }
  if (name == "hot" && ParseWhole(rest, &keys.hot_rows) && keys.hot_rows > 0) {
    keys.kind = Keys::Kind::kHot;
    return keys;
  }
  return std::nullopt;
}

KeyChooser::KeyChooser(const Keys& keys, uint64_t rows, uint64_t seed)
    : random_(seed), span_(keys.kind == Keys::Kind::kHot ? std::min(keys.hot_rows, rows) : rows) {
  if (keys.kind != Keys::Kind::kZipf) return;
  const Zipf zipf(rows, keys.theta);
  drawn_.resize(kDrawnKeys);
  for (uint32_t& key : drawn_) {
    key = static_cast<uint32_t>(SpreadOver(zipf.Next(&random_) - 1, rows));
  }
}

}  // namespace rowsocket::bench
