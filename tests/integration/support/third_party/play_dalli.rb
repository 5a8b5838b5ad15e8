# Plays a round through Ruby's dalli, which speaks the binary dialect; prints one JSON line a step.
# Arguments: port.
require 'dalli'
require 'json'

client = Dalli::Client.new("127.0.0.1:#{ARGV[0]}")

def say(step, *results)
  puts JSON.generate([step, *results.map { |one| one.is_a?(Integer) && one > 1 << 32 ? 'token' : one }])
end

say('set', client.set('k', "Zoë \t\u0001\r\n🐬", 60), client.get('k'))
say('miss', client.get('nothing'))
say('add', client.add('a', 'one'), client.add('a', 'two'), client.get('a'))
say('replace', client.replace('a', 'three'), client.replace('nothing', 'x'), client.get('a'))
say('counter', client.incr('c', 5, nil, 100), client.incr('c', 5), client.decr('c', 1000), client.incr('nothing', 1))
say('raw', client.set('r', 'text', 60, raw: true), client.append('r', '!'), client.prepend('r', '>'),
    client.get('r', raw: true))
say('object', client.set('o', { 'list' => [1, 2.5, nil] }), client.get('o'))
client.multi { 10.times { |i| client.set("m#{i}", "value #{i}") } }
say('multi', client.get_multi('m1', 'm5', 'm10'))
say('cas', client.cas('a') { |value| "#{value}, changed" }, client.get('a'), client.cas('nothing') { |value| value })
say('touch', client.touch('a', 100), client.touch('nothing', 100), client.gat('a', 100))
say('large', client.set('big', 'x' * 500_000), client.get('big').size)
say('delete', client.delete('k'), client.delete('k'), client.get('k'))
