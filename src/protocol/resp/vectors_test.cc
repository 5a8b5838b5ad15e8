// Cuts the golden vectors of spec/vectors/resp into requests, and writes their replies again.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "protocol/resp/reply.h"
#include "protocol/resp/request.h"
#include "protocol/test_vector_files.h"

namespace rowsocket::resp {
namespace {

using nlohmann::json;
using protocol::BytesOf;
using Result = RequestStep::Result;
using Words = std::vector<std::string>;

constexpr RequestLimits kVectorLimits{1024, 16u << 20, true};
constexpr std::string_view kMarkBegin = "\xe2\x9f\xa8", kMarkEnd = "\xe2\x9f\xa9";

/// The bytes of a text, in which the only marks are those that repeat.
std::string Bytes(const json& value) {
  std::string text = value.get<std::string>(), bytes;
  for (size_t begin; (begin = text.find(kMarkBegin)) != std::string::npos;) {
    const size_t end = text.find(kMarkEnd);
    const std::string mark =
        text.substr(begin + kMarkBegin.size(), end - begin - kMarkBegin.size());
    const size_t blank = mark.find(' ', 7);
    if (!mark.starts_with("repeat ") || blank == std::string::npos) {
      throw std::runtime_error("a mark that cannot be sent: " + mark);
    }
    bytes += BytesOf(text.substr(0, begin));
    for (int i = std::stoi(mark.substr(7)); i > 0; --i) bytes += BytesOf(mark.substr(blank + 1));
    text.erase(0, end + kMarkEnd.size());
  }
  return bytes + BytesOf(text);
}

Words WordsOf(const json& list) {
  Words words;
  for (const json& word : list) words.push_back(Bytes(word));
  return words;
}

std::string ArrayOf(const Words& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return text;
}

/// The step as an inline command; empty: it has bytes that such a line cannot have without quotes.
std::string LineOf(const json& step, const Words& words) {
  if (step.contains("inline")) return Bytes(step["inline"]) + "\r\n";
  std::string line;
  for (const std::string& word : words) {
    const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char byte) {
      return byte > ' ' && byte <= '~' && byte != '"' && byte != '\'' && byte != '\\';
    });
    if (!is_plain) return {};
    line += (line.empty() ? "" : " ") + word;
  }
  return line + "\r\n";
}

/// Takes one request off the input, from a copy of exactly its bytes, so that ASan notices reads
/// after them.
Result Take(std::string* input, Words* words) {
  base::Arena arena;
  const std::vector<char> exact(input->begin(), input->end());
  const RequestStep step = NextRequest({exact.data(), exact.size()}, kVectorLimits, arena);
  words->clear();
  if (step.result == Result::kRequest) words->assign(step.arguments.begin(), step.arguments.end());
  if (step.result == Result::kError) words->emplace_back(step.error);
  input->erase(0, step.consumed);
  return step.result;
}

/// All requests in the input, as the vectors' `parse` shows them; the rest stays in the input.
json Cut(std::string* input) {
  json requests = json::array();
  Words words;
  for (;;) {
    switch (Take(input, &words)) {
      case Result::kNeedMore:
        return requests;
      case Result::kNothing:
        continue;
      case Result::kHttp:
        requests.push_back("http");
        return requests;
      case Result::kError:
        requests.push_back(words.front());
        return requests;
      case Result::kRequest:
        break;
    }
    json list = json::array();
    for (const std::string& word : words) {  // Bytes as characters, as the file has them.
      std::string text;
      for (const char byte : word) {
        const auto code = static_cast<unsigned char>(byte);
        if (code >= 0x80) text += static_cast<char>(0xc0 | (code >> 6));
        text += static_cast<char>(code < 0x80 ? code : 0x80 | (code & 0x3f));
      }
      list.push_back(text);
    }
    requests.push_back(list);
  }
}

struct Vector {
  std::string name;
  json content;
};

std::vector<Vector> Load() {
  const auto make = [](std::string name, const json& content) {
    return Vector{std::move(name), content};
  };
  return protocol::LoadVectorFiles<Vector>(ROWSOCKET_VECTORS_DIR, make);
}

TEST(RespVectors, ACommandIsTheSameInlineAndAsAnArray) {
  const std::vector<Vector> vectors = Load();
  EXPECT_GE(vectors.size(), 150u);
  size_t lines = 0;
  for (const Vector& vector : vectors) {
    for (const json& step : vector.content["steps"]) {
      if (!step.contains("do")) continue;
      const Words words = WordsOf(step["do"]);
      for (std::string input : {ArrayOf(words), LineOf(step, words)}) {
        if (input.empty()) continue;
        const std::string whole = input;
        Words taken;
        EXPECT_EQ(Result::kRequest, Take(&input, &taken)) << vector.name << ": " << whole;
        EXPECT_EQ(words, taken) << vector.name;
        EXPECT_EQ("", input) << vector.name;
        for (size_t size = 0; size < whole.size(); size += 1 + size / 16) {
          std::string beginning = whole.substr(0, size);
          EXPECT_EQ(Result::kNeedMore, Take(&beginning, &taken)) << vector.name << ": " << size;
        }
        lines += whole.front() != '*';
      }
    }
  }
  EXPECT_GE(lines, 500u);
}

TEST(RespVectors, BytesAreCutAsTheVectorsSay) {
  size_t steps = 0;
  for (const Vector& vector : Load()) {
    std::string input;
    for (const json& step : vector.content["steps"]) {
      if (!step.contains("send") || !step.contains("parse")) continue;
      input += Bytes(step["send"]);
      EXPECT_EQ(step["parse"], Cut(&input)) << vector.name;
      ++steps;
    }
  }
  EXPECT_GE(steps, 60u);
}

/// Takes one reply of the encoders' kinds off the text, and writes it anew.
void WriteAgain(std::string_view* text, Version version, base::Buffer* out) {
  const size_t end = text->find("\r\n");
  ASSERT_NE(end, std::string_view::npos);
  const char kind = text->front();
  const std::string line(text->substr(1, end - 1));
  text->remove_prefix(end + 2);
  if (kind == '+') return AppendSimple(line, out);
  if (kind == '-') return AppendError(line, out);
  if (kind == ':') return AppendInteger(std::stoll(line), out);
  if (kind == '_') return AppendNil(version, out);
  if (line == "-1") return kind == '$' ? AppendNil(version, out) : AppendNilArray(version, out);
  const size_t size = std::stoul(line);
  if (kind == '$' || kind == '=') {
    ASSERT_LE(size + 2, text->size());
    const std::string_view data = text->substr(0, size);
    text->remove_prefix(size + 2);
    return kind == '$' ? AppendBulk(data, out) : AppendVerbatim(data.substr(4), version, out);
  }
  if (kind == '%') AppendMap(size, version, out);
  if (kind == '~') AppendSet(size, version, out);
  if (kind == '*') AppendArray(size, out);
  if (kind == '>') AppendPush(size, version, out);
  for (size_t i = 0; i < size * (kind == '%' ? 2 : 1); ++i) WriteAgain(text, version, out);
}

TEST(RespVectors, RepliesAreThoseThatTheEncodersWrite) {
  size_t replies = 0;
  for (const Vector& vector : Load()) {
    for (const json& step : vector.content["steps"]) {
      if (!step.contains("do")) continue;
      for (const char* const name : {"recv", "recv3", "ours", "ours3"}) {
        if (!step.contains(name)) continue;
        if (step[name].get<std::string>().find(kMarkBegin) != std::string::npos) continue;
        const std::string reply = BytesOf(step[name].get<std::string>());
        std::string_view rest = reply;
        base::Buffer out;
        // A vector that says HELLO by itself has replies of both versions without a 3 in the name.
        const bool is_third = std::string_view(name).ends_with('3') || reply.starts_with('_');
        // UNSUBSCRIBE has a reply for each channel.
        while (!rest.empty() && !HasFatalFailure())
          WriteAgain(&rest, is_third ? Version::k3 : Version::k2, &out);
        EXPECT_EQ(reply, out.view()) << vector.name << ", " << name;
        ++replies;
      }
    }
  }
  EXPECT_GE(replies, 600u);
}

}  // namespace
}  // namespace rowsocket::resp
