<?php

/** redlock-php, Redlock on five servers: lockproof run --worker 'php redlock_php.php' --on local */

require __DIR__ . '/lockproof_worker.php';
require 'RedLock.php'; // with Composer: vendor/autoload.php

class Lease
{
    public function __construct(private RedLock $manager, private array $lock, public string $token, private float $since) {}
    public function release() { $this->manager->unlock($this->lock); }
    public function validity() { return $this->lock['validity'] / 1000 - (microtime(true) - $this->since); }
}

class Locks
{
    private RedLock $manager;
    public function __construct(private Lockproof\Env $env)
    {
        $this->manager = new RedLock($env->nodes, 0, 1); // one try: the kit retries
    }
    public function acquire(string $key): ?Lease
    {
        $servers = array_map($this->env->redis(...), $this->env->nodes); // it does not support passwords, so it gets connections
        (function () use ($servers) { $this->instances = $servers; })->call($this->manager);
        $lock = $this->manager->lock($key, (int) ($this->env->ttl * 1000));
        return $lock ? new Lease($this->manager, $lock, $lock['token'], microtime(true)) : null;
    }
}

Lockproof\serve(fn ($env) => new Locks($env), Lease::class, name: 'redlock-php');
