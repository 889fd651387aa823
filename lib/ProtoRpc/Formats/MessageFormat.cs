using System.Buffers;
using System.Text;
using Google.Protobuf;
using ProtoRpc.Formats;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;

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
        // The parameters of the preferred one, such as the charset, are no part of its name.
        MediaTypes = [row.MediaType.Split(';')[0], .. row.OtherMediaTypes];
    }

    /// <summary>The name as parameters have it: <c>Json</c>.</summary>
    public string Name => Row.Name;

    /// <summary>The media type to send, with its charset where it has one.</summary>
    public string MediaType => Row.MediaType;

    /// <summary>All media types that mean this format, in small letters and without parameters; the preferred
    /// one is the first.</summary>
    public IReadOnlyList<string> MediaTypes { get; }

    /// <summary>The endings of files of this format, with their dots; the preferred one first.</summary>
    public IReadOnlyList<string> FileExtensions => Row.FileExtensions;

    /// <summary>Whether what it writes is UTF-8 text.</summary>
    public bool IsText => Row.IsText;

    /// <summary>What the table says of it.</summary>
    internal FormatRow Row { get; }

    /// <summary>Writes a message.</summary>
    /// <param name="message">A <see cref="DynamicMessage"/> or a generated message.</param>
    /// <param name="output">Gets the bytes; it may have got some of them when this throws.</param>
    /// <param name="options">How; the defaults when null.</param>
    /// <exception cref="RpcException">InvalidArgument: a required field is missing, it is nested too deep, or
    /// the format cannot hold a value.</exception>
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

    /// <summary>Writes a message to a stream as it is made, without a copy of the whole.</summary>
    /// <param name="message">A <see cref="DynamicMessage"/> or a generated message.</param>
    /// <param name="output">Gets the bytes; it may have got some of them when this throws.</param>
    /// <param name="options">How; the defaults when null.</param>
    /// <exception cref="RpcException">InvalidArgument: a required field is missing, it is nested too deep, or
    /// the format cannot hold a value.</exception>
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
            // The schema may know required fields of extensions that the generated class does not.
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
    /// <param name="target">An empty <see cref="DynamicMessage"/> or generated message. When this throws, it
    /// may hold what was read until then.</param>
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
                // Names all missing fields.
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

    /// <summary>Writes a message whose required fields were checked, or are as its views are made.</summary>
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
