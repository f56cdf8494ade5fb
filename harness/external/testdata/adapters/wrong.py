import sys
import lockproof_worker
case, tries = sys.argv[1], []
class Lease:
    def release(self): pass
    if case == "validity":
        def validity(self): return None
class Lock:
    belief = {"belief": "from call", "validity": "as told"}.get(case, "from the call")
    def __init__(self, env): pass
    def acquire(self, key):
        tries.append(key)
        if case == "exit":
            sys.exit(7)
        if case == "raises once" and len(tries) == 1:
            raise ValueError("first")
        return {"false": False, "true": True, "validity": Lease()}.get(case)
lockproof_worker.serve(Lock, Lease)
