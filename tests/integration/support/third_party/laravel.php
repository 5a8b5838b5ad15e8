<?php
// Does what applications do with Laravel's cache, locks, rate limiter and sessions:
// laravel.php CLIENT URL SCENARIO [STEPS].
// Its output is the same with every server that has the commands that Laravel needs.
use Illuminate\Cache\CacheManager;
use Illuminate\Cache\RateLimiter;
use Illuminate\Config\Repository as Config;
use Illuminate\Container\Container;
use Illuminate\Contracts\Cache\LockTimeoutException;
use Illuminate\Queue\RedisQueue;
use Illuminate\Redis\RedisManager;
use Illuminate\Session\SessionManager;

[, $client, $url, $scenario] = $argv;
error_reporting(E_ALL & ~E_DEPRECATED);
set_error_handler(function ($level, $text, $file, $line) {
    if (error_reporting() & $level) throw new ErrorException($text, 0, $level, $file, $line);
});
foreach (['Cache', 'Config', 'Container', 'Redis', 'Session'] as $name) require_once "Illuminate/$name/autoload.php";
// The queue's own autoload.php requires packages that its class for Redis does not need.
spl_autoload_register(function ($name) {
    if (strpos($name, 'Illuminate\\Queue\\') === 0) require_once str_replace('\\', '/', $name) . '.php';
});

// The settings of a new application, whose servers differ only in their URLs.
$app = new Container();
$app->instance('config', new Config([
    'database' => ['redis' => [
        'client' => $client,
        'options' => ['prefix' => 'shop_database_'],
        'default' => ['url' => "$url/0"],
        'cache' => ['url' => "$url/1"],
        // No prefix, because it would change the tables' names in the keys of rows.
        'rows' => ['url' => "$url/0", 'options' => ['prefix' => '']],
    ]],
    'cache' => ['default' => 'redis', 'prefix' => 'shop_cache', 'stores' => [
        'redis' => ['driver' => 'redis', 'connection' => 'cache', 'lock_connection' => 'default'],
    ]],
    'session' => ['driver' => 'redis', 'connection' => 'default', 'lifetime' => 120, 'cookie' => 'shop_session',
        'encrypt' => false],
]));
$app->singleton('redis', fn($app) => new RedisManager($app, $client, $app['config']['database.redis']));
$app->singleton('cache', fn($app) => new CacheManager($app));
$cache = $app['cache']->store();
$redis = $app['redis'];

function tell(string $what, ...$values) {
    echo $what, ' ', implode(' ', array_map('json_encode', $values)), "\n";
}

function comes(callable $condition): bool {
    for ($end = microtime(true) + 10; microtime(true) < $end; usleep(20000)) {
        if ($condition()) return true;
    }
    return false;
}

function play_cache($cache, $redis) {
    tell('get', $cache->get('absent'), $cache->get('absent', 'default'), $cache->has('absent'),
        $cache->missing('absent'));
    tell('put', $cache->put('name', "T\u{e9}apot\0\r\n", 60), $cache->get('name'), $cache->has('name'));
    $kept = ['a' => [1, 2.5, null, true], 'b' => 'x'];
    tell('put array', $cache->put('array', $kept, 60), $cache->get('array') === $kept);
    tell('put number', $cache->put('number', 7, 60), $cache->put('price', 24.9, 60),
        $cache->get('number'), $cache->get('price'));
    tell('put large', $cache->put('large', str_repeat('0123456789', 100000), 60), md5($cache->get('large')));
    tell('put over', $cache->put('name', 'other', 60), $cache->get('name'));
    tell('put many', $cache->putMany(['one' => 1, 'two' => 'zwei', 'three' => [3]], 60));
    tell('many', $cache->many(['one', 'two', 'absent', 'three']), $cache->getMultiple(['two', 'absent'], 'default'));
    tell('add', $cache->add('added', 'first', 60), $cache->add('added', 'second', 60), $cache->get('added'));
    tell('add for ever', $cache->add('kept', 'first'), $cache->add('kept', 'second'), $cache->get('kept'));
    tell('count', $cache->increment('views'), $cache->increment('views', 10), $cache->decrement('views'),
        $cache->decrement('views', 5), $cache->get('views'));
    tell('count of number', $cache->increment('number'), $cache->get('number'));
    tell('for ever', $cache->forever('ever', 'here'), $cache->get('ever'));
    $times = 0;
    $made = function () use (&$times) { return 'made ' . ++$times; };
    tell('remember', $cache->remember('made', 60, $made), $cache->remember('made', 60, $made),
        $cache->rememberForever('made ever', $made), $cache->sear('made ever', $made), $times);
    tell('pull', $cache->pull('added'), $cache->pull('added'), $cache->has('added'));
    tell('forget', $cache->forget('ever'), $cache->forget('ever'), $cache->get('ever'));
    tell('delete many', $cache->deleteMultiple(['one', 'two']), $cache->many(['one', 'two', 'three']));
    tell('no time left', $cache->put('three', 'x', 0), $cache->has('three'));
    $connection = $redis->connection('cache');
    $lives = fn($key) => $connection->ttl("shop_cache:$key");
    tell('lives', $lives('name') > 50, $lives('name') <= 60, $lives('made ever'), $lives('absent'));
    $cache->put('short', 'x', 2);
    $cache->add('short added', 'x', 2);
    tell('short', $cache->many(['short', 'short added']));
    tell('expires', comes(fn() => $cache->missing('short') && $cache->missing('short added')),
        $cache->add('short', 'again', 60), $cache->get('short'));
    tell('typed wrongly', $cache->put('text', 'x', 60), outcome(fn() => $cache->increment('text')));
    $other = $redis->connection('default');
    $other->set('elsewhere', 'kept');
    tell('flush', $cache->flush(), $cache->many(['name', 'views', 'kept']), $other->get('elsewhere'));
}

// phpredis returns false if Predis throws.
function outcome(callable $work) {
    try {
        return $work() === false ? 'refused' : 'done';
    } catch (Exception $error) {
        return 'refused';
    }
}

function play_locks($cache) {
    $lock = $cache->lock('job', 60);
    $other = $cache->lock('job', 60);
    tell('lock', $lock->get(), $other->get(), $lock->get(), $lock->owner() !== $other->owner());
    tell('wrong owner', $other->release(), $other->get());
    tell('release', $lock->release(), $lock->release(), $other->get(), $other->release());
    $ran = $cache->lock('job', 60)->get(fn() => $cache->lock('job', 60)->get() ? 'twice' : 'alone');
    tell('lock around', $ran, $cache->lock('job', 60)->get());
    tell('force', $cache->lock('job')->forceRelease(), $lock->get());
    tell('restore', $cache->restoreLock('job', 'nobody')->release(),
        $cache->restoreLock('job', $lock->owner())->release());
    $endless = $cache->lock('endless');
    tell('without end', $endless->get(), $cache->lock('endless')->get(), $endless->release(), $endless->release());
    tell('short lock', $cache->lock('short', 2)->get(), $cache->lock('short', 60)->get());
    $waiting = $cache->lock('short', 60);
    tell('block', $waiting->block(10), $waiting->release());
    $lock->get();
    try {
        tell('block in vain', $other->block(1));
    } catch (LockTimeoutException $error) {
        tell('block in vain', get_class($error));
    }
    tell('block around', $cache->lock('another', 60)->block(5, fn() => 'ran'), $lock->release());
}

function play_limiter($cache) {
    $limiter = new RateLimiter($cache);
    $told = [];
    for ($i = 0; $i < 5; ++$i) {
        $told[] = [$limiter->tooManyAttempts('login', 3), $limiter->remaining('login', 3)];
        if ($i < 3) $told[] = $limiter->hit('login', 60);
    }
    tell('limit', $told);
    tell('limit lives', $limiter->availableIn('login') > 50, $limiter->availableIn('login') <= 60);
    $limiter->clear('login');
    tell('limit cleared', $limiter->tooManyAttempts('login', 3), $limiter->remaining('login', 3),
        $limiter->hit('login', 60));
    $attempt = fn() => $limiter->attempt('send', 2, fn() => 'sent', 2);
    tell('attempts', $attempt(), $attempt(), $attempt());
    tell('attempts again', comes(fn() => $attempt() === 'sent'));
}

function play_sessions($app) {
    $open = function ($id = null) use ($app) {
        // A new manager for each request, as in a new process.
        $session = (new SessionManager($app))->driver();
        $session->setId($id);
        $session->start();
        return $session;
    };
    $first = $open();
    $token = $first->token();
    $first->put('user', ['id' => 12, 'name' => "Y\u{f4}ko"]);
    $first->push('cart', 'shop.product:7');
    $first->flash('told', 'once');
    $first->save();
    $second = $open($first->getId());
    tell('session', $second->get('user'), $second->get('cart'), $second->get('told'), $second->token() === $token);
    $second->forget('cart');
    $second->save();
    $third = $open($first->getId());
    tell('session later', $third->get('user.id'), $third->has('cart'), $third->get('told'));
    $keys = $app['redis']->connection('default');
    $lives = $keys->ttl('shop_cache:' . $first->getId());
    tell('session lives', $lives > 7100, $lives <= 7200);
    tell('regenerate', $third->regenerate(true), $third->getId() !== $first->getId(),
        $open($first->getId())->has('user'));
    $third->save();
    tell('regenerated', $open($third->getId())->get('user.id'));
    $app['cache']->store()->flush();
    tell('flushed cache', $open($third->getId())->get('user.id'));
    tell('destroy', $third->getHandler()->destroy($third->getId()), $third->getHandler()->read($third->getId()),
        $third->getHandler()->destroy($third->getId()));
    $last = $open($third->getId());
    tell('invalidate', $last->has('user'), $last->invalidate(), $last->all() === []);
}

function play_rows($redis) {
    $rows = $redis->connection('rows');
    tell('row', $rows->hmset('shop.page:1', ['title' => 'Tea', 'views' => 5]) == true, $rows->hgetall('shop.page:1'));
    tell('row read', $rows->hmget('shop.page:1', ['views', 'title']), $rows->hget('shop.page:1', 'title'),
        $rows->exists('shop.page:1'), $rows->exists('shop.page:2'));
    tell('row count', $rows->hincrby('shop.page:1', 'views', 3));
    tell('transaction', $rows->transaction(function ($work) {
        $work->hincrby('shop.page:1', 'views', 1);
        $work->hget('shop.page:1', 'views');
    }));
    $answers = $rows->pipeline(function ($work) {
        for ($i = 0; $i < 100; ++$i) $work->incr('piped');
    });
    tell('pipeline', count($answers), end($answers), $rows->del('piped'));
    tell('row deleted', $rows->del('shop.page:1'), $rows->hgetall('shop.page:1'));
}

// Counts in several processes: steps are lost if the lock does not keep the processes apart.
function play_contended($cache, int $steps) {
    $limiter = new RateLimiter($cache);
    for ($i = 0; $i < $steps; ++$i) {
        $cache->lock('contended', 60)->betweenBlockedAttemptsSleepFor(3)->block(60, function () use ($cache) {
            $count = $cache->get('counted', 0);
            usleep(500);
            $cache->forever('counted', $count + 1);
        });
        $cache->increment('incremented');
        $limiter->hit('together', 600);
    }
}

function play_more($cache, $redis) {
    $say = function ($what, callable $work) {
        try {
            tell($what, $work());
        } catch (Exception $error) {
            echo $what, ' ', trim($error->getMessage()), "\n";
        }
    };
    $say('tags', fn() => $cache->tags(['a', 'b'])->put('tagged', 'x', 60));
    $say('throttle', fn() => $redis->throttle('page')->allow(2)->every(60)->then(fn() => 'ran', fn() => 'limited'));
    $say('funnel', fn() => $redis->funnel('page')->limit(2)->then(fn() => 'ran', fn() => 'limited'));
    $say('queue', fn() => strlen((new RedisQueue($redis))->pushRaw('{"id":"1"}')));
    $say('publish', fn() => $redis->publish('news', 'x'));
    $say('flush of tags', fn() => $cache->tags(['a'])->flush());
}

if ($scenario === 'play') {
    play_cache($cache, $redis);
    play_locks($cache);
    play_limiter($cache);
    play_sessions($app);
    play_rows($redis);
} elseif ($scenario === 'contended') {
    play_contended($cache, (int)$argv[4]);
} elseif ($scenario === 'counted') {
    tell('counted', $cache->get('counted'), $cache->get('incremented'),
        (new RateLimiter($cache))->attempts('together'));
} else {
    play_more($cache, $redis);
}
