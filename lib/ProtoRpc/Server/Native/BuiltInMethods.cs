using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server.Native;

/// <summary>The methods that every service of the native protocol has;
/// on the wire their names start with a dot.</summary>
/// <remarks>They are methods like any other, so that interceptors see them
/// and they cannot get around a rule.</remarks>
internal sealed class BuiltInMethods
{
    private readonly ServerHost _host;
    private readonly ServerService _service;
    private readonly ServerService _methods = new(BuiltInNames.Service, Guid.Empty);

    public BuiltInMethods(ServerHost host, ServerService service)
    {
        _host = host;
        _service = service;
        _methods.Add(ServerPing.Create(host, isBuiltIn: true));
        Add<RpcVoid>(BuiltInNames.Close, (context, _) =>
        {
            _host.CloseSession(context);
            return ValueTask.FromResult<IMessage>(new RpcVoid());
        });
        if (host.Options.EnableMultiPart)
        {
            Add<RpcMultiPartRequest>(BuiltInNames.Multi, TakePartAsync, PartInPlace.TryRead);
        }

        host.Intercept(_methods);
    }

    /// <summary>The method of a name of the wire.</summary>
    /// <exception cref="MissingMethodException">There is none.</exception>
    public ServerMethod Get(string name) => _methods.Get(name[1..]);

    private void Add<TRequest>(
        string name, Func<RpcServerCallContext, TRequest, ValueTask<IMessage>> handler,
        Func<ReadOnlyMemory<byte>, IMessage?>? readInPlace = null)
        where TRequest : class, IMessage<TRequest>, new() => _methods.Add(new ServerMethod(
            BuiltInNames.Service.FindMethod(name[1..])!,
            (context, request) => handler(context, (TRequest)request),
            new MessageParser<TRequest>(() => new TRequest()))
        {
            IsBuiltIn = true,
            IsAlwaysAdmitted = true,
            ReadInPlace = readInPlace,
        });

    // The method that the parts are for is found before the first of them is kept,
    // and is called as if the message had come whole.
    private async ValueTask<IMessage> TakePartAsync(RpcServerCallContext context, RpcMultiPartRequest part)
    {
        if (part.MessageStatus == RpcMultiPartRequest.Types.RpcMessageStatus.Cancel)
        {
            _host.Transfers.Drop(context.Owner, part.TransactionId);
            return new RpcMultiPartResponse { Continue = false };
        }

        ServerMethod method = _service.Get(part.MethodName);
        using Transfer? whole = _host.Transfers.Accept(context.Owner, part, context.ShareHolder);
        if (whole is null)
        {
            return new RpcMultiPartResponse { Continue = true };
        }

        RpcMethodInfo multi = context.Method;
        context.Method = method.Info;
        IMessage reply = await InvokeAsync(method, context, whole).ConfigureAwait(false);
        context.Method = multi;
        context.RunsHandler = false;
        method.CheckReply(reply, context);
        using EncodedMessage body = EncodedMessage.Of(reply, _host.Options.Limits.MaxMessageBytes, "reply");
        return new RpcMultiPartResponse { ResponseBytes = UnsafeByteOperations.UnsafeWrap(body.ToArray()) };
    }

    private async ValueTask<IMessage> InvokeAsync(
        ServerMethod method, RpcServerCallContext context, Transfer whole)
    {
        await _host.Admission.EnterAsync(context).ConfigureAwait(false);
        try
        {
            return await _host.InvokeAsync(method, context, method.ReadRequest(whole.Body, context))
                .ConfigureAwait(false);
        }
        finally
        {
            _host.Admission.Leave();
        }
    }
}
