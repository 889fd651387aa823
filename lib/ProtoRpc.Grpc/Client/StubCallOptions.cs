namespace ProtoRpc.Grpc.Client;

/// <summary>Converts the options of a call of a generated client.</summary>
internal static class StubCallOptions
{
    /// <param name="client">The client, which sends the call.</param>
    /// <param name="method">The method, for credentials.</param>
    /// <param name="options">The options of the generated client.</param>
    /// <param name="info">Receives the metadata of the reply.</param>
    /// <exception cref="RpcException">InvalidArgument: a header cannot be sent, or credentials would be
    /// readable on the network. Unimplemented: the compression is not supported.</exception>
    public static async ValueTask<RpcCallOptions> CreateAsync(
        RpcClient client, IMethod method, CallOptions options, RpcReplyInfo info)
    {
        RpcMetadata? headers = null;
        if (options.Headers is { Count: > 0 } given)
        {
            StubMetadata.CopyTo(headers = new RpcMetadata(), given);
        }

        if (options.Credentials is { } credentials)
        {
            if (!client.IsPrivate)
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"Call credentials are not sent to '{client.Endpoint}', because others on the network "
                    + "could read them. Use an endpoint with TLS or one on this machine.");
            }

            StubMetadata.CopyTo(
                headers ??= new RpcMetadata(),
                await StubCredentials.ReadAsync(
                    credentials, client.Endpoint, method, options.CancellationToken).ConfigureAwait(false));
        }

        return new RpcCallOptions
        {
            Headers = headers,
            ReplyInfo = info,
            Timeout = options.Deadline == DateTime.MaxValue ? Timeout.InfiniteTimeSpan : null,
            Deadline = options.Deadline is { } deadline && deadline != DateTime.MaxValue
                ? new DateTimeOffset(ToUtc(deadline))
                : null,
            WaitForReady = options.IsWaitForReady,
            Compression = IsUncompressed(options.WriteOptions)
                ? RpcCompression.None
                : StubMetadata.CompressionOf(options.Headers),
        };
    }

    /// <summary>Whether messages are sent without compression. The other hint, to buffer a message, has no
    /// effect.</summary>
    public static bool IsUncompressed(WriteOptions? options) =>
        options is not null && options.Flags.HasFlag(WriteFlags.NoCompress);

    // Grpc.Core.Api treats times without a kind as UTC.
    private static DateTime ToUtc(DateTime time) =>
        time.Kind == DateTimeKind.Local
            ? time.ToUniversalTime()
            : DateTime.SpecifyKind(time, DateTimeKind.Utc);
}

/// <summary>Reads the headers of call credentials.</summary>
internal sealed class StubCredentials : CallCredentialsConfiguratorBase
{
    private readonly List<AsyncAuthInterceptor> _interceptors = [];

    public static async Task<Metadata> ReadAsync(
        CallCredentials credentials, RpcEndpoint endpoint, IMethod method, CancellationToken cancellation)
    {
        StubCredentials reader = new();
        credentials.InternalPopulateConfiguration(reader, null);

        // Other gRPC implementations pass this address, which becomes the audience of a token.
        string host = endpoint.Host.Length == 0 ? "localhost"
            : endpoint.Port is 0 or 443 ? endpoint.Host
            : $"{endpoint.Host}:{endpoint.Port}";
        AuthInterceptorContext context = new(
            $"https://{host}/{method.ServiceName}", method.Name, cancellation);
        Metadata headers = [];
        foreach (AsyncAuthInterceptor interceptor in reader._interceptors)
        {
            await interceptor(context, headers).ConfigureAwait(false);
        }

        return headers;
    }

    public override void SetCompositeCredentials(object? state, IReadOnlyList<CallCredentials> credentials)
    {
        foreach (CallCredentials part in credentials)
        {
            part.InternalPopulateConfiguration(this, state);
        }
    }

    public override void SetAsyncAuthInterceptorCredentials(
        object? state, AsyncAuthInterceptor interceptor) => _interceptors.Add(interceptor);
}
