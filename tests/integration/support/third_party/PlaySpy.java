import java.net.InetSocketAddress;
import java.util.*;
import net.spy.memcached.*;

/** Plays a round through spymemcached in the binary dialect; prints one line a step. Argument: port. */
public class PlaySpy {
  static void say(String step, Object... results) {
    System.out.println(step + "\t" + Arrays.toString(results).replace("\r", "\\r").replace("\n", "\\n"));
  }

  public static void main(String[] arguments) throws Exception {
    InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0]));
    MemcachedClient client = new MemcachedClient(
        new ConnectionFactoryBuilder().setProtocol(ConnectionFactoryBuilder.Protocol.BINARY)
            .setOpTimeout(10000).build(), Arrays.asList(address));
    say("set", client.set("k", 0, "Zoë \t\u0001\r\n日").get(), client.get("k"));
    say("miss", client.get("nothing"));
    say("add", client.add("a", 0, "one").get(), client.add("a", 0, "two").get(), client.get("a"));
    say("replace", client.replace("a", 0, "three").get(), client.replace("nothing", 0, "x").get(), client.get("a"));
    say("append", client.append("a", "!").get(), client.prepend("a", ">").get(), client.get("a"));
    say("counter", client.incr("c", 5, 100), client.incr("c", 5, 100), client.decr("c", 5), client.get("c"));
    CASValue<Object> seen = client.gets("a");
    say("cas", client.cas("a", seen.getCas(), "four"), client.cas("a", seen.getCas(), "five"), client.get("a"));
    say("object", client.set("o", 0, new Date(1234567890123L)).get(), ((Date) client.get("o")).getTime());
    List<String> keys = new ArrayList<>();
    for (int i = 0; i < 100; i++) client.set("m" + i, 0, "value " + i).get();
    for (int i = 0; i < 130; i += 10) keys.add("m" + i);
    say("multi", new TreeMap<>(client.getBulk(keys)));
    say("touch", client.touch("a", 100).get(), client.touch("nothing", 100).get());
    say("gat", client.getAndTouch("a", 200).getValue());
    char[] many = new char[300000];
    for (int i = 0; i < many.length; i++) many[i] = (char) (33 + i * 7 % 90);
    say("large", client.set("big", 0, new String(many)).get(), client.get("big").equals(new String(many)));
    say("delete", client.delete("k").get(), client.delete("k").get(), client.get("k"));
    say("version", client.getVersions().size());
    client.shutdown();
  }
}
