<?php

/** malkusch/lock's Redlock on phpredis: lockproof run --worker 'php malkusch_lock.php' --on local */

use malkusch\lock\exception\LockReleaseException;
use malkusch\lock\mutex\PHPRedisMutex;

require __DIR__ . '/lockproof_worker.php';
require 'Malkusch/Lock/autoload.php'; // with Composer: vendor/autoload.php

class Mutex extends PHPRedisMutex
{
    public function acquire(string $key, int $expire): bool { return parent::acquire($key, $expire); }
    public function release(string $key): bool { return parent::release($key); }
}

class Lease
{
    public function __construct(private Mutex $mutex, private string $key) {}
    public function release() { $this->mutex->release($this->key) || throw new LockReleaseException('a majority did not have it'); }
}

class Locks
{
    public function __construct(private Lockproof\Env $env)
    {
        fmod($env->ttl, 1) && throw new Exception('this lock counts whole seconds: --ttl 1s');
    }
    public function acquire(string $key): ?Lease
    {
        $mutex = new Mutex(array_map($this->env->redis(...), $this->env->nodes), $key, 1);
        return $mutex->acquire($key, (int) $this->env->ttl) ? new Lease($mutex, $key) : null;
    }
}

Lockproof\serve(fn ($env) => new Locks($env), Lease::class, name: 'malkusch/lock', lost: [LockReleaseException::class]);
