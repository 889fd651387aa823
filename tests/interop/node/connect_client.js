// Calls streams.Words of a server with @connectrpc/connect-node, one case after the other.
// Writes how each ended: "NAME passed", or "NAME" and what is wrong.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const { create } = require('@bufbuild/protobuf');
const { Code, ConnectError, createClient } = require('@connectrpc/connect');
const {
    compressionBrotli, compressionGzip, createConnectTransport, createGrpcWebTransport,
} = require('@connectrpc/connect-node');
const { load, readArguments } = require('./connect.js');

const { values: options, positionals: [baseUrl, descriptors] } = readArguments({
    http2: { type: 'boolean' },
    json: { type: 'boolean' },
    'grpc-web': { type: 'boolean' },
    compression: { type: 'string' },
    authority: { type: 'string' },
    'server-name': { type: 'string' },
});
const { words, text } = load(descriptors);
const make = value => create(text, { text: value });
const compressions = { gzip: compressionGzip, br: compressionBrotli };
const transport = (options['grpc-web'] ? createGrpcWebTransport : createConnectTransport)({
    baseUrl,
    httpVersion: options.http2 ? '2' : '1.1',
    useBinaryFormat: !options.json,
    acceptCompression: [compressionGzip, compressionBrotli],
    sendCompression: compressions[options.compression] ?? null,
    compressMinBytes: 256,
    nodeOptions: options.authority
        ? { ca: fs.readFileSync(options.authority), servername: options['server-name'] }
        : {},
});
const client = createClient(words, transport);
const long = 'x'.repeat(20_000);

async function* requests(...texts) {
    for (const value of texts) {
        yield make(value);
    }
}

async function readAll(replies) {
    const all = [];
    for await (const reply of replies) {
        all.push(reply.text);
    }

    return all;
}

async function expectError(code, promise) {
    try {
        await promise;
    } catch (error) {
        const found = ConnectError.from(error);
        assert.equal(found.code, code, `${Code[found.code]}: ${found.rawMessage}`);
        return found;
    }

    throw new Error(`no ${Code[code]}`);
}

const cases = {
    async unary() {
        assert.equal((await client.say(make(long))).text, long);
    },

    async server_stream() {
        assert.deepEqual(await readAll(client.split(make(`a ${long} c`))), ['a', long, 'c']);
    },

    async client_stream() {
        assert.equal((await client.join(requests('a', long, 'c'))).text, `a ${long} c`);
    },

    async duplex() {
        let answered;
        let next = new Promise(resolve => { answered = resolve; });
        const replies = [];
        async function* alternating() {
            for (const word of ['one', 'two']) {
                yield make(word);
                await next;
                next = new Promise(resolve => { answered = resolve; });
            }
        }

        for await (const reply of client.chat(alternating())) {
            replies.push(reply.text);
            answered();
        }

        assert.deepEqual(replies, ['one!', 'two!']);
    },

    async metadata() {
        let headers;
        let trailers;
        await client.say(make('headers'), {
            headers: { 'x-asked': 'here', 'x-asked-bin': 'AP8' },
            onHeader(value) { headers = value; },
            onTrailer(value) { trailers = value; },
        });
        assert.equal(headers.get('x-first'), 'here');
        assert.equal(trailers.get('x-last-bin')?.replace(/=+$/, ''), 'AP8');
    },

    async error() {
        const error = await expectError(Code.NotFound, client.say(make('fail')));
        assert.equal(error.rawMessage, 'Kein Öl: 100 % leer\n');
        assert.equal(error.metadata.get('x-last'), 'of a failure');
        assert.deepEqual(error.findDetails(text).map(detail => detail.text), ['a detail']);
    },

    async error_in_stream() {
        const error = await expectError(Code.Aborted, readAll(client.split(make('a fail'))));
        assert.equal(error.rawMessage, 'in the middle');
    },

    async timeout() {
        await expectError(Code.DeadlineExceeded, client.say(make('wait'), { timeoutMs: 300 }));
        await expectError(Code.DeadlineExceeded, readAll(client.split(make('a wait'), { timeoutMs: 300 })));
    },

    async cancel() {
        const controller = new AbortController();
        setTimeout(() => controller.abort(), 200);
        await expectError(
            Code.Canceled, readAll(client.split(make('a wait'), { signal: controller.signal })));
    },
};

async function run() {
    for (const [name, test] of Object.entries(cases)) {
        let outcome = 'passed';
        try {
            const limit = new Promise((_, reject) => {
                setTimeout(() => reject(new Error('took too long')), 15_000).unref();
            });
            await Promise.race([test(), limit]);
        } catch (error) {
            outcome = `${error.message ?? error}`.replaceAll('\n', ' ');
        }

        process.stdout.write(`${name} ${outcome}\n`);
    }

    process.exit(0);
}

run();
