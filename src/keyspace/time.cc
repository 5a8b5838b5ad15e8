#include "keyspace/time.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace rowsocket::keyspace {

namespace {

constexpr int64_t kMsPerSecond = 1000;
constexpr uint64_t kUsPerSecond = 1'000'000;
constexpr uint64_t kSecondsPerDay = 86'400;
/// Later than any date that a column can hold, and far from the end of the type.
constexpr int64_t kLastMs = 9'000'000'000'000'000'000;
/// What a moment before 1970 is read as: long past, but not 0, which in a column means never.
constexpr int64_t kLongAgoMs = kMsPerSecond;

int64_t NowIn(uint64_t per_second) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const auto per = static_cast<int64_t>(per_second);
  return int64_t{now.tv_sec} * per + int64_t{now.tv_nsec} * per / 1'000'000'000;
}

/// Takes `count` digits at `*at`; false if another byte is among them.
bool TakeDigits(std::string_view text, size_t* at, size_t count, uint64_t* number) {
  if (text.size() < *at + count) return false;
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    const char digit = text[(*at)++];
    if (digit < '0' || digit > '9') return false;
    value = value * 10 + static_cast<uint64_t>(digit - '0');
  }
  *number = value;
  return true;
}

// Days from 1970-01-01 to a date of the Gregorian calendar. Years are counted from March, so that
// the leap day is the last of a year (after Howard Hinnant's "chrono-compatible low-level date
// algorithms").
int64_t DaysOf(int64_t year, unsigned month, unsigned day) {
  year -= month <= 2;
  const int64_t era = year / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719'468;
}

void DateOf(uint64_t days, unsigned* year, unsigned* month, unsigned* day) {
  const uint64_t from_era = days + 719'468;
  const uint64_t era = from_era / 146'097;
  const uint64_t day_of_era = from_era % 146'097;
  const uint64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const uint64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const uint64_t from_march = (5 * day_of_year + 2) / 153;
  *day = static_cast<unsigned>(day_of_year - (153 * from_march + 2) / 5 + 1);
  *month = static_cast<unsigned>(from_march < 10 ? from_march + 3 : from_march - 9);
  *year = static_cast<unsigned>(era * 400 + year_of_era + (*month <= 2));
}

/// `YYYY-MM-DD HH:MM:SS.ffffff` as microseconds since 1970; 0 if the text is no such time.
uint64_t TimeFromText(std::string_view text) {
  uint64_t parts[6];
  constexpr size_t kDigits[] = {4, 2, 2, 2, 2, 2};
  size_t at = 0;
  for (size_t i = 0; i < 6; ++i, ++at) {
    if (!TakeDigits(text, &at, kDigits[i], &parts[i])) return 0;
  }
  uint64_t micros = 0;
  if (!TakeDigits(text, &at, 6, &micros)) micros = 0;
  const int64_t days = DaysOf(static_cast<int64_t>(parts[0]), static_cast<unsigned>(parts[1]),
                              static_cast<unsigned>(parts[2]));
  if (days < 0 || parts[1] == 0) return 0;
  const uint64_t seconds =
      static_cast<uint64_t>(days) * kSecondsPerDay + (parts[3] * 60 + parts[4]) * 60 + parts[5];
  return seconds * kUsPerSecond + micros;
}

/// The moment of this thread's StillClock; 0: there is none.
thread_local int64_t still_ms = 0;

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

}  // namespace

int64_t SecondsToMs(int64_t seconds) {
  return seconds >= kLastMs / kMsPerSecond ? kLastMs : seconds * kMsPerSecond;
}

int64_t WallClockMs() { return still_ms != 0 ? still_ms : NowIn(kMsPerSecond); }
StillClock::StillClock() : StillClock(NowIn(kMsPerSecond)) {}
StillClock::StillClock(int64_t at_ms) { still_ms = at_ms; }
StillClock::~StillClock() { still_ms = 0; }

int64_t WallClockUs() { return NowIn(kUsPerSecond); }

int64_t ExpiryFromCell(const model::Value& cell) {
  if (cell.is_null()) return kNever;
  const std::string_view text = cell.text();
  int64_t seconds = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (parsed.ec == std::errc::result_out_of_range) return text[0] == '-' ? kLongAgoMs : kLastMs;
  if (parsed.ec != std::errc()) return kNever;
  int64_t ms = 0;
  if (parsed.ptr != text.data() + text.size() && *parsed.ptr == '.') {
    const std::string_view digits(parsed.ptr + 1, text.data() + text.size());
    for (size_t i = 0; i < 3; ++i) {
      ms = ms * 10 + (i < digits.size() ? std::clamp(digits[i] - '0', 0, 9) : 0);
    }
  }
  if (seconds < 0 || text[0] == '-') return kLongAgoMs;
  if (seconds == 0 && ms == 0) return kNever;
  return SecondsToMs(seconds) + ms;
}

int64_t ExpiryFromCell(const model::Value& cell, const Container& container) {
  if (container.expiry != ExpiryKind::kMilliseconds) return ExpiryFromCell(cell);
  int64_t ms = kNever;
  if (!cell.is_null())
    std::from_chars(cell.text().data(), cell.text().data() + cell.text().size(), ms);
  return ms;
}

model::Value ExpiryToCell(int64_t expiry_ms, const Container& container, TextRoom* room) {
  if (expiry_ms == kNever) {
    return container.expiry_is_nullable ? model::Value() : model::Value(std::string_view("0"));
  }
  if (container.expiry == ExpiryKind::kMilliseconds) {
    return NumberToCell(static_cast<uint64_t>(expiry_ms), room);
  }
  const int64_t step_ms = container.expiry_step_ms;
  // The time is rounded up, so that no item expires early.
  const int64_t shown_ms = (std::min(expiry_ms, kLastMs) + step_ms - 1) / step_ms * step_ms;
  const int64_t seconds = shown_ms / kMsPerSecond;
  const int64_t ms = shown_ms % kMsPerSecond;
  if (container.expiry == ExpiryKind::kSeconds) {
    return NumberToCell(static_cast<uint64_t>(seconds + (ms != 0)), room);
  }
  const int size = snprintf(room->data(), room->size(), "%lld.%03lld",
                            static_cast<long long>(seconds), static_cast<long long>(ms));
  return model::Value(std::string_view(room->data(), static_cast<size_t>(size)));
}

int64_t TtlOf(int64_t expiry_ms, int64_t now_ms) {
  if (expiry_ms == kNever) return -1;
  return std::max<int64_t>(0, (expiry_ms - now_ms + kMsPerSecond - 1) / kMsPerSecond);
}

uint64_t CasFromCell(const model::Value& cell, CasKind kind) {
  uint64_t cas = 0;
  if (kind == CasKind::kTime)
    cas = TimeFromText(cell.text());
  else if (!ParseNumber(cell.text(), &cas))
    cas = 0;
  return std::max<uint64_t>(cas, 1);
}

model::Value CasToCell(uint64_t cas, CasKind kind, TextRoom* room) {
  if (kind != CasKind::kTime) return NumberToCell(cas, room);
  const uint64_t seconds = cas / kUsPerSecond;
  const auto of_day = static_cast<unsigned>(seconds % kSecondsPerDay);
  unsigned year, month, day;
  DateOf(seconds / kSecondsPerDay, &year, &month, &day);
  const int size = snprintf(room->data(), room->size(), "%04u-%02u-%02u %02u:%02u:%02u.%06u",
                            year % 10'000, month % 100, day % 100, of_day / 3600, of_day / 60 % 60,
                            of_day % 60, static_cast<unsigned>(cas % kUsPerSecond));
  return model::Value(std::string_view(room->data(), static_cast<size_t>(size)));
}

uint64_t CasOfContent(uint32_t flags, std::string_view value) {
  uint64_t hash = Mix(0x243f6a8885a308d3, (uint64_t{flags} << 32) ^ value.size());
  for (; value.size() >= 8; value.remove_prefix(8)) {
    uint64_t word;
    memcpy(&word, value.data(), 8);
    hash = Mix(hash, word);
  }
  uint64_t last = 0;
  if (!value.empty()) memcpy(&last, value.data(), value.size());
  hash = Mix(Mix(hash, last), value.size());
  return std::max<uint64_t>(hash, 1);
}

bool ParseNumber(std::string_view text, uint64_t* number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, *number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

model::Value NumberToCell(uint64_t number, TextRoom* room) {
  const auto written = std::to_chars(room->data(), room->data() + room->size(), number);
  return model::Value(std::string_view(room->data(), written.ptr));
}

}  // namespace rowsocket::keyspace
