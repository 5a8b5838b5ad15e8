#include "protocol/resp/reply.h"

#include <charconv>

#include "base/require.h"

namespace rowsocket::resp {

namespace {

constexpr size_t kCountBytesMax = 24;

char* WriteEnd(char* at) {
  *at++ = '\r';
  *at++ = '\n';
  return at;
}

/// Writes at most kCountBytesMax bytes; returns their end.
char* WriteCount(char type, auto count, char* at) {
  *at = type;
  if (count >= 0 && count < 10) {
    at[1] = static_cast<char>('0' + count);
    return WriteEnd(at + 2);
  }
  return WriteEnd(std::to_chars(at + 1, at + kCountBytesMax - 2, count).ptr);
}

void AppendCount(char type, auto count, base::Buffer* out) {
  char* const begin = out->Room(kCountBytesMax);
  out->Commit(static_cast<size_t>(WriteCount(type, count, begin) - begin));
}

}  // namespace

void AppendSimple(std::string_view text, base::Buffer* out) {
  ROWSOCKET_REQUIRE(text.find_first_of("\r\n") == std::string_view::npos);
  out->Append('+');
  out->Append(text);
  out->Append("\r\n");
}

void AppendError(std::string_view text, base::Buffer* out) {
  out->Append('-');
  for (const char byte : text) out->Append(byte == '\r' || byte == '\n' ? ' ' : byte);
  out->Append("\r\n");
}

void AppendInteger(int64_t number, base::Buffer* out) { AppendCount(':', number, out); }

void AppendBulk(std::string_view text, base::Buffer* out) {
  char* const begin = out->Room(kCountBytesMax + text.size() + 2);
  char* const at = WriteCount('$', text.size(), begin);
  text.copy(at, text.size());
  out->Commit(static_cast<size_t>(WriteEnd(at + text.size()) - begin));
}

void AppendNil(Version version, base::Buffer* out) {
  out->Append(version == Version::k3 ? "_\r\n" : "$-1\r\n");
}

void AppendNilArray(Version version, base::Buffer* out) {
  out->Append(version == Version::k3 ? "_\r\n" : "*-1\r\n");
}

void AppendArray(size_t count, base::Buffer* out) { AppendCount('*', count, out); }

void AppendMap(size_t pairs, Version version, base::Buffer* out) {
  if (version == Version::k3)
    AppendCount('%', pairs, out);
  else
    AppendCount('*', 2 * pairs, out);
}

void AppendSet(size_t count, Version version, base::Buffer* out) {
  AppendCount(version == Version::k3 ? '~' : '*', count, out);
}

void AppendPush(size_t count, Version version, base::Buffer* out) {
  AppendCount(version == Version::k3 ? '>' : '*', count, out);
}

void AppendVerbatim(std::string_view text, Version version, base::Buffer* out) {
  if (version == Version::k2) return AppendBulk(text, out);
  AppendCount('=', text.size() + 4, out);
  out->Append("txt:");
  out->Append(text);
  out->Append("\r\n");
}

}  // namespace rowsocket::resp
