namespace ProtoRpc.Grpc.Client;

/// <summary>Sends the calls of generated clients through an <see cref="RpcClient"/>.</summary>
internal sealed class StubInvoker(RpcClient client) : CallInvoker
{
    private readonly StubMethods _methods = new(client);

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        Check(method, host, request);
        return new StubUnaryCall<TRequest, TResponse>(client, _methods, method, options, isBlocking: true)
            .Run(request);
    }

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        Check(method, host, request);
        return new StubUnaryCall<TRequest, TResponse>(client, _methods, method, options).Start(request);
    }

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        Check(method, host, request);
        return Stream(method, options).StartServerStream(request);
    }

    public override AsyncClientStreamingCall<TRequest, TResponse>
        AsyncClientStreamingCall<TRequest, TResponse>(
            Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        Check(method, host);
        return Stream(method, options).StartClientStream();
    }

    public override AsyncDuplexStreamingCall<TRequest, TResponse>
        AsyncDuplexStreamingCall<TRequest, TResponse>(
            Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        Check(method, host);
        return Stream(method, options).StartDuplexStream();
    }

    private StubStreamingCall<TRequest, TResponse> Stream<TRequest, TResponse>(
        Method<TRequest, TResponse> method, CallOptions options)
        where TRequest : class
        where TResponse : class => new(client, _methods, method, options);

    private void Check(IMethod method, string? host, object request)
    {
        Check(method, host);
        ArgumentNullException.ThrowIfNull(request);
    }

    private void Check(IMethod method, string? host)
    {
        ArgumentNullException.ThrowIfNull(method);
        if (!string.IsNullOrEmpty(host))
        {
            throw new NotSupportedException(
                $"A call cannot go to the host '{host}', because the client has the endpoint "
                + $"'{client.Endpoint}'. Create a client for the other endpoint instead of WithHost.");
        }
    }
}
