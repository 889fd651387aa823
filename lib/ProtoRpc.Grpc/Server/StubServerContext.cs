using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Grpc.Server;

/// <summary>The context of a call, for a generated service.</summary>
/// <param name="call">The context of <see cref="RpcServer"/>.</param>
/// <param name="stream">The stream of a method that streams; otherwise null.</param>
internal sealed class StubServerContext(RpcServerCallContext call, RpcServerStream? stream)
    : ServerCallContext
{
    private const string UserProperty = "user";
    private const string AuthenticationProperty = "authentication_type";

    private Metadata? _requestHeaders;
    private Metadata? _trailers;
    private AuthContext? _auth;
    private bool _hasHeaders;

    public RpcServerCallContext Call => call;

    protected override string MethodCore => $"/{call.Method.FullName}";

    protected override string HostCore =>
        call.Endpoint.Port > 0 ? $"{call.Endpoint.Host}:{call.Endpoint.Port}"
        : call.Endpoint.Host.Length > 0 ? call.Endpoint.Host
        : "localhost";

    // The form of gRPC's peer addresses. Without an IP address, the endpoint.
    protected override string PeerCore => !IPEndPoint.TryParse(call.ClientAddress, out IPEndPoint? peer)
        ? call.Endpoint.ToString()
        : peer.AddressFamily == AddressFamily.InterNetwork ? $"ipv4:{peer}" : $"ipv6:{peer}";

    protected override DateTime DeadlineCore => call.Deadline?.UtcDateTime ?? DateTime.MaxValue;

    protected override Metadata RequestHeadersCore =>
        _requestHeaders ??= StubMetadata.ToGrpc(call.RequestHeaders);

    protected override CancellationToken CancellationTokenCore => call.CancellationToken;

    protected override Metadata ResponseTrailersCore => _trailers ??= [];

    protected override Status StatusCore { get; set; }

    protected override WriteOptions? WriteOptionsCore { get; set; }

    protected override AuthContext AuthContextCore => _auth ??= CreateAuth();

    /// <summary>Runs the service's method.</summary>
    /// <exception cref="RpcException">The method failed, or it set a status that is not OK.</exception>
    public async ValueTask<TReply> RunAsync<TReply>(Task<TReply> handler)
    {
        await RunAsync((Task)handler).ConfigureAwait(false);
        return handler.Result;
    }

    /// <inheritdoc cref="RunAsync{TReply}"/>
    public async ValueTask RunAsync(Task handler)
    {
        try
        {
            await handler.ConfigureAwait(false);
        }
        catch (GrpcException e)
        {
            throw StubErrors.FromService(e, call);
        }
        finally
        {
            StubMetadata.CopyTo(call.ReplyTrailers, _trailers);
        }

        if (StatusCore.StatusCode != StatusCode.OK)
        {
            throw new RpcException((RpcStatusCode)StatusCore.StatusCode, StatusCore.Detail);
        }
    }

    protected override async Task WriteResponseHeadersAsyncCore(Metadata responseHeaders)
    {
        ArgumentNullException.ThrowIfNull(responseHeaders);
        if (_hasHeaders)
        {
            throw new InvalidOperationException("Response headers can be written only once in a call.");
        }

        _hasHeaders = true;
        StubMetadata.CopyTo(call.ReplyHeaders, responseHeaders);
        if (StubMetadata.CompressionOf(responseHeaders) is { } compression)
        {
            call.ReplyCompression = compression;
        }

        // A unary method sends the headers with its only message.
        if (stream is not null)
        {
            await stream.BeginAsync().ConfigureAwait(false);
        }
    }

    protected override ContextPropagationToken CreatePropagationTokenCore(
        ContextPropagationOptions? options) => throw new NotSupportedException(
            "ProtoRpc does not propagate contexts. Pass Deadline and CancellationToken to the further call.");

    private AuthContext CreateAuth()
    {
        if (!call.IsAuthenticated)
        {
            return new AuthContext(null, []);
        }

        Dictionary<string, List<AuthProperty>> properties = [];
        Add(UserProperty, call.User.Name ?? "");
        Add(AuthenticationProperty, call.AuthenticationType);
        return new AuthContext(UserProperty, properties);

        void Add(string name, string value) => properties[name] =
            [AuthProperty.Create(name, System.Text.Encoding.UTF8.GetBytes(value))];
    }
}
