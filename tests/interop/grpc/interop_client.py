"""Runs gRPC's interoperability test cases, by name, with Python's grpc against a server; writes how each ended."""
import argparse
import os
import subprocess
import sys
import tempfile
import threading
import traceback

import grpc
from google.protobuf import descriptor_pool

HERE = os.path.dirname(os.path.abspath(__file__))
INITIAL = 'x-grpc-test-echo-initial'
TRAILING = 'x-grpc-test-echo-trailing-bin'
REQUESTS = (27182, 8, 1828, 45904)
REPLIES = (31415, 9, 2653, 58979)


def compile_protos(folders):
    folder = tempfile.mkdtemp()
    subprocess.run(
        ['protoc', f'--python_out={folder}', f'-I{HERE}/protos', *(f'-I{path}' for path in folders), 'interop.proto',
         'grpc/reflection/v1/reflection.proto', 'grpc/health/v1/health.proto', 'google/rpc/status.proto'], check=True)
    import google
    google.__path__.append(f'{folder}/google')
    grpc.__path__.append(f'{folder}/grpc')
    sys.path.insert(0, folder)


class Stub:
    """The methods of a service, from its descriptor."""

    def __init__(self, channel, service, name=None):
        for method in service.methods:
            kind = ('stream' if method.client_streaming else 'unary') + '_' + (
                'stream' if method.server_streaming else 'unary')
            setattr(self, method.name, getattr(channel, kind)(
                f'/{name or service.full_name}/{method.name}',
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=method.output_type._concrete_class.FromString))


def payload(size):
    return interop.Payload(body=b'\0' * size)


def large(**further):
    return interop.SimpleRequest(response_size=314159, payload=payload(271828), **further)


def output(*sizes, **further):
    return interop.StreamingOutputCallRequest(
        response_parameters=[interop.ResponseParameters(size=size) for size in sizes], **further)


def expect_error(code, call):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code, f'{error.code()}: {error.details()}'
        return error
    raise AssertionError(f'no {code}')


class Cases:
    def __init__(self, channel, options):
        self.channel = channel
        self.options = options
        self.stub = Stub(channel, interop.DESCRIPTOR.services_by_name['TestService'])

    def empty_unary(self):
        assert self.stub.EmptyCall(interop.Empty()) == interop.Empty()

    def large_unary(self):
        assert len(self.stub.UnaryCall(large()).payload.body) == 314159

    def client_streaming(self):
        reply = self.stub.StreamingInputCall(interop.StreamingInputCallRequest(payload=payload(s)) for s in REQUESTS)
        assert reply.aggregated_payload_size == 74922

    def server_streaming(self):
        assert [len(r.payload.body) for r in self.stub.StreamingOutputCall(output(*REPLIES))] == list(REPLIES)

    def ping_pong(self):
        answered = threading.Semaphore(1)

        def requests():
            for asked, size in zip(REQUESTS, REPLIES):
                answered.acquire()
                yield output(size, payload=payload(asked))

        seen = []
        for reply in self.stub.FullDuplexCall(requests()):
            seen.append(len(reply.payload.body))
            answered.release()
        assert seen == list(REPLIES)

    def empty_stream(self):
        assert list(self.stub.FullDuplexCall(iter(()))) == []

    def client_compressed_unary(self):
        expected = interop.BoolValue(value=True)
        expect_error(grpc.StatusCode.INVALID_ARGUMENT, lambda: self.stub.UnaryCall(large(expect_compressed=expected)))
        reply = self.stub.UnaryCall(large(expect_compressed=expected), compression=grpc.Compression.Gzip)
        assert len(reply.payload.body) == 314159
        self.stub.UnaryCall(large(expect_compressed=interop.BoolValue(value=False)))

    def client_compressed_streaming(self):
        def request():
            yield interop.StreamingInputCallRequest(
                payload=payload(27182), expect_compressed=interop.BoolValue(value=True))

        expect_error(grpc.StatusCode.INVALID_ARGUMENT, lambda: self.stub.StreamingInputCall(request()))
        assert self.stub.StreamingInputCall(
            request(), compression=grpc.Compression.Gzip).aggregated_payload_size == 27182

    def server_compressed_unary(self):
        for compressed in True, False:
            reply = self.stub.UnaryCall(large(response_compressed=interop.BoolValue(value=compressed)))
            assert len(reply.payload.body) == 314159

    def server_compressed_streaming(self):
        request = interop.StreamingOutputCallRequest(response_parameters=[
            interop.ResponseParameters(size=31415, compressed=interop.BoolValue(value=True)),
            interop.ResponseParameters(size=92653, compressed=interop.BoolValue(value=False))])
        assert [len(r.payload.body) for r in self.stub.StreamingOutputCall(request)] == [31415, 92653]

    def custom_metadata(self):
        sent = ((INITIAL, 'test_initial_metadata_value'), (TRAILING, b'\x0a\x0b\x0a\x0b\x0a\x0b'))
        _, unary = self.stub.UnaryCall.with_call(large(), metadata=sent)
        duplex = self.stub.FullDuplexCall(iter([output(314159)]), metadata=sent)
        list(duplex)
        for call in unary, duplex:
            assert dict(call.initial_metadata())[INITIAL] == sent[0][1]
            assert dict(call.trailing_metadata())[TRAILING] == sent[1][1]

    def status_code_and_message(self):
        status = interop.EchoStatus(code=2, message='test status message')
        for call in (lambda: self.stub.UnaryCall(interop.SimpleRequest(response_status=status)),
                     lambda: list(self.stub.FullDuplexCall(iter([output(response_status=status)])))):
            assert expect_error(grpc.StatusCode.UNKNOWN, call).details() == status.message

    def special_status_message(self):
        text = '\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n'
        status = interop.EchoStatus(code=2, message=text)
        error = expect_error(
            grpc.StatusCode.UNKNOWN, lambda: self.stub.UnaryCall(interop.SimpleRequest(response_status=status)))
        assert error.details() == text

    def unimplemented_method(self):
        expect_error(grpc.StatusCode.UNIMPLEMENTED, lambda: self.stub.UnimplementedCall(interop.Empty()))

    def unimplemented_service(self):
        stub = Stub(self.channel, interop.DESCRIPTOR.services_by_name['UnimplementedService'])
        expect_error(grpc.StatusCode.UNIMPLEMENTED, lambda: stub.UnimplementedCall(interop.Empty()))

    def cancel_after_begin(self):
        going = threading.Event()
        call = self.stub.StreamingInputCall.future(iter(lambda: going.wait(30) or None, None))
        call.cancel()
        going.set()
        assert call.code() == grpc.StatusCode.CANCELLED

    def cancel_after_first_response(self):
        going = threading.Event()

        def requests():
            yield output(31415, payload=payload(27182))
            going.wait(30)

        call = self.stub.FullDuplexCall(requests())
        next(call)
        call.cancel()
        going.set()
        expect_error(grpc.StatusCode.CANCELLED, lambda: next(call))

    def timeout_on_sleeping_server(self):
        request = interop.StreamingOutputCallRequest(
            response_parameters=[interop.ResponseParameters(size=1, interval_us=60_000_000)])
        expect_error(
            grpc.StatusCode.DEADLINE_EXCEEDED, lambda: list(self.stub.FullDuplexCall(iter([request]), timeout=0.1)))

    def rpc_soak(self):
        for _ in range(200):
            assert len(self.stub.UnaryCall(large()).payload.body) == 314159

    def channel_soak(self):
        for _ in range(20):
            with open_channel(self.options, **{'grpc.use_local_subchannel_pool': 1}) as channel:
                stub = Stub(channel, interop.DESCRIPTOR.services_by_name['TestService'])
                assert len(stub.UnaryCall(large()).payload.body) == 314159

    # Beyond the official ones.

    def error_details(self):
        status = interop.EchoStatus(code=8, message='with details')
        error = expect_error(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: self.stub.UnaryCall(
            interop.SimpleRequest(response_status=status)))
        told = status_pb2.Status.FromString(dict(error.trailing_metadata())['grpc-status-details-bin'])
        detail = interop.SimpleResponse()
        assert told.code == 8 and told.details[0].Unpack(detail) and len(detail.payload.body) == 7

    def reflection(self):
        service = reflection.DESCRIPTOR.services_by_name['ServerReflection']
        for name in service.full_name, service.full_name.replace('.v1.', '.v1alpha.'):
            stub = Stub(self.channel, service, name)
            request = reflection.ServerReflectionRequest
            listed, found = stub.ServerReflectionInfo(iter([
                request(list_services=''), request(file_containing_symbol='grpc.testing.TestService')]))
            assert 'grpc.testing.TestService' in [s.name for s in listed.list_services_response.service]
            pool = descriptor_pool.DescriptorPool()
            for file in found.file_descriptor_response.file_descriptor_proto:
                pool.AddSerializedFile(file)
            methods = pool.FindServiceByName('grpc.testing.TestService').methods
            assert 'FullDuplexCall' in [m.name for m in methods]

    def health(self):
        stub = Stub(self.channel, health.DESCRIPTOR.services_by_name['Health'])
        serving = health.HealthCheckResponse.SERVING
        assert stub.Check(health.HealthCheckRequest()).status == serving
        watch = stub.Watch(health.HealthCheckRequest(service='grpc.testing.TestService'))
        assert next(watch).status == serving
        watch.cancel()


def open_channel(options, **further):
    settings = list(further.items())
    if not options.authority:
        return grpc.insecure_channel(options.target, options=settings)

    def read(path):
        if path is None:
            return None
        with open(path, 'rb') as file:
            return file.read()

    if options.server_name:
        settings.append(('grpc.ssl_target_name_override', options.server_name))
    credentials = grpc.ssl_channel_credentials(read(options.authority), read(options.key), read(options.certificate))
    return grpc.secure_channel(options.target, credentials, options=settings)


def run(options):
    cases = options.case or [name for name in vars(Cases) if not name.startswith('_')]
    with open_channel(options) as channel:
        for name in cases:
            try:
                getattr(Cases(channel, options), name)()
                print(f'{name}: passed', flush=True)
            except Exception:
                print(f'{name}: ' + traceback.format_exc().replace('\n', ' | '), flush=True)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--import-path', action='append')
    parser.add_argument('--case', action='append')
    parser.add_argument('--authority')
    parser.add_argument('--server-name')
    parser.add_argument('--certificate')
    parser.add_argument('--key')
    parser.add_argument('target')
    arguments = parser.parse_args()
    compile_protos(arguments.import_path)
    import interop_pb2 as interop
    from google.rpc import status_pb2
    from grpc.health.v1 import health_pb2 as health
    from grpc.reflection.v1 import reflection_pb2 as reflection
    run(arguments)
