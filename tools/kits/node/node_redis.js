'use strict';

/** The lock of Redis's own documents on one server, on node-redis: lockproof run --worker 'node node_redis.js' --on local */
const { randomUUID } = require('crypto');
const { createClient } = require('redis');
const { serve } = require('./lockproof_worker.js');

const IF_OURS = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end ";
class Lost extends Error {}

class Lease {
  constructor(client, key, token, ttl) { Object.assign(this, { client, key, token, ttl }); }
  async ifOurs(script) {
    const redis = await this.client();
    if (!(await redis.eval(IF_OURS + script, { keys: [this.key], arguments: [this.token, this.ttl] }))) throw new Lost();
  }
  release() { return this.ifOurs("return redis.call('DEL', KEYS[1])"); }
  extend() { return this.ifOurs("return redis.call('PEXPIRE', KEYS[1], ARGV[2])"); }
}

function make({ nodes: [[host, port]], password, ttl }) {
  const socket = { host, port, reconnectStrategy: () => new Error('a new client connects anew') };
  let redis;
  const client = async () => {
    if (redis?.isOpen) return redis;
    redis = createClient({ socket, password }).on('error', () => {});
    return redis.connect().then(() => redis);
  };
  const acquire = async (key, token = randomUUID()) =>
    (await (await client()).set(key, token, { NX: true, PX: ttl * 1e3 })) && new Lease(client, key, token, String(ttl * 1e3));
  return { acquire };
}

serve(make, { lease: Lease, name: 'node-redis', singleNode: true, lost: [Lost] });
