#include "exec/handshake_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/limits.h"

namespace rowsocket::exec {
namespace {

LoginSource Address(uint64_t number) { return {LoginSource::Kind::kIpv4, number, 0}; }

/// Clients that are never looked at.
Client* Number(uintptr_t number) { return reinterpret_cast<Client*>(number * 64); }

TEST(HandshakeQueue, AddressesTakeTurns) {
  HandshakeQueue queue;
  for (uintptr_t i = 1; i <= 3; ++i) queue.Put(Address(1), Number(i));
  queue.Put(Address(2), Number(4));
  queue.Put(Address(3), Number(5));
  std::vector<Client*> order;
  while (Client* const client = queue.Take()) order.push_back(client);
  EXPECT_EQ((std::vector<Client*>{Number(1), Number(4), Number(5), Number(2), Number(3)}), order);
}

TEST(HandshakeQueue, AnAddressHasNoMoreThanItsShare) {
  HandshakeQueue queue;
  for (uintptr_t i = 1; i <= model::kHandshakesMax + 1; ++i) queue.Put(Address(1), Number(i));
  for (uint32_t i = 0; i < model::kHandshakesOfAddressMax; ++i) ASSERT_NE(nullptr, queue.Take());
  EXPECT_EQ(nullptr, queue.Take());
  queue.Put(Address(2), Number(9000));
  EXPECT_EQ(Number(9000), queue.Take());
  EXPECT_EQ(nullptr, queue.Take());
  queue.End(Address(1));
  EXPECT_EQ(Number(model::kHandshakesOfAddressMax + 1), queue.Take());
  EXPECT_EQ(nullptr, queue.Take());
}

TEST(HandshakeQueue, AllAddressesTogetherHaveALimit) {
  HandshakeQueue queue;
  uint32_t taken = 0;
  for (uintptr_t i = 1; i <= model::kHandshakesMax + 10; ++i) queue.Put(Address(i), Number(i));
  while (queue.Take() != nullptr) ++taken;
  EXPECT_EQ(model::kHandshakesMax, taken);
  queue.End(Address(1));
  EXPECT_EQ(Number(model::kHandshakesMax + 1), queue.Take());
}

TEST(HandshakeQueue, ClientsThatWaitMayGo) {
  HandshakeQueue queue;
  queue.Put(Address(1), Number(1));
  queue.Put(Address(2), Number(2));
  queue.Put(Address(3), Number(3));
  queue.Put(Address(3), Number(4));
  queue.Drop(Address(2), Number(2));
  queue.Drop(Address(3), Number(3));
  EXPECT_EQ(Number(1), queue.Take());
  EXPECT_EQ(Number(4), queue.Take());
  EXPECT_EQ(nullptr, queue.Take());
  queue.End(Address(1));
  queue.Put(Address(1), Number(5));
  queue.Drop(Address(1), Number(5));
  EXPECT_EQ(nullptr, queue.Take());
}

}  // namespace
}  // namespace rowsocket::exec
