using System.Buffers.Text;
using System.Net.Http.Headers;
using ProtoRpc.Protocols.Headers;
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

    /// <summary>The trailer with the correlation id of a failed call. The server logs the exception with this
    /// id.</summary>
    public const string CorrelationId = "protorpc-correlation-id";

    /// <summary>Milliseconds until the client calls again (gRFC A6).</summary>
    public const string RetryPushback = "grpc-retry-pushback-ms";

    /// <summary>How many attempts of a call were made before (gRFC A6).</summary>
    public const string PreviousAttempts = "grpc-previous-rpc-attempts";

    private const string ReservedPrefix = "grpc-";

    private static readonly HashSet<string> Reserved =
    [
        "te", "content-type", "content-length", "host", "connection", "keep-alive", "proxy-connection",
        "transfer-encoding", "upgrade", CorrelationId, HttpNames.Busy,
    ];

    // gRFC A6: a handler can read the number of the attempt, and can set the pause before a retry.
    private static readonly HashSet<string> OfRetries = new(
        [PreviousAttempts, RetryPushback], StringComparer.OrdinalIgnoreCase);

    /// <summary>The content type of all bodies. Calls share the object, so it must not be changed.</summary>
    public static MediaTypeHeaderValue MediaType { get; } = new(ContentType);

    /// <summary>Whether a header name belongs to gRPC or HTTP.</summary>
    public static bool IsReserved(string name) => IsOfGrpc(name) || Reserved.Contains(name);

    /// <summary>Writes the headers that every call has.</summary>
    public static void AddStandard(
        HttpRequestHeaders headers, TimeSpan timeout, ContentEncoding? encoding)
    {
        headers.TryAddWithoutValidation("te", "trailers");
        headers.TryAddWithoutValidation(AcceptEncoding, GrpcEncoding.Accepted);
        if (timeout != Timeout.InfiniteTimeSpan)
        {
            headers.TryAddWithoutValidation(GrpcTimeout.HeaderName, GrpcTimeout.Format(timeout));
        }

        if (encoding is not null)
        {
            headers.TryAddWithoutValidation(Encoding, encoding.Name);
        }
    }

    /// <summary>Writes the number of previous attempts. A value of the caller takes precedence, because a
    /// gateway passes on the number of its caller.</summary>
    public static void AddAttempts(HttpRequestHeaders headers, int count)
    {
        if (count > 0 && !headers.NonValidated.Contains(PreviousAttempts))
        {
            headers.TryAddWithoutValidation(PreviousAttempts, count.ToString(CultureInfo.InvariantCulture));
        }
    }

    /// <summary>Writes the metadata of the caller.</summary>
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
                    RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHeader,
                    $"The header '{name}' cannot be sent: the protocol reserves this name. Use another one.");
            }

            if (value is byte[] && request.Headers.NonValidated.Contains(name))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHeader,
                    $"The header '{name}' has several values, and a gRPC call sends one value of bytes for "
                    + "each name. Use a name for each value, or one message that contains all values.");
            }

            string text = value as string ?? GrpcBinaryHeader.Encode((byte[])value);
            if (!request.Headers.TryAddWithoutValidation(name, text))
            {
                // HttpClient accepts headers of the body, such as Content-Type, only on the content.
                request.Content!.Headers.TryAddWithoutValidation(name, text);
            }
        }
    }

    /// <summary>The metadata of a reply, without the headers of the protocol.</summary>
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

    /// <summary>All headers as text, including those of the protocol and of the content.</summary>
    public static RpcMetadata ReadAll(params HttpHeaders[] all)
    {
        RpcMetadata metadata = new();
        foreach ((string name, HeaderStringValues values) in all.SelectMany(headers => headers.NonValidated))
        {
            foreach (string value in values)
            {
                metadata.AddReceived(name, value);
            }
        }

        return metadata;
    }

    /// <summary>The single value of a header, or null.</summary>
    public static string? Find(HttpHeaders headers, string name) =>
        headers.NonValidated.TryGetValues(name, out HeaderStringValues values) ? values.ToString() : null;

    private static bool IsOfGrpc(string name) =>
        name.StartsWith(ReservedPrefix, StringComparison.OrdinalIgnoreCase) && !OfRetries.Contains(name);
}

/// <summary>The trailer grpc-retry-pushback-ms: a signed number of 32 bits (gRFC A6).</summary>
internal static class GrpcPushback
{
    private static readonly TimeSpan NoRetry = TimeSpan.FromMilliseconds(-1);

    /// <summary>The pause that a server asks for.</summary>
    /// <returns>Null if there is none; negative if the server asks for no retry, which a malformed or
    /// repeated trailer also means.</returns>
    public static TimeSpan? Find(HttpHeaders headers) =>
        GrpcHeaders.Find(headers, GrpcHeaders.RetryPushback) is not { } text ? null
        : int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int milliseconds)
            ? TimeSpan.FromMilliseconds(milliseconds)
            : NoRetry;
}

/// <summary>The header grpc-timeout: at most eight digits and a unit.</summary>
internal static class GrpcTimeout
{
    public const string HeaderName = "grpc-timeout";

    private const int MaxDigits = 8;
    private const long MaxValue = 99_999_999;

    // From the finest to the coarsest unit. A TimeSpan cannot express nanoseconds.
    private static readonly (char Unit, long Ticks)[] Units =
    [
        ('u', TimeSpan.TicksPerMicrosecond),
        ('m', TimeSpan.TicksPerMillisecond),
        ('S', TimeSpan.TicksPerSecond),
        ('M', TimeSpan.TicksPerMinute),
        ('H', TimeSpan.TicksPerHour),
    ];

    /// <summary>Writes a time in the finest unit that can express it, rounded up. A longer time is written as
    /// the maximum.</summary>
    public static string Format(TimeSpan timeout)
    {
        long ticks = Math.Max(1, timeout.Ticks);
        foreach ((char unit, long size) in Units)
        {
            long count = (ticks / size) + (ticks % size == 0 ? 0 : 1);
            if (count <= MaxValue)
            {
                return string.Create(CultureInfo.InvariantCulture, $"{count}{unit}");
            }
        }

        return string.Create(CultureInfo.InvariantCulture, $"{MaxValue}H");
    }

    /// <summary>Reads a time; null if the text is invalid.</summary>
    public static TimeSpan? Parse(string text)
    {
        if (text.Length is < 2 or > MaxDigits + 1
            || !long.TryParse(
                text.AsSpan(0, text.Length - 1), NumberStyles.None,
                CultureInfo.InvariantCulture, out long count))
        {
            return null;
        }

        if (text[^1] == 'n')
        {
            // A tick has 100 nanoseconds. The time is rounded up, so that a short timeout does not become 0.
            return TimeSpan.FromTicks(
                (count + TimeSpan.NanosecondsPerTick - 1) / TimeSpan.NanosecondsPerTick);
        }

        foreach ((char unit, long size) in Units)
        {
            if (unit == text[^1])
            {
                return TimeSpan.FromTicks(count > long.MaxValue / size ? long.MaxValue : count * size);
            }
        }

        return null;
    }
}

/// <summary>Headers whose names end in -bin: bytes as base64.</summary>
internal static class GrpcBinaryHeader
{
    public const string Suffix = "-bin";

    public static bool IsBinary(string name) => name.EndsWith(Suffix, StringComparison.OrdinalIgnoreCase);

    /// <summary>Writes bytes, without padding.</summary>
    public static string Encode(ReadOnlySpan<byte> bytes) => Convert.ToBase64String(bytes).TrimEnd('=');

    /// <summary>Reads the values of one header line, which peers may join with commas,
    /// with or without padding.</summary>
    /// <returns>Null when a value is not base64.</returns>
    public static IReadOnlyList<byte[]>? Decode(string line)
    {
        List<byte[]> values = [];
        foreach (string part in line.Split(','))
        {
            string text = part.Trim().TrimEnd('=');
            string padded = text.PadRight((text.Length + 3) / 4 * 4, '=');
            byte[] bytes = new byte[Base64.GetMaxDecodedFromUtf8Length(padded.Length)];
            if (!Convert.TryFromBase64String(padded, bytes, out int length))
            {
                return null;
            }

            values.Add(bytes[..length]);
        }

        return values;
    }
}

/// <summary>The call context, in a header of the request and a trailer of the reply.</summary>
internal static class GrpcCallContext
{
    public const string HeaderName = "rpc-call-context-bin";

    public static string Write(RpcCallContext context) => GrpcBinaryHeader.Encode(context.ToByteArray());

    /// <summary>The call context of a reply. Null if it is missing or cannot be read:
    /// a damaged context does not fail the call.</summary>
    public static RpcCallContext? Read(string? header)
    {
        if (string.IsNullOrEmpty(header) || GrpcBinaryHeader.Decode(header) is not [byte[] bytes, ..])
        {
            return null;
        }

        try
        {
            return RpcCallContext.Parser.ParseFrom(bytes);
        }
        catch (InvalidProtocolBufferException)
        {
            return null;
        }
    }
}
