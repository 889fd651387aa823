// What Node's server and client of the interoperability tests have in common.
'use strict';

const path = require('node:path');
const { parseArgs } = require('node:util');
const protoLoader = require('@grpc/proto-loader');

const NAMES = {
    INITIAL: 'x-grpc-test-echo-initial',
    TRAILING: 'x-grpc-test-echo-trailing-bin',
    DETAILS: 'grpc-status-details-bin',
};

function load(files, importPaths) {
    return protoLoader.loadSync(files, {
        keepCase: true,
        defaults: true,
        enums: String,
        longs: Number,
        includeDirs: [path.join(__dirname, '..', 'grpc', 'protos'), ...importPaths],
    });
}

function readArguments(options) {
    return parseArgs({
        options: { 'import-path': { type: 'string', multiple: true, default: [] }, ...options },
        allowPositionals: true,
    });
}

module.exports = { ...NAMES, load, readArguments };
