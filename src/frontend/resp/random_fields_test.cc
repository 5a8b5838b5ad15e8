// Fields of a row, chosen at random, without a row.
#include "frontend/resp/random_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rowsocket::frontend {
namespace {

TEST(RespRandomFields, TooManyAreRefusedBeforeTheFirstIsChosen) {
  const std::vector<RespField> fields = {{"v", ""}, {"long", ""}};
  RespFieldList list;
  list.without_values = true;
  list.has_count = true;
  RespCall call;
  call.field_list = &list;
  base::Buffer out;
  for (const int64_t count : {int64_t{-9'223'372'036'854'775'807}, int64_t{-1'000}}) {
    list.count = count;
    EXPECT_FALSE(AppendRandomFields(resp::Version::k2, call, fields, 6'000, &out)) << count;
    EXPECT_TRUE(out.empty()) << count;
  }
  list.count = -500;
  EXPECT_TRUE(AppendRandomFields(resp::Version::k2, call, fields, 6'000, &out));
  EXPECT_TRUE(out.view().starts_with("*500\r\n"));
}

}  // namespace
}  // namespace rowsocket::frontend
