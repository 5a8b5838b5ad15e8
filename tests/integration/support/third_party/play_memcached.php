<?php
// Plays a round through PHP's extension memcached, in text or binary; prints one JSON line a step.
// Arguments: text or binary, port.
$client = new Memcached();
$client->setOption(Memcached::OPT_BINARY_PROTOCOL, $argv[1] === 'binary');
$client->addServer('127.0.0.1', (int)$argv[2]);

function say(string $step, ...$results) {
  echo json_encode([$step, ...$results], JSON_UNESCAPED_UNICODE), "\n";
}

say('set', $client->set('k', "Zoë \t\x01\r\n🐬"), $client->get('k'));
say('miss', $client->get('nothing'), $client->getResultMessage());
say('number', $client->set('n', 41), $client->get('n'), $client->increment('n', 2), $client->decrement('n', 100));
say('add', $client->add('a', 'one'), $client->add('a', 'two'), $client->getResultMessage(), $client->get('a'));
say('replace', $client->replace('a', 'three'), $client->replace('nothing', 'x'), $client->get('a'));
$client->setOption(Memcached::OPT_COMPRESSION, false);
say('append', $client->append('a', '!'), $client->prepend('a', '>'), $client->get('a'));
$client->setOption(Memcached::OPT_COMPRESSION, true);
say('array', $client->set('o', ['list' => [1, 2.5, null]]), $client->get('o'));
say('multi', $client->setMulti(['m1' => 'one', 'm2' => 2, 'm3' => true]), $client->getMulti(['m1', 'm2', 'm3', 'm4']));
$item = $client->get('a', null, Memcached::GET_EXTENDED);
say('cas', $client->cas($item['cas'], 'a', 'four'), $client->cas($item['cas'], 'a', 'five'),
    $client->getResultMessage(), $client->get('a'));
say('touch', $client->touch('a', 100), $client->touch('nothing', 100));
say('large', $client->set('big', str_repeat('x', 500000)), strlen($client->get('big')));
say('delete', $client->delete('k'), $client->delete('k'), $client->get('k'), $client->deleteMulti(['m1', 'm2']));
say('expired', $client->set('gone', 'x', -1), $client->get('gone'));
