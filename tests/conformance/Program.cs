using ProtoRpc;
using ProtoRpc.Conformance;

// The testee of Protocol Buffers' conformance tests: requests on standard input, answers on standard output,
// until the input ends. The messages are those beside the program;
// other .proto files with them can be given by path.
RpcSchema schema = RpcSchema.Load(TesteeFiles.Of(args));
using Stream input = Console.OpenStandardInput();
using Stream output = Console.OpenStandardOutput();
new Testee(schema).Run(input, output);
