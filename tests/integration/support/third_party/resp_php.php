<?php
// A round by phpredis or Predis: resp_php.php CLIENT PORT CA|- SCENARIO.
[, $client, $port, $ca, $scenario] = $argv;

if ($client === 'predis') {
    spl_autoload_register(function ($name) {
        @include_once str_replace('\\', '/', $name) . '.php';
    });
}

function connect() {
    global $client, $port, $ca;
    $checks = ['cafile' => $ca, 'verify_peer_name' => false];
    if ($client === 'predis') {
        return new Predis\Client(['scheme' => $ca === '-' ? 'tcp' : 'tls', 'host' => '127.0.0.1', 'port' => (int)$port,
            'username' => 'web', 'password' => 'Open-Sesame-7'] + ($ca === '-' ? [] : ['ssl' => $checks]));
    }
    $server = new Redis();
    $ca === '-' ? $server->connect('127.0.0.1', (int)$port, 5.0, null, 0, 5.0)
        : $server->connect('tls://127.0.0.1', (int)$port, 5.0, null, 0, 5.0, ['stream' => $checks]);
    $server->auth(['web', 'Open-Sesame-7']);
    return $server;
}

function sale($server, string $token) {
    global $client;
    $words = [['ROW.ONCE', $token], ['ROW.REQUIRE', 'shop.product:7', 'stock', '>=', 1],
        ['HINCRBY', 'shop.product:7', 'stock', -1]];
    if ($client === 'predis') {
        $server->executeRaw(['MULTI']);
        foreach ($words as $one) $server->executeRaw($one);
        $answers = $server->executeRaw(['EXEC']);
    } else {
        $server->multi();
        foreach ($words as $one) $server->rawCommand(...$one);
        $answers = $server->exec();
    }
    return $answers ? $answers[2] : 'null';
}

$server = connect();
if ($scenario === 'round') {
    echo 'row ', implode(' ', array_values($server->hmget('shop.product:7', ['name', 'price']))), "\n";
    $pipe = $client === 'predis' ? $server->pipeline() : $server->multi(Redis::PIPELINE);
    for ($i = 0; $i < 100; ++$i) $pipe->incr('piped');
    $piped = $client === 'predis' ? $pipe->execute() : $pipe->exec();
    echo "pipeline $piped[99]\n";
    $pool = array_map(fn() => connect(), range(1, 8));
    for ($i = 0; $i < 200; ++$i) $pool[$i % 8]->incr('pooled');
    echo 'pool ', $server->get('pooled'), "\n";
    echo 'transaction ', implode(' ', array_map(fn($token) => sale($server, $token), ['t0', 't1', 't2'])), "\n";
} elseif ($scenario === 'count') {
    echo $server->hincrby('shop.page:1', 'views', 1), "\n";
} else {
    for ($i = 0; $i < 50; ++$i) {
        try {
            $server ??= connect();
            echo sale($server, 'once'), "\n";
            break;
        } catch (Exception $error) {
            $server = null;
        }
    }
}
