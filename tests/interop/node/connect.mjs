// What the server and the client of Connect in Node have in common: the service streams.Words of a descriptor set.

import fs from 'node:fs';
import { parseArgs } from 'node:util';
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

export function load(file) {
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, fs.readFileSync(file)));
    return { words: registry.getService('streams.Words'), text: registry.getMessage('streams.Text') };
}

export function readArguments(options) {
    return parseArgs({ options, allowPositionals: true });
}
