// The Node port, deliberately wrong: what one script has to do, it does in two steps. Another host
// can come in between, so that ids are doubled, lost, or given to two. The check has to refuse it.
import { Port, serve, toBytes, toJson } from './port.mjs';

class Nonatomic extends Port {
  async enqueue({ queue, id }) {
    if (this.storage !== 'list') return super.enqueue({ queue, id });
    const bytes = toBytes(id);
    if ((await this.send('linsert', queue, 'BEFORE', bytes, bytes)) > 0) {
      await this.send('lrem', queue, 1, bytes);
      return { added: false };
    }
    await this.send('rpush', queue, bytes);
    return { added: true };
  }

  async dequeue({ queue }) {
    if (this.storage === 'list') return super.dequeue({ queue });
    const [first = null] = await this.send('zrange', queue, 0, 0);
    if (first) await this.send('zrem', queue, first);
    return { id: toJson(first) };
  }
}

await serve(new Nonatomic());
