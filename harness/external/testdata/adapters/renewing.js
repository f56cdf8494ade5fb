const { serve } = require('./lockproof_worker.js');
class Lease { release() {} validity() { return 0.05; } }
serve(() => ({ acquire: () => new Lease() }), { lease: Lease, belief: 'as told' });
