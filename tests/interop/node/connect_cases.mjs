// Calls of streams.Words with a client of @connectrpc/connect, in Node and in a browser.

import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';

const long = 'x'.repeat(20_000);

export function equal(actual, expected, what = '') {
    const [found, wanted] = [actual, expected].map(value => JSON.stringify(value));
    if (found !== wanted) {
        throw new Error(`${what} ${found} and not ${wanted}`.slice(0, 1000));
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
        equal(Code[found.code], Code[code], found.rawMessage);
        return found;
    }

    throw new Error(`no ${Code[code]}`);
}

// The cases of every transport.
export function createCases(client, text) {
    const make = value => create(text, { text: value });
    return {
        async unary() {
            equal((await client.say(make(long))).text, long);
        },

        async server_stream() {
            equal(await readAll(client.split(make(`a ${long} c`))), ['a', long, 'c']);
        },

        async metadata() {
            let headers;
            let trailers;
            await client.say(make('headers'), {
                headers: { 'x-asked': 'here', 'x-asked-bin': 'AP8' },
                onHeader(value) { headers = value; },
                onTrailer(value) { trailers = value; },
            });
            equal(headers.get('x-first'), 'here');
            equal(trailers.get('x-last-bin')?.replace(/=+$/, ''), 'AP8');
        },

        async error() {
            const error = await expectError(Code.NotFound, client.say(make('fail')));
            equal(error.rawMessage, 'Kein Öl: 100 % leer\n');
            equal(error.metadata.get('x-last'), 'of a failure');
            equal(error.findDetails(text).map(detail => detail.text), ['a detail']);
        },

        async error_in_stream() {
            const error = await expectError(Code.Aborted, readAll(client.split(make('a fail'))));
            equal(error.rawMessage, 'in the middle');
        },

        async deadline() {
            const who = await client.say(make('who'), { timeoutMs: 60_000 });
            equal(who.text.split('|')[3], 'True', 'the handler has a deadline:');
            await expectError(Code.DeadlineExceeded, client.say(make('wait'), { timeoutMs: 300 }));
            await expectError(
                Code.DeadlineExceeded, readAll(client.split(make('a wait'), { timeoutMs: 300 })));
        },

        async cancel() {
            const controller = new AbortController();
            setTimeout(() => controller.abort(), 200);
            await expectError(
                Code.Canceled, readAll(client.split(make('a wait'), { signal: controller.signal })));
        },
    };
}

// The cases of transports that stream requests, which a browser cannot.
export function createRequestStreamCases(client, text) {
    const make = value => create(text, { text: value });
    async function* requests(...texts) {
        for (const value of texts) {
            yield make(value);
        }
    }

    return {
        async client_stream() {
            equal((await client.join(requests('a', long, 'c'))).text, `a ${long} c`);
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

            equal(replies, ['one!', 'two!']);
        },
    };
}

// Runs one case after the other, and gives a line for each: "NAME passed", or "NAME" and what is wrong.
export async function* runCases(cases) {
    for (const [name, test] of Object.entries(cases)) {
        let outcome = 'passed';
        try {
            const limit = new Promise((_, reject) => {
                setTimeout(() => reject(new Error('took too long')), 15_000);
            });
            await Promise.race([test(), limit]);
        } catch (error) {
            outcome = `${error.message ?? error}`.replaceAll('\n', ' ');
        }

        yield `${name} ${outcome}`;
    }
}
