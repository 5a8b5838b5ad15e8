// A statement that changes grants holds the lock of the accounts' caches while the library looks
// for an account.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "api.h"
#include "engine/contract/fixture.h"
#include "engine/server/privileges.h"

namespace rowsocket::engine::contract {
namespace {

/// Far longer than a look that does not wait.
constexpr std::chrono::seconds kLookMax{5};

/// A session whose thread is here for functions of the server.
class Thread {
 public:
  explicit Thread(SessionFactory& factory) {
    thread_.Run([&] { session_ = factory.Create(LockWait::kNever); });
  }
  ~Thread() {
    thread_.Run([this] { session_.reset(); });
  }

  UserThread& operator*() { return thread_; }

 private:
  std::unique_ptr<Session> session_;
  UserThread thread_;
};

MDL_ticket* LockGrants() {
  const MDL_key key(MDL_key::ACL_CACHE, "", "");
  MDL_request request;
  MDL_REQUEST_INIT_BY_KEY(&request, &key, MDL_EXCLUSIVE, MDL_EXPLICIT);
  EXPECT_FALSE(current_thd->mdl_context.acquire_lock(&request, kLookMax.count()));
  return request.ticket;
}

TEST_F(EngineContract, AccountThatCannotBeLookedUpIsNotCalledAbsent) {
  const model::Account account("present", "localhost"), absent("absent", "localhost");
  harness_->SetRights(account, Harness::Rights::kNone);
  Thread changes(harness_->factory()), looks(harness_->factory());
  MDL_ticket* const lock = (*changes).Run(LockGrants);
  auto found = (*looks).Start([&] { return server::HasAccount(account); });
  EXPECT_EQ(std::future_status::ready, found.wait_for(kLookMax));
  (*changes).Run([lock] { current_thd->mdl_context.release_lock(lock); });
  EXPECT_EQ(std::nullopt, found.get());
  EXPECT_EQ(true, (*looks).Run([&] { return server::HasAccount(account); }));
  EXPECT_EQ(false, (*looks).Run([&] { return server::HasAccount(absent); }));
}

}  // namespace
}  // namespace rowsocket::engine::contract
