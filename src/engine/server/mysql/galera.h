// What a session owes to Galera: nothing, as MySQL has no Galera. The common files ask it all the
// same.
#pragma once

#include "api.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

class Tables;
class WorkerThd;

class Galera {
 public:
  Galera(WorkerThd&, Tables&) {}

  static bool Replicates(const TABLE&) { return true; }
  static void MarkBegin(THD*) {}

  void Begin(bool) {}
  const Outcome& refusal(bool) const { return none_; }
  bool is_active() const { return false; }

  enum class Loss : uint8_t { kNone, kConflict, kTooLarge };
  Loss LossOf(bool) const { return Loss::kNone; }
  void TellLoss(Loss, Outcome*) const {}
  bool MustCloseTables() const { return false; }

  enum class End : uint8_t { kAsServerSays, kReplayed, kConflict, kTooLarge, kUnknown };
  End Fate() { return End::kAsServerSays; }

 private:
  const Outcome none_;
};

}  // namespace rowsocket::engine::server
