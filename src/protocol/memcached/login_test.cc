#include "protocol/memcached/login.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "protocol/memcached/test_packets.h"

namespace rowsocket::memcached {
namespace {

using Result = LoginStep::Result;
using namespace std::string_literals;

struct Parsed {
  LoginStep step;
  Command command;
};

Parsed Parse(std::string_view input) {
  Parsed parsed;
  parsed.step = NextLogin(input, &parsed.command);
  return parsed;
}

std::string SaslPacket(uint8_t opcode, const std::string& key, const std::string& value) {
  Packet packet;
  packet.opcode = opcode;
  packet.key = key;
  packet.value = value;
  return packet.Bytes();
}

TEST(Login, SetHasNameAndPassword) {
  const std::string input = "set anything 5 6 10\r\napp secret\r\nget a\r\n";
  const Parsed parsed = Parse(input);
  EXPECT_EQ(Result::kCredentials, parsed.step.result);
  EXPECT_EQ("app", parsed.step.user);
  EXPECT_EQ("secret", parsed.step.password);
  EXPECT_EQ("get a\r\n", input.substr(parsed.step.consumed));
}

TEST(Login, PasswordMayHoldBlanks) {
  EXPECT_EQ("a b ", Parse("set k 0 0 8\r\napp a b \r\n").step.password);
}

TEST(Login, EveryBeginningNeedsMore) {
  for (const std::string& input :
       {"set k 0 0 10\r\napp secret\r\n"s, SaslPacket(0x21, "PLAIN", "\0app\0secret"s)}) {
    for (size_t size = 0; size < input.size(); ++size)
      EXPECT_EQ(Result::kNeedMore, Parse(input.substr(0, size)).step.result) << size;
    EXPECT_EQ(Result::kCredentials, Parse(input).step.result);
  }
}

TEST(Login, OtherLinesAreUnauthenticated) {
  for (const char* const line : {"get a\r\n", "mn\r\n", "mg a v\r\n", "version\r\n", "quit\r\n",
                                 "\r\n", "set\r\n", "set k 0 0 x\r\n", "set k 0 0\r\n"}) {
    const Parsed parsed = Parse(line);
    EXPECT_EQ(Result::kReply, parsed.step.result) << line;
    EXPECT_EQ(Error::kUnauthenticated, parsed.command.error) << line;
    EXPECT_FALSE(parsed.command.closes) << line;
    EXPECT_EQ(strlen(line), parsed.step.consumed);
  }
}

TEST(Login, RequestOverHttpEndsTheConnection) {
  for (const char* const line : {"GET / HTTP/1.1\r\n", "POST /a b c d HTTP/1.1\r\n",
                                 "set / HTTP/1.1\r\n", "DELETE HTTP/1.0\n"}) {
    const std::string input = line + "\r\nset k 0 0 10\r\napp secret\r\n"s;
    const Parsed parsed = Parse(input);
    EXPECT_EQ(Result::kReply, parsed.step.result) << line;
    EXPECT_EQ(Error::kNone, parsed.command.error) << line;
    EXPECT_TRUE(parsed.command.closes && parsed.command.quiet) << line;
    EXPECT_EQ(input.size(), parsed.step.consumed) << line;
  }
  EXPECT_EQ(Error::kUnauthenticated, Parse("HTTP/1.1\r\n").command.error);
}

TEST(Login, BadDataIsTold) {
  EXPECT_EQ(Error::kBadLoginEnd, Parse("set k 0 0 3\r\napp secret\r\n").command.error);
  EXPECT_EQ(Error::kBadLogin, Parse("set k 0 0 3\r\napp\r\n").command.error);
  EXPECT_EQ(Error::kBadLogin, Parse("set k 0 0 4\r\napp \r\n").command.error);
}

TEST(Login, TooMuchEndsTheConnection) {
  EXPECT_TRUE(Parse("set k 0 0 100000\r\n").command.closes);
  const Parsed parsed = Parse(std::string(5000, 'x'));
  EXPECT_TRUE(parsed.command.closes && parsed.command.quiet);
}

TEST(Login, SaslPlain) {
  EXPECT_EQ(Result::kMechanisms, Parse(SaslPacket(0x20, "", "")).step.result);
  for (const std::string& message : {"\0app\0secret"s, "app\0app\0secret"s}) {
    const std::string packet = SaslPacket(0x21, "PLAIN", message);
    const Parsed parsed = Parse(packet);
    EXPECT_EQ(Result::kCredentials, parsed.step.result);
    EXPECT_EQ("app", parsed.step.user);
    EXPECT_EQ("secret", parsed.step.password);
  }
  for (const std::string& packet :
       {SaslPacket(0x21, "PLAIN", "other\0app\0secret"s), SaslPacket(0x21, "CRAM-MD5", ""),
        SaslPacket(0x21, "PLAIN", "app"), SaslPacket(0x22, "PLAIN", "\0app\0secret"s)}) {
    const Parsed parsed = Parse(packet);
    EXPECT_EQ(Result::kReply, parsed.step.result);
    EXPECT_EQ(Error::kAuthFailure, parsed.command.error);
    EXPECT_FALSE(parsed.command.closes);
  }
}

TEST(Login, NoMechanismHasSuchAName) {
  const Parsed parsed = Parse(SaslPacket(0x21, std::string(33, 'X'), "\0app\0secret"s));
  EXPECT_EQ(Result::kReply, parsed.step.result);
  EXPECT_EQ(Error::kBadArguments, parsed.command.error);
}

TEST(Login, OtherOpcodesEndTheConnection) {
  const Parsed parsed = Parse(SaslPacket(0x00, "key", ""));
  EXPECT_EQ(Error::kAuthFailure, parsed.command.error);
  EXPECT_TRUE(parsed.command.closes);
  EXPECT_EQ(Verb::kVersion, Parse(SaslPacket(0x0b, "", "")).command.verb);
}

TEST(Login, AnswersHaveTheirDialect) {
  base::Buffer out;
  AppendLoggedIn(Parse("set k 0 0 10\r\napp secret\r\n").command, &out);
  EXPECT_EQ("STORED\r\n", out.view());
  base::Buffer binary;
  AppendLoggedIn(Parse(SaslPacket(0x21, "PLAIN", "\0app\0secret"s)).command, &binary);
  EXPECT_EQ("Authenticated", binary.view().substr(24));
  EXPECT_EQ(BigEndian(Packet().opaque), binary.view().substr(12, 4));
}

}  // namespace
}  // namespace rowsocket::memcached
