using System.Net.Http.Headers;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>The HTTP headers of a call.</summary>
internal static class GrpcHeaders
{
    public const string ContentType = "application/grpc";
    public const string Encoding = "grpc-encoding";
    public const string AcceptEncoding = "grpc-accept-encoding";
    public const string Status = "grpc-status";
    public const string StatusDetails = "grpc-status-details-bin";

    /// <summary>The trailer of ProtoRpc with the correlation id, under which the server logs the exception
    /// that it does not send.</summary>
    public const string CorrelationId = "protorpc-correlation-id";

    /// <summary>Milliseconds until the client calls again (gRFC A6).</summary>
    public const string RetryPushback = "grpc-retry-pushback-ms";

    private const string ReservedPrefix = "grpc-";
    private static readonly string UserAgent =
        $"protorpc/{typeof(GrpcHeaders).Assembly.GetName().Version?.ToString(3)}";

    private static readonly HashSet<string> Reserved =
    [
        "te", "content-type", "content-length", "host", "connection", "keep-alive", "proxy-connection",
        "transfer-encoding", "upgrade", CorrelationId, HttpNames.Busy,
    ];

    // gRFC A6: a server's program reads which attempt a call is, and says when to try again.
    private static readonly HashSet<string> OfRetries = new(
        ["grpc-previous-rpc-attempts", RetryPushback], StringComparer.OrdinalIgnoreCase);

    /// <summary>The type of a body. Never changed: all calls share it.</summary>
    public static MediaTypeHeaderValue MediaType { get; } = new(ContentType);

    /// <summary>Whether a name belongs to the protocol, or to HTTP.</summary>
    public static bool IsReserved(string name) =>
        IsOfGrpc(name) || Reserved.Contains(name);

    /// <summary>Writes what every call has.</summary>
    public static void AddStandard(HttpRequestHeaders headers, TimeSpan timeout, bool compresses)
    {
        headers.TryAddWithoutValidation("te", "trailers");
        headers.TryAddWithoutValidation(AcceptEncoding, GrpcEncoding.Accepted);
        if (timeout != Timeout.InfiniteTimeSpan)
        {
            headers.TryAddWithoutValidation(GrpcTimeout.HeaderName, GrpcTimeout.Format(timeout));
        }

        if (compresses)
        {
            headers.TryAddWithoutValidation(Encoding, GrpcEncoding.Gzip);
        }

        if (!headers.NonValidated.Contains("user-agent"))
        {
            headers.TryAddWithoutValidation("user-agent", UserAgent);
        }
    }

    /// <summary>Writes what the caller sends along.</summary>
    /// <remarks>HttpClient joins the values of one name to 'a, b'. Servers read that as one text. Servers on
    /// gRPC's C core fail the connection if the values are base64.</remarks>
    /// <exception cref="RpcException">InvalidArgument: the name belongs to the protocol, or has several
    /// values of bytes.</exception>
    public static void Add(HttpRequestMessage request, RpcMetadata metadata)
    {
        foreach ((string name, object value) in metadata)
        {
            if (IsReserved(name))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"The header '{name}' cannot be sent: the protocol reserves this name. Use another one.")
                {
                    ErrorId = RpcErrorIds.InvalidHeader,
                };
            }

            if (value is byte[] && request.Headers.NonValidated.Contains(name))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"The header '{name}' has several values, and a gRPC call sends one value of bytes for "
                    + "each name. Use a name for each value, or one message that contains all values.")
                {
                    ErrorId = RpcErrorIds.InvalidHeader,
                };
            }

            string text = value as string ?? GrpcBinaryHeader.Encode((byte[])value);
            if (!request.Headers.TryAddWithoutValidation(name, text))
            {
                // The names that HTTP knows as headers of the body.
                request.Content!.Headers.TryAddWithoutValidation(name, text);
            }
        }
    }

    /// <summary>What came beside the messages, without what belongs to the protocol.</summary>
    public static RpcMetadata Read(HttpHeaders headers)
    {
        RpcMetadata metadata = new();
        foreach ((string name, HeaderStringValues values) in headers.NonValidated)
        {
            if (IsOfGrpc(name))
            {
                continue;
            }

            foreach (string value in values)
            {
                metadata.AddReceived(name, value);
            }
        }

        return metadata;
    }

    /// <summary>The one value of a header, or null.</summary>
    public static string? Find(HttpHeaders headers, string name) =>
        headers.NonValidated.TryGetValues(name, out HeaderStringValues values) ? values.ToString() : null;

    private static bool IsOfGrpc(string name) =>
        name.StartsWith(ReservedPrefix, StringComparison.OrdinalIgnoreCase) && !OfRetries.Contains(name);
}
