using System.Buffers;
using ProtoRpc.Formats;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Rest;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Carries a call of an HTTP rule: a request in path, query and body, and a reply in the form of the
/// rule. Requests and replies are JSON, unless the caller asks for another format.</summary>
internal sealed class RestCallProtocol(
    HttpReplies replies, ServerHost host, RpcEndpoint endpoint, HttpContext http, ServerMethod method,
    PeerIdentity peer, RestMatch match, CancellationToken aborted)
    : HttpCallProtocol(replies, host, endpoint, http, method, peer, aborted)
{
    private const string Bytes = "application/octet-stream";

    private readonly HttpContext _http = http;
    private readonly ServerMethod _method = method;
    private readonly RestBinding _binding = match.Binding;

    protected override (MessageFormat Format, string MediaType)? FailureWriter => WriterOf(_http.Request);

    /// <summary>The format of replies and failures: JSON for every client that accepts it, even if it prefers
    /// another format, because browsers prefer XML.</summary>
    /// <returns>Null if the client accepts none of the formats.</returns>
    public static (MessageFormat Format, string MediaType)? WriterOf(HttpRequest request) =>
        MediaTypes.Accepts(request.Headers.Accept, MessageFormats.Json)
            ? (MessageFormats.Json, MessageFormats.Json.MediaType)
            : MediaTypes.WriterOf(request.Headers.Accept, MessageFormats.Json);

    protected override void Negotiate(HttpRequest request)
    {
        Reader = _binding.HasBody && !_binding.IsBodyRaw ? ReaderOf(request) : null;
        if (_method.Info.IsServerStreaming)
        {
            StreamFormat = _binding.IsReplyRaw ? new RawParts(_binding) : StreamOf(request);
            Writer = (StreamFormat.Format, StreamFormat.MediaType);
        }
        else if (!_binding.IsReplyRaw)
        {
            Writer = WriterOf(request) ?? throw NotAcceptable(MediaTypes.Known);
            if (_binding.ReplyField is not null)
            {
                Writer = ReferenceEquals(Writer.Format, MessageFormats.Json)
                    ? (_binding.ReplyFormat, Writer.MediaType)
                    : throw NotAcceptable(MessageFormats.Json.MediaTypes[0]);
            }
        }
    }

    protected override ValueTask<RequestBody> ReadBodyAsync() => _binding.HasBody
        ? RequestBody.ReadAsync(
            _http.Request, Host.Options.Limits.MaxMessageBytes, Memory, _http.RequestAborted)
        : new(RequestBody.From([]));

    protected override MessageFormat FormatOf(HttpRequest request, in ReadOnlySequence<byte> body)
    {
        if (_binding.IsPlain && !body.IsEmpty)
        {
            return BodyFormatOf(request, body);
        }

        bool isRead = _binding.HasBody && !_binding.IsBodyRaw;
        return new RestRequestFormat(
            match, request.QueryString.Value ?? "",
            isRead ? BodyFormatOf(request, body) : MessageFormats.Json,
            request.ContentType ?? "");
    }

    protected override ValueTask<int> WriteAsync(HttpReplies replies, IMessage reply, FormatOptions formats)
    {
        if (!_binding.IsReplyRaw)
        {
            return base.WriteAsync(replies, reply, formats);
        }

        (string mediaType, byte[] data) = RawParts.PartOf(_binding, reply, formats);
        return replies.WriteRawAsync(_http, mediaType.Length > 0 ? mediaType : Bytes, data);
    }

    private HttpStreamFormat StreamOf(HttpRequest request)
    {
        HttpStreamFormat format = MediaTypes.StreamOf(request.Headers.Accept, MessageFormats.Json)
            ?? throw NoStreamAcceptable();
        return _binding.ReplyField is null ? format
            : format.With(_binding.ReplyFormat) ?? throw NotAcceptable(HttpStreamFormat.Lines.MediaTypes[0]);
    }

    /// <summary>A stream of <c>google.api.HttpBody</c>: the bytes of all messages, with the media type of the
    /// first one.</summary>
    private sealed class RawParts(RestBinding binding) : HttpStreamFormat(MessageFormats.Json, Bytes, Bytes)
    {
        private string? _first;

        public override string MediaType => _first is { Length: > 0 } first ? first : Bytes;

        public override bool HasErrors => false;

        /// <summary>The media type and the bytes of a reply.</summary>
        public static (string ContentType, byte[] Data) PartOf(
            RestBinding binding, IMessage reply, FormatOptions options)
        {
            DynamicMessage message = GeneratedMessages.ToDynamic(reply, options);
            DynamicMessage? part = binding.ReplyField is { } field
                ? (DynamicMessage?)message.Get(message.Type.FindField(field.Number)!)
                : message;
            return part is null ? ("", []) : HttpBodies.Write(part);
        }

        public override void Write(IBufferWriter<byte> output, IMessage message, FormatOptions options)
        {
            (string contentType, byte[] data) = PartOf(binding, message, options);
            _first ??= contentType;
            output.Write(data);
        }

        public override void WriteError(
            IBufferWriter<byte> output, ErrorResult error, FormatOptions options) =>
            throw new NotSupportedException("Bytes have no error behind them.");

        public override bool TryRead(
            ref ReadOnlySequence<byte> buffer, bool isEnd, int maxBytes, out ReadOnlySequence<byte> item,
            out bool isError) =>
            throw new NotSupportedException("Bytes are not split.");
    }
}
