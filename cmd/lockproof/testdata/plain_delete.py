# A lock as people write it first: SET NX PX, and a release that asks nobody whose key it is.
import os, redis, lockproof_worker

class Lease:
    def __init__(self, client, key):
        self.client, self.key = client, key
    def release(self):
        self.client.delete(self.key)

class Lock:
    name, single_node = "plain-delete", True
    def __init__(self, env):
        (host, port), self.ttl = env.nodes[0], env.ttl
        self.redis = redis.Redis(host, port, password=env.password, socket_timeout=env.node_timeout)
    def acquire(self, key):
        taken = self.redis.set(key, os.urandom(8).hex(), nx=True, px=int(self.ttl * 1000))
        return Lease(self.redis, key) if taken else None

lockproof_worker.serve(Lock, Lease)
