<?php
// uniqfifo in PHP over phpredis: one host, which performs the operations of the protocol.
ini_set('display_errors', 'stderr'); // php-cli would print warnings among the answers
const KEY_ENDINGS = ['workflow' => 'workflows', 'event' => 'events', 'index' => 'index'];

// What is sent before the key to make it ready (refused for other types), to enqueue, to dequeue.
$lua = getenv('UNIQFIFO_LUA') ?: __DIR__ . '/../../../impl/uniqfifo/lua';
$script = fn ($name) => ['EVAL', file_get_contents("$lua/$name.lua"), 1]; // no NOSCRIPT to handle
define('STORAGES', [
    'list' => [['LLEN'], $script('list_enqueue'), ['LPOP']],
    'zset' => [$script('migrate'), $script('zset_enqueue'), $script('zset_dequeue')],
    'zset-strict' => [$script('migrate'), $script('zset_strict_enqueue'), $script('zset_dequeue')],
]);
// Which answers of a server mean that it did nothing: a table that all ports share.
$table = json_decode(file_get_contents(__DIR__ . '/../refusals.json'), true);
define('CURE', "; $table[cure]");
define('WRONG_TYPE', "~^{$table['front']}{$table['wrong_type']}~");
define('REFUSED', "~^{$table['front']}(?:" . implode('|', $table['not_executed']) . ')~');

class Failure extends Exception {
    function __construct(public string $kind, string $message) { parent::__construct($message); }
}

class Port {
    private $redis, $url, $prefix, $ready, $add, $take, $started = false;
    function perform(string $op, ?string $queue = null, $id = null, array $request = []): array {
        $result = fn ($step) => (object) $this->perform(...$step); // nothing is {} then, not []
        try {
            if ($queue && !$this->started) throw new Failure('not-started', 'call start() first');
            return match ($op) {
                'hello' => $this->hello($request),
                'start' => $this->start(),
                'enqueue' => ['added' => $this->send($this->add, $queue, self::bytes($id)) === 1],
                'dequeue' => ['id' => self::json($this->send($this->take, $queue))],
                'trace' => ['results' => array_map($result, $request['steps'])],
                'stop' => [],
                default => throw new Failure('unsupported', "no operation $op"),
            };
        } catch (Throwable $error) {
            return ['error' => $error->kind ?? 'other', 'message' => $error->getMessage()];
        }
    }

    private function hello(array $request): array {
        ['redis' => $this->url, 'prefix' => $this->prefix, 'storage' => $storage] = $request;
        $commands = STORAGES[$storage] ?? throw new Failure('unsupported', "no storage $storage");
        [$this->ready, $this->add, $this->take] = $commands;
        return ['storages' => array_keys(STORAGES), 'capabilities' => ['added', 'bytes'],
            'implementation' => ['name' => 'uniqfifo-php', 'version' => '1', 'language' => 'PHP']];
    }

    private function start(): array {
        [$this->started, $failed] = [false, []];
        $this->connect(); // without a server no key needs a try; with one, every key gets it
        foreach (array_keys(KEY_ENDINGS) as $queue) {
            try {
                $this->send($this->ready, $queue);
            } catch (Failure $failure) {
                $failed[$failure->getMessage()] = $failure->kind;
            }
        }
        $worst = array_intersect(['outcome-unknown', 'not-executed', 'wrong-type'], $failed);
        if ($failed) throw new Failure(reset($worst), implode('; ', array_keys($failed)));
        $this->started = true;
        return [];
    }

    private static function json(?string $id): string|array|null { // base64 if it is not UTF-8
        return $id === null || preg_match('//u', $id) ? $id : ['b64' => base64_encode($id)];
    }
    private static function bytes($id): string {
        $bytes = is_array($id) ? base64_decode($id['b64']) : $id;
        if (is_string($bytes) && $bytes !== '') return $bytes;
        throw new Failure('invalid', 'an id is text, and not empty');
    }

    private function connect(): void {
        if ($this->redis?->isConnected()) return;
        $this->redis = new Redis();
        $at = array_map('rawurldecode', parse_url($this->url)) + ['port' => 6379, 'path' => '/0'];
        $login = isset($at['pass']) ? array_filter([$at['user'] ?? '', $at['pass']]) : [];
        $database = (int) substr($at['path'], 1);
        try {
            $this->redis->connect($at['host'], $at['port'], 3.0, null, 0, 3.0); // seconds
            // It never sends again what it has sent; it may connect again before it sends, once.
            $this->redis->setOption(Redis::OPT_MAX_RETRIES, 1);
            if ($login) $this->redis->auth(array_values($login));
            if ($database) $this->redis->select($database) || throw new RedisException('SELECT');
        } catch (RedisException $error) {
            $this->redis = null; // else the next call could run in database 0
            throw new Failure('not-executed', $error->getMessage());
        }
    }

    private function send(array $command, string $queue, string ...$ids): mixed {
        $this->connect(); // until here nothing was sent
        $key = "$this->prefix-" . KEY_ENDINGS[$queue];
        try {
            $this->redis->clearLastError();
            $reply = $this->redis->rawCommand(...$command, ...[$key, ...$ids]);
            $error = $this->redis->getLastError(); // false alone is also how phpredis says nil
        } catch (RedisException $exception) {
            $error = $exception->getMessage();
        }
        if ($error === null) return $reply === false ? null : $reply; // '' and '0' are ids
        if (preg_match(WRONG_TYPE, $error)) throw new Failure('wrong-type', "$key: $error" . CURE);
        if (preg_match(REFUSED, $error)) throw new Failure('not-executed', "$key: $error");
        $this->redis = null; // so that no late answer reaches the next call
        throw new Failure('outcome-unknown', "$key: $error");
    }
}
$port = new Port();
$flags = JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE;
for ($all = ['op' => '']; $all['op'] !== 'stop' && ($line = fgets(STDIN)) !== false;) {
    $all = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
    $answer = $port->perform($all['op'], $all['queue'] ?? null, $all['id'] ?? null, $all);
    $answer += ['seq' => $all['seq'], 'ok' => !isset($answer['error'])];
    fwrite(STDOUT, json_encode($answer, $flags) . "\n");
}
