#include "protocol/resp/reply.h"

#include <charconv>

namespace rowsocket::resp {

namespace {

void AppendCount(char type, auto count, base::Buffer* out) {
  constexpr size_t kBytesMax = 24;
  char* const begin = out->Room(kBytesMax);
  *begin = type;
  char* end = std::to_chars(begin + 1, begin + kBytesMax - 2, count).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out->Commit(static_cast<size_t>(end - begin));
}

}  // namespace

void AppendSimple(std::string_view text, base::Buffer* out) {
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
  AppendCount('$', text.size(), out);
  out->Append(text);
  out->Append("\r\n");
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

void AppendVerbatim(std::string_view text, Version version, base::Buffer* out) {
  if (version == Version::k2) return AppendBulk(text, out);
  AppendCount('=', text.size() + 4, out);
  out->Append("txt:");
  out->Append(text);
  out->Append("\r\n");
}

}  // namespace rowsocket::resp
