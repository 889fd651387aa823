using System.Net.Http.Headers;
using System.Runtime.CompilerServices;
using ProtoRpc.Client;
using ProtoRpc.Client.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Rest;
using ProtoRpc.Transports.Http;

[assembly: RpcChannel<RestChannel>]

namespace ProtoRpc.Client.Http;

/// <summary>Calls services of REST by the <c>google.api.http</c> rules of their methods, in JSON.</summary>
internal sealed class RestChannel : HttpChannel, IRpcChannelMaker
{
    private readonly ConditionalWeakTable<RpcMethodInfo, RestMethod> _methods = [];
    private readonly string _root;

    private RestChannel(RpcEndpoint endpoint, RpcClientOptions options)
        : base(endpoint, options) =>
        _root = HttpTransport.AddressOf(endpoint).AbsoluteUri.TrimEnd('/');

    public static new bool Reaches(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.Rest;

    public static new IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        new RestChannel(endpoint, options);

    public override ValueTask<TReply> UploadAsync<TWait, TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation) =>
        throw new RpcException(
            RpcStatusCode.Unimplemented,
            $"REST cannot send the bytes of a message: {call.Method.FullName} takes JSON. Send the message "
            + "itself, or use an http:// or a native endpoint.");

    protected override HttpBody Encode(CallSpec call, IMessage request)
    {
        IReadOnlyList<RestBinding> bindings = MethodOf(call.Method).RequireBindings();
        PooledMessageBytes bytes = new(MaxMessageBytes, "request");
        try
        {
            RestCall rest = RestCall.Create(bindings, request, bytes, FormatOf(call.Method));
            if (rest.PathAndQuery.Length > MaxMessageBytes)
            {
                throw new RpcException(
                    RpcStatusCode.ResourceExhausted, RpcErrorIds.MessageTooLarge,
                    $"The path and the query of {call.Method.FullName} have {rest.PathAndQuery.Length:N0} "
                    + $"characters; the limit is {MaxMessageBytes:N0}. Send less, or raise "
                    + "RpcLimits.MaxMessageBytes.");
            }

            return new HttpBody(bytes, call.Options?.Compression ?? Options.Compression) { Rest = rest };
        }
        catch
        {
            bytes.Dispose();
            throw;
        }
    }

    protected override HttpCallRequest NewRequest(CallSpec call, HttpBody body)
    {
        RestCall rest = body.Rest!;
        RestReplies replies = MethodOf(call.Method).RepliesOf(rest.Binding);
        Uri address = rest.Binding.IsPlain ? replies.PlainAddress ??= AddressOf(rest) : AddressOf(rest);
        HttpCallRequest message = new(HttpMethod.Parse(rest.HttpMethod), address, replies);
        if (rest.ContentType is { } contentType)
        {
            message.Content = new HttpMessageContent(body, contentType);
        }

        // In addition to the timeout header that ProtoRpc and Connect read, which all calls over HTTP have.
        if (!call.Clock.IsEndless)
        {
            message.Headers.TryAddWithoutValidation(
                GrpcTimeout.HeaderName, GrpcTimeout.Format(call.Clock.Left));
        }

        return message;
    }

    private RestMethod MethodOf(RpcMethodInfo method) => _methods.GetValue(
        method, static method => new RestMethod(method));

    // The query of the endpoint, such as '?key=...', goes before that of the call.
    private Uri AddressOf(RestCall rest)
    {
        int start = rest.PathAndQuery.IndexOf('?');
        return new Uri(Query.Length <= 1 ? _root + rest.PathAndQuery
            : start < 0 ? $"{_root}{rest.PathAndQuery}{Query}"
            : $"{_root}{rest.PathAndQuery[..start]}{Query}&{rest.PathAndQuery[(start + 1)..]}");
    }
}

/// <summary>A method for REST: the bindings of its rule, and how the replies to each are read.</summary>
internal sealed class RestMethod
{
    private readonly RpcMethodInfo _method;
    private readonly List<string> _problems = [];
    private readonly IReadOnlyList<RestBinding> _bindings;
    private readonly RestReplies[] _replies;

    public RestMethod(RpcMethodInfo method)
    {
        _method = method;
        _bindings = RestRules.Read(method, _problems);
        _replies = [.. _bindings.Select(binding => new RestReplies(binding))];
    }

    /// <summary>The bindings.</summary>
    /// <exception cref="RpcException">Unimplemented: the method has no usable binding.</exception>
    public IReadOnlyList<RestBinding> RequireBindings() => _bindings.Count > 0
        ? _bindings
        : throw new RpcException(
            RpcStatusCode.Unimplemented, RpcErrorIds.NoHttpRule,
            $"{_method.FullName} cannot be called by REST: " + (_problems.Count > 0
                ? string.Join(" ", _problems.Take(1))
                : "it has no google.api.http rule in the schema. Call it on an http:// or a grpc:// endpoint "
                    + "of the server, or add the rule to the .proto file."))
        {
            MethodName = _method.FullName,
        };

    /// <summary>How the replies to a binding are read.</summary>
    public RestReplies RepliesOf(RestBinding binding)
    {
        int i = 0;
        while (!ReferenceEquals(_replies[i].Binding, binding))
        {
            i++;
        }

        return _replies[i];
    }
}

/// <summary>Replies of REST servers: JSON, raw bytes if the rule says so, and errors as
/// <c>google.rpc.Status</c>.</summary>
internal sealed class RestReplies(RestBinding binding) : HttpReplies
{
    // grpc-gateway adds this prefix to the gRPC headers that it forwards. All its replies have this header.
    private const string GatewayHeader = "Grpc-Metadata-Content-Type";

    private static readonly string[] Lines =
        ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"];

    private readonly RestReplyNames _names = RestReplyNames.From(binding);
    private readonly RestErrors _errors = new(binding.Method.Service.Schema);

    public RestBinding Binding => binding;

    /// <summary>The address of a plain binding, which all calls share.</summary>
    public Uri? PlainAddress { get; set; }

    public override string AcceptedOf(RpcMethodInfo method) => binding.IsReplyRaw
        ? "*/*"
        : MessageFormats.Json.MediaTypes[0];

    // Servers reply to a method without a result, such as a deletion, with an empty body, even if its type is
    // JSON.
    public override MessageFormat? FormatOf(HttpResponseMessage response, string mediaType, bool isEmpty) =>
        binding.IsReplyRaw ? binding.ReplyFormatFor(ContentTypeOf(response))
        : IsJson(mediaType) && !isEmpty ? binding.ReplyFormat
        : null;

    public override HttpStreamFormat? StreamOf(HttpResponseMessage response, string mediaType)
    {
        if (binding.IsReplyRaw)
        {
            return new RestRawStream(binding.ReplyFormatFor(ContentTypeOf(response)));
        }

        bool isLines = Lines.Contains(mediaType, StringComparer.OrdinalIgnoreCase);
        return HttpStreamFormat.Find(mediaType) == HttpStreamFormat.Events
            ? HttpStreamFormat.Events.With(binding.ReplyFormat)
            : isLines || IsJson(mediaType)
                ? new RestStreamFormat(
                    binding.ReplyFormat, _names, isLines,
                    response.Headers.NonValidated.Contains(GatewayHeader))
            : null;
    }

    public override RpcException ErrorOf(
        RpcMethodInfo method, HttpResponseMessage response, string mediaType, ReadOnlyMemory<byte> body) =>
        HttpErrorReader.Read(NameOf(method), response, MediaTypeOf(mediaType), body, _errors);

    public override RpcException ErrorAfter(
        RpcMethodInfo method, string mediaType, ReadOnlyMemory<byte> error, RpcMetadata trailers) =>
        HttpErrorReader.ReadAfterReplies(NameOf(method), mediaType, error, trailers, _errors);

    private static string ContentTypeOf(HttpResponseMessage response) =>
        response.Content.Headers.NonValidated.TryGetValues("Content-Type", out HeaderStringValues type)
            ? type.ToString()
            : "";

    private static bool IsJson(string mediaType) =>
        MessageFormats.Json.MediaTypes.Contains(mediaType, StringComparer.OrdinalIgnoreCase)
        || mediaType.EndsWith("+json", StringComparison.OrdinalIgnoreCase);

    private static string MediaTypeOf(string mediaType) =>
        IsJson(mediaType) ? MessageFormats.Json.MediaTypes[0] : mediaType;

    // The path helps if the server has no such method.
    private string NameOf(RpcMethodInfo method) => $"{method.FullName} ({binding})";
}
