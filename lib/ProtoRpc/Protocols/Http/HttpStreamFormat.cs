using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Formats;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Http;

/// <summary>How the replies of a method that streams them stand one behind the other in a body.</summary>
/// <remarks>A body that ends without an error is whole: a broken connection shows in HTTP itself.</remarks>
internal abstract class HttpStreamFormat(MessageFormat format, string mediaType, params string[] mediaTypes)
{
    /// <summary>One message of ProtoJSON on each line.</summary>
    public static HttpStreamFormat Lines { get; } = new JsonLines();

    /// <summary>Messages with their lengths before them.</summary>
    public static HttpStreamFormat Delimited { get; } = new DelimitedMessages();

    /// <summary>All there are, in the order of preference.</summary>
    public static IReadOnlyList<HttpStreamFormat> All { get; } = [Lines, Delimited];

    /// <summary>How messages of a format are streamed: in their own form, or as lines of JSON where they have
    /// none.</summary>
    public static HttpStreamFormat Of(MessageFormat? format) =>
        format?.Row.Streaming == FormatStreaming.Delimited ? Delimited : Lines;

    /// <summary>How one message is written.</summary>
    public MessageFormat Format { get; } = format;

    /// <summary>The media type to send.</summary>
    public string MediaType { get; } = mediaType;

    /// <summary>The media types by which a client asks for it; the first names it exactly.</summary>
    public IReadOnlyList<string> MediaTypes { get; } = mediaTypes;

    /// <summary>The format of a body of a media type, without parameters; null when it is none.</summary>
    public static HttpStreamFormat? Find(string mediaType) => All.FirstOrDefault(
        format => format.MediaTypes.Contains(mediaType, StringComparer.OrdinalIgnoreCase));

    /// <summary>Writes a message whose required fields were checked.</summary>
    public abstract void Write(IBufferWriter<byte> output, IMessage message, FormatOptions options);

    /// <summary>Writes that the call failed, as the last there is.</summary>
    public abstract void WriteError(IBufferWriter<byte> output, ErrorResult error, FormatOptions options);

    /// <summary>Takes the next message or the error from the front of the bytes.</summary>
    /// <param name="buffer">What has come; afterwards, what is behind that.</param>
    /// <param name="isEnd">Whether no more comes.</param>
    /// <param name="maxBytes">The largest message.</param>
    /// <param name="item">The bytes of the message, or of the error.</param>
    /// <param name="isError">Which of the two.</param>
    /// <returns>False when more bytes are needed.</returns>
    /// <exception cref="RpcException">ResourceExhausted: it is larger than the largest.</exception>
    public abstract bool TryRead(
        ref ReadOnlySequence<byte> buffer, bool isEnd, int maxBytes, out ReadOnlySequence<byte> item,
        out bool isError);

    /// <summary>Whether bytes that come behind those of an unfinished message may end it. Cheaper than
    /// reading all of them again.</summary>
    public virtual bool MayEnd(in ReadOnlySequence<byte> further) => true;

    protected static RpcException TooLarge(int maxBytes) => new(
        RpcStatusCode.ResourceExhausted,
        $"A reply has more than {maxBytes} bytes. Raise RpcLimits.MaxMessageBytes on the connection.")
    {
        MayHaveExecuted = true,
    };
}
