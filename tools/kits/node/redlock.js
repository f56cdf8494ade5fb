'use strict';

/** Redlock on ioredis: lockproof run --worker 'node redlock.js' --on local. Not run by the tests: neither is in Debian. */
const { default: Redis } = require('ioredis');
const { default: Redlock, ExecutionError } = require('redlock');
const { serve } = require('./lockproof_worker.js');

class Lease {
  constructor(lock, ttl) { Object.assign(this, { lock, ttl, token: lock.value }); }
  release() { return this.lock.release(); }
  async extend() { this.lock = await this.lock.extend(this.ttl); }
  validity() { return (this.lock.expiration - Date.now()) / 1e3; }
}

function make({ nodes, password, nodeTimeout, drift, ttl }) {
  const options = { password, commandTimeout: nodeTimeout * 1e3, maxRetriesPerRequest: 0 };
  const clients = nodes.map(([host, port]) => new Redis({ host, port, ...options }).on('error', () => {}));
  const redlock = new Redlock(clients, { retryCount: 0, driftFactor: drift }).on('error', () => {});
  const acquire = (key) => redlock.acquire([key], ttl * 1e3).then((lock) => new Lease(lock, ttl * 1e3), refused);
  return { acquire };
}

function refused(error) {
  if (error instanceof ExecutionError) return null;
  throw error;
}

serve(make, { lease: Lease, name: 'node-redlock', lost: [ExecutionError] });
