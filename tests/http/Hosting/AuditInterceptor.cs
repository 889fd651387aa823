using Google.Protobuf;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>Writes into the notes of the call, and so belongs to it.</summary>
public sealed class AuditInterceptor(CallNotes notes) : IRpcInterceptor
{
    public ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        notes.Lines.Add(context.Method.Name);
        return next(context, request);
    }
}
