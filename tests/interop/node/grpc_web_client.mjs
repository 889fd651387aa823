// Calls streams.Words of a server with the package grpc-web, in a browser.

import { create, createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { GrpcWebClientBase, MethodDescriptor, MethodType, StatusCode } from 'grpc-web';
import { equal, runCases } from './connect_cases.mjs';

const long = 'x'.repeat(20_000);

// The lines of all cases. The format is that of the package: 'binary', or 'text', which alone streams replies.
export async function run(baseUrl, format) {
    const set = await (await fetch('/streams.bin')).arrayBuffer();
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, new Uint8Array(set)));
    const text = registry.getMessage('streams.Text');
    const client = new GrpcWebClientBase({ format });
    const make = value => create(text, { text: value });
    const describe = (name, type) => new MethodDescriptor(
        `/streams.Words/${name}`, type, Object, Object,
        message => toBinary(text, message), bytes => fromBinary(text, new Uint8Array(bytes)));
    const say = describe('Say', MethodType.UNARY);
    const split = describe('Split', MethodType.SERVER_STREAMING);

    function call(value, metadata = {}) {
        const seen = {};
        return new Promise((resolve, reject) => {
            client.rpcCall(`${baseUrl}/streams.Words/Say`, make(value), metadata, say, (error, reply) => {
                if (error) {
                    reject(error);
                } else {
                    seen.text = reply.text;
                }
            })
                .on('metadata', headers => { seen.headers = headers; })
                .on('status', status => { seen.status = status; })
                .on('end', () => resolve(seen));
        });
    }

    function readAll(value, metadata = {}) {
        const all = [];
        return new Promise((resolve, reject) => {
            client.serverStreaming(`${baseUrl}/streams.Words/Split`, make(value), metadata, split)
                .on('data', reply => all.push(reply.text))
                .on('error', error => reject(Object.assign(error, { all })))
                .on('end', () => resolve(all));
        });
    }

    async function expectError(code, promise) {
        try {
            await promise;
        } catch (error) {
            equal(error.code, code, error.message);
            return error;
        }

        throw new Error(`no status ${code}`);
    }

    const inAMoment = () => ({ deadline: `${Date.now() + 300}` });
    const cases = {
        async unary() {
            equal((await call(long)).text, long);
        },

        async server_stream() {
            equal(await readAll(`a ${long} c`), ['a', long, 'c']);
        },

        async metadata() {
            const { headers, status } = await call('headers', { 'x-asked': 'here', 'x-asked-bin': 'AP8' });
            equal(headers['x-first'], 'here');
            equal(status.metadata['x-last-bin']?.replace(/=+$/, ''), 'AP8');
        },

        async error() {
            const error = await expectError(StatusCode.NOT_FOUND, call('fail'));
            equal(error.message, 'Kein Öl: 100 % leer\n');
            equal(error.metadata['x-last'], 'of a failure');
            equal(typeof error.metadata['grpc-status-details-bin'], 'string');
        },

        async error_in_stream() {
            const error = await expectError(StatusCode.ABORTED, readAll('a fail'));
            equal(error.message, 'in the middle');
            equal(error.all, ['a']);
        },

        async deadline() {
            await expectError(StatusCode.DEADLINE_EXCEEDED, call('wait', inAMoment()));
            await expectError(StatusCode.DEADLINE_EXCEEDED, readAll('a wait', inAMoment()));
        },
    };
    const outcomes = [];
    for await (const outcome of runCases(cases)) {
        outcomes.push(outcome);
    }

    return outcomes.join('\n');
}
