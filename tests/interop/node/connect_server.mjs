// Serves streams.Words over Connect and gRPC-Web with @connectrpc/connect-node.
// Writes "listening PORT" once it is there.

import http from 'node:http';
import http2 from 'node:http2';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { compressionBrotli, compressionGzip, connectNodeAdapter } from '@connectrpc/connect-node';
import { load, readArguments } from './connect.mjs';

const { values: options, positionals: [descriptors] } = readArguments({
    http2: { type: 'boolean' },
    certificate: { type: 'string' },
    key: { type: 'string' },
});
const { words, text } = load(descriptors);
const make = value => create(text, { text: value });

function mirror(context) {
    context.responseHeader.set('x-head', context.requestHeader.get('x-text') ?? 'none');
    context.responseTrailer.set('x-trail', context.requestHeader.get('x-text') ?? 'none');
    const bytes = context.requestHeader.get('x-bytes-bin');
    if (bytes !== null) {
        context.responseTrailer.set('x-trail-bin', bytes);
    }
}

// When the deadline passes here before the client notices, the call must end with its status and not with sleep's
// AbortError, which Connect sends as an internal error.
const wait = ({ signal }) => sleep(60_000, undefined, { signal }).catch(() => {
    throw signal.reason;
});

const failure = () => new ConnectError(
    'Kein Öl: 100 %', Code.NotFound, undefined, [{ desc: text, value: { text: 'a detail' } }]);

const routes = router => router.service(words, {
    async say(request, context) {
        mirror(context);
        if (request.text === 'fail') {
            throw failure();
        }

        if (request.text === 'wait') {
            await wait(context);
        }

        // What a compressing client asked for.
        return make(request.text === 'encoding'
            ? `${context.requestHeader.get('content-encoding')}` : request.text);
    },

    async *split(request, context) {
        mirror(context);
        for (const word of request.text.split(' ')) {
            if (word === 'fail') {
                throw failure();
            }

            if (word === 'wait') {
                await wait(context);
            }

            yield make(word);
        }
    },

    async join(requests) {
        const all = [];
        for await (const request of requests) {
            all.push(request.text);
        }

        return make(all.join(' '));
    },

    async *chat(requests) {
        for await (const request of requests) {
            yield make(`${request.text}!`);
        }
    },
});

const handler = connectNodeAdapter({
    routes, grpc: false, acceptCompression: [compressionGzip, compressionBrotli], compressMinBytes: 256,
});
const read = file => fs.readFileSync(file);
const server = options.certificate
    ? http2.createSecureServer(
        { cert: read(options.certificate), key: read(options.key), allowHTTP1: true }, handler)
    : options.http2 ? http2.createServer(handler) : http.createServer(handler);
server.listen(0, '127.0.0.1', () => process.stdout.write(`listening ${server.address().port}\n`));
process.stdin.on('end', () => process.exit(0)).resume();
