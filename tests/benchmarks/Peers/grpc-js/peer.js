// Node's @grpc/grpc-js as a peer of the benchmarks: callers that share a channel.
// docs/benchmarks/README.md says what a peer reads and prints.
'use strict';

const { randomFillSync } = require('node:crypto');
const path = require('node:path');
const readline = require('node:readline');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const { SampleService } = grpc.loadPackageDefinition(loader.loadSync(
    path.join(__dirname, 'benchmark.proto'), { longs: String, keepCase: true })).Benchmark;
const options = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 };
const milliseconds = () => Number(process.hrtime.bigint()) / 1e6;
const cpu = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
const lines = () => readline.createInterface({ input: process.stdin });

// Records with new content for each call.
function message(records) {
    const data = [];
    for (let i = 0; i < records; i++) {
        const bytes = randomFillSync(Buffer.allocUnsafe(32));
        // 100 ns ticks since the year 1.
        const time = String(621355968000000000n + BigInt(Date.now()) * 10000n);
        data.push({ bytes, text: bytes.toString('base64'), number: i, float: i * 1.5, time });
    }
    return { data };
}

async function serve(address, records) {
    const server = new grpc.Server(options);
    server.addService(SampleService.service, { Test: (_, callback) => callback(null, message(records)) });
    const port = await new Promise((resolve, reject) => server.bindAsync(
        address, grpc.ServerCredentials.createInsecure(), (error, bound) => error ? reject(error) : resolve(bound)));
    console.log(`ready ${address.startsWith('unix:') ? address : address.replace(/\d+$/, port)}`);
    for await (const _ of lines()) {
        console.log(`used ${cpu().toFixed(3)} 0`);
    }
    server.forceShutdown();
}

async function call(client, records) {
    const reply = await new Promise((resolve, reject) => client.Test(
        message(records), (error, answer) => error ? reject(error) : resolve(answer)));
    if ((reply.data ?? []).length !== records) {
        throw new Error(`The reply has ${reply.data.length} records, not ${records}.`);
    }
}

async function callUntil(client, records, end, times) {
    const began = milliseconds();
    let calls = 0;
    let now = began;
    do {
        await call(client, records);
        const next = milliseconds();
        times.push((next - now) * 1000);
        now = next;
        calls++;
    } while (now < end);
    return calls * 1000 / (now - began);
}

async function runClient(address, records, callers) {
    const client = new SampleService(address, grpc.credentials.createInsecure(), options);
    await new Promise((resolve, reject) =>
        client.waitForReady(Date.now() + 20000, error => error ? reject(error) : resolve()));
    console.log('ready');
    for await (const line of lines()) {
        const times = [];
        const before = cpu();
        const start = milliseconds();
        const rates = await Promise.all(Array.from(
            { length: callers }, () => callUntil(client, records, start + Number(line), times)));
        const took = milliseconds() - start;
        times.sort((a, b) => a - b);
        const at = share => (times[Math.floor(times.length * share)] ?? 0).toFixed(2);
        console.log(`done ${times.length} ${took.toFixed(3)} ${rates.map(rate => rate.toFixed(1)).join(',')} `
            + `${at(0.5)} ${at(0.99)} ${(cpu() - before).toFixed(3)} 0`);
    }
    client.close();
}

const [role, address, records, callers] = process.argv.slice(2);
(role === 'server' ? serve(address, Number(records)) : runClient(address, Number(records), Number(callers)))
    .catch(error => { console.error(error.message); process.exit(1); });
