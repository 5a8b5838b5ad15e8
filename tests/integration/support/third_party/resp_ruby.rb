# A round by redis-rb: resp_ruby.rb PORT CA|- SCENARIO.
require "redis"

port, ca, scenario = ARGV
secure = ca == "-" ? {} : { ssl: true, ssl_params: { ca_file: ca, verify_hostname: false } }
make = -> { Redis.new(host: "127.0.0.1", port: port.to_i, username: "web", password: "Open-Sesame-7", **secure) }
server = make.call

sale = lambda do |token|
  answers = server.multi do |unit|
    unit.call("ROW.ONCE", token)
    unit.call("ROW.REQUIRE", "shop.product:7", "stock", ">=", 1)
    unit.hincrby("shop.product:7", "stock", -1)
  end
  answers ? answers[2] : "null"
end

case scenario
when "round"
  puts "row #{server.hmget("shop.product:7", "name", "price").join(" ")}"
  puts "pipeline #{server.pipelined { |pipe| 100.times { pipe.incr("piped") } }.last}"
  8.times.map { Thread.new { own = make.call; 25.times { own.incr("pooled") } } }.each(&:join)
  puts "pool #{server.get("pooled")}"
  puts "transaction #{%w[t0 t1 t2].map(&sale).join(" ")}"
when "count"
  puts server.hincrby("shop.page:1", "views", 1)
else
  50.times do
    puts sale.call("once")
    break
  rescue Redis::BaseConnectionError
    sleep 0.02
  end
end
