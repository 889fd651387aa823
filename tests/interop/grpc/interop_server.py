"""Serves gRPC's interoperability tests, reflection and health with Python's grpc.

Writes "listening PORT" once it is there, and how streams begin and end.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent import futures

import grpc
from google.protobuf import any_pb2, descriptor_pool

HERE = os.path.dirname(os.path.abspath(__file__))
ECHO_INITIAL = 'x-grpc-test-echo-initial'
ECHO_TRAILING = 'x-grpc-test-echo-trailing-bin'
DETAILS = 'grpc-status-details-bin'


def compile_protos(folders):
    """Python modules of the .proto files; the services need no plug-in."""
    folder = tempfile.mkdtemp()
    subprocess.run(
        ['protoc', f'--python_out={folder}', f'-I{HERE}/protos', *(f'-I{path}' for path in folders), 'interop.proto',
         'grpc/reflection/v1/reflection.proto', 'grpc/health/v1/health.proto',
         'google/rpc/status.proto', 'google/rpc/error_details.proto'],
        check=True)
    # Beside the packages of these names that are installed.
    import google
    google.__path__.append(f'{folder}/google')
    grpc.__path__.append(f'{folder}/grpc')
    sys.path.insert(0, folder)


class TestService:
    def EmptyCall(self, request, context):
        self.echo(context)
        return interop.Empty()

    def UnaryCall(self, request, context):
        self.echo(context)
        if request.response_compressed.value:
            context.set_compression(grpc.Compression.Gzip)
        self.fail_if_asked(request, context)
        return interop.SimpleResponse(payload=self.payload(request.response_size))

    def StreamingOutputCall(self, request, context):
        context.add_callback(lambda: print('ended StreamingOutputCall', flush=True))
        if any(p.compressed.value for p in request.response_parameters):
            context.set_compression(grpc.Compression.Gzip)
        yield from self.replies(request, context)

    def StreamingInputCall(self, requests, context):
        context.add_callback(lambda: print('ended StreamingInputCall', flush=True))
        print('began StreamingInputCall', flush=True)
        return interop.StreamingInputCallResponse(
            aggregated_payload_size=sum(len(r.payload.body) for r in requests))

    def FullDuplexCall(self, requests, context):
        self.echo(context)
        context.add_callback(lambda: print('ended FullDuplexCall', flush=True))
        for request in requests:
            self.fail_if_asked(request, context)
            yield from self.replies(request, context)

    def HalfDuplexCall(self, requests, context):
        for request in list(requests):
            yield from self.replies(request, context)

    def replies(self, request, context):
        for parameters in request.response_parameters:
            time.sleep(parameters.interval_us / 1e6)
            if not context.is_active():
                return
            if not parameters.compressed.value:
                context.disable_next_message_compression()
            yield interop.StreamingOutputCallResponse(payload=self.payload(parameters.size))

    @staticmethod
    def payload(size):
        return interop.Payload(body=b'\0' * size)

    @staticmethod
    def echo(context):
        for key, value in context.invocation_metadata():
            if key == ECHO_INITIAL:
                context.send_initial_metadata([(key, value)])
            if key == ECHO_TRAILING:
                context.set_trailing_metadata([(key, value)])

    @staticmethod
    def fail_if_asked(request, context):
        if not request.HasField('response_status') or not request.response_status.code:
            return
        codes = {code.value[0]: code for code in grpc.StatusCode}
        status = request.response_status
        if status.message == 'with details':
            told = status_pb2.Status(code=status.code, message=status.message)
            for detail in (error_details.ErrorInfo(reason='STOCKOUT', domain='example.org', metadata={'zone': 'a'}),
                           error_details.BadRequest(field_violations=[
                               error_details.BadRequest.FieldViolation(field='name', description='too long')])):
                told.details.add().Pack(detail)
            told.details.append(any_pb2.Any(type_url='type.example.org/unknown.Type', value=b'\x08\x01'))
            context.set_trailing_metadata([(DETAILS, told.SerializeToString()), ('retries', '3')])
        context.abort(codes[status.code], status.message)


class Reflection:
    def __init__(self, services):
        self.services = services

    def ServerReflectionInfo(self, requests, context):
        pool = descriptor_pool.Default()
        for request in requests:
            reply = reflection.ServerReflectionResponse(original_request=request)
            try:
                kind = request.WhichOneof('message_request')
                if kind == 'list_services':
                    for name in self.services:
                        reply.list_services_response.service.add(name=name)
                elif kind == 'file_by_filename':
                    self.add(reply, pool.FindFileByName(request.file_by_filename))
                else:
                    self.add(reply, pool.FindFileContainingSymbol(request.file_containing_symbol))
            except KeyError as error:
                reply.error_response.error_code = grpc.StatusCode.NOT_FOUND.value[0]
                reply.error_response.error_message = str(error)
            yield reply

    @staticmethod
    def add(reply, file):
        reply.file_descriptor_response.file_descriptor_proto.append(file.serialized_pb)


class Health:
    def Check(self, request, context):
        return health.HealthCheckResponse(status=health.HealthCheckResponse.SERVING)


def handler(service, served_as, implementation):
    """Serves the methods that the object has, under a name."""
    methods = {}
    for method in service.methods:
        function = getattr(implementation, method.name, None)
        if function is None:
            continue
        kind = (method.client_streaming, method.server_streaming)
        make = {(False, False): grpc.unary_unary_rpc_method_handler,
                (False, True): grpc.unary_stream_rpc_method_handler,
                (True, False): grpc.stream_unary_rpc_method_handler,
                (True, True): grpc.stream_stream_rpc_method_handler}[kind]
        methods[method.name] = make(
            function,
            request_deserializer=method.input_type._concrete_class.FromString,
            response_serializer=lambda message: message.SerializeToString())
    return grpc.method_handlers_generic_handler(served_as, methods)


def serve(options):
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=16),
        options=[('grpc.max_receive_message_length', 16 << 20)])
    test = interop.DESCRIPTOR.services_by_name['TestService']
    check = health.DESCRIPTOR.services_by_name['Health']
    handlers = [handler(test, test.full_name, TestService()), handler(check, check.full_name, Health())]
    info = reflection.DESCRIPTOR.services_by_name['ServerReflection']
    for version in options.reflection:
        name = f'grpc.reflection.{version}.ServerReflection'
        handlers.append(handler(info, name, Reflection([test.full_name, check.full_name, name])))
    server.add_generic_rpc_handlers(handlers)
    if options.unix:
        port = server.add_insecure_port(f'unix:{options.unix}')
    elif options.certificate:
        with open(options.certificate, 'rb') as chain, open(options.key, 'rb') as key:
            pair = (key.read(), chain.read())
        authority = open(options.client_authority, 'rb').read() if options.client_authority else None
        port = server.add_secure_port('127.0.0.1:0', grpc.ssl_server_credentials(
            [pair], root_certificates=authority, require_client_auth=authority is not None))
    else:
        port = server.add_insecure_port('127.0.0.1:0')
    server.start()
    print(f'listening {port}', flush=True)
    sys.stdin.read()
    server.stop(None)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--import-path', action='append')
    parser.add_argument('--reflection', nargs='*', default=[])
    parser.add_argument('--unix')
    parser.add_argument('--certificate')
    parser.add_argument('--key')
    parser.add_argument('--client-authority')
    arguments = parser.parse_args()
    compile_protos(arguments.import_path)
    import interop_pb2 as interop
    from google.rpc import error_details_pb2 as error_details, status_pb2
    from grpc.health.v1 import health_pb2 as health
    from grpc.reflection.v1 import reflection_pb2 as reflection
    serve(arguments)
