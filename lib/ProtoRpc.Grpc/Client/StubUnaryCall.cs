using ProtoRpc.Transports;

namespace ProtoRpc.Grpc.Client;

/// <summary>A unary call of a generated client.</summary>
internal sealed class StubUnaryCall<TRequest, TReply>(
    RpcClient client, StubMethods methods, Method<TRequest, TReply> method, CallOptions options,
    bool isBlocking = false)
    : StubCall(options.CancellationToken, isBlocking)
    where TRequest : class
    where TReply : class
{
    private Task<TReply>? _reply;

    /// <summary>Sends the request.</summary>
    public AsyncUnaryCall<TReply> Start(TRequest request)
    {
        _reply = RunAsync<AsyncWait>(request).AsTask();
        return new AsyncUnaryCall<TReply>(
            _reply,
            static call => ((StubUnaryCall<TRequest, TReply>)call).HeadersAsync(),
            static call => ((StubCall)call).GetStatus(),
            static call => ((StubCall)call).GetTrailers(),
            static call => ((StubCall)call).Dispose(),
            this);
    }

    /// <summary>Sends the request, and blocks until the reply.</summary>
    public TReply Run(TRequest request) =>
        BlockingWait.End(RunAsync<BlockingWait>(request));

    private async ValueTask<TReply> RunAsync<TWait>(TRequest request)
        where TWait : struct, IWaitMode
    {
        try
        {
            StubMethod known = methods.Find(method);
            ValueTask<RpcCallOptions> making = StubCallOptions.CreateAsync(client, method, options, Info);
            RpcCallOptions made = TWait.IsBlocking && !making.IsCompleted
                ? making.AsTask().GetAwaiter().GetResult()
                : await making.ConfigureAwait(false);
            IMessage reply = await client.CallStubAsync<TWait>(
                known.Info, (IMessage)request, known.Read, made, Token).ConfigureAwait(false);
            TReply typed = known.Cast<TReply>(reply);
            End(null);
            return typed;
        }
        catch (Exception e) when (IsFailure(e))
        {
            throw End(e)!;
        }
        catch (Exception e)
        {
            EndUnexpectedly(e);
            throw;
        }
    }

    private async Task<Metadata> HeadersAsync()
    {
        try
        {
            await _reply!.ConfigureAwait(false);
        }
        catch (GrpcException) when (Info.Headers.Count > 0)
        {
            // The server sent headers before the failure.
        }

        return StubMetadata.ToGrpc(Info.Headers);
    }
}
