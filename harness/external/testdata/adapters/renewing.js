const { serve } = require('./lockproof_worker.js');
class Lease { release() {} validity() { return 0.05; } extend() { return false; } }
const acquire = () => { process.stdout.write('granted\n'); return new Lease(); };
serve(() => ({ acquire }), { lease: Lease });
