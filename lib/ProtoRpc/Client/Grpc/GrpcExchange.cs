using System.Net.Http.Headers;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Client.Grpc;

/// <summary>The parts of gRPC and gRPC-Web calls around their messages: the headers of the request, the
/// header of the response, and the trailers with the status.</summary>
internal static class GrpcExchange
{
    private const int QuotedBytes = 200;
    private static readonly TimeSpan QuotePatience = TimeSpan.FromSeconds(1);

    /// <summary>Adds the headers of a call to its request.</summary>
    /// <param name="request">The request.</param>
    /// <param name="channel">The channel, which keeps the side channel.</param>
    /// <param name="client">The options of the client.</param>
    /// <param name="call">The options of the call; null for none.</param>
    /// <param name="left">The time that is left for the call.</param>
    /// <param name="compression">How requests are compressed; null for not.</param>
    /// <param name="previousAttempts">The number of retries before this attempt.</param>
    /// <exception cref="RpcException">InvalidArgument: for example, the name of a header is
    /// reserved.</exception>
    public static void AddHeaders(
        HttpRequestMessage request, IRpcChannel channel, RpcClientOptions client, RpcCallOptions? call,
        TimeSpan left, ContentEncoding? compression, int previousAttempts)
    {
        GrpcHeaders.Add(request, client.Headers);
        if (call?.Headers is { } headers)
        {
            GrpcHeaders.Add(request, headers);
        }

        GrpcHeaders.AddStandard(request.Headers, left, compression);
        GrpcHeaders.AddAttempts(request.Headers, previousAttempts);
        RpcCallContext context = CallSideChannel.CreateContext(channel, call);
        if (context.CalculateSize() > 0)
        {
            request.Headers.TryAddWithoutValidation(
                GrpcCallContext.HeaderName, GrpcCallContext.Write(context));
        }
    }

    /// <summary>The error for a response without gRPC's content type and status. A gRPC status has priority
    /// over the HTTP status and the content type.</summary>
    /// <param name="response">The response.</param>
    /// <param name="ended">Cancelled when the call has ended.</param>
    public static async Task<RpcException> ErrorOfHttpAsync(
        HttpResponseMessage response, CancellationToken ended) =>
        GrpcStatus.OfHttp(
            response, response.Content.Headers.ContentType?.MediaType,
            await QuoteAsync(response, ended).ConfigureAwait(false));

    /// <summary>Reads the head of a response.</summary>
    /// <param name="response">The response.</param>
    /// <param name="info">Receives the headers; null if they are not needed.</param>
    /// <returns>How replies are compressed; null for not.</returns>
    public static string? ReadHead(HttpResponseMessage response, RpcReplyInfo? info)
    {
        if (info is not null)
        {
            info.Headers = info.HasProtocolHeaders
                ? GrpcHeaders.ReadAll(response.Headers, response.Content.Headers)
                : GrpcHeaders.Read(response.Headers);
        }

        return GrpcHeaders.Find(response.Headers, GrpcHeaders.Encoding);
    }

    /// <summary>Reads the trailers of a call.</summary>
    /// <param name="trailing">The trailers with those of the protocol.</param>
    /// <param name="channel">The channel, which keeps the side channel.</param>
    /// <param name="call">The options of the call; null for none.</param>
    /// <param name="hasReplies">Whether replies arrived before, so that the call has run.</param>
    /// <exception cref="RpcException">The call failed.</exception>
    public static void End(
        HttpHeaders trailing, IRpcChannel channel, RpcCallOptions? call, bool hasReplies)
    {
        RpcMetadata trailers = GrpcHeaders.Read(trailing);
        if (call?.ReplyInfo is { } info)
        {
            info.Trailers = trailers;
        }

        if (GrpcCallContext.Read(GrpcHeaders.Find(trailing, GrpcCallContext.HeaderName)) is { } changed)
        {
            CallSideChannel.Save(channel, call, changed);
        }

        if (GrpcStatus.Read(trailing, trailers, hasReplies) is { } failure)
        {
            throw failure;
        }
    }

    // Quotes the beginning of the reply of a proxy or web server, in one line.
    private static async Task<string> QuoteAsync(HttpResponseMessage response, CancellationToken ended)
    {
        using CancellationTokenSource patience = CancellationTokenSource.CreateLinkedTokenSource(ended);
        patience.CancelAfter(QuotePatience);
        byte[] bytes = new byte[QuotedBytes];
        int count = 0;
        try
        {
            Stream body = await response.Content.ReadAsStreamAsync(patience.Token).ConfigureAwait(false);
            int read;
            while (count < bytes.Length
                && (read = await body.ReadAsync(bytes.AsMemory(count), patience.Token)
                    .ConfigureAwait(false)) > 0)
            {
                count += read;
            }
        }
        catch (Exception e) when (e is IOException or HttpRequestException
            || (e is OperationCanceledException && !ended.IsCancellationRequested))
        {
            // The reply may be incomplete or endless; the text quotes the bytes that arrived in time.
        }

        string[] words = Encoding.UTF8.GetString(bytes, 0, count).Split(
            [' ', '\r', '\n', '\t', '\0'], StringSplitOptions.RemoveEmptyEntries);
        return string.Join(' ', words);
    }
}
