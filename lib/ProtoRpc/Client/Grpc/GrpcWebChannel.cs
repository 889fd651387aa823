using System.Net;
using System.Net.Http.Headers;
using ProtoRpc.Client;
using ProtoRpc.Client.Grpc;
using ProtoRpc.Client.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

[assembly: RpcChannel<GrpcWebChannel>]

namespace ProtoRpc.Client.Grpc;

/// <summary>Calls services over gRPC-Web, which any version of HTTP carries. Requests cannot be
/// streamed.</summary>
internal sealed class GrpcWebChannel : HttpChannel, IRpcChannelMaker
{
    private GrpcWebChannel(RpcEndpoint endpoint, RpcClientOptions options)
        : base(endpoint, options, new PostReplies(MessageFormats.Binary), usesHttp2: true)
    {
    }

    public static new bool Reaches(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.GrpcWeb;

    public static new IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        new GrpcWebChannel(endpoint, options);

    public override ValueTask<TReply> InvokeAsync<TWait, TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation) =>
        call.Method.IsUnary
            ? TWait.WaitAsync(CallAsync(call, request, read, cancellation))
            : throw new RpcException(RpcStatusCode.InvalidArgument, RpcChannels.StreamingHint(call.Method));

    public override IRpcStream Open(CallSpec call, CancellationToken cancellation) =>
        call.Method.IsClientStreaming
            ? throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"{call.Method.FullName} streams its requests, which gRPC-Web cannot do. Use a grpc:// or a "
                + "connects:// endpoint of the server.")
            : new GrpcWebCall(this, call, cancellation);

    public override ValueTask<TReply> UploadAsync<TWait, TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation) =>
        throw new RpcException(
            RpcStatusCode.Unimplemented,
            $"gRPC-Web cannot send a message in parts. Send the message of {call.Method.FullName} itself, or "
            + "use an http:// or a native endpoint.");

    private async Task<TReply> CallAsync<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        await using GrpcWebCall stream = new(this, call, cancellation);
        await stream.SendAsync(request, compress: true).ConfigureAwait(false);
        if (!await stream.ReadAsync().ConfigureAwait(false))
        {
            throw ReplyParser.NotOne("no reply, but the status OK");
        }

        TReply reply = read(stream.Current);
        return await stream.ReadAsync().ConfigureAwait(false)
            ? throw ReplyParser.NotOne("more than one reply")
            : reply;
    }
}

/// <summary>A call over gRPC-Web.</summary>
internal sealed class GrpcWebCall : FramedHttpCall
{
    private const string WebHeader = "X-Grpc-Web";

    private readonly bool _isText;

    /// <param name="channel">The channel.</param>
    /// <param name="call">The call.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    public GrpcWebCall(HttpChannel channel, CallSpec call, CancellationToken cancellation)
        : base(channel, call, FrameRules.GrpcWebReplies, cancellation)
    {
        _isText = channel.Options.GrpcWebText;
        Compression = GrpcEncoding.Select(
            call.Options?.Compression ?? channel.Options.Compression, channel.Endpoint);
    }

    protected override string MediaType =>
        (_isText ? GrpcWebFraming.Text : GrpcWebFraming.Binary) + GrpcWebFraming.Proto;

    protected override HttpCallRequest NewRequest()
    {
        HttpCallRequest request = new(HttpMethod.Post, Channel.AddressOf(Call.Method), Channel.Replies)
        {
            // HttpClient sets headers of the body, such as Content-Type, only on a content.
            Content = new ByteArrayContent([]),
        };
        try
        {
            GrpcExchange.AddHeaders(
                request, Channel, Channel.Options, Call.Options, Call.Clock.Left, Compression,
                Call.PreviousAttempts);
        }
        catch
        {
            request.Dispose();
            throw;
        }

        request.Headers.Remove("te");
        request.Headers.TryAddWithoutValidation(WebHeader, "1");
        request.Headers.TryAddWithoutValidation("Accept", MediaType);
        return request;
    }

    protected override int Write(PooledMessageBytes output, IMessage message, bool compress) =>
        GrpcFrameWriter.Write(output, message, compress ? Compression : null);

    protected override byte[] EncodeBody(ReadOnlyMemory<byte> frame) => _isText
        ? Encoding.ASCII.GetBytes(Convert.ToBase64String(frame.Span))
        : frame.ToArray();

    protected override async ValueTask<string?> CheckAsync(
        HttpResponseMessage response, CancellationToken cancellation)
    {
        bool hasStatus = GrpcHeaders.Find(response.Headers, GrpcHeaders.Status) is not null;
        if (!hasStatus && (response.StatusCode != HttpStatusCode.OK || TypeOf(response) is null))
        {
            throw await GrpcExchange.ErrorOfHttpAsync(response, cancellation).ConfigureAwait(false);
        }

        return GrpcExchange.ReadHead(response, Call.Options?.ReplyInfo);
    }

    protected override Stream Decode(HttpResponseMessage response, Stream body) =>
        TypeOf(response) == GrpcWebFraming.Text ? new GrpcWebTextStream(body) : body;

    protected override bool IsEnd(in GrpcFrame frame) => (frame.Flags & FrameRules.Trailers) != 0;

    protected override ReplyBody ReplyOf(in ReadOnlySequence<byte> body) => new(body);

    protected override void End(HttpResponseMessage response, in ReadOnlySequence<byte> body)
    {
        int limit = HttpTransport.MaxReplyHeaders(Channel.Options.Limits) * 1024;
        if (body.Length > limit)
        {
            throw CallErrors.TooManyHeaders(
                Channel.Endpoint, new HttpRequestException($"The trailers have {body.Length:N0} bytes"));
        }

        // HttpResponseMessage parses the lines as HTTP trailers.
        using HttpResponseMessage holder = new();
        GrpcWebFraming.ReadTrailers(body.ToArray(), holder.TrailingHeaders);
        Finish(holder.TrailingHeaders);
    }

    // A reply without messages can have its status in the headers or, over HTTP/2, in the trailers.
    protected override void EndWithoutFrame(HttpResponseMessage response) => Finish(
        GrpcHeaders.Find(response.Headers, GrpcHeaders.Status) is not null
            ? response.Headers
            : response.TrailingHeaders);

    private static string? TypeOf(HttpResponseMessage response) =>
        GrpcWebFraming.TypeOf(response.Content.Headers.ContentType?.MediaType);

    private void Finish(HttpHeaders trailing) =>
        GrpcExchange.End(trailing, Channel, Call.Options, HasReplies);
}
