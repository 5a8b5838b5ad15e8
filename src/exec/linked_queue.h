// Objects on their way to another thread, in order. A queue needs no memory, so that an object can
// always be handed over.
//
// Threads: none of its own.
// Lifetime: an object is in one queue at a time, which owns it.
#pragma once

#include <memory>
#include <utility>

namespace rowsocket::exec {

/// T has a member `T* next_in_queue`, which belongs to the queue.
template <typename T>
class LinkedQueue {
 public:
  LinkedQueue() = default;
  LinkedQueue(LinkedQueue&& other) noexcept { *this = std::move(other); }
  LinkedQueue& operator=(LinkedQueue&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    return *this;
  }
  ~LinkedQueue() {
    while (Pop() != nullptr) {
    }
  }

  void Push(std::unique_ptr<T> object) {
    T* const added = object.release();
    added->next_in_queue = nullptr;
    (last_ != nullptr ? last_->next_in_queue : first_) = added;
    last_ = added;
  }
  /// Takes the first object; null when the queue is empty.
  std::unique_ptr<T> Pop() {
    std::unique_ptr<T> taken(first_);
    if (first_ != nullptr) first_ = first_->next_in_queue;
    if (first_ == nullptr) last_ = nullptr;
    return taken;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace rowsocket::exec
