#include "frontend/memcached/edits.h"

#include "base/require.h"
#include "engine/statements.h"
#include "frontend/memcached/editor.h"
#include "frontend/memcached/exptime.h"
#include "frontend/memcached/reads.h"
#include "keyspace/time.h"
#include "protocol/memcached/encoder.h"

namespace rowsocket::frontend {

using engine::Outcome;
using memcached::BinaryStatus;
using memcached::Command;
using memcached::Dialect;
using memcached::Error;
using memcached::Verb;
using memcached::VerbKind;
using KeptMarks = MemcachedEditor::KeptMarks;
using Result = MemcachedEditor::Result;

namespace {

/// Whether the engine would refuse the change later, too: a foreign key refers to the row, for
/// instance. A wait for a lock that has ended in vain is no refusal, because it could succeed
/// later.
bool IsRefused(const Outcome& outcome) {
  return outcome.result == Outcome::Result::kFailed && !outcome.transaction_lost &&
         !model::EndsWait(outcome.error);
}

/// The mark of the item before this request. When the request runs again, its first run has moved
/// the mark to another cas although the row is unchanged, so the mark that the first run found is
/// taken.
MemcachedMark OldMark(MemcachedShared& shared, MemcachedWork& work, const MemcachedTarget& target,
                      const MemcachedEditor& editor) {
  const MemcachedMark old =
      shared.marks.Of(target.container->state->serial, target.row_key, editor.old_cas());
  if (old.empty() && work.old_mark.cas == editor.old_cas()) return work.old_mark;
  work.old_mark = old;
  return old;
}

/// The marks that the item has under its new cas.
MemcachedMark NewMark(const MemcachedWork& work, const MemcachedEditor& editor,
                      const MemcachedMark& old) {
  const KeptMarks kept = editor.kept_marks();
  if (kept == KeptMarks::kAll) return old;
  MemcachedMark mark;
  mark.stale = editor.stale();
  mark.promised = editor.promises() || (kept == KeptMarks::kPromise && old.promised);
  mark.winner = editor.promises() ? work.serial : 0;
  if (kept == KeptMarks::kAccess) {
    mark.was_read = old.was_read;
    mark.read_ms = old.read_ms;
  }
  if (editor.promises()) MarkRead(work.command, editor.now_ms(), &mark);
  return mark;
}

bool MovesMarks(const MemcachedShared& shared, const MemcachedWork& work,
                const MemcachedTarget& target, const MemcachedEditor& editor) {
  if (editor.result() == Result::kRefused) return false;
  if (editor.stale() || editor.promises()) return true;
  // The new cas may have a mark already if the flag E gives it, or if it is a hash of content that
  // was there before. The old cas and 1, which an item gets whose cas is ahead of the clock, may
  // have a mark of a change that was taken back.
  const bool may_be_old = work.command.meta.has_new_cas ||
                          target.container->cas_kind == keyspace::CasKind::kHash ||
                          editor.item().cas == editor.old_cas() + 1;
  const bool stores = editor.result() == Result::kStored || editor.result() == Result::kNumber ||
                      editor.result() == Result::kDeleted;
  if (stores && may_be_old && !shared.marks.empty()) return true;
  return editor.kept_marks() == KeptMarks::kAll && !(shared.marks.empty() && work.old_mark.empty());
}

/// Moves the item's marks to its new cas, as the editor has decided.
void KeepMarks(MemcachedShared& shared, MemcachedWork& work, const MemcachedTarget& target,
               const MemcachedEditor& editor) {
  if (!MovesMarks(shared, work, target, editor)) return;
  MemcachedMark old;
  if (editor.kept_marks() != KeptMarks::kNone) old = OldMark(shared, work, target, editor);
  MemcachedMark mark = NewMark(work, editor, old);
  mark.cas = editor.item().cas;
  mark.changer = mark.cas == editor.old_cas() ? work.serial : 0;
  shared.marks.Move(target.container->state->serial, target.row_key, editor.old_cas(), mark);
}

/// Replaces a cas that is a hash of the sent bytes by the hash of the stored bytes, if a reply or a
/// mark needs the cas: the next `gets` has to answer the same one.
Outcome FindCas(const MemcachedShared& shared, const MemcachedWork& work,
                const MemcachedTarget& target, engine::Session& session, MemcachedEditor* editor) {
  const bool is_told = TellsCas(work.command) || MovesMarks(shared, work, target, *editor);
  if (!editor->is_cas_of_sent() || !is_told) return {};
  uint64_t cas = editor->item().cas;
  const Outcome outcome = ReadCas(target, session, &cas);
  editor->CorrectCas(cas);
  return outcome;
}

void AppendItem(MemcachedShared& shared, const MemcachedWork& work, const MemcachedTarget& target,
                const MemcachedEditor& editor, base::Buffer& out) {
  memcached::Item item = editor.item();
  if (!editor.promises() && TellsMarks(shared, work.command)) {
    TellMarks(shared, work, target, {editor.now_ms(), editor.renewal_ttl_s()}, &item);
  }
  memcached::AppendHit(work.command, target.key, item, &out);
}

void AppendAbsent(const Command& command, const MemcachedTarget& target, base::Buffer& out) {
  if (IsGet(command.verb)) return memcached::AppendMiss(command, target.key, &out);
  const bool stores = command.verb == Verb::kReplace || KindOf(command.verb) == VerbKind::kJoin;
  if (stores && !command.compares_cas) return memcached::AppendNotStored(command, &out);
  memcached::AppendNotFound(command, &out);
}

void AppendResult(MemcachedShared& shared, const MemcachedWork& work, const MemcachedTarget& target,
                  const MemcachedEditor& editor, base::Buffer& out) {
  const Command& command = work.command;
  switch (editor.result()) {
    case Result::kStored:
      return memcached::AppendStored(command, editor.item(), &out);
    case Result::kNotStored:
      return memcached::AppendNotStored(command, &out);
    case Result::kExists:
      return memcached::AppendExists(command, &out);
    case Result::kNotFound:
      return memcached::AppendNotFound(command, &out);
    case Result::kDeleted:
      return memcached::AppendDeleted(command, &out);
    case Result::kTouched:
      return memcached::AppendTouched(command, editor.item(), &out);
    case Result::kNumber:
      return memcached::AppendNumber(command, editor.number(), editor.item(), &out);
    case Result::kHit:
      return AppendItem(shared, work, target, editor, out);
    case Result::kMiss:
      return memcached::AppendMiss(command, target.key, &out);
    case Result::kNotNumeric:
      return memcached::AppendError(command, Error::kNotNumeric, &out);
    case Result::kTooLarge:
      return memcached::AppendError(command, Error::kTooLarge, &out);
    case Result::kRefused:
    case Result::kUnshowable:  // ExecuteEdit has answered it.
      return memcached::AppendServerError(command, BinaryStatus::kInvalidArguments,
                                          editor.refusal(), &out);
  }
}

void Count(const MemcachedEditor& editor, MemcachedTally* tally) {
  tally->expired += editor.found_expired();
  switch (editor.result()) {
    case Result::kStored:
      tally->stored = true;
      ++tally->hits;
      return;
    case Result::kNumber:
    case Result::kTouched:
    case Result::kDeleted:
      ++tally->hits;
      return;
    case Result::kHit:
      tally->hits += !editor.promises();
      tally->misses += editor.promises();
      return;
    case Result::kExists:
      ++tally->bad_cas;
      return;
    case Result::kNotFound:
    case Result::kNotStored:
    case Result::kMiss:
      ++tally->misses;
      return;
    case Result::kNotNumeric:
    case Result::kTooLarge:
    case Result::kRefused:
    case Result::kUnshowable:
      tally->failed = true;
      return;
  }
}

/// Whether an expiry in the past deletes the item. md with I or x stores that moment instead, if
/// the container has a column for it.
bool DeletesWhatExpires(const Command& command, const keyspace::Layout& layout, int64_t now_ms) {
  const bool may_store = command.verb == Verb::kDelete && layout.expiry != keyspace::Layout::kNone;
  return !may_store && ExpiryOf(command.exptime, now_ms) <= now_ms;
}

}  // namespace

bool IsEdit(const Command& command) {
  switch (KindOf(command.verb)) {
    case VerbKind::kGet:
      return command.creates;
    case VerbKind::kTouch:
    case VerbKind::kStore:
    case VerbKind::kJoin:
    case VerbKind::kCount:
    case VerbKind::kDelete:
      return true;
    case VerbKind::kFlush:
    case VerbKind::kDebug:
    case VerbKind::kNoItem:
      return false;
  }
  return false;
}

model::Request EditRequest(const MemcachedWork& work) {
  model::Request request;
  request.verb = model::Request::Verb::kEdit;
  if (work.targets.size() == 1) request.edit.key = work.target().parts;
  request.relaxed = work.target().container->relaxed;
  return request;
}

void SetEditRights(const Command& command, const keyspace::Container& container, int64_t now_ms,
                   std::span<uint32_t> columns, model::Edit* edit) {
  const keyspace::Layout& layout = container.full_layout;
  size_t count = 0;
  const auto updates = [&](uint32_t column) {
    if (column != keyspace::Layout::kNone) columns[count++] = column;
  };
  const auto updates_value = [&] {
    for (uint32_t i = 0; i < container.values; ++i) updates(layout.value + i);
    updates(layout.cas);
  };
  bool sets_expiry = false;
  switch (KindOf(command.verb)) {
    case VerbKind::kStore:
      edit->may_insert = sets_expiry = true;
      updates_value();
      updates(layout.flags);
      break;
    case VerbKind::kJoin:
      edit->may_insert = command.creates;
      updates_value();
      break;
    case VerbKind::kCount:
      edit->may_insert = command.creates;
      sets_expiry = command.meta.has_exptime;
      updates_value();
      break;
    case VerbKind::kDelete:
      edit->may_delete = !command.meta.invalidates && !command.meta.removes_value;
      if (edit->may_delete) break;
      sets_expiry = command.meta.has_exptime;
      if (command.meta.removes_value) {
        updates_value();
        updates(layout.flags);
      } else if (layout.cas != keyspace::Layout::kNone) {
        updates(layout.cas);
      } else {
        // The mark in memory alone makes the item stale, for all clients: an account that may
        // change nothing of the item may not do that, either.
        updates_value();
      }
      break;
    case VerbKind::kTouch:
      edit->may_insert = command.creates;
      sets_expiry = true;
      break;
    case VerbKind::kGet:
      edit->may_insert = command.creates;
      break;
    case VerbKind::kFlush:
    case VerbKind::kDebug:
    case VerbKind::kNoItem:
      ROWSOCKET_REQUIRE(!"a command without an edit needs no rights of one");
      break;
  }
  if (sets_expiry) {
    updates(layout.expiry);
    edit->may_delete = DeletesWhatExpires(command, layout, now_ms);
  }
  edit->may_update = columns.first(count);
}

Outcome ExecuteEdit(MemcachedShared& shared, MemcachedWork& work, model::Request request,
                    engine::Session& session, base::Buffer& out) {
  const size_t begin = out.size();
  size_t bytes_read = 0;
  Outcome all;
  for (MemcachedTarget& target : work.targets) {
    if (target.wrong != MemcachedTarget::Wrong::kNothing) {
      AppendAbsent(work.command, target, out);
      ++work.tally.misses;
      continue;
    }
    model::NoRows none;
    std::array<uint32_t, kEditColumnsMax> columns;
    if (work.targets.size() > 1) {
      request.edit.key = target.parts;
      request.relaxed = target.container->relaxed;
      if (request.account != nullptr) {
        SetEditRights(work.command, *target.container, shared.keyspaces->NowMs(), columns,
                      &request.edit);
      }
    }
    MemcachedEditor editor(shared, work, target,
                           request.account == nullptr || request.edit.may_delete);
    request.edit.editor = &editor;
    const Outcome outcome = session.Execute(*target.container->full_index, request, none);
    // A failed deletion of an expired row is no failure of the request: the row stays, and counts
    // as absent all the same.
    const bool stays = editor.only_cleans_up() && IsRefused(outcome);
    if (!outcome.ok() && !stays) return FailAfter(all, outcome);
    // The bytes count although the row stays: a command may name such an item many times.
    bytes_read += editor.bytes_read();
    if (bytes_read > BytesReadMax(shared)) {
      work.failure = kReadsTooMuch;
      return FailAfter(all, Outcome::Fail(model::ErrorCode::kResultsize));
    }
    if (editor.result() == MemcachedEditor::Result::kUnshowable) {
      return FailAfter(all, Outcome::Fail(model::ErrorCode::kResultsize));
    }
    AddDone(outcome, &all);
    const Outcome found = FindCas(shared, work, target, session, &editor);
    if (!found.ok()) return FailAfter(all, found);
    KeepMarks(shared, work, target, editor);
    AppendResult(shared, work, target, editor, out);
    target.was_hit = editor.result() == Result::kHit && !editor.promises();
    Count(editor, &work.tally);
    if (out.size() - begin > shared.settings.limits.reply_bytes_max) {
      return FailAfter(all, Outcome::Fail(model::ErrorCode::kResultsize));
    }
  }
  if (IsGet(work.command.verb)) memcached::AppendGetEnd(work.command, &out);
  return all;
}

}  // namespace rowsocket::frontend
