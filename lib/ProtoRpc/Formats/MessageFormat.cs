using System.Collections.Frozen;
using System.Diagnostics.CodeAnalysis;
using ProtoRpc.Formats;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Formats.Json;
using ProtoRpc.Formats.Text;
using ProtoRpc.Formats.Xml;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc;

/// <summary>One way to write a message as bytes, and to read it.</summary>
/// <remarks>
/// Formats have no state and are safe for many threads. They read and set the fields of dynamic messages and
/// the properties of generated ones. The binary form of a generated message is only used if its class has
/// other fields than the schema, for extensions, and in programs that cannot make code at run time.
/// Every failure is an <see cref="RpcException"/> with InvalidArgument, which names the field
/// (<see cref="RpcException.FieldPath"/>) and, where the bytes are at fault,
/// the line and column or the offset.
/// </remarks>
public abstract class MessageFormat
{
    private protected MessageFormat(FormatRow row)
    {
        Row = row;
        // Parameters of the preferred media type, such as the charset, are not part of its name.
        MediaTypes = [row.MediaType.Split(';')[0], .. row.OtherMediaTypes];
    }

    /// <summary>The name as parameters have it: <c>Json</c>.</summary>
    public string Name => Row.Name;

    /// <summary>The media type to send, with a charset if it has one.</summary>
    public string MediaType => Row.MediaType;

    /// <summary>All media types that mean this format, in small letters and without parameters; the preferred
    /// one is the first.</summary>
    public IReadOnlyList<string> MediaTypes { get; }

    /// <summary>The endings of files of this format, with their dots; the preferred one first.</summary>
    public IReadOnlyList<string> FileExtensions => Row.FileExtensions;

    /// <summary>Whether the format writes UTF-8 text.</summary>
    public bool IsText => Row.IsText;

    /// <summary>The row of the table of formats.</summary>
    internal FormatRow Row { get; }

    /// <summary>Writes a message.</summary>
    /// <param name="message">A <see cref="DynamicMessage"/> or a generated message.</param>
    /// <param name="output">Gets the bytes; it may have got some of them when this throws.</param>
    /// <param name="options">How; the defaults when null.</param>
    /// <exception cref="RpcException">InvalidArgument: a required field is missing, the message is nested too
    /// deeply, or the format cannot express a value.</exception>
    public void Write(IMessage message, IBufferWriter<byte> output, FormatOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(message);
        ArgumentNullException.ThrowIfNull(output);
        options ??= FormatOptions.Default;
        if (message is not DynamicMessage && IsByProperty
            && GeneratedMessages.View(message, ShowsUnknown(options), options) is { } shown)
        {
            WriteMessage(shown.View, shown.Views, output, options);
            return;
        }
        DynamicMessage dynamic = GeneratedMessages.ToDynamic(message, options);
        dynamic.CheckRequired();
        WriteMessage(dynamic, null, output, options);
    }

    /// <summary>Writes a message to a stream in blocks, without a buffer for the whole message.</summary>
    /// <param name="message">A <see cref="DynamicMessage"/> or a generated message.</param>
    /// <param name="output">Gets the bytes; it may have got some of them when this throws.</param>
    /// <param name="options">How; the defaults when null.</param>
    /// <exception cref="RpcException">InvalidArgument: a required field is missing, the message is nested too
    /// deeply, or the format cannot express a value.</exception>
    public void Write(IMessage message, Stream output, FormatOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(output);
        using StreamBuffer buffer = new(output);
        Write(message, buffer, options);
        buffer.Flush();
    }

    /// <summary>Writes a message whose required fields were checked.</summary>
    internal virtual void WriteChecked(IMessage message, IBufferWriter<byte> output, FormatOptions options)
    {
        if (message is DynamicMessage dynamic)
        {
            WriteMessage(dynamic, null, output, options);
        }
        else
        {
            // The schema may declare required extension fields that the generated class does not have.
            Write(message, output, options);
        }
    }

    /// <summary>The message's bytes.</summary>
    /// <inheritdoc cref="Write(IMessage, IBufferWriter{byte}, FormatOptions?)"/>
    public byte[] ToArray(IMessage message, FormatOptions? options = null)
    {
        ArrayBufferWriter<byte> output = new();
        Write(message, output, options);
        return output.WrittenSpan.ToArray();
    }

    /// <summary>The message as text, of a format that is text.</summary>
    /// <inheritdoc cref="Write(IMessage, IBufferWriter{byte}, FormatOptions?)"/>
    public string ToText(IMessage message, FormatOptions? options = null)
    {
        ArrayBufferWriter<byte> output = new();
        Write(message, output, options);
        return Encoding.UTF8.GetString(output.WrittenSpan);
    }

    /// <summary>Fills an empty message.</summary>
    /// <param name="input">All bytes of the message.</param>
    /// <param name="target">An empty <see cref="DynamicMessage"/> or generated message. If this throws, the
    /// message contains the fields that were read before.</param>
    /// <param name="options">How; the defaults when null.</param>
    /// <exception cref="RpcException">InvalidArgument: not a message of this type in this format, why, and
    /// where; or a required field is missing.</exception>
    public void Read(ReadOnlySequence<byte> input, IMessage target, FormatOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(target);
        options ??= FormatOptions.Default;
        if (target is DynamicMessage dynamic)
        {
            ReadDynamic(dynamic, input, options);
            return;
        }
        MessageLayout layout = MessageLayout.For(GeneratedMessages.TypeOf(target, options));
        if (IsByProperty && GeneratedMessages.TargetOf(layout, target) is { } message)
        {
            ReadMessage(input, message, options);
            if (!GeneratedMessages.IsComplete(layout, target))
            {
                // Reading again as a dynamic message reports the names of all missing fields.
                ReadDynamic(new DynamicMessage(layout), input, options);
            }
            return;
        }
        GeneratedMessages.Merge(ReadDynamic(new DynamicMessage(layout), input, options), target, options);
    }

    /// <summary>Reads a message.</summary>
    /// <inheritdoc cref="Read(ReadOnlySequence{byte}, IMessage, FormatOptions?)"/>
    public DynamicMessage Read(
        RpcMessageInfo type, ReadOnlySequence<byte> input, FormatOptions? options = null)
    {
        DynamicMessage message = new(type);
        Read(input, message, options);
        return message;
    }

    /// <summary>Reads a message.</summary>
    /// <inheritdoc cref="Read(ReadOnlySequence{byte}, IMessage, FormatOptions?)"/>
    public DynamicMessage Read(
        RpcMessageInfo type, ReadOnlyMemory<byte> input, FormatOptions? options = null) =>
        Read(type, new ReadOnlySequence<byte>(input), options);

    /// <summary>Reads a message of text, in a format that is text.</summary>
    /// <inheritdoc cref="Read(ReadOnlySequence{byte}, IMessage, FormatOptions?)"/>
    public DynamicMessage Read(RpcMessageInfo type, string input, FormatOptions? options = null) =>
        Read(type, Encoding.UTF8.GetBytes(input), options);

    /// <summary>The name.</summary>
    public override string ToString() => Name;

    /// <summary>Fills an empty message whose required fields another part of the request may have.</summary>
    internal void ReadPart(ReadOnlySequence<byte> input, DynamicMessage target, FormatOptions options) =>
        ReadMessage(input, new MessageTarget(target), options);

    /// <summary>Writes a message whose required fields were checked, or are checked by its views.</summary>
    private protected abstract void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options);

    /// <summary>Whether the properties of generated messages are read and set, without their binary
    /// form.</summary>
    private protected virtual bool IsByProperty => true;

    /// <summary>Whether it writes the unknown fields of a message.</summary>
    private protected virtual bool ShowsUnknown(FormatOptions options) => false;

    /// <summary>Fills an empty message; required fields are not checked.</summary>
    private protected abstract void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options);

    private DynamicMessage ReadDynamic(
        DynamicMessage target, ReadOnlySequence<byte> input, FormatOptions options)
    {
        ReadMessage(input, new MessageTarget(target), options);
        target.CheckRequired();
        return target;
    }
}

/// <summary>The supported formats.</summary>
/// <remarks>This is the table of formats, which everything else reads. A new one is a class that reads and
/// writes it, and a row here.</remarks>
/// <example><code>
/// DynamicMessage reply = MessageFormats.Json.Read(
///     schema.GetMessage("shop.PlaceReply"), """{ "id": "o1", "total": 2 }""");
/// string xml = MessageFormats.Xml.ToText(reply);
/// </code></example>
public static class MessageFormats
{
    private static readonly List<MessageFormat> Rows = [];

    /// <summary>Protocol Buffers' binary format.</summary>
    public static MessageFormat Binary { get; } = Add(new BinaryFormat(
        new FormatRow(nameof(Binary), "application/x-protobuf")
        {
            OtherMediaTypes =
            [
                "application/protobuf", "application/proto", "application/vnd.google.protobuf",
                "application/x-google-protobuf",
            ],
            FileExtensions = [".binpb", ".pb", ".bin"],
            IsText = false,
            Streaming = FormatStreaming.Delimited,
            ConnectName = "proto",
            HttpRank = 3,
        }));

    /// <summary>ProtoJSON.</summary>
    public static MessageFormat Json { get; } = Add(new JsonFormat(
        new FormatRow(nameof(Json), "application/json; charset=utf-8")
        {
            OtherMediaTypes = ["text/json"],
            FileExtensions = [".json"],
            Streaming = FormatStreaming.Lines,
            ConnectName = "json",
            HttpRank = 2,
        }));

    /// <summary>XML whose elements are the fields.</summary>
    public static MessageFormat Xml { get; } = Add(new XmlFormat(
        new FormatRow(nameof(Xml), "text/xml; charset=utf-8")
        {
            OtherMediaTypes = ["application/xml"],
            FileExtensions = [".xml"],
            HttpRank = 1,
        }));

    /// <summary>The format of HTML forms and query strings, for messages without messages in them.</summary>
    public static MessageFormat Form { get; } = Add(new FormFormat(
        new FormatRow(nameof(Form), "application/x-www-form-urlencoded")
        {
            HttpRank = 4,
            IsByNameOnly = true,
        }));

    /// <summary>The text format, as <c>protoc --decode</c> prints it.</summary>
    public static MessageFormat Text { get; } = Add(new TextFormat(
        new FormatRow(nameof(Text), "text/x-protobuf; charset=utf-8")
        {
            OtherMediaTypes = ["text/protobuf"],
            FileExtensions = [".txtpb", ".textproto", ".pbtxt", ".textpb"],
        }));

    /// <summary>All formats.</summary>
    public static IReadOnlyList<MessageFormat> All { get; } = Rows.AsReadOnly();

    /// <summary>Those that HTTP endpoints speak, in the order of preference.</summary>
    internal static IReadOnlyList<MessageFormat> OfHttp { get; } =
        [.. All.Where(format => format.Row.HttpRank > 0).OrderBy(format => format.Row.HttpRank)];

    private static FrozenDictionary<string, MessageFormat> ByName { get; } =
        (from format in All
         from name in format.MediaTypes.Prepend(format.Name)
         select KeyValuePair.Create(name, format)).ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);

    // The media types by the values of Content-Type that ProtoRpc sends.
    private static FrozenDictionary<string, string> BySentValue { get; } =
        (from format in All
         from sent in format.MediaTypes.Prepend(format.MediaType).Distinct()
         select KeyValuePair.Create(sent, sent == format.MediaType ? format.MediaTypes[0] : sent))
        .ToFrozenDictionary(StringComparer.Ordinal);

    /// <summary>A format by its name or by a media type, in any case; the parameters of a media type are left
    /// aside.</summary>
    public static bool TryFind(string nameOrMediaType, [NotNullWhen(true)] out MessageFormat? format)
    {
        ArgumentNullException.ThrowIfNull(nameOrMediaType);
        ReadOnlySpan<char> wanted = nameOrMediaType;
        int parameters = wanted.IndexOf(';');
        wanted = (parameters < 0 ? wanted : wanted[..parameters]).Trim();
        return ByName.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(wanted, out format);
    }

    /// <summary>The media type in a value of Content-Type, without parsing it.</summary>
    /// <param name="contentType">The value.</param>
    /// <returns>Null if it is not one that ProtoRpc sends.</returns>
    internal static string? FindMediaType(string contentType) => BySentValue.GetValueOrDefault(contentType);

    /// <summary>The format that files of a name's ending have.</summary>
    public static bool TryFindByFile(string path, [NotNullWhen(true)] out MessageFormat? format)
    {
        ArgumentNullException.ThrowIfNull(path);
        format = All.FirstOrDefault(candidate => candidate.FileExtensions.Any(
            ending => path.EndsWith(ending, StringComparison.OrdinalIgnoreCase)));
        return format is not null;
    }

    /// <summary>A format by a name that was checked.</summary>
    internal static MessageFormat Named(string name) =>
        All.First(format => format.Name.Equals(name, StringComparison.OrdinalIgnoreCase));

    private static MessageFormat Add(MessageFormat format)
    {
        Rows.Add(format);
        return format;
    }
}

/// <summary>Protocol Buffers' binary format.</summary>
internal sealed class BinaryFormat(FormatRow row) : MessageFormat(row)
{
    private protected override bool IsByProperty => false;

    internal override void WriteChecked(IMessage message, IBufferWriter<byte> output, FormatOptions options)
    {
        using EncodedMessage encoded = EncodedMessage.From(message);
        encoded.WriteTo(output);
    }

    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options) =>
        WriteChecked(message, output, options);

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options)
    {
        using WholeBytes whole = new(target.Layout.Type, input);
        ((DynamicMessage)target.Message).MergeFrom(whole.Span, options.MaxElements, options.Look);
    }
}

/// <summary>The properties of a format in the table, <see cref="MessageFormats"/>.</summary>
/// <param name="Name">The name, as parameters have it.</param>
/// <param name="MediaType">The media type to send, with a charset if it has one.</param>
internal sealed record FormatRow(string Name, string MediaType)
{
    /// <summary>Further media types that mean the format.</summary>
    public IReadOnlyList<string> OtherMediaTypes { get; init; } = [];

    /// <summary>The endings of its files, with their dots; the preferred one first.</summary>
    public IReadOnlyList<string> FileExtensions { get; init; } = [];

    /// <summary>Whether the format writes UTF-8 text.</summary>
    public bool IsText { get; init; } = true;

    /// <summary>How the messages of a stream are separated.</summary>
    public FormatStreaming Streaming { get; init; }

    /// <summary>The name in queries of the Connect protocol; null if Connect does not support the
    /// format.</summary>
    public string? ConnectName { get; init; }

    /// <summary>The rank among the HTTP formats that a client accepts equally, from 1; 0 if the format is not
    /// used over HTTP.</summary>
    public int HttpRank { get; init; }

    /// <summary>Whether replies are only in it for clients that ask for it by name.</summary>
    public bool IsByNameOnly { get; init; }
}

/// <summary>How the messages of a stream are separated.</summary>
internal enum FormatStreaming
{
    /// <summary>The format has no streams; another format is used for them.</summary>
    None = 0,

    /// <summary>Each with its length before it.</summary>
    Delimited,

    /// <summary>One on each line.</summary>
    Lines,
}

/// <summary>Passes written bytes on to a stream, one block at a time.</summary>
internal sealed class StreamBuffer(Stream stream) : IBufferWriter<byte>, IDisposable
{
    private const int BlockSize = 16 * 1024;

    private byte[] _block = ArrayPool<byte>.Shared.Rent(BlockSize);
    private int _count;

    public void Advance(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, _block.Length - _count);
        _count += count;
    }

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        int wanted = Math.Max(sizeHint, 1);
        if (_block.Length - _count < wanted)
        {
            Flush();
            if (_block.Length < wanted)
            {
                byte[] block = _block;
                _block = [];
                ArrayPool<byte>.Shared.Return(block);
                _block = ArrayPool<byte>.Shared.Rent(wanted);
            }
        }

        return _block.AsMemory(_count);
    }

    public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;

    /// <summary>Writes the buffered bytes to the stream.</summary>
    public void Flush()
    {
        stream.Write(_block, 0, _count);
        _count = 0;
    }

    public void Dispose()
    {
        ArrayPool<byte>.Shared.Return(_block);
        _block = [];
    }
}
