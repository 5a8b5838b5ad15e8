#include "exec/login_sources.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

#include "model/limits.h"

namespace rowsocket::exec {
namespace {

constexpr int64_t kNowMs = 1'000'000;
constexpr uint32_t kAnyChecks = UINT32_MAX;

LoginSource Source(uint64_t number, uint64_t name = 1) {
  return {LoginSource::Kind::kIpv4, number, name};
}

bool Begin(LoginSources& sources, const LoginSource& source, int64_t now_ms = kNowMs) {
  EXPECT_TRUE(sources.Queue(source));
  const bool begins = sources.Begin(source, now_ms);
  if (!begins) sources.Unqueue(source);
  return begins;
}

int64_t FailOnce(LoginSources& sources, const LoginSource& source, int64_t now_ms = kNowMs) {
  EXPECT_TRUE(Begin(sources, source, now_ms));
  EXPECT_FALSE(sources.EndCheck(source));
  const int64_t delay_ms = sources.Fail(source, now_ms);
  sources.End(source, now_ms);
  return delay_ms;
}

TEST(LoginSources, DelayDoublesUpToALimit) {
  LoginSources sources(kAnyChecks);
  for (const int64_t delay_ms : {100, 200, 400, 800, 1600, 3200, 3200, 3200})
    EXPECT_EQ(delay_ms, FailOnce(sources, Source(1)));
  EXPECT_EQ(100, FailOnce(sources, Source(2)));
}

TEST(LoginSources, FailuresAreForgotten) {
  LoginSources sources(kAnyChecks);
  FailOnce(sources, Source(1));
  EXPECT_EQ(200, FailOnce(sources, Source(1), kNowMs + model::kLoginForgetMs));
  EXPECT_EQ(100, FailOnce(sources, Source(1), kNowMs + 2 * model::kLoginForgetMs + 1));
}

TEST(LoginSources, FewLoginsOfASourceAreUnderWay) {
  LoginSources sources(kAnyChecks);
  for (uint32_t i = 0; i < model::kLoginsOfSourceMax; ++i)
    EXPECT_TRUE(Begin(sources, Source(1), kNowMs));
  EXPECT_FALSE(Begin(sources, Source(1), kNowMs));
  EXPECT_TRUE(Begin(sources, Source(2), kNowMs));
  sources.End(Source(1), kNowMs);
  EXPECT_TRUE(Begin(sources, Source(1), kNowMs));
}

TEST(LoginSources, AnotherNameOfAnAddressIsAnotherSource) {
  LoginSources sources(kAnyChecks);
  for (int i = 0; i < 8; ++i) FailOnce(sources, Source(1, 7));
  EXPECT_EQ(100, FailOnce(sources, Source(1, 8)));
}

TEST(LoginSources, LoginsOfAnAddressAreBoundedWhateverTheirNames) {
  LoginSources sources(kAnyChecks);
  for (uint32_t i = 0; i < model::kLoginsOfAddressMax; ++i)
    EXPECT_TRUE(Begin(sources, Source(1, i)));
  EXPECT_FALSE(Begin(sources, Source(1, 1000)));
  EXPECT_TRUE(Begin(sources, Source(2, 1000)));
  for (uint32_t i = 0; i < model::kLoginsWaitingOfAddressMax; ++i)
    EXPECT_TRUE(sources.Queue(Source(1, i)));
  EXPECT_FALSE(sources.Queue(Source(1)));
  EXPECT_TRUE(sources.Queue(Source(3)));
}

TEST(LoginSources, ChecksOfAnAddressAreBoundedWhateverTheirNames) {
  LoginSources sources(2);
  EXPECT_TRUE(Begin(sources, Source(1, 7)));
  EXPECT_FALSE(sources.EndCheck(Source(1, 7)));
  EXPECT_TRUE(Begin(sources, Source(1, 7)));
  EXPECT_TRUE(Begin(sources, Source(1, 8)));
  EXPECT_FALSE(Begin(sources, Source(1, 9)));
  EXPECT_TRUE(Begin(sources, Source(2, 9)));
  EXPECT_TRUE(sources.EndCheck(Source(1, 8)));
  EXPECT_TRUE(Begin(sources, Source(1, 9)));
}

TEST(LoginSources, SourceWithoutFailuresIsForgottenAtOnce) {
  LoginSources sources(kAnyChecks);
  EXPECT_TRUE(Begin(sources, Source(1), kNowMs));
  EXPECT_EQ(1u, sources.size());
  sources.End(Source(1), kNowMs);
  EXPECT_EQ(0u, sources.size());
}

TEST(LoginSources, TableIsBounded) {
  LoginSources sources(kAnyChecks);
  for (uint64_t i = 0; i < 3 * model::kLoginSourcesMax; ++i) FailOnce(sources, Source(i));
  EXPECT_EQ(model::kLoginSourcesMax, sources.size());
  // The source that failed longest ago made room; the latest one is still known.
  EXPECT_EQ(100, FailOnce(sources, Source(0)));
  EXPECT_EQ(200, FailOnce(sources, Source(3 * model::kLoginSourcesMax - 1)));
}

TEST(LoginSources, TableFullOfLoginsUnderWayTakesNoOtherSource) {
  LoginSources sources(kAnyChecks);
  for (uint64_t i = 0; i < model::kLoginSourcesMax; ++i)
    ASSERT_TRUE(Begin(sources, Source(i), kNowMs));
  EXPECT_FALSE(Begin(sources, Source(model::kLoginSourcesMax), kNowMs));
  sources.End(Source(5), kNowMs);
  EXPECT_TRUE(Begin(sources, Source(model::kLoginSourcesMax), kNowMs));
}

net::Peer Ipv6Peer(unsigned char network, unsigned char host) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr.s6_addr[0] = 0x20;
  address.sin6_addr.s6_addr[7] = network;
  address.sin6_addr.s6_addr[15] = host;
  net::Peer peer;
  memcpy(&peer.address, &address, sizeof(address));
  return peer;
}

TEST(LoginSources, NetworkOfIpv6IsOneSource) {
  EXPECT_EQ(LoginSource::FromPeer(Ipv6Peer(1, 1), "app"),
            LoginSource::FromPeer(Ipv6Peer(1, 2), "app"));
  EXPECT_NE(LoginSource::FromPeer(Ipv6Peer(1, 1), "app"),
            LoginSource::FromPeer(Ipv6Peer(2, 1), "app"));
}

TEST(LoginSources, UserOfAUnixSocketIsASource) {
  net::Peer peer;
  peer.is_unix = true;
  peer.uid = 7;
  EXPECT_EQ((LoginSource{LoginSource::Kind::kUser, 7}),
            LoginSource::FromPeer(peer, "app").Address());
}

}  // namespace
}  // namespace rowsocket::exec
