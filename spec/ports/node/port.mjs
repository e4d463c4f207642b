// uniqfifo in Node.js over ioredis. Each operation of the protocol is a method of the same name.
import { isUtf8 } from 'node:buffer';
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';

const PORTS = fileURLToPath(new URL('..', import.meta.url));
const LUA = process.env.UNIQFIFO_LUA ?? `${PORTS}../../impl/uniqfifo/lua`;
const SCRIPT = { list: 'list_enqueue', zset: 'zset_enqueue', 'zset-strict': 'zset_strict_enqueue' };
const KEY_ENDINGS = { workflow: 'workflows', event: 'events', index: 'index' };
const OPERATIONS = /^(hello|start|enqueue|dequeue|trace|stop)$/;
const load = (file) => ({ numberOfKeys: 1, lua: readFileSync(`${LUA}/${file}`, 'utf8') });
const OPTIONS = {
  // Left alone, ioredis connects again and sends again what had no answer yet, and a dequeue that
  // ran twice eats an id. So a connection serves until it breaks, and the next call makes another.
  ...{ retryStrategy: null, autoResendUnfulfilledCommands: false, disableClientInfo: true },
  ...{ lazyConnect: true, enableReadyCheck: false, connectTimeout: 3000, commandTimeout: 3000 },
  scripts: Object.fromEntries(readdirSync(LUA).map((file) => [file, load(file)])),
};
// Which answers of a server mean that it did nothing: a table that all ports share.
const { front, wrong_type, cure, not_executed } = JSON.parse(readFileSync(`${PORTS}refusals.json`));
const REFUSAL = new RegExp(`^${front}(?:(${wrong_type})|${not_executed.join('|')})`);
const failure = (kind, message) => Object.assign(new Error(message), { kind });
// Ids are text in JSON; one that is not UTF-8 goes as base64. Half a surrogate pair is no text.
export const toJson = (id) => id && (isUtf8(id) ? `${id}` : { b64: id.toString('base64') });
export const toBytes = (id) => {
  const bytes = typeof id === 'string' ? Buffer.from(id) : Buffer.from(id?.b64 ?? '', 'base64');
  if (bytes.length && (id.b64 || bytes.toString() === id)) return bytes;
  throw failure('invalid', 'an id is text, and not empty');
};

export class Port {
  hello({ redis, prefix, storage }) {
    if (!SCRIPT[storage]) throw failure('unsupported', `no storage ${storage}`);
    Object.assign(this, { url: redis, prefix, storage });
    const implementation = { name: 'uniqfifo-node', version: '1', language: 'JavaScript' };
    return { implementation, storages: Object.keys(SCRIPT), capabilities: ['added', 'bytes'] };
  }

  async start() {
    this.started = false;
    await this.connect(); // without a server no key needs a try; with one, every key gets it
    const check = this.storage === 'list' ? 'llen' : 'migrate.lua'; // refused for another type
    const sent = Object.keys(KEY_ENDINGS).map((queue) => this.send(check, queue));
    const failed = (await Promise.allSettled(sent)).flatMap((each) => each.reason ?? []);
    const kinds = failed.map((error) => error.kind);
    const worst = ['outcome-unknown', 'not-executed', 'wrong-type'].find((k) => kinds.includes(k));
    if (failed.length) throw failure(worst, failed.map((error) => error.message).join('; '));
    this.started = true;
  }

  async enqueue({ queue, id }) {
    return { added: (await this.send(`${SCRIPT[this.storage]}.lua`, queue, toBytes(id))) === 1 };
  }

  async dequeue({ queue }) {
    const command = this.storage === 'list' ? 'lpop' : 'zset_dequeue.lua';
    return { id: toJson(await this.send(command, queue)) };
  }

  async trace({ steps }) {
    const results = [];
    for (const [op, queue, id] of steps) results.push(await this.perform({ op, queue, id }));
    return { results };
  }

  stop() {
    this.redis?.disconnect();
    delete this.redis;
  }

  async perform(request) {
    try {
      if (!OPERATIONS.test(request.op)) throw failure('unsupported', `no ${request.op}`);
      if (request.queue && !this.started) throw failure('not-started', 'call start() first');
      return { ...(await this[request.op](request)) };
    } catch ({ kind = 'other', message }) {
      return { error: kind, message };
    }
  }

  async connect() {
    if (this.redis?.status === 'ready') return;
    this.redis = new Redis(this.url, OPTIONS).on('error', () => {}); // it fails the call, too
    try {
      await this.redis.connect(); // were its own SELECT refused, it would go on in database 0
      if (this.redis.options.db) await this.redis.select(this.redis.options.db);
    } catch ({ message }) {
      this.stop();
      throw failure('not-executed', message);
    }
  }

  async send(command, queue, ...args) {
    await this.connect(); // until here nothing was sent
    const key = `${this.prefix}-${KEY_ENDINGS[queue]}`;
    return this.redis[`${command}Buffer`](key, ...args).catch(({ message }) => {
      const refusal = REFUSAL.exec(message);
      if (!refusal) this.stop(); // so that no late answer reaches the next call
      if (refusal?.[1]) throw failure('wrong-type', `${key}: ${message}; ${cure}`);
      throw failure(refusal ? 'not-executed' : 'outcome-unknown', `${key}: ${message}`);
    });
  }
}

export async function serve(port) {
  let rest = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n'); // at LF only: node:readline of Node 24 cuts at U+2028
    rest = lines.pop();
    for (const request of lines.map((line) => JSON.parse(line))) {
      const answer = { seq: request.seq, ...(await port.perform(request)) };
      process.stdout.write(`${JSON.stringify({ ok: !answer.error, ...answer })}\n`);
      if (request.op === 'stop') return;
    }
  }
  port.stop(); // whoever asked is gone
}
if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await serve(new Port());
