// A round by Jedis, Lettuce or Vert.x: Main CLIENT PORT CA|- SCENARIO.
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TransactionResult;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.redis.client.Command;
import io.vertx.redis.client.Redis;
import io.vertx.redis.client.RedisOptions;
import io.vertx.redis.client.Request;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Response;
import redis.clients.jedis.commands.ProtocolCommand;

public class Main {
  record Word(String name) implements ProtocolCommand, io.lettuce.core.protocol.ProtocolKeyword {
    public byte[] getRaw() { return name.getBytes(StandardCharsets.US_ASCII); }
    public byte[] getBytes() { return getRaw(); }
    public String toString() { return name; }
  }

  interface Client {
    String row();
    long pipe();
    long count(String key);
    String get(String key);
    long view();
    Object sell(String token) throws Exception;
  }

  static final String USER = "web", PASSWORD = "Open-Sesame-7", ITEM = "shop.product:7";

  static Client jedis(int port, String ca) throws Exception {
    DefaultJedisClientConfig.Builder settings = DefaultJedisClientConfig.builder().user(USER).password(PASSWORD);
    if (!ca.equals("-")) {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      try (var file = new java.io.FileInputStream(ca)) {
        store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(file));
      }
      TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
      trust.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      // The tests' certificate names no host, which Jedis would check without these parameters.
      settings.ssl(true).sslSocketFactory(context.getSocketFactory()).sslParameters(new SSLParameters());
    }
    redis.clients.jedis.RedisClient server = redis.clients.jedis.RedisClient.builder()
        .hostAndPort(new HostAndPort("127.0.0.1", port)).clientConfig(settings.build()).build();
    return new Client() {
      public String row() { return String.join(" ", server.hmget(ITEM, "name", "price")); }
      public long pipe() {
        try (AbstractPipeline pipe = server.pipelined()) {
          Response<Long> last = null;
          for (int i = 0; i < 100; ++i) last = pipe.incr("piped");
          pipe.sync();
          return last.get();
        }
      }
      public long count(String key) { return server.incr(key); }
      public String get(String key) { return server.get(key); }
      public long view() { return server.hincrBy("shop.page:1", "views", 1); }
      public Object sell(String token) {
        try (AbstractTransaction unit = server.multi()) {
          unit.sendCommand(new Word("ROW.ONCE"), token);
          unit.sendCommand(new Word("ROW.REQUIRE"), ITEM, "stock", ">=", "1");
          unit.hincrBy(ITEM, "stock", -1);
          List<Object> answers = unit.exec();
          return answers == null ? null : answers.get(2);
        }
      }
    };
  }

  static Client lettuce(int port, String ca) throws Exception {
    RedisURI uri = RedisURI.builder().withHost("127.0.0.1").withPort(port).withAuthentication(USER, PASSWORD)
        .withSsl(!ca.equals("-")).withVerifyPeer(io.lettuce.core.SslVerifyMode.CA)
        .withTimeout(java.time.Duration.ofSeconds(20)).build();
    io.lettuce.core.RedisClient made = io.lettuce.core.RedisClient.create(uri);
    if (!ca.equals("-")) {
      made.setOptions(ClientOptions.builder().sslOptions(
          SslOptions.builder().jdkSslProvider().trustManager(new File(ca)).build()).build());
    }
    StatefulRedisConnection<String, String> connection = made.connect();
    var server = connection.sync();
    return new Client() {
      public String row() {
        var cells = server.hmget(ITEM, "name", "price");
        return cells.get(0).getValue() + " " + cells.get(1).getValue();
      }
      public long pipe() {
        List<io.lettuce.core.RedisFuture<Long>> asked = new ArrayList<>();
        for (int i = 0; i < 100; ++i) asked.add(connection.async().incr("piped"));
        return asked.get(99).toCompletableFuture().join();
      }
      public long count(String key) { return server.incr(key); }
      public String get(String key) { return server.get(key); }
      public long view() { return server.hincrby("shop.page:1", "views", 1); }
      CommandArgs<String, String> words(String... words) {
        CommandArgs<String, String> list = new CommandArgs<>(StringCodec.UTF8);
        for (String word : words) list.add(word);
        return list;
      }
      // In a transaction a command's future completes only at EXEC, so nothing waits for the single commands.
      public Object sell(String token) {
        var async = connection.async();
        async.multi();
        async.dispatch(new Word("ROW.ONCE"), new StatusOutput<>(StringCodec.UTF8), words(token));
        async.dispatch(new Word("ROW.REQUIRE"), new StatusOutput<>(StringCodec.UTF8), words(ITEM, "stock", ">=", "1"));
        async.hincrby(ITEM, "stock", -1);
        TransactionResult answers = async.exec().toCompletableFuture().join();
        return answers.wasDiscarded() ? null : answers.get(2);
      }
    };
  }

  static <T> T awaited(Future<T> future) {
    return future.toCompletionStage().toCompletableFuture().join();
  }

  static Client vertx(int port, String ca) {
    String scheme = ca.equals("-") ? "redis" : "rediss";
    RedisOptions settings = new RedisOptions()
        .setConnectionString(scheme + "://" + USER + ":" + PASSWORD + "@127.0.0.1:" + port);
    if (!ca.equals("-")) {
      settings.setNetClientOptions(new NetClientOptions().setSsl(true).setHostnameVerificationAlgorithm("")
          .setTrustOptions(new PemTrustOptions().addCertPath(ca)));
    }
    Redis server = Redis.createClient(Vertx.vertx(), settings);
    return new Client() {
      Request words(String name, String... words) {
        Request request = Request.cmd(Command.create(name));
        for (String word : words) request.arg(word);
        return request;
      }
      io.vertx.redis.client.Response ask(String name, String... words) { return awaited(server.send(words(name, words))); }
      public String row() {
        var cells = ask("HMGET", ITEM, "name", "price");
        return cells.get(0) + " " + cells.get(1);
      }
      public long pipe() {
        List<Request> asked = new ArrayList<>();
        for (int i = 0; i < 100; ++i) asked.add(words("INCR", "piped"));
        return awaited(server.batch(asked)).get(99).toLong();
      }
      public long count(String key) { return ask("INCR", key).toLong(); }
      public String get(String key) { return ask("GET", key).toString(); }
      public long view() { return ask("HINCRBY", "shop.page:1", "views", "1").toLong(); }
      public Object sell(String token) {
        var answers = awaited(server.batch(List.of(words("MULTI"), words("ROW.ONCE", token),
            words("ROW.REQUIRE", ITEM, "stock", ">=", "1"), words("HINCRBY", ITEM, "stock", "-1"), words("EXEC"))));
        var exec = answers.get(4);
        return exec == null ? null : exec.get(2).toLong();
      }
    };
  }

  static Client connect(String client, int port, String ca) throws Exception {
    return switch (client) {
      case "jedis" -> jedis(port, ca);
      case "lettuce" -> lettuce(port, ca);
      default -> vertx(port, ca);
    };
  }

  // A client's threads would keep the program alive after an error.
  public static void main(String[] arguments) {
    try {
      play(arguments);
      System.exit(0);
    } catch (Exception error) {
      error.printStackTrace();
      System.exit(1);
    }
  }

  static void play(String[] arguments) throws Exception {
    int port = Integer.parseInt(arguments[1]);
    Client server = connect(arguments[0], port, arguments[2]);
    if (arguments[3].equals("round")) {
      System.out.println("row " + server.row());
      System.out.println("pipeline " + server.pipe());
      List<Thread> callers = new ArrayList<>();
      for (int i = 0; i < 8; ++i) {
        callers.add(new Thread(() -> { for (int j = 0; j < 25; ++j) server.count("pooled"); }));
      }
      for (Thread one : callers) one.start();
      for (Thread one : callers) one.join();
      System.out.println("pool " + server.get("pooled"));
      System.out.println("transaction " + server.sell("t0") + " " + server.sell("t1") + " " + server.sell("t2"));
    } else if (arguments[3].equals("count")) {
      System.out.println(server.view());
    } else {
      for (int i = 0; i < 50; ++i) {
        try {
          System.out.println(server.sell("once"));
          break;
        } catch (Exception lost) {
          Thread.sleep(50);
        }
      }
    }
  }
}
