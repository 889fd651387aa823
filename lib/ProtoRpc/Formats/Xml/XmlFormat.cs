using System.Collections;
using System.Xml;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;

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
        using XmlReader reader = XmlMessageReader.Open(stream, reading, target.Layout.Type, options);
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

/// <summary>A stream that reads a sequence of bytes without copying it.</summary>
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

/// <summary>One run of writing a message as XML.</summary>
internal sealed class XmlMessageWriter(
    XmlWriter writer, RpcMessageInfo root, GeneratedViews? views, FormatOptions options)
    : FormatWriter(root, views, options)
{
    public void Write(DynamicMessage message)
    {
        try
        {
            writer.WriteStartElement(Options.XmlRoot);
            WriteContent(message, 0);
            writer.WriteEndElement();
        }
        catch (ArgumentException e)
        {
            // The writer throws this for a control character, which XML cannot hold, and for a bad root.
            throw Error(
                RpcErrorIds.InvalidFieldValue,
                $"XML cannot represent the value: {e.Message} Use the binary format or JSON.",
                e);
        }
    }

    private void WriteContent(DynamicMessage message, int depth)
    {
        CheckDepth(depth);
        if (WellKnownText.IsOne(message.Layout.WellKnown))
        {
            writer.WriteString(Allowed(TextOf(message)));
            return;
        }
        foreach (FieldLayout field in message.Layout.Shown.Concat(message.Layout.Extensions))
        {
            if (IsWritten(message, field))
            {
                WriteField(message, field, depth);
            }
        }
    }

    private void WriteField(DynamicMessage message, FieldLayout field, int depth)
    {
        Path.PushField(field.Info.Name);
        // An element's name cannot contain the brackets of an extension's name.
        string name = field.Info.IsExtension ? field.Info.FullName : field.Info.Name;
        if (XmlNames.Find(message.Layout, name) != field)
        {
            throw Invalid(
                $"the element <{name}> is a field of {message.Type.FullName}; use JSON for this extension.");
        }
        object? value = message.Get(field.Info);
        if (field.IsRepeated)
        {
            WriteRepeated(field, (IEnumerable)value!, name, depth);
        }
        else
        {
            WriteElement(name, field, value!, depth);
        }
        Path.Pop();
    }

    private void WriteRepeated(FieldLayout field, IEnumerable values, string name, int depth)
    {
        if (Options.NestedRepeated)
        {
            writer.WriteStartElement(name);
            name = XmlNames.Item;
        }
        if (values is IDictionary map)
        {
            foreach (DictionaryEntry entry in map)
            {
                Path.PushKey(entry.Key);
                WriteEntry(name, field, entry, depth + 1);
                Path.Pop();
            }
        }
        else
        {
            int index = 0;
            foreach (object value in values)
            {
                Path.PushIndex(index++);
                WriteElement(name, field, value, depth);
                Path.Pop();
            }
        }
        if (Options.NestedRepeated)
        {
            writer.WriteEndElement();
        }
    }

    private void WriteEntry(string name, FieldLayout field, DictionaryEntry entry, int depth)
    {
        writer.WriteStartElement(name);
        WriteElement(XmlNames.Key, field.Key, entry.Key, depth);
        WriteElement(XmlNames.Value, field.Value, entry.Value!, depth);
        writer.WriteEndElement();
    }

    private void WriteElement(string name, FieldLayout field, object value, int depth)
    {
        writer.WriteStartElement(name);
        if (value is DynamicMessage message)
        {
            WriteContent(message, depth + 1);
        }
        else if (value is IMessage generated)
        {
            DynamicMessage view = Views.Load(field.Message, generated);
            WriteContent(view, depth + 1);
            Views.Release(view);
        }
        else
        {
            writer.WriteString(Allowed(TextOf(field, value)));
        }
        writer.WriteEndElement();
    }

    private string Allowed(string text)
    {
        if (!Options.ReplaceForbidden)
        {
            return text;
        }
        StringBuilder allowed = new(text.Length);
        foreach (Rune rune in text.EnumerateRunes())
        {
            // EnumerateRunes has replaced lone surrogates by U+FFFD. Characters above U+FFFF are always
            // allowed.
            allowed.Append(
                rune.IsBmp && !XmlConvert.IsXmlChar((char)rune.Value) ? "\uFFFD" : rune.ToString());
        }
        return allowed.ToString();
    }
}

/// <summary>The names of elements.</summary>
internal static class XmlNames
{
    public const string Item = "item";
    public const string Key = "key";
    public const string Value = "value";

    /// <summary>The field of an element. A field of the message has priority over an extension without a
    /// package.</summary>
    public static FieldLayout? Find(MessageLayout layout, string name) =>
        layout.Find(name) ?? layout.Find($"[{name}]");
}

/// <summary>The names in a text, with a limit for those of one element and its attributes.</summary>
/// <remarks>XmlReader reads all attributes of an element before it returns the element, in quadratic time.
/// Only a name table lets a caller count them.</remarks>
internal sealed class XmlNodeNames : NameTable
{
    // The limit of different names in a document. An attribute with a prefix counts as two names.
    private const int MaxNames = 2_000;

    private int _count;

    /// <summary>Begins to count the names of the next element.</summary>
    public void BeginNode() => _count = 0;

    public override string Add(char[] key, int start, int len)
    {
        Count();
        return base.Add(key, start, len);
    }

    public override string Add(string key)
    {
        Count();
        return base.Add(key);
    }

    private void Count()
    {
        if (++_count > MaxNames)
        {
            throw new XmlException("An element has too many attributes.");
        }
    }
}
