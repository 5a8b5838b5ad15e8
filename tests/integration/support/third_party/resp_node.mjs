// A round by node-redis or ioredis: resp_node.mjs CLIENT PORT CA|- SCENARIO.
import { readFileSync } from 'fs';
import { createClient, WatchError } from 'redis';
import { Redis } from 'ioredis';

const [client, port, ca, scenario] = process.argv.slice(2);
const tls = ca === '-' ? undefined : { ca: readFileSync(ca), checkServerIdentity: () => undefined };
const login = { username: 'web', password: 'Open-Sesame-7' };
const pause = () => new Promise(done => setTimeout(done, 100));

async function make() {
  if (client === 'ioredis') {
    const server = new Redis({ port: Number(port), ...login, ...(tls && { tls }) });
    server.on('error', () => {});
    return {
      ask: (...words) => server.call(...words.map(String)),
      pipe: words => server.pipeline(words.map(one => one.map(String))).exec().then(all => all.map(([, answer]) => answer)),
      async unit(words) {
        const multi = server.multi();
        for (const [name, ...rest] of words) multi.call(name, ...rest.map(String));
        const all = await multi.exec();
        return all && all.map(([, answer]) => answer);
      },
      end: () => server.disconnect(),
    };
  }
  const server = createClient({ socket: { port: Number(port), ...(tls && { tls: true, ...tls }) }, ...login });
  server.on('error', () => {});
  await server.connect();
  return {
    ask: (...words) => server.sendCommand(words.map(String)),
    pipe: words => Promise.all(words.map(one => server.sendCommand(one.map(String)))),
    async unit(words) {
      const multi = server.multi();
      for (const one of words) multi.addCommand(one.map(String));
      try {
        return await multi.exec();
      } catch (error) {
        if (error instanceof WatchError) return null;
        throw error;
      }
    },
    end: () => server.destroy(),
  };
}

const server = await make();
const sale = async token => {
  const answers = await server.unit([['ROW.ONCE', token], ['ROW.REQUIRE', 'shop.product:7', 'stock', '>=', 1],
    ['HINCRBY', 'shop.product:7', 'stock', -1]]);
  return answers === null ? null : answers[2];
};
if (scenario === 'round') {
  console.log('row', ...await server.ask('HMGET', 'shop.product:7', 'name', 'price'));
  const piped = await server.pipe(Array(100).fill(['incr', 'piped']));
  console.log('pipeline', piped[99]);
  await Promise.all(Array.from({ length: 200 }, () => server.ask('INCR', 'pooled')));
  console.log('pool', await server.ask('GET', 'pooled'));
  console.log('transaction', await sale('t0'), await sale('t1'), await sale('t2'));
} else if (scenario === 'count') {
  console.log(await server.ask('HINCRBY', 'shop.page:1', 'views', 1));
} else {
  for (let attempt = 0; attempt < 50; ++attempt) {
    try {
      console.log(await sale('once'));
      break;
    } catch (error) {
      await pause();
    }
  }
}
server.end();
