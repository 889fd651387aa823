using System.Net;
using System.Net.Http.Headers;
using System.Text.Json;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Protocols.Rest;

namespace ProtoRpc.Client.Http;

/// <summary>Converts an HTTP response that is not a reply to an exception: ProtoRpc's ErrorResult in any
/// format, an error of the Connect protocol, or the reply of a proxy.</summary>
internal static class HttpErrorReader
{
    private static readonly FormatOptions Lenient = new() { IgnoreUnknownFields = true };

    private const int TooManyRequests = 429;
    private const int ServiceUnavailable = 503;
    private const string RetryAfter = "Retry-After";
    private const int MaxLocation = 200;

    /// <summary>Converts the response of a call that failed.</summary>
    /// <param name="method">The called method.</param>
    /// <param name="response">The response.</param>
    /// <param name="mediaType">The type of its body.</param>
    /// <param name="body">Its body.</param>
    /// <param name="rest">How errors of REST are read; null for calls other than REST.</param>
    /// <param name="statusOf">The status of an HTTP status without an error; null for the usual one.</param>
    public static RpcException Read(
        string method, HttpResponseMessage response, string mediaType, ReadOnlyMemory<byte> body,
        RestErrors? rest = null, Func<int, RpcStatusCode>? statusOf = null)
    {
        statusOf ??= rest is null ? RpcStatusTable.OfHttpStatus : RestStatus.OfHttpStatus;
        int httpStatus = (int)response.StatusCode;
        ErrorResult? error = Parse(mediaType, body, rest);

        // 429 with an RPC error is a handler's ResourceExhausted. Without one, a proxy limits the rate of
        // requests. REST services send 429 with Retry-After.
        bool isBusy = response.Headers.NonValidated.Contains(HttpNames.Busy)
            || (httpStatus == TooManyRequests && (error is null
                || (rest is not null && response.Headers.NonValidated.Contains(RetryAfter))));
        string redirect = error is null ? DescribeRedirect(response) : "";
        if (redirect.Length > 0)
        {
            return new RpcException(
                CodeOf(httpStatus, statusOf), RpcErrorIds.Redirected,
                $"{method} was answered with HTTP status {httpStatus}: {redirect}.")
            {
                IsAnswer = true,
                MayHaveExecuted = false,
            };
        }

        RpcException failure = Read(
            method, httpStatus, mediaType, error ?? Foreign(method, response, mediaType),
            HttpResponseMetadata.TrailersOf(response),
            isBusy ? HttpRetryAfter.Parse(response.Headers) : null, statusOf,
            isBusy ? null : PushbackOf(response));
        failure.Accepted = AcceptedBy(response.Headers);
        return failure;
    }

    /// <summary>The pause that a server or proxy asks for, although the call may have run.</summary>
    /// <returns>Null if the response does not ask for one.</returns>
    public static TimeSpan? PushbackOf(HttpResponseMessage response) =>
        (int)response.StatusCode is TooManyRequests or ServiceUnavailable
            ? HttpRetryAfter.Find(response.Headers)
            : null;

    /// <summary>The ways to authenticate that a server accepts, from its challenges.</summary>
    public static CallerProofs AcceptedBy(HttpResponseHeaders? headers) =>
        CallerProof.OfSchemes(headers?.WwwAuthenticate.Select(way => way.Scheme) ?? []);

    /// <summary>The advice for a redirect; empty for another reply.</summary>
    /// <remarks>Redirects are not followed, because a request with its credentials would then go to a server
    /// that the caller did not choose.</remarks>
    public static string DescribeRedirect(HttpResponseMessage response)
    {
        if (response.Headers.NonValidated.TryGetValues("Location", out HeaderStringValues locations)
            && (int)response.StatusCode is >= 300 and < 400)
        {
            string location = TerminalText.OneLine(locations.ToString(), MaxLocation);
            return $"redirected to '{location}', and redirects are not followed. If you trust that server, "
                + "connect to its address";
        }

        return "";
    }

    // The reply is not from ProtoRpc but from a proxy, or from a server that does not have the service.
    private static ErrorResult Foreign(string method, HttpResponseMessage response, string mediaType)
    {
        string address = response.RequestMessage?.RequestUri?.GetLeftPart(UriPartial.Path) ?? "";
        string advice = response.StatusCode switch
        {
            HttpStatusCode.BadGateway or HttpStatusCode.ServiceUnavailable or HttpStatusCode.GatewayTimeout =>
                " A proxy returns this status if it cannot reach the service.",
            HttpStatusCode.TooManyRequests =>
                " A proxy returns this status if it limits the rate of requests.",
            _ when address.Length > 0 =>
                $" Check that '{TerminalText.OneLine(address, MaxLocation)}' is an address of the service.",
            _ => "",
        };
        return new ErrorResult { ErrorText = TextOf(method, (int)response.StatusCode, mediaType) + advice };
    }

    private static string TextOf(string method, int httpStatus, string mediaType) =>
        $"{method} was answered with HTTP status {httpStatus}"
        + (mediaType.Length > 0 ? $" and '{mediaType}' instead of an error." : ".");

    /// <summary>Converts an error at the end of a stream of replies.</summary>
    public static RpcException ReadAfterReplies(
        string method, string mediaType, ReadOnlyMemory<byte> body, RpcMetadata trailers,
        RestErrors? rest = null) => Read(
            method, httpStatus: 200, mediaType, Parse(mediaType, body, rest), trailers, retryAfter: null,
            RpcStatusTable.OfHttpStatus);

    /// <summary>Converts the error at the end of a stream of Connect.</summary>
    /// <param name="method">The called method.</param>
    /// <param name="end">The end, which has an error.</param>
    /// <param name="retryAfter">When to call again, if the server was too busy to run the call.</param>
    public static RpcException ReadEnd(string method, ConnectEnd end, TimeSpan? retryAfter) => Read(
        method, httpStatus: 200, mediaType: "", end.Error, end.Trailers, retryAfter,
        RpcStatusTable.OfHttpStatus);

    private static RpcException Read(
        string method, int httpStatus, string mediaType, ErrorResult? error, RpcMetadata trailers,
        TimeSpan? retryAfter, Func<int, RpcStatusCode> statusOf, TimeSpan? pushback = null)
    {
        error ??= new ErrorResult { ErrorText = TextOf(method, httpStatus, mediaType) };
        return new RpcException(
            ConnectCodes.CodeOf(error.Code) ?? CodeOf(httpStatus, statusOf), error.ErrorText)
        {
            IsAnswer = true,
            FieldPath = error.HasFieldPath ? error.FieldPath : null,
            CorrelationId = CorrelationIds.Accept(error.CorrelationId),
            Details = GrpcStatusDetails.Unpack(
                error.Details.Select(detail => GrpcStatusDetails.Pack(detail.Type, detail.Value))),
            Trailers = TrailersOf(error, trailers).ToText(),
            Remote = error.Exception is { } exception ? ExceptionInfoCodec.Decode(exception) : null,

            // A 4xx status rejects the call before it runs, except for the statuses that handlers return. A
            // 503 may come from a proxy, or be a handler's Unavailable.
            MayHaveExecuted = retryAfter is null
                && httpStatus is not (301 or 302 or 307 or 308
                    or 401 or 404 or 405 or 406 or 411 or 413 or 414 or 415 or 431),
            RetryAfter = retryAfter,
            Pushback = pushback,
        };
    }

    // A failure after replies can lack a status; the HTTP status then says 200.
    private static RpcStatusCode CodeOf(int httpStatus, Func<int, RpcStatusCode> statusOf) =>
        httpStatus is >= 200 and < 300 ? RpcStatusCode.Unknown : statusOf(httpStatus);

    /// <summary>The trailers of a stream of replies that succeeded; null for an error.</summary>
    public static RpcMetadata? ReadEnd(string mediaType, ReadOnlyMemory<byte> body) =>
        Parse(mediaType, body) is { } end && end.Code == ConnectCodes.NameOf(RpcStatusCode.OK)
            ? TrailersOf(end, null)
            : null;

    // At the end of a stream, the message contains the trailers.
    private static RpcMetadata TrailersOf(ErrorResult error, RpcMetadata? received)
    {
        RpcMetadata trailers = received ?? new RpcMetadata();
        foreach (KeyValuePair<string, object> entry in NativeMetadata.Read(
            error.Trailers, "trailers", RpcStatusCode.Internal, RpcLimits.Default))
        {
            if (entry.Value is byte[] bytes)
            {
                trailers.Add(entry.Key, bytes);
            }
            else
            {
                trailers.Add(entry.Key, (string)entry.Value);
            }
        }

        return trailers;
    }

    private static ErrorResult? Parse(string mediaType, ReadOnlyMemory<byte> body, RestErrors? rest = null)
    {
        try
        {
            if (!MessageFormats.TryFind(mediaType, out MessageFormat? format))
            {
                return null;
            }

            return ReferenceEquals(format, MessageFormats.Json)
                ? ParseJson(body, rest)
                : ParseMessage(format, body);
        }
        catch (Exception e) when (e is RpcException or JsonException or InvalidOperationException)
        {
            // Not an error of ProtoRpc or Connect, so a proxy answered. Only the HTTP status is known.
            return null;
        }
    }

    private static ErrorResult? ParseMessage(MessageFormat format, ReadOnlyMemory<byte> body)
    {
        ErrorResult error = new();
        format.Read(new(body), error, Lenient);
        return error;
    }

    // An ErrorResult of ProtoRpc has error_text, which other texts do not have; an error of Connect has code
    // and message.
    private static ErrorResult? ParseJson(ReadOnlyMemory<byte> body, RestErrors? rest)
    {
        using JsonDocument json = JsonDocument.Parse(body);
        if (rest is not null && RestStatus.Read(json.RootElement, rest.Schema) is { } status)
        {
            return status;
        }

        if (json.RootElement.TryGetProperty("error_text", out _))
        {
            return ParseMessage(MessageFormats.Json, body);
        }

        return ConnectError.Read(json.RootElement);
    }
}

/// <summary>How errors of REST are read: as a <c>google.rpc.Status</c>, too, and by the statuses of HTTP that
/// google/rpc/code.proto names.</summary>
/// <param name="Schema">Has the types of details.</param>
internal sealed record RestErrors(RpcSchema Schema);
