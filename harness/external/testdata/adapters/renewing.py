import lockproof_worker
class Lease:
    def release(self): pass
    def validity(self): return 0.05
    def extend(self): return False
class Lock:
    def __init__(self, env): pass
    def acquire(self, key): return Lease()
lockproof_worker.serve(Lock, Lease)
