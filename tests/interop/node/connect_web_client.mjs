// Calls streams.Words and shop.Shop of a server with @connectrpc/connect-web, in a browser.

import { create, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web';
import { createCases, equal, runCases } from './connect_cases.mjs';

async function load(path) {
    const bytes = await (await fetch(path)).arrayBuffer();
    return createFileRegistry(fromBinary(FileDescriptorSetSchema, new Uint8Array(bytes)));
}

// The lines of all cases. baseUrl serves streams.Words, shopUrl serves shop.Shop.
export async function run(baseUrl, shopUrl, { grpcWeb, binary }) {
    const streams = await load('/streams.bin');
    const shop = await load('/shop.bin');
    const requests = [];
    const createTransport = url => (grpcWeb ? createGrpcWebTransport : createConnectTransport)({
        baseUrl: url,
        useBinaryFormat: binary,
        useHttpGet: true,
        fetch(address, init) {
            requests.push(`${init.method} ${new URL(address).pathname}`);
            return fetch(address, init);
        },
    });
    const words = createClient(streams.getService('streams.Words'), createTransport(baseUrl));
    const items = createClient(shop.getService('shop.Shop'), createTransport(shopUrl));
    const item = create(shop.getMessage('shop.Item'), { name: 'Öl & more' });
    const cases = {
        ...createCases(words, streams.getMessage('streams.Text')),

        async without_side_effects() {
            requests.length = 0;
            equal((await items.look(item)).name, item.name);
            equal((await items.buy(item)).name, item.name);
            equal(requests, [`${grpcWeb ? 'POST' : 'GET'} /shop.Shop/Look`, 'POST /shop.Shop/Buy']);
        },
    };
    const outcomes = [];
    for await (const outcome of runCases(cases)) {
        outcomes.push(outcome);
    }

    return outcomes.join('\n');
}
