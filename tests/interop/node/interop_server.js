// Serves gRPC's interoperability tests, reflection and health with Node's @grpc/grpc-js.
// Writes "listening PORT" once it is there, and how streams begin and end.
'use strict';

const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const grpc = require('@grpc/grpc-js');
const { ReflectionService } = require('@grpc/reflection');
const { HealthImplementation } = require('grpc-health-check');
const { INITIAL, TRAILING, DETAILS, load, readArguments } = require('./interop.js');

const TEST = 'grpc.testing.TestService';

const { values: options } = readArguments({
    reflection: { type: 'string' },
    unix: { type: 'string' },
    certificate: { type: 'string' },
    key: { type: 'string' },
    'client-authority': { type: 'string' },
});

const definition = load(
    ['interop.proto', 'grpc/health/v1/health.proto', 'google/rpc/status.proto', 'google/rpc/error_details.proto'],
    options['import-path']);

const payload = size => ({ body: Buffer.alloc(size) });

function tell(what) {
    process.stdout.write(`${what}\n`);
}

// Sends the header back that asks for it; gives the trailers.
function echo(call) {
    const [initial] = call.metadata.get(INITIAL);
    if (initial !== undefined) {
        const headers = new grpc.Metadata();
        headers.set(INITIAL, initial);
        call.sendMetadata(headers);
    }

    const trailers = new grpc.Metadata();
    for (const value of call.metadata.get(TRAILING)) {
        trailers.add(TRAILING, value);
    }

    return trailers;
}

function any(type, value) {
    return { type_url: `type.googleapis.com/${type}`, value: definition[type].serialize(value) };
}

// The error that a request asks for, or undefined.
function askedError(request, trailers) {
    const { code, message } = request.response_status ?? { code: 0 };
    if (code === 0) {
        return undefined;
    }

    if (message === 'with details') {
        trailers.set('retries', '3');
        trailers.set(DETAILS, definition['google.rpc.Status'].serialize({
            code,
            message,
            details: [
                any('google.rpc.ErrorInfo', { reason: 'STOCKOUT', domain: 'example.org', metadata: { zone: 'a' } }),
                any('google.rpc.BadRequest', { field_violations: [{ field: 'name', description: 'too long' }] }),
                { type_url: 'type.example.org/unknown.Type', value: Buffer.from([8, 1]) },
            ],
        }));
    }

    return { code, details: message, metadata: trailers };
}

// Iterating over the call itself would destroy it at the end, with the replies that are still to come.
function requestsOf(call) {
    return call.iterator({ destroyOnReturn: false });
}

async function reply(call, request) {
    for (const parameters of request.response_parameters) {
        await sleep(parameters.interval_us / 1000);
        if (call.cancelled) {
            return;
        }

        call.write({ payload: payload(parameters.size) });
    }
}

function tellEnd(call, method) {
    call.on('cancelled', () => tell(`ended ${method}`));
}

const testService = {
    EmptyCall(call, callback) {
        callback(null, {}, echo(call));
    },

    UnaryCall(call, callback) {
        const trailers = echo(call);
        const error = askedError(call.request, trailers);
        callback(error ?? null, { payload: payload(call.request.response_size) }, trailers);
    },

    async StreamingOutputCall(call) {
        tellEnd(call, 'StreamingOutputCall');
        await reply(call, call.request);
        call.end();
    },

    StreamingInputCall(call, callback) {
        tellEnd(call, 'StreamingInputCall');
        tell('began StreamingInputCall');
        let sum = 0;
        call.on('data', request => { sum += request.payload?.body.length ?? 0; });
        call.on('end', () => callback(null, { aggregated_payload_size: sum }));
    },

    async FullDuplexCall(call) {
        tellEnd(call, 'FullDuplexCall');
        const trailers = echo(call);
        try {
            for await (const request of requestsOf(call)) {
                const error = askedError(request, trailers);
                if (error) {
                    call.emit('error', error);
                    return;
                }

                await reply(call, request);
            }
        } catch (error) {
            // A cancelled call ends its stream of requests like this.
            if (!call.cancelled) {
                throw error;
            }
        }

        call.end(trailers);
    },

    async HalfDuplexCall(call) {
        const requests = [];
        for await (const request of requestsOf(call)) {
            requests.push(request);
        }

        for (const request of requests) {
            await reply(call, request);
        }

        call.end();
    },
};

function credentials() {
    if (!options.certificate) {
        return grpc.ServerCredentials.createInsecure();
    }

    const authority = options['client-authority'] ? fs.readFileSync(options['client-authority']) : null;
    return grpc.ServerCredentials.createSsl(
        authority,
        [{ cert_chain: fs.readFileSync(options.certificate), private_key: fs.readFileSync(options.key) }],
        authority !== null);
}

const server = new grpc.Server({ 'grpc.max_receive_message_length': 16 << 20 });
const { UnimplementedCall, ...served } = definition[TEST];
server.addService(served, testService);
new HealthImplementation({ '': 'SERVING', [TEST]: 'SERVING' }).addToServer(server);
if (options.reflection) {
    const service = new ReflectionService(definition);
    ({ v1: service.v1, v1alpha: service.v1Alpha })[options.reflection].addToServer(server);
}

const address = options.unix ? `unix:${options.unix}` : '127.0.0.1:0';
server.bindAsync(address, credentials(), (error, port) => {
    if (error) {
        throw error;
    }

    tell(`listening ${port}`);
});
process.stdin.on('end', () => process.exit(0)).resume();
