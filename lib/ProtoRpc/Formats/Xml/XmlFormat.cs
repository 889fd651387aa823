using System.Buffers;
using System.Text;
using System.Xml;
using ProtoRpc.Formats.Generated;

namespace ProtoRpc.Formats.Xml;

/// <summary>XML as the original system has it: one element for each value, with the field's name.</summary>
/// <remarks>
/// Repeated fields are repeated elements; the entries of a map have <c>key</c> and <c>value</c>. Enums are
/// names, bytes base64, and Timestamp, Duration, FieldMask and the wrappers the text that they are in JSON;
/// other well-known types stand there with their fields. An extension's element has its full name.
/// What attributes say is not needed; those that other writers add are passed over.
/// </remarks>
internal sealed class XmlFormat(FormatRow row) : MessageFormat(row)
{
    private static readonly XmlReaderSettings Reading = new()
    {
        DtdProcessing = DtdProcessing.Prohibit,
        XmlResolver = null,
        IgnoreComments = true,
        IgnoreProcessingInstructions = true,
    };

    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options)
    {
        XmlWriterSettings writing = new()
        {
            OmitXmlDeclaration = true,
            Encoding = new UTF8Encoding(encoderShouldEmitUTF8Identifier: false),
            NewLineHandling = NewLineHandling.Entitize,
            NewLineChars = "\n",
            Indent = options.Indented,
        };
        using XmlWriter writer = XmlWriter.Create(new BufferWriterStream(output), writing);
        new XmlMessageWriter(writer, message.Type, views, options).Write(message);
    }

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options)
    {
        using SequenceStream stream = new(input);
        XmlNodeNames names = new();
        XmlReaderSettings reading = Reading.Clone();
        reading.NameTable = names;
        using XmlReader reader = XmlMessageReader.Open(
            stream, reading, target.Layout.Type, options);
        new XmlMessageReader(reader, names, target.Layout.Type, options, input.Length).Read(target);
    }
}

/// <summary>A stream that writes into a buffer.</summary>
internal sealed class BufferWriterStream(IBufferWriter<byte> output) : SequentialStream
{
    public override bool CanWrite => true;

    public override void Write(ReadOnlySpan<byte> buffer) => output.Write(buffer);

    public override void Write(byte[] buffer, int offset, int count) =>
        output.Write(buffer.AsSpan(offset, count));
}

/// <summary>A stream that reads a sequence of bytes where they are.</summary>
internal sealed class SequenceStream(in ReadOnlySequence<byte> bytes) : SequentialStream
{
    private ReadOnlySequence<byte> _rest = bytes;

    public override bool CanRead => true;

    public override int Read(Span<byte> buffer)
    {
        ReadOnlySequence<byte> part = _rest.Slice(0, Math.Min(buffer.Length, _rest.Length));
        part.CopyTo(buffer);
        _rest = _rest.Slice(part.End);
        return (int)part.Length;
    }

    public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));
}
