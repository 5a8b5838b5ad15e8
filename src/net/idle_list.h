// Finds the members that have done nothing for too long: a list in order of last activity.
//
// Touch is O(1) and usually only a comparison: a member moves to the back at most once per
// slack_ms, and expires at most slack_ms too late, never too early.
//
// A worker has one list per kind of timeout (idle, time to authenticate); a member is in one.
// With a list whose members are never touched after Insert, the timeout is a fixed deadline.
//
// Threads: one owner.
// Lifetime: members are owned elsewhere and unlink themselves when they die.
// Limits: times are milliseconds of base::CoarseNowMs and must not go back.
#pragma once

#include <cstdint>

namespace rowsocket::net {

/// Base class of the members.
class IdleLink {
 public:
  IdleLink() = default;
  IdleLink(const IdleLink&) = delete;
  IdleLink& operator=(const IdleLink&) = delete;
  ~IdleLink() { Unlink(); }

  bool linked() const { return next_ != nullptr; }
  /// When the member was last active; this may be too early by the list's slack.
  int64_t active_ms() const { return active_ms_; }

  void Unlink() {
    if (!linked()) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = nullptr;
    list_ = nullptr;
  }

 private:
  template <typename T>
  friend class IdleList;

  IdleLink* previous_ = nullptr;
  IdleLink* next_ = nullptr;
  const void* list_ = nullptr;
  int64_t active_ms_ = 0;
};

/// T derives from IdleLink.
template <typename T>
class IdleList {
 public:
  /// `timeout_ms` 0: no member expires.
  explicit IdleList(int64_t timeout_ms) {
    head_.previous_ = head_.next_ = &head_;
    SetTimeout(timeout_ms);
  }
  IdleList(const IdleList&) = delete;
  IdleList& operator=(const IdleList&) = delete;
  ~IdleList() {
    while (head_.next_ != &head_) head_.next_->Unlink();
    head_.previous_ = head_.next_ = nullptr;
  }

  void SetTimeout(int64_t timeout_ms) {
    timeout_ms_ = timeout_ms;
    // A sixteenth of the timeout, and at most a second, which is too short a delay to matter.
    slack_ms_ = timeout_ms / 16 < 1000 ? timeout_ms / 16 : 1000;
  }
  int64_t timeout_ms() const { return timeout_ms_; }
  int64_t slack_ms() const { return slack_ms_; }
  bool empty() const { return head_.next_ == &head_; }

  /// Inserts `member` as active now, and removes it from the list that it may be in.
  void Insert(T& member, int64_t now_ms) {
    static_cast<IdleLink&>(member).Unlink();
    InsertBefore(head_, member, now_ms);
  }

  /// Inserts `member` as Insert does, but as active at a time that may be long ago. Passes at most
  /// kPassedMax members that were active later; where there are more, the member expires too late,
  /// together with the last one that was passed.
  void InsertInOrder(T& member, int64_t active_ms) {
    static_cast<IdleLink&>(member).Unlink();
    IdleLink* next = &head_;
    for (int passed = 0; passed < kPassedMax; ++passed) {
      if (next->previous_ == &head_ || next->previous_->active_ms_ <= active_ms) break;
      next = next->previous_;
    }
    InsertBefore(*next, member, active_ms);
  }

  bool Holds(const T& member) const {
    const IdleLink& link = member;
    return link.list_ == this;
  }

  /// Notes that `member` was active now, and moves it into this list if it was in another.
  void Touch(T& member, int64_t now_ms) {
    const IdleLink& link = member;
    if (!Holds(member) || now_ms - link.active_ms_ > slack_ms_) Insert(member, now_ms);
  }

  /// The member that has been idle longest, if that is longer than the timeout; the caller unlinks
  /// or touches it, and calls again.
  T* Expired(int64_t now_ms) const {
    if (timeout_ms_ == 0 || empty() || now_ms < DueMs()) return nullptr;
    return static_cast<T*>(head_.next_);
  }

 private:
  static constexpr int kPassedMax = 1000;

  void InsertBefore(IdleLink& next, IdleLink& link, int64_t active_ms) {
    link.list_ = this;
    link.active_ms_ = active_ms;
    link.previous_ = next.previous_;
    link.next_ = &next;
    next.previous_->next_ = &link;
    next.previous_ = &link;
  }
  int64_t DueMs() const { return head_.next_->active_ms_ + timeout_ms_ + slack_ms_; }

  IdleLink head_;
  int64_t timeout_ms_ = 0;
  int64_t slack_ms_ = 0;
};

}  // namespace rowsocket::net
