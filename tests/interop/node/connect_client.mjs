// Calls streams.Words of a server with @connectrpc/connect-node, and writes how each case ended.

import fs from 'node:fs';
import { createClient } from '@connectrpc/connect';
import {
    compressionBrotli, compressionGzip, createConnectTransport, createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { createCases, createRequestStreamCases, runCases } from './connect_cases.mjs';
import { load, readArguments } from './connect.mjs';

const { values: options, positionals: [baseUrl, descriptors] } = readArguments({
    http2: { type: 'boolean' },
    json: { type: 'boolean' },
    'grpc-web': { type: 'boolean' },
    compression: { type: 'string' },
    authority: { type: 'string' },
    'server-name': { type: 'string' },
});
const { words, text } = load(descriptors);
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
const cases = { ...createCases(client, text), ...createRequestStreamCases(client, text) };
for await (const outcome of runCases(cases)) {
    process.stdout.write(`${outcome}\n`);
}

process.exit(0);
