using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Client.Http;

/// <summary>A request of a call, and how its reply is read.</summary>
internal sealed class HttpCallRequest(HttpMethod method, Uri address, HttpReplies replies)
    : HttpRequestMessage(method, address)
{
    /// <summary>How the reply is read.</summary>
    public HttpReplies Replies { get; } = replies;
}

/// <summary>How the reply to a request is read.</summary>
internal abstract class HttpReplies
{
    /// <summary>Whether the trailers of a stream of replies can be asked for in its body.</summary>
    public virtual bool HaveTrailersInBody => true;

    /// <summary>The media types to ask for.</summary>
    public abstract string AcceptedOf(RpcMethodInfo method);

    /// <summary>The format of the only reply; null for an error, or an empty message.</summary>
    /// <param name="response">The response.</param>
    /// <param name="mediaType">The media type of its body, without parameters.</param>
    /// <param name="isEmpty">Whether the body is empty.</param>
    public abstract MessageFormat? FormatOf(HttpResponseMessage response, string mediaType, bool isEmpty);

    /// <summary>How a stream of replies is split; null if the response is not a stream.</summary>
    /// <param name="response">The response.</param>
    /// <param name="mediaType">The media type of its body, without parameters.</param>
    public abstract HttpStreamFormat? StreamOf(HttpResponseMessage response, string mediaType);

    /// <summary>Converts the response of a call that failed.</summary>
    public abstract RpcException ErrorOf(
        RpcMethodInfo method, HttpResponseMessage response, string mediaType, ReadOnlyMemory<byte> body);

    /// <summary>Converts an error after replies.</summary>
    public abstract RpcException ErrorAfter(
        RpcMethodInfo method, string mediaType, ReadOnlyMemory<byte> error, RpcMetadata trailers);
}

/// <summary>Replies of ProtoRpc's and Connect's listeners, in the format of their media type.</summary>
/// <param name="asked">The format to ask for.</param>
internal sealed class PostReplies(MessageFormat asked) : HttpReplies
{
    public override string AcceptedOf(RpcMethodInfo method) => method.IsUnary ? asked.MediaTypes[0]
        : HttpStreamFormat.From(asked).MediaTypes[0];

    public override MessageFormat? FormatOf(HttpResponseMessage response, string mediaType, bool isEmpty) =>
        MessageFormats.TryFind(mediaType, out MessageFormat? format) ? format : null;

    public override HttpStreamFormat? StreamOf(HttpResponseMessage response, string mediaType) =>
        HttpStreamFormat.Find(mediaType);

    public override RpcException ErrorOf(
        RpcMethodInfo method, HttpResponseMessage response, string mediaType, ReadOnlyMemory<byte> body) =>
        HttpErrorReader.Read(method.FullName, response, mediaType, body);

    public override RpcException ErrorAfter(
        RpcMethodInfo method, string mediaType, ReadOnlyMemory<byte> error, RpcMetadata trailers) =>
        HttpErrorReader.ReadAfterReplies(method.FullName, mediaType, error, trailers);
}
