#include "net/address.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rowsocket::net {
namespace {

const VariableNames kNames{"handlersocket_address", "handlersocket_port", "handlersocket_socket"};

struct Parsed {
  bool ok;
  std::string text;  // the addresses, or the error
};

Parsed Parse(std::string_view list, std::string_view port = "9998") {
  std::string error;
  const auto addresses = ParseAddresses(list, port, kNames, &error);
  if (!addresses) return {false, error};
  std::string text;
  for (const Address& address : *addresses) {
    if (!text.empty()) text += ' ';
    text += address.kind == Address::Kind::kUnix ? "unix:" + address.path : ToText(address);
  }
  return {true, text};
}

TEST(Address, EveryFormOfTheList) {
  const struct {
    const char* list;
    const char* port;
    const char* addresses;
  } cases[] = {
      {"", "9998", "127.0.0.1:9998"},
      {" , ", "9998", "127.0.0.1:9998"},
      {"127.0.0.1", "1", "127.0.0.1:1"},
      {"10.1.2.3", "65535", "10.1.2.3:65535"},
      {"::1", "9998", "[::1]:9998"},
      {"[::1]", "9998", "[::1]:9998"},
      {"[2001:db8::7]", "9999", "[2001:db8::7]:9999"},
      {"*", "9998", "0.0.0.0:9998 [::]:9998"},
      {"127.0.0.1,::1", "9998", "127.0.0.1:9998 [::1]:9998"},
      {"  127.0.0.1\t10.0.0.1 ,, [::1],", "9998", "127.0.0.1:9998 10.0.0.1:9998 [::1]:9998"},
      {"127.0.0.1 127.0.0.1 [::1] ::1", "9998", "127.0.0.1:9998 [::1]:9998"},
      {"/", "/tmp/hs.sock", "unix:/tmp/hs.sock"},
      {"/", "relative.sock", "unix:relative.sock"},
      {"/run/hs.sock", "9998", "unix:/run/hs.sock"},
      {"/run/hs.sock", "", "unix:/run/hs.sock"},
      {"127.0.0.1 /run/hs.sock", "9998", "127.0.0.1:9998 unix:/run/hs.sock"},
  };
  for (const auto& test : cases) {
    const Parsed parsed = Parse(test.list, test.port);
    EXPECT_TRUE(parsed.ok) << test.list << ": " << parsed.text;
    EXPECT_EQ(test.addresses, parsed.text) << test.list;
  }
}

TEST(Address, RefusesBadPortsNamingTheVariable) {
  for (const char* port : {"", "0", "65536", "99999999999999999999", "-1", "+1", " 9998", "9998 ",
                           "0x10", "9998a", "http", "1.5"}) {
    const Parsed parsed = Parse("127.0.0.1", port);
    EXPECT_FALSE(parsed.ok) << port;
    EXPECT_NE(std::string::npos, parsed.text.find("handlersocket_port:")) << parsed.text;
    EXPECT_NE(std::string::npos, parsed.text.find("'" + std::string(port) + "'")) << parsed.text;
  }
}

TEST(Address, RefusesBadAddressesNamingTheVariable) {
  const std::string label_too_long(64, 'a');  // refused without asking a name server
  for (const std::string list : {"[::1", "[", "[]", "[127.0.0.1]", "[zz]", "[localhost]",
                                 "127.0.0.1,[::1", label_too_long.c_str()}) {
    const Parsed parsed = Parse(list);
    EXPECT_FALSE(parsed.ok) << list << " gave " << parsed.text;
    EXPECT_EQ(0u, parsed.text.find("handlersocket_address:")) << parsed.text;
  }
}

TEST(Address, MissingPathOfUnixSocketBlamesThePortVariable) {
  const Parsed parsed = Parse("/", "");
  EXPECT_FALSE(parsed.ok);
  EXPECT_EQ(0u, parsed.text.find("handlersocket_port:")) << parsed.text;
}

TEST(Address, ErrorsNameTheVariablesThatTheCallerUses) {
  std::string error;
  const VariableNames names{"daemon_memcached_address", "daemon_memcached_port",
                            "daemon_memcached_socket"};
  EXPECT_FALSE(ParseAddresses("", "x", names, &error));
  EXPECT_EQ(0u, error.find("daemon_memcached_port:")) << error;
  EXPECT_FALSE(ParseAddresses("[x", "1", names, &error));
  EXPECT_EQ(0u, error.find("daemon_memcached_address:")) << error;
}

TEST(Address, APathKnowsTheVariableThatItComesFrom) {
  std::string error;
  const auto paths = ParseAddresses("/run/hs.sock /", "/tmp/hs.sock", kNames, &error);
  ASSERT_TRUE(paths) << error;
  ASSERT_EQ(2u, paths->size());
  EXPECT_EQ("handlersocket_address", kNames.Of((*paths)[0].path_origin));
  EXPECT_EQ("handlersocket_port", kNames.Of((*paths)[1].path_origin));
}

TEST(Address, NameGivesAllItsAddresses) {
  std::string error;
  const auto addresses = ParseAddresses("localhost", "9998", kNames, &error);
  ASSERT_TRUE(addresses) << error;
  ASSERT_FALSE(addresses->empty());
  for (const Address& address : *addresses) EXPECT_TRUE(IsLoopback(address)) << ToText(address);
}

TEST(Address, OnlyMeaningsAmongSeveralMayBeSkipped) {
  std::string error;
  const auto all = ParseAddresses("* 127.0.0.1", "9998", kNames, &error);
  ASSERT_TRUE(all);
  ASSERT_EQ(3u, all->size());
  EXPECT_TRUE((*all)[0].may_be_skipped);
  EXPECT_TRUE((*all)[1].may_be_skipped);
  EXPECT_FALSE((*all)[2].may_be_skipped);

  // `::` is also named alone, so this address must be there.
  const auto named = ParseAddresses("* ::", "9998", kNames, &error);
  ASSERT_TRUE(named);
  ASSERT_EQ(2u, named->size());
  EXPECT_TRUE((*named)[0].may_be_skipped);
  EXPECT_FALSE((*named)[1].may_be_skipped);
}

TEST(Address, Loopback) {
  const struct {
    const char* host;
    bool loopback;
  } cases[] = {
      {"127.0.0.1", true},
      {"127.255.255.254", true},
      {"126.255.255.255", false},
      {"128.0.0.1", false},
      {"0.0.0.0", false},
      {"10.0.0.127", false},
      {"::1", true},
      {"::", false},
      {"::2", false},
      {"::ffff:127.0.0.1", true},
      {"::ffff:7f01:203", true},
      {"::ffff:10.0.0.1", false},
      {"::127.0.0.1", false},
      {"fe80::1", false},
      {"2001:db8::7f00:1", false},
      {"", false},
      {"localhost", false},
  };
  for (const auto& test : cases) {
    Address address;
    address.host = test.host;
    EXPECT_EQ(test.loopback, IsLoopback(address)) << test.host;
  }
  Address unix_address;
  unix_address.kind = Address::Kind::kUnix;
  unix_address.path = "/tmp/x";
  EXPECT_TRUE(IsLoopback(unix_address));
}

}  // namespace
}  // namespace rowsocket::net
