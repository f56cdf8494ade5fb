<?php

/** Symfony's Lock on one server: lockproof run --worker 'php symfony_lock.php' --on local */

use Symfony\Component\Lock\{Exception\LockConflictedException, Key, Lock, Store\RedisStore};

require __DIR__ . '/lockproof_worker.php';
require 'Symfony/Component/Lock/autoload.php'; // with Composer: vendor/autoload.php

class Lease
{
    public function __construct(private Lock $lock) {}
    public function release() { $this->lock->release(); }
    public function extend() { $this->lock->refresh(); }
    public function validity() { return $this->lock->getRemainingLifetime(); }
}

class Locks
{
    public function __construct(private Lockproof\Env $env) {}
    public function acquire(string $key): ?Lease
    {
        $store = new RedisStore($this->env->redis($this->env->nodes[0]), $this->env->ttl);
        $lock = new Lock(new Key($key), $store, $this->env->ttl, false);
        return $lock->acquire() ? new Lease($lock) : null;
    }
}

Lockproof\serve(fn ($env) => new Locks($env), Lease::class, name: 'symfony/lock', singleNode: true,
    lost: [LockConflictedException::class]);
