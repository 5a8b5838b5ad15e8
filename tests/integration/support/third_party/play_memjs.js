// Plays a round through the npm package memjs, which speaks only the binary dialect; prints one
// JSON line a step. Arguments: folder of the package, port.
'use strict';
const memjs = require(process.argv[2]);
const client = memjs.Client.create('127.0.0.1:' + process.argv[3], {retries: 1, timeout: 10});

async function say(step, ...results) {
  const shown = [];
  for (const result of results) {
    try {
      const one = await result();
      shown.push(one && one.value !== undefined ?
          [one.value && one.value.toString('utf8'), one.flags && one.flags.toString('hex')] : one);
    } catch (error) {
      shown.push('error ' + (error.message || error));
    }
  }
  console.log(JSON.stringify([step, ...shown]));
}

async function main() {
  await say('set', () => client.set('k', 'Zoë \t\u0001\r\n🐬', {}), () => client.get('k'));
  await say('miss', () => client.get('nothing'));
  await say('add', () => client.add('a', 'one', {}), () => client.add('a', 'two', {}),
            () => client.get('a'));
  await say('replace', () => client.replace('a', 'three', {}),
            () => client.replace('nothing', 'x', {}), () => client.get('a'));
  await say('append', () => client.append('a', '!'), () => client.prepend('a', '>'),
            () => client.append('nothing', 'x'), () => client.get('a'));
  await say('counter', () => client.increment('c', 5, {initial: 100}),
            () => client.increment('c', 5, {initial: 100}), () => client.decrement('c', 5, {}),
            () => client.get('c'));
  await say('touch', () => client.touch('a', 100), () => client.touch('nothing', 100));
  await say('large', () => client.set('big', 'x'.repeat(500000), {}),
            async () => (await client.get('big')).value.length);
  await say('delete', () => client.delete('k'), () => client.get('k'), () => client.delete('k'));
  await say('many', () => Promise.all(Array.from({length: 100}, (_, i) =>
            client.set('m' + i, 'value ' + i, {}))).then((all) => all.every(Boolean)),
            () => Promise.all(Array.from({length: 100}, (_, i) => client.get('m' + i)))
                .then((all) => all.every((one, i) => one.value.toString() === 'value ' + i)));
  await say('expires', () => client.set('e', 'x', {expires: 100}), () => client.get('e'));
  client.close();
}

main();
