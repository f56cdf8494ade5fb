import lockproof_worker
class Lease:
    def release(self): pass
class Lock:
    def __init__(self, env): pass
    def acquire(self, key):
        return self.take(key)
    def take(self, key): raise ValueError("nothing")
lockproof_worker.serve(Lock, Lease)
