<?php

/**
 * One client of a lock under test, for `lockproof run --worker 'php my_lock.php' --on local`.
 *
 * Copy this file beside your adapter; it needs PHP 8.1 and nothing else. The adapter makes
 * locks and calls serve(), below; symfony_lock.php is one. A lock has
 *
 *   acquire($key)   one try, which does not wait for the holder: a lease, or null if the lock is
 *                   held. This file does the retries, the delays and the cancellation.
 *
 * A lease has release(), and may have extend() (by the TTL from now; it throws, or returns false or
 * 0, if it could not), validity() (its remaining seconds), and the public properties $token (the
 * value at the key) and $fence (a fencing token, from 1).
 *
 * PHP has no threads: while the library is in a call, no command is read and no stall is seen.
 *
 * The protocol is in docs/client-protocol.md.
 */

namespace Lockproof;

const LONG = 3600e3; // a belief without an end, in seconds
const TOGETHER = 100_000; // the greatest gap between two related readings, in nanoseconds

/**
 * Serves as one client of the lock until its input ends.
 *
 * @param callable $make   makes the lock for an Env
 * @param string   $lease  the class of its leases
 * @param string   $belief 'from the call' of the try that was granted, 'from the return' of it, 'until
 *                         released'; 'as told', if the lease has validity(). Default: as told if it has;
 *                         until released if the lock renews its key; else from the return
 * @param string[] $lost   the exceptions for a lost lease
 * @param string[] $lacks  the reasons for no extend, watch, fence, clock or cancel
 */
function serve(callable $make, string $lease, string $name = '', bool $singleNode = false,
    string $belief = '', array $lost = [], array $lacks = []): never
{
    ini_set('display_errors', 'stderr');
    ob_start(fn ($printed) => fwrite(STDERR, $printed) ? '' : '', 1); // the lock's output is not a message
    $lines = new Lines();
    try {
        $setup = $lines->next();
        $client = new Client($make(new Env($setup)), $setup, $lines, $belief ?: undeclared($lease, $setup), $lost);
        $client->hello($lease, $name ?: basename($_SERVER['argv'][0]), $singleNode, $lacks);
        $client->workOff();
    } catch (NotUnderstood $e) {
        say(['error' => "line $lines->number: {$e->getMessage()}"]);
        exit(1);
    }
    exit(0);
}

function undeclared(string $lease, array $setup): string
{
    return method_exists($lease, 'validity') ? 'as told' : (empty($setup['renews']) ? '' : 'renews');
}

/** The adapter's line in the trace of an exception, in brackets. */
function place(\Throwable $error): string
{
    $found = '';
    foreach ([['file' => $error->getFile(), 'line' => $error->getLine()], ...$error->getTrace()] as $frame) {
        if (($frame['file'] ?? '') === __FILE__) {
            break;
        }
        $found = isset($frame['file']) ? sprintf(' (%s:%d)', basename($frame['file']), $frame['line']) : $found;
    }
    return $found;
}

/** The parameters of a lock. Times are in seconds. */
class Env
{
    public float $ttl, $nodeTimeout;
    /** @var array<array{string, int}> each with host and port */
    public array $nodes;
    public ?string $password;

    public function __construct(public array $setup)
    {
        ['ttl' => $ttl, 'node_timeout' => $timeout] = $setup['options'];
        [$this->ttl, $this->nodeTimeout] = [$ttl / 1e9, $timeout / 1e9];
        $this->nodes = array_map(address(...), $setup['nodes']);
        $this->password = $setup['password'] ?? null;
    }

    /**
     * phpredis on one of the nodes, for one lease, as in a request of PHP: phpredis 5.3 can mistake a late reply for
     * that to its next command. Calls to a node that is unreachable now fail later.
     */
    public function redis(array $node): \Redis
    {
        $redis = new \Redis();
        try {
            $redis->connect($node[0], $node[1], $this->nodeTimeout, null, 0, $this->nodeTimeout);
            $this->password && $redis->auth($this->password);
        } catch (\RedisException) {
        }
        return $redis;
    }
}

/** @return array{string, int} */
function address(string $text): array
{
    $colon = strrpos($text, ':');
    return [trim(substr($text, 0, $colon), '[]'), (int) substr($text, $colon + 1)];
}

function say(array $message): void
{
    fwrite(STDOUT, json_encode($message, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
}

/** Seconds of a monotonic clock. */
function now(): float
{
    return hrtime(true) / 1e9;
}

function around(int $mean): float
{
    return $mean / 1e9 * (0.5 + mt_rand() / mt_getrandmax());
}

class NotUnderstood extends \Exception {}
class ErrorReply extends \Exception {}
class Unreached extends \Exception {} // nothing was sent

/** The lines of the input, as objects. */
class Lines
{
    public int $number = 0;
    public bool $ended = false;
    private string $rest = '';

    /** The next one if it arrives within this many seconds. */
    public function next(float $within = LONG): ?array
    {
        while (($end = strpos($this->rest, "\n")) === false) {
            [$read, $none] = [[STDIN], null];
            if ($this->ended || !stream_select($read, $none, $none, (int) $within, (int) (fmod($within, 1) * 1e6))) {
                return null;
            }
            $more = fread(STDIN, 65536);
            $this->ended = $more === '' || $more === false;
            $this->rest .= $more;
        }
        $this->number++;
        [$line, $this->rest] = [substr($this->rest, 0, $end), substr($this->rest, $end + 1)];
        return json_decode($line, true) ?? throw new NotUnderstood('no JSON object');
    }
}

/** The data that the lock guards: a register for each key, on a separate server. */
class Store
{
    private const FENCED_READ = <<<'LUA'
        if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return false end
        redis.call('SET', KEYS[2], ARGV[1])
        return redis.call('GET', KEYS[1]) or ''
        LUA;
    private const FENCED_WRITE = <<<'LUA'
        if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return 0 end
        redis.call('SET', KEYS[2], ARGV[1])
        redis.call('SET', KEYS[1], ARGV[2])
        return 1
        LUA;
    private const COMPARE_WRITE = <<<'LUA'
        if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[1], ARGV[2])
        return 1
        LUA;
    private $socket = null;

    public function __construct(private array $setup) {}

    /** The current version; null: the store has seen a newer fencing token. */
    public function read(string $key, int $fence, float $timeout): ?string
    {
        if ($fence && ($this->setup['fenced_store'] ?? false) && !($this->setup['reads_unfenced'] ?? false)) {
            return $this->ask($timeout, 'EVAL', self::FENCED_READ, 2, "value:$key", "fence:$key", $fence);
        }
        return $this->ask($timeout, 'GET', "value:$key") ?? '';
    }

    /** Whether the store accepted the write. */
    public function write(string $key, string $value, string $base, int $fence, float $timeout): bool
    {
        if ($this->setup['fenced_store'] ?? false) {
            return $this->ask($timeout, 'EVAL', self::FENCED_WRITE, 2, "value:$key", "fence:$key", $fence, $value) === 1;
        }
        if ($this->setup['compare_store'] ?? false) {
            return $this->ask($timeout, 'EVAL', self::COMPARE_WRITE, 1, "value:$key", $base, $value) === 1;
        }
        return $this->ask($timeout, 'SET', "value:$key", $value) === 'OK';
    }

    private function ask(float $timeout, string|int ...$words): string|int|null
    {
        try {
            $this->socket ??= $this->connect($timeout);
            return $this->call($timeout, ...$words);
        } catch (\RuntimeException $e) {
            $this->socket = null; // its next reply would be to this command
            throw $e;
        }
    }

    private function connect(float $timeout)
    {
        try {
            $at = 'tcp://' . $this->setup['store'];
            $this->socket = @stream_socket_client($at, $errno, $why, $timeout) ?: throw new \RuntimeException($why);
            if ($this->setup['password'] ?? '') {
                $this->call($timeout, 'AUTH', $this->setup['password']);
            }
            return $this->socket;
        } catch (\RuntimeException|ErrorReply $e) {
            $this->socket = null;
            throw new Unreached($e->getMessage());
        }
    }

    private function call(float $timeout, string|int ...$words): string|int|null
    {
        stream_set_timeout($this->socket, (int) $timeout, (int) (fmod($timeout, 1) * 1e6));
        $request = '*' . count($words) . "\r\n";
        foreach ($words as $word) {
            $request .= '$' . strlen($word) . "\r\n$word\r\n";
        }
        @fwrite($this->socket, $request);
        $line = @fgets($this->socket);
        if (!str_ends_with($line ?: '', "\r\n")) {
            throw new \RuntimeException('the store has not answered');
        }
        [$kind, $rest] = [$line[0], substr($line, 1, -2)];
        return match (true) {
            $kind === '-' => throw new ErrorReply($rest),
            $kind === ':' => (int) $rest,
            $kind === '$' && $rest === '-1' => null,
            $kind === '$' => substr(stream_get_contents($this->socket, $rest + 2), 0, -2),
            default => $rest,
        };
    }
}

/** One lease with the client's state in it. */
class HeldLease
{
    public string $seen = '';
    public bool $over = false;
    public bool $past = false; // it was released, or its key requested again

    public function __construct(public object $lease, public int $id, public string $key, public float $until) {}

    public function event(): array
    {
        $told = ['token' => $this->lease->token ?? '', 'fence' => $this->lease->fence ?? 0];
        return array_filter(['lease' => $this->id, 'key' => $this->key] + $told);
    }
}

/** One client: its queue of commands and its messages. */
class Client
{
    private Store $store;
    private array $options;
    private array $queue = [];
    private array $heldLeases = [];
    private ?HeldLease $latest = null;
    private int $id = 0, $written = 0, $exit = 0;
    private int $loops = 0, $stopped = 0; // running loops, and the line that stops those before it
    private bool $busy = false, $cancelled = false, $ending = false;

    public function __construct(
        private object $lock,
        private array $setup,
        private Lines $lines,
        private string $belief,
        private array $lost,
    ) {
        [$this->options, $this->store] = [$setup['options'], new Store($setup)];
        mt_srand(crc32("$setup[seed] $setup[index]"));
    }

    // Messages.

    public function hello(string $lease, string $name, bool $singleNode, array $lacks): void
    {
        $has = ['extends' => method_exists($lease, 'extend'), 'fencing' => property_exists($lease, 'fence'), 'single_node' => $singleNode];
        $lacks += ['threads' => 'PHP has no threads: one process does one thing at a time', 'watch' => 'its adapter has no watchdog']
            + ['clock' => "it reads the machine's own clock, which cannot be set for one client"]
            + ($has['extends'] ? [] : ['extend' => 'its leases have no extend()'])
            + ($has['fencing'] ? [] : ['fence' => 'its leases have no fencing token']);
        $belief = [
            '' => 'for a TTL from the return of Acquire (nothing else is declared)',
            'renews' => 'until released (it renews itself)',
            'from the call' => 'for a TTL from the call of Acquire (declared)',
            'from the return' => 'for a TTL from the return of Acquire (declared)',
            'until released' => 'until released (declared)',
            'as told' => '',
        ][$this->belief];
        say(['lock' => array_filter(['name' => $name, 'belief' => $belief] + $has) + ['lacks' => $lacks]]);
    }

    private function true(): int
    {
        return hrtime(true) - $this->setup['epoch'];
    }

    /** Sends an event with its measurements and the time of both. */
    private function record(array $event, ?callable $measure = null): void
    {
        for ($i = 0; $i < 100; $i++) {
            $before = $this->true();
            $event = ($measure ? $measure() : []) + $event;
            $event['time'] = $this->true();
            if ($event['time'] - $before <= TOGETHER) {
                break;
            }
        }
        say(['event' => $event + ['process' => $this->setup['name']]]);
    }

    private function begin(string $op, ?HeldLease $heldLease = null, array $more = []): array
    {
        $event = ['op' => $op, 'id' => ++$this->id] + ($heldLease?->event() ?? []) + $more;
        $this->record(['type' => 'invoke'] + $event);
        return $event;
    }

    private function end(array $event, string $outcome, string $reason = '', ?\Throwable $error = null, array $more = []): string
    {
        $told = array_filter(['reason' => $reason, 'error' => $error ? get_class($error) . ': ' . $error->getMessage() . place($error) : '']);
        $this->record(['type' => $outcome] + $told + $more + $event);
        return $outcome;
    }

    private function granted(array $event, HeldLease $heldLease): string
    {
        $this->record(['type' => 'ok'] + $heldLease->event() + $event, fn () => ['validity' => $this->validity($heldLease)]);
        return 'ok';
    }

    // Waiting.

    /** Waits until over() holds, obeys immediate commands meanwhile, and reports stalls. */
    private function wait(float $seconds, ?callable $over = null): void
    {
        $until = now() + $seconds;
        $limit = $this->setup['stall_limit'] ?? 0;
        $before = $this->true();
        do {
            $slice = max(0, min($until - now(), max($limit / 4e9, 0.001), 0.025));
            $command = $this->lines->next($slice);
            $now = $this->true();
            [$late, $before] = [$now - $before - (int) ($slice * 1e9), $now]; // without a gap between slices
            if ($limit && $late >= $limit) {
                $this->record(['type' => 'stall', 'late' => $late]);
            }
            if ($command) {
                $this->obey($command);
            }
            $this->ending = $this->ending || $this->lines->ended;
        } while ($command || now() < $until && !$this->ending && !($over && $over()));
    }

    public function workOff(): void
    {
        while (!$this->ending) {
            $command = array_shift($this->queue);
            if (!$command) {
                $this->wait(INF, fn () => $this->queue);
                continue;
            }
            [$this->busy, $this->cancelled] = [true, false];
            try {
                $done = ['outcome' => $this->operate($command)];
            } catch (\InvalidArgumentException $e) {
                $done = ['error' => $e->getMessage()];
            }
            $this->busy = false;
            say(array_filter(['done' => $command['serial']] + $done));
            $this->wait(0);
        }
        foreach ($this->queue as $command) {
            say(['done' => $command['serial'], 'error' => "$command[do]: dropped: the client is closing"]);
        }
        if ($this->exit) {
            say(['done' => $this->exit]);
        }
    }

    private function obey(array $command): void
    {
        $wrong = '';
        switch ($command['do'] ?? '') {
            case 'exit':
                [$this->ending, $this->cancelled, $this->exit] = [true, true, $command['serial']];
                return;
            case 'stop':
                $wrong = $this->loops ? '' : 'stop: no loop is running';
                $this->stopped = $this->lines->number;
                break;
            case 'cancel':
                $wrong = $this->busy ? '' : 'cancel: no operation is under way';
                $this->cancelled = $this->busy;
                break;
            case 'clock':
                $wrong = "clock: this lock reads the machine's own";
                break;
            case 'acquire': case 'extend': case 'release': case 'check': case 'read': case 'write': case 'watch': case 'loop':
                $this->loops += (int) ($command['do'] === 'loop');
                $this->queue[] = $command + ['line' => $this->lines->number];
                return;
            default:
                throw new NotUnderstood('there is no command ' . json_encode($command['do'] ?? null));
        }
        say(array_filter(['done' => $command['serial'], 'error' => $wrong]));
    }

    // Operations.

    private function operate(array $command): ?string
    {
        ['do' => $do, 'key' => $key, 'within' => $within] = $command + ['key' => '', 'within' => 0];
        $within = $within / 1e9;
        if ($do === 'acquire') {
            return $this->acquire($key, $within ?: LONG);
        }
        if ($do === 'loop') {
            $this->loop($command['loop'], $command['line']);
            return null;
        }
        $heldLease = $key ? $this->heldLeases[$key] ?? null : $this->latest;
        if (!empty($command['if_held']) && (!$heldLease || $heldLease->past)) {
            return null;
        }
        if ($do === 'read' && ($key || $heldLease)) {
            return $this->read($key, $heldLease, $within);
        }
        if (!$heldLease) {
            throw new \InvalidArgumentException("$do: the client has had no lease so far: an acquire that succeeds must come first");
        }
        return match (true) {
            $do === 'extend' && method_exists($heldLease->lease, 'extend') => $this->extend($heldLease),
            $do === 'release' => $this->release($heldLease),
            $do === 'check' => $this->check($heldLease),
            $do === 'write' => $this->write($heldLease, $within),
            default => throw new \InvalidArgumentException("$do: this lock does not"),
        };
    }

    private function acquire(string $key, float $within): string
    {
        if ($earlier = $this->heldLeases[$key] ?? null) {
            $earlier->past = true;
        }
        [$event, $deadline, $latest] = [$this->begin('acquire', null, ['key' => $key]), now() + $within, null];
        for ($tries = 1;; $tries++) {
            [$called, $lease, $error] = [now(), null, null];
            try {
                $lease = $this->lock->acquire(($this->setup['key_prefix'] ?? '') . $key);
            } catch (\Throwable $e) {
                $error = $e;
            }
            $this->wait(0);
            if ($lease && !$this->cancelled) {
                $this->latest = $this->heldLeases[$key] = new HeldLease($lease, $event['id'], $key, $this->until($called));
                return $this->granted($event, $this->latest);
            }
            try {
                $lease?->release(); // its caller has given up
            } catch (\Throwable $e) {
                $error = $e;
            }
            $latest = $error ?? $latest;
            $pause = mt_rand($this->options['retry_min'], $this->options['retry_max']) / 1e9;
            $over = now() + $pause >= $deadline || $tries === ($this->options['tries'] ?? 0);
            if (!$over && !$this->cancelled) {
                $this->wait($pause, fn () => $this->cancelled);
            }
            if ($over || $this->cancelled || $this->ending) {
                return $this->end($event, 'fail', $this->cancelled || $this->ending ? 'cancelled' : ($error ? 'other' : 'held'), $latest);
            }
        }
    }

    private function until(float $called): float
    {
        $ttl = $this->options['ttl'] / 1e9;
        return match ($this->belief) {
            'until released', 'renews' => $called + LONG,
            'from the call' => $called + $ttl,
            default => now() + $ttl,
        };
    }

    /** In nanoseconds. */
    private function validity(HeldLease $heldLease): int
    {
        return (int) max(0, 1e9 * ($this->belief === 'as told' ? $heldLease->lease->validity() : $heldLease->until - now()));
    }

    private function isLost(\Throwable $e): bool
    {
        return (bool) array_filter($this->lost, fn ($class) => $e instanceof $class);
    }

    private function extend(HeldLease $heldLease): string
    {
        [$event, $called] = [$this->begin('extend', $heldLease), now()];
        try {
            $said = $heldLease->lease->extend();
            if ($said === false || $said === 0) {
                throw new \RuntimeException('extend() returned ' . json_encode($said));
            }
        } catch (\Throwable $e) {
            return $this->end($event, 'fail', $this->isLost($e) ? 'lost' : 'other', $e);
        }
        $heldLease->until = $this->until($called);
        return $this->validity($heldLease) > 0 ? $this->granted($event, $heldLease) : $this->end($event, 'fail', 'too-late');
    }

    private function release(HeldLease $heldLease): string
    {
        $event = $this->begin('release', $heldLease);
        $heldLease->past = true;
        try {
            $heldLease->lease->release();
        } catch (\Throwable $e) {
            return $this->isLost($e) ? $this->end($event, 'fail', 'lost', $e) : $this->end($event, 'info', 'other', $e);
        }
        return $this->end($event, 'ok');
    }

    private function check(HeldLease $heldLease): string
    {
        $event = $this->begin('check', $heldLease);
        if ($this->validity($heldLease) > 0) {
            return $this->end($event, 'ok');
        }
        $heldLease->over = true;
        return $this->end($event, 'fail', 'expired');
    }

    private function timeout(float $within): float
    {
        $longest = max(5.0, 3 * $this->options['ttl'] / 1e9);
        return $within ? min($within, $longest) : $longest;
    }

    private function read(string $key, ?HeldLease $heldLease, float $within): string
    {
        $event = $this->begin('read', $heldLease, ['key' => $key]);
        try {
            $value = $this->store->read($event['key'], $event['fence'] ?? 0, $this->timeout($within));
        } catch (\Throwable $e) {
            return $this->end($event, 'fail', 'other', $e);
        }
        if ($value === null) {
            return $this->end($event, 'fail', 'stale');
        }
        if ($heldLease) {
            $heldLease->seen = $value;
        }
        return $this->end($event, 'ok', '', null, ['value' => $value]);
    }

    private function write(HeldLease $heldLease, float $within): string
    {
        $value = $this->setup['name'] . '.' . ++$this->written;
        $event = $this->begin('write', $heldLease, ['value' => $value, 'base' => $heldLease->seen]);
        if ($heldLease->over) {
            return $this->end($event, 'fail', 'expired');
        }
        try {
            $taken = $this->store->write($heldLease->key, $value, $heldLease->seen, $event['fence'] ?? 0, $this->timeout($within));
        } catch (Unreached|ErrorReply $e) {
            return $this->end($event, 'fail', 'other', $e);
        } catch (\Throwable $e) {
            return $this->end($event, 'info', 'other', $e);
        }
        if (!$taken) {
            return $this->end($event, 'fail', 'stale');
        }
        $heldLease->seen = $value;
        return $this->end($event, 'ok');
    }

    private function loop(array $loop, int $line): void
    {
        $over = fn () => $this->stopped > $line || $this->ending;
        while (!$over()) {
            [$key, $pause, $this->cancelled] = [$loop['keys'][array_rand($loop['keys'])], around($loop['think']), false];
            if ($this->acquire($key, 10 * $this->options['ttl'] / 1e9) === 'ok') {
                $this->round($key, $this->latest, around($loop['hold']));
            } else {
                $pause += $this->options['retry_min'] / 1e9;
            }
            $this->wait($pause, $over);
        }
        $this->loops--;
    }

    private function round(string $key, HeldLease $heldLease, float $hold): void
    {
        $read = $this->read($key, $heldLease, 0);
        $this->wait(max(0, min($hold, $this->validity($heldLease) / 1e9)));
        if ($this->ending) {
            return;
        }
        if ($this->check($heldLease) === 'ok' && $read === 'ok') {
            $this->write($heldLease, 0);
        }
        $this->release($heldLease);
    }
}
