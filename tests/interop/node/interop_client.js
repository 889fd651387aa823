// Runs gRPC's interoperability test cases, by name, with Node's @grpc/grpc-js against a server;
// writes how each ended.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const { once } = require('node:events');
const grpc = require('@grpc/grpc-js');
const { INITIAL, TRAILING, DETAILS, load, readArguments } = require('./interop.js');

const REQUESTS = [27182, 8, 1828, 45904];
const REPLIES = [31415, 9, 2653, 58979];
const CASE_LIMIT = 15_000;
const { status } = grpc;

const { values: options, positionals: [target] } = readArguments({
    case: { type: 'string', multiple: true },
    authority: { type: 'string' },
    'server-name': { type: 'string' },
    certificate: { type: 'string' },
    key: { type: 'string' },
});

const definition = load(
    ['interop.proto', 'grpc/health/v1/health.proto', 'grpc/reflection/v1/reflection.proto', 'google/rpc/status.proto'],
    options['import-path']);

function credentials() {
    const read = name => options[name] ? fs.readFileSync(options[name]) : null;
    return options.authority
        ? grpc.credentials.createSsl(read('authority'), read('key'), read('certificate'))
        : grpc.credentials.createInsecure();
}

function connect(service = 'grpc.testing.TestService', channelOptions = {}, methods = definition[service]) {
    const Client = grpc.makeGenericClientConstructor(methods, service);
    return new Client(target, credentials(), {
        ...options['server-name'] && { 'grpc.ssl_target_name_override': options['server-name'] },
        ...channelOptions,
    });
}

const stub = connect();
const compressing = connect(undefined, {
    'grpc.default_compression_algorithm': grpc.compressionAlgorithms.gzip,
});

const payload = size => ({ body: Buffer.alloc(size) });
const large = further => ({ response_size: 314159, payload: payload(271828), ...further });
const output = (sizes, further) => ({ response_parameters: sizes.map(size => ({ size })), ...further });

// What came of a call with one reply: the reply, the headers and the trailers; or it throws the error.
function unary(client, method, request, metadata = new grpc.Metadata(), callOptions = {}) {
    return new Promise((resolve, reject) => {
        const result = {};
        const call = client[method](
            request, metadata, callOptions, (error, reply) => error ? reject(error) : result.reply = reply);
        call.on('metadata', headers => { result.headers = headers; });
        call.on('status', trailers => { result.trailers = trailers.metadata; resolve(result); });
    });
}

function upload(client, requests) {
    return new Promise((resolve, reject) => {
        const call = client.StreamingInputCall((error, reply) => error ? reject(error) : resolve(reply));
        requests.forEach(request => call.write(request));
        call.end();
    });
}

async function readAll(call) {
    const replies = [];
    for await (const reply of call) {
        replies.push(reply);
    }

    return replies;
}

function duplex(requests, metadata = new grpc.Metadata(), callOptions = {}) {
    const call = stub.FullDuplexCall(metadata, callOptions);
    requests.forEach(request => call.write(request));
    call.end();
    return call;
}

async function expectError(code, promise) {
    try {
        await promise;
    } catch (error) {
        assert.equal(error.code, code, `${error.code}: ${error.details ?? error.stack}`);
        return error;
    }

    throw new Error(`no ${status[code]}`);
}

const length = reply => reply.payload.body.length;

const cases = {
    async empty_unary() {
        assert.deepEqual({ ...(await unary(stub, 'EmptyCall', {})).reply }, {});
    },

    async large_unary() {
        assert.equal(length((await unary(stub, 'UnaryCall', large())).reply), 314159);
    },

    async client_streaming() {
        const reply = await upload(stub, REQUESTS.map(size => ({ payload: payload(size) })));
        assert.equal(reply.aggregated_payload_size, 74922);
    },

    async server_streaming() {
        assert.deepEqual((await readAll(stub.StreamingOutputCall(output(REPLIES)))).map(length), REPLIES);
    },

    async ping_pong() {
        const call = stub.FullDuplexCall();
        for (const [i, size] of REPLIES.entries()) {
            call.write(output([size], { payload: payload(REQUESTS[i]) }));
            assert.equal(length((await once(call, 'data'))[0]), size);
        }

        call.end();
        await once(call, 'end');
    },

    async empty_stream() {
        assert.deepEqual(await readAll(duplex([])), []);
    },

    async client_compressed_unary() {
        const expected = { expect_compressed: { value: true } };
        await expectError(status.INVALID_ARGUMENT, unary(stub, 'UnaryCall', large(expected)));
        assert.equal(length((await unary(compressing, 'UnaryCall', large(expected))).reply), 314159);
        await unary(stub, 'UnaryCall', large({ expect_compressed: { value: false } }));
    },

    async client_compressed_streaming() {
        const requests = [{ payload: payload(27182), expect_compressed: { value: true } }];
        await expectError(status.INVALID_ARGUMENT, upload(stub, requests));
        assert.equal((await upload(compressing, requests)).aggregated_payload_size, 27182);
    },

    async server_compressed_unary() {
        for (const value of [true, false]) {
            const { reply } = await unary(stub, 'UnaryCall', large({ response_compressed: { value } }));
            assert.equal(length(reply), 314159);
        }
    },

    async server_compressed_streaming() {
        const replies = await readAll(stub.StreamingOutputCall({
            response_parameters: [
                { size: 31415, compressed: { value: true } }, { size: 92653, compressed: { value: false } },
            ],
        }));
        assert.deepEqual(replies.map(length), [31415, 92653]);
    },

    async custom_metadata() {
        const bytes = Buffer.from([0x0a, 0x0b, 0x0a, 0x0b, 0x0a, 0x0b]);
        const sent = new grpc.Metadata();
        sent.set(INITIAL, 'test_initial_metadata_value');
        sent.set(TRAILING, bytes);

        const first = await unary(stub, 'UnaryCall', large(), sent);
        const call = duplex([output([314159])], sent);
        const headers = once(call, 'metadata');
        const ended = once(call, 'status');
        await readAll(call);
        const second = { headers: (await headers)[0], trailers: (await ended)[0].metadata };

        for (const told of [first, second]) {
            assert.deepEqual(told.headers.get(INITIAL), ['test_initial_metadata_value']);
            assert.deepEqual(told.trailers.get(TRAILING), [bytes]);
        }
    },

    async status_code_and_message() {
        const asked = { response_status: { code: 2, message: 'test status message' } };
        // One after the other: Node ends with an error that nobody awaits yet.
        for (const call of [() => unary(stub, 'UnaryCall', asked), () => readAll(duplex([output([], asked)]))]) {
            assert.equal((await expectError(status.UNKNOWN, call())).details, 'test status message');
        }
    },

    async special_status_message() {
        const message = '\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \u{1f608}\t\n';
        const error = await expectError(
            status.UNKNOWN, unary(stub, 'UnaryCall', { response_status: { code: 2, message } }));
        assert.equal(error.details, message);
    },

    async unimplemented_method() {
        await expectError(status.UNIMPLEMENTED, unary(stub, 'UnimplementedCall', {}));
    },

    async unimplemented_service() {
        const other = connect('grpc.testing.UnimplementedService');
        await expectError(status.UNIMPLEMENTED, unary(other, 'UnimplementedCall', {}));
        other.close();
    },

    async cancel_after_begin() {
        await expectError(status.CANCELLED, new Promise((resolve, reject) => {
            const call = stub.StreamingInputCall((error, reply) => error ? reject(error) : resolve(reply));
            setImmediate(() => call.cancel());
        }));
    },

    async cancel_after_first_response() {
        const call = stub.FullDuplexCall();
        call.write(output([31415], { payload: payload(27182) }));
        await once(call, 'data');
        call.cancel();
        await expectError(status.CANCELLED, readAll(call));
    },

    async timeout_on_sleeping_server() {
        const slow = { response_parameters: [{ size: 1, interval_us: 60_000_000 }] };
        await expectError(status.DEADLINE_EXCEEDED, readAll(duplex([slow], undefined, { deadline: Date.now() + 100 })));
    },

    async rpc_soak() {
        for (let i = 0; i < 200; i++) {
            assert.equal(length((await unary(stub, 'UnaryCall', large())).reply), 314159);
        }
    },

    async channel_soak() {
        for (let i = 0; i < 20; i++) {
            const client = connect(undefined, { 'grpc.use_local_subchannel_pool': 1 });
            assert.equal(length((await unary(client, 'UnaryCall', large())).reply), 314159);
            client.close();
        }
    },

    // Beyond the official ones.

    async error_details() {
        const error = await expectError(status.RESOURCE_EXHAUSTED, unary(
            stub, 'UnaryCall', { response_status: { code: 8, message: 'with details' } }));
        const told = definition['google.rpc.Status'].deserialize(error.metadata.get(DETAILS)[0]);
        assert.equal(told.code, 8);
        assert.equal(told.details[0].type_url, 'type.googleapis.com/grpc.testing.SimpleResponse');
        const detail = definition['grpc.testing.SimpleResponse'].deserialize(told.details[0].value);
        assert.equal(length(detail), 7);
    },

    async reflection() {
        const v1 = 'grpc.reflection.v1.ServerReflection';
        for (const name of [v1, v1.replace('.v1.', '.v1alpha.')]) {
            const { ServerReflectionInfo: info } = definition[v1];
            const client = connect(name, {}, {
                ServerReflectionInfo: { ...info, path: `/${name}/ServerReflectionInfo` },
            });
            const call = client.ServerReflectionInfo();
            call.write({ list_services: '' });
            call.write({ file_containing_symbol: 'grpc.testing.TestService' });
            call.end();
            const [listed, found] = await readAll(call);
            assert(listed.list_services_response.service.some(s => s.name === 'grpc.testing.TestService'));
            const described = require('@grpc/proto-loader').loadFileDescriptorSetFromBuffer(
                fileSet(found.file_descriptor_response.file_descriptor_proto));
            assert('FullDuplexCall' in described['grpc.testing.TestService']);
            client.close();
        }
    },

    async health() {
        const client = connect('grpc.health.v1.Health');
        assert.equal((await unary(client, 'Check', {})).reply.status, 'SERVING');
        const watch = client.Watch({ service: 'grpc.testing.TestService' });
        assert.equal((await once(watch, 'data'))[0].status, 'SERVING');
        watch.on('error', () => {});
        watch.cancel();
        client.close();
    },
};

// A FileDescriptorSet is nothing but its files, each as field 1.
function fileSet(files) {
    return Buffer.concat(files.flatMap(file => {
        const prefix = [0x0a];
        let left = file.length;
        for (; left >= 0x80; left >>>= 7) {
            prefix.push(left & 0x7f | 0x80);
        }

        return [Buffer.from([...prefix, left]), file];
    }));
}

// A case that hangs fails alone, and not all of them with the time of the process.
async function within(milliseconds, promise) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no end after ${milliseconds} ms`)), milliseconds);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

async function run() {
    for (const name of options.case ?? Object.keys(cases)) {
        try {
            await within(CASE_LIMIT, cases[name]());
            console.log(`${name}: passed`);
        } catch (error) {
            console.log(`${name}: ${String(error.stack ?? error).replaceAll('\n', ' | ')}`);
        }
    }

    // A connection that is still closing would keep the process.
    process.exit();
}

run();
