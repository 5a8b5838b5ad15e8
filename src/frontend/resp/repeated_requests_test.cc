#include "frontend/resp/repeated_requests.h"

#include <gtest/gtest.h>

#include <string>

#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

using Came = resp::RequestStep::Result;
constexpr resp::RequestLimits kLimits{1000, 1u << 20, true};

std::string Bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

/// The command with 300 keys.
std::string OfManyKeys(const std::string& name) {
  std::string request = "*301\r\n" + Bulk(name);
  for (int i = 0; i < 300; ++i) request += Bulk("k");
  return request;
}

// The beginning is spoiled: reading it again would give an error.
TEST(RespRepeatedRequests, ARequestThatIsNotWholeIsReadOnFromWhereItEnded) {
  const std::string request = OfManyKeys("MGET");
  std::string input = request.substr(0, request.size() - 3);
  base::Arena arena;
  RespRepeatedRequests requests;
  EXPECT_EQ(requests.Next(input, kLimits, arena).result, Came::kNeedMore);
  input.replace(6, 1000, 1000, '!');
  EXPECT_EQ(requests.Next(input, kLimits, arena).result, Came::kNeedMore);
  EXPECT_EQ(requests.Next(request, kLimits, arena).result, Came::kRequest);
  EXPECT_EQ(requests.Next(input, kLimits, arena).result, Came::kError) << "another request";
}

TEST_F(RespTest, WhatHasComeOfARequestIsForgottenWhereOtherInputComes) {
  const std::string request = OfManyKeys("MGET");
  Parse(request.substr(0, request.size() - 3));
  EXPECT_EQ(parsed_, exec::Frontend::Parsed::kNeedMore);
  frontend_->Rewind();
  const std::string other = OfManyKeys("EXISTS");
  const exec::Item item = Parse(other);
  EXPECT_EQ(consumed_, other.size());
  EXPECT_EQ(":0\r\n", Run(item));
}

}  // namespace
}  // namespace rowsocket::frontend
