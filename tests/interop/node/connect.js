// What the server and the client of Connect have in common: the service streams.Words of a descriptor set.
'use strict';

const fs = require('node:fs');
const { parseArgs } = require('node:util');
const { createFileRegistry, fromBinary } = require('@bufbuild/protobuf');
const { FileDescriptorSetSchema } = require('@bufbuild/protobuf/wkt');

function load(file) {
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, fs.readFileSync(file)));
    return { words: registry.getService('streams.Words'), text: registry.getMessage('streams.Text') };
}

function readArguments(options) {
    return parseArgs({ options, allowPositionals: true });
}

module.exports = { load, readArguments };
