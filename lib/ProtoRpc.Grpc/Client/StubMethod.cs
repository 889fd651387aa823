using System.Runtime.CompilerServices;
using Google.Protobuf.Reflection;
using ProtoRpc.Client;

namespace ProtoRpc.Grpc.Client;

/// <summary>A method of generated code, as a client calls it.</summary>
/// <param name="Info">The method in the client's schema.</param>
/// <param name="Read">Reads replies.</param>
/// <param name="Parser">Creates messages of the reply's class.</param>
internal sealed record StubMethod(RpcMethodInfo Info, ReplyReader<IMessage> Read, MessageParser Parser)
{
    /// <summary>The reply as its generated class. An interceptor of the client may return another class of
    /// the same message.</summary>
    public TReply Cast<TReply>(IMessage reply)
        where TReply : class => StubTypes.Cast<TReply>(reply, Parser);
}

/// <summary>The methods that a client has called, by those of generated code.</summary>
internal sealed class StubMethods(RpcClient client)
{
    // Weak, because a program can create methods for each call.
    private readonly ConditionalWeakTable<IMethod, StubMethod> _known = [];

    /// <exception cref="RpcException">Unimplemented: the messages are not of Protocol Buffers.
    /// FailedPrecondition: no schema declares the method. InvalidArgument: the schema declares it
    /// differently.</exception>
    public StubMethod Find<TRequest, TReply>(Method<TRequest, TReply> method)
        where TRequest : class
        where TReply : class
    {
        if (!_known.TryGetValue(method, out StubMethod? known))
        {
            known = Create(method);
            _known.AddOrUpdate(method, known);
        }

        return known;
    }

    private StubMethod Create<TRequest, TReply>(Method<TRequest, TReply> method)
        where TRequest : class
        where TReply : class
    {
        MessageDescriptor request = StubTypes.MessageOf(method.RequestMarshaller, method);
        MessageDescriptor reply = StubTypes.MessageOf(method.ResponseMarshaller, method);
        string name = $"{method.ServiceName}/{method.Name}";
        RpcMethodInfo info = client.FindStubMethod(
                name, StubTypes.FilesOf(method.RequestMarshaller, request, reply))
            ?? throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"The method '{name}' is unknown: neither the client's schema nor the generated code "
                + $"declares it. Give {nameof(RpcClient)}.{nameof(RpcClient.Connect)} a schema; "
                + $"{nameof(RpcSchema)}.{nameof(RpcSchema.FromDescriptors)} makes one from the generated "
                + "file that declares the service.");
        MethodType type = (info.IsClientStreaming, info.IsServerStreaming) switch
        {
            (false, false) => MethodType.Unary,
            (true, false) => MethodType.ClientStreaming,
            (false, true) => MethodType.ServerStreaming,
            (true, true) => MethodType.DuplexStreaming,
        };
        bool isSame = info.RequestType.FullName == request.FullName
            && info.ReplyType.FullName == reply.FullName
            && type == method.Type;
        return isSame
            ? new StubMethod(info, client.StubReader(info, reply.Parser), reply.Parser)
            : throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The client's schema declares '{info.FullName}' differently from the generated code: "
                + $"{info.Signature}. Generate the code from the same .proto file.");
    }
}
