using ProtoRpc.Conformance;
using ProtoRpc.Schema;

// The testee of Protocol Buffers' conformance tests: requests on standard input, answers on standard output, until
// the input ends. The messages are those beside the program; other .proto files with them can be given by path.
string folder = Path.Combine(AppContext.BaseDirectory, "protos");
RpcSchema schema = RpcSchema.Load(args.Length > 0
    ? args
    :
    [
        Path.Combine(folder, "conformance.proto"),
        Path.Combine(folder, "test_messages_proto2.proto"),
        Path.Combine(folder, "test_messages_proto3.proto"),
    ]);
using Stream input = Console.OpenStandardInput();
using Stream output = Console.OpenStandardOutput();
new Testee(schema).Run(input, output);
