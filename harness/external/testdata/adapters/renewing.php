<?php
require __DIR__ . '/lockproof_worker.php';
class Lease {
    function release() {}
    function validity() { return 0.05; }
    function extend() { return false; }
}
class Locks {
    function acquire($key) { return new Lease; }
}
Lockproof\serve(fn ($env) => new Locks, Lease::class);
