"""redis-py's Lock, on one server: lockproof run --worker 'python3 redis_py.py' --on local"""
import redis
from redis.exceptions import LockError

import lockproof_worker


class Lease:
    def __init__(self, lock, ttl):
        self.lock, self.ttl, self.token = lock, ttl, lock.local.token.decode()
        self.release = lock.release

    def extend(self):
        self.lock.extend(self.ttl, replace_ttl=True)


class Lock:
    name, single_node, lost = "redis-py " + redis.__version__, True, (LockError,)

    def __init__(self, env):
        (host, port), self.ttl = env.nodes[0], env.ttl
        self.redis = redis.Redis(host, port, password=env.password, socket_timeout=env.node_timeout)

    def acquire(self, key):
        lock = self.redis.lock(key, timeout=self.ttl, thread_local=False)
        return Lease(lock, self.ttl) if lock.acquire(blocking=False) else None


lockproof_worker.serve(Lock, Lease)
