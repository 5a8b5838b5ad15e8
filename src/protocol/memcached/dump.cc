#include "protocol/memcached/dump.h"

#include "base/test_quoted.h"
#include "model/client_name.h"

namespace rowsocket::memcached {

namespace {

using base::Quoted;

class Dumper {
 public:
  explicit Dumper(std::string start) : text_(std::move(start)) {}

  void Text(const char* name, std::string_view text) {
    if (!text.empty()) text_ += std::string(" ") + name + Quoted(text);
  }
  void Flag(const char* name, bool set) {
    if (set) text_ += std::string(" ") + name;
  }
  template <typename T>
  void Number(const char* name, T number, bool shown) {
    if (shown) text_ += std::string(" ") + name + "=" + std::to_string(number);
  }
  template <typename T>
  void Number(const char* name, T number) {
    Number(name, number, number != 0);
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

const char* NameOf(Dialect dialect) {
  if (dialect == Dialect::kText) return "text";
  return dialect == Dialect::kMeta ? "meta" : "binary";
}

void DumpMeta(const MetaFlags& meta, Dumper* to) {
  to->Text("returns=", meta.returns);
  to->Text("opaque=", meta.opaque);
  to->Flag("base64", meta.key_is_base64);
  to->Flag("no_update", meta.no_update);
  to->Flag("invalidates", meta.invalidates);
  to->Flag("removes_value", meta.removes_value);
  to->Flag("has_exptime", meta.has_exptime);
  to->Number("new_cas", meta.new_cas, meta.has_new_cas);
  to->Number("recache", meta.recache_s, meta.has_recache);
  to->Number("guard", meta.guard, meta.has_guard);
}

/// Whether `part` lies within `whole`, or has no bytes.
bool Within(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

std::string Dump(const Command& command) {
  Dumper to(std::string(NameOf(command.dialect)) + ' ' +
            std::string(kVerbNames[static_cast<size_t>(command.verb)]));
  for (const std::string_view key : command.keys) to.Text("", key);
  to.Flag("quiet", command.quiet);
  to.Flag("closes", command.closes);
  const bool binary = command.dialect == Dialect::kBinary;
  to.Flag("cas?", command.returns_cas && !binary);
  to.Flag("key?", command.returns_key);
  to.Flag("value?", command.returns_value);
  if (command.key_text != (command.keys.empty() ? std::string_view() : command.key())) {
    to.Text("key_text=", command.key_text);
  }
  to.Text("value=", command.value);
  to.Text("arguments=", command.stats_arguments);
  to.Text("client_name=", command.client_name);
  to.Number("flags", command.client_flags);
  to.Number("exptime", command.exptime);
  to.Number("create", command.create_exptime, command.creates);
  to.Number("cas", command.cas, command.compares_cas);
  to.Number("delta", command.delta);
  to.Number("initial", command.initial);
  DumpMeta(command.meta, &to);
  to.Number("opcode", command.opcode, binary);
  to.Number("opaque", command.opaque);
  if (command.error != Error::kNone) to.Text("!", TextOf(command.error));
  return to.Take();
}

std::string CheckCommand(std::string_view input, const model::Limits& limits,
                         const Command& command) {
  if (static_cast<size_t>(command.verb) >= kVerbs) return "the verb is one of them";
  if (command.verb == Verb::kNone && command.error == Error::kNone) {
    return "what is no verb has an error";
  }
  if (!Within(command.value, input)) return "the value is a part of the input";
  if (!model::IsClientName(command.client_name)) return "a client's name is printable, and short";
  if (command.value.size() > limits.item_bytes_max) return "the value is within the limit";
  for (const std::string_view key : command.keys) {
    if (key.empty() || key.size() > model::kMemcachedKeyBytesMax) {
      return "a key has 1 to 250 bytes";
    }
  }
  if (command.error != Error::kNone) {
    if (TextOf(command.error).empty()) return "an error has a text";
    return "";
  }
  const bool many = command.verb == Verb::kGet || command.verb == Verb::kGat;
  if (HasKey(command.verb) != !command.keys.empty()) return "there are keys if the verb has one";
  if (!many && command.keys.size() > 1) return "only get and gat have several keys";
  if (command.dialect != Dialect::kMeta && command.meta.returns.size() != 0) {
    return "flags are those of meta commands";
  }
  if (command.meta.opaque.size() >= model::kMetaOpaqueBytesMax) return "O is within its limit";
  return "";
}

}  // namespace rowsocket::memcached
