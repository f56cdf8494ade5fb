const { serve } = require('./lockproof_worker.js');
class Lease { release() {} }
const take = async () => { await 1; throw new Error('nothing'); };
serve(() => ({
  async acquire(key) {
    return await take(key);
  } }), { lease: Lease });
