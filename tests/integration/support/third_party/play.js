// Plays a round through the npm package node-handlersocket; prints one JSON line a step.
// Arguments: folder of the package, port, port_wr, schema.
'use strict';
const hs = require(process.argv[2]);
const [port, portWr, schema] = [Number(process.argv[3]), Number(process.argv[4]), process.argv[5]];

function say(step, error, result) {
  console.log(JSON.stringify([step, error ? String(error.message || error) : null, result === undefined ? null : result]));
}

// Each step: [name, function(callback)], one after the other.
function run(steps, done) {
  if (steps.length === 0) return done();
  const [name, start] = steps[0];
  start((error, result) => {
    say(name, error, result);
    run(steps.slice(1), done);
  });
}

const reader = hs.connect({host: '127.0.0.1', port: port}, () => {
  const writer = hs.connect({host: '127.0.0.1', port: portWr}, () => {
    let read, write, byGroup;
    const opened = (assign) => (callback) => (error, index) => { assign(index); callback(error, !!index); };
    run([
      ['open read', (cb) => reader.openIndex(schema, 'people', 'PRIMARY', ['id', 'name', 'grp'], opened((i) => read = i)(cb))],
      ['open by group', (cb) => reader.openIndex(schema, 'people', 'by_grp', ['id', 'name'], opened((i) => byGroup = i)(cb))],
      ['open write', (cb) => writer.openIndex(schema, 'people', 'PRIMARY', ['id', 'name', 'grp'], opened((i) => write = i)(cb))],
      ['open missing', (cb) => reader.openIndex(schema, 'nobody', 'PRIMARY', ['id'], opened(() => {})(cb))],
      ['insert', (cb) => write.insert([10, 'Zoë \t\u0001\n🐬', 1], cb)],
      ['insert null', (cb) => write.insert([11, null, 1], cb)],
      ['insert duplicate', (cb) => write.insert([10, 'again', 2], cb)],
      ['find', (cb) => read.find('=', 10, cb)],
      ['find null', (cb) => read.find('=', [11], cb)],
      ['find none', (cb) => read.find('=', [12], cb)],
      ['find range', (cb) => read.find('>=', [1], {limit: 3, offset: 1}, cb)],
      ['find in', (cb) => read.find('=', [hs.in(2, 1, 99)], {limit: 10}, cb)],
      ['find group', (cb) => byGroup.find('=', [1], {limit: 10}, cb)],
      ['update', (cb) => write.update('=', [11], [11, 'named', 2], cb)],
      ['increment', (cb) => write.increment('=', [11], [null, null, 5], cb)],
      ['decrement', (cb) => write.decrement('=', [11], [null, null, 1], cb)],
      ['find changed', (cb) => read.find('=', 11, cb)],
      ['remove', (cb) => write.delete('=', [10], cb)],
      ['remove none', (cb) => write.delete('=', [10], cb)],
      ['insert on the read port', (cb) => read.insert([99, 'no', 1], cb)],
    ], () => {
      reader.on('close', () => say('reader closed', null, true));
      writer.on('close', () => say('writer closed', null, true));
      reader.close();
      writer.close();
    });
  });
});
