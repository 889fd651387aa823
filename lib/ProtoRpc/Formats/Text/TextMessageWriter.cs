using System.Collections;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Formats.Text;

/// <summary>One run of writing a message in the text format.</summary>
internal sealed class TextMessageWriter(
    IBufferWriter<byte> output, RpcMessageInfo root, GeneratedViews? views, FormatOptions options)
    : FormatWriter(root, views, options)
{
    private const int FlushLength = 4096;
    private const int MaxUnknownDepth = 10;

    private readonly StringBuilder _text = new();
    private int _indent;

    public void Write(DynamicMessage message)
    {
        WriteFields(message, 0);
        Flush();
    }

    private void WriteFields(DynamicMessage message, int depth)
    {
        CheckDepth(depth);
        if (Options.ExpandAny && message.Layout.WellKnown == WellKnownType.Any
            && message.References[message.Layout.Fields[0].Slot] is string typeUrl
            && TextNames.CanBracket(typeUrl)
            && Unpack(message) is { } inner)
        {
            Open($"[{typeUrl}]");
            WriteFields(inner, depth + 1);
            Close();
            return;
        }
        foreach (FieldLayout field in message.Layout.Fields)
        {
            if (message.Has(field))
            {
                Path.PushField(field.Info.Name);
                WriteField(message, field, depth);
                Path.Pop();
            }
        }
        if (Options.PrintUnknownFields && message.UnknownFieldBytes.Length > 0)
        {
            WireReader reader = new(message.UnknownFieldBytes, message.Type);
            WriteUnknown(ref reader, 0, MaxUnknownDepth);
        }
    }

    private void WriteField(DynamicMessage message, FieldLayout field, int depth)
    {
        string name = TextNames.GetName(field);
        object? value = message.Get(field.Info);
        switch (value)
        {
            case OrderedDictionary<object, object> map:
                foreach (KeyValuePair<object, object> entry in map.OrderBy(e => e.Key, KeyOrder.Instance))
                {
                    Path.PushKey(entry.Key);
                    Open(name);
                    WriteValue("key", field.Key, entry.Key, depth + 1);
                    WriteValue("value", field.Value, entry.Value, depth + 1);
                    Close();
                    Path.Pop();
                }
                break;
            case IEnumerable list when field.IsRepeated:
                int index = 0;
                foreach (object item in list)
                {
                    Path.PushIndex(index++);
                    WriteValue(name, field, item, depth);
                    Path.Pop();
                }
                break;
            default:
                WriteValue(name, field, value!, depth);
                break;
        }
        if (_text.Length >= FlushLength)
        {
            Flush();
        }
    }

    private void WriteValue(string name, FieldLayout field, object value, int depth)
    {
        if (value is DynamicMessage child)
        {
            Open(name);
            WriteFields(child, depth + 1);
            Close();
            return;
        }
        if (value is IMessage generated)
        {
            DynamicMessage view = Views.Load(field.Message, generated);
            WriteValue(name, field, view, depth);
            Views.Release(view);
            return;
        }
        StartLine(name).Append(": ");
        if (value is string text)
        {
            TextEscapes.Append(_text, Encoding.UTF8.GetBytes(text));
        }
        else if (value is byte[] bytes)
        {
            TextEscapes.Append(_text, bytes);
        }
        else
        {
            ScalarValue.TryUnbox(field.Kind, value, out ulong bits);
            _text.Append(TextNumber.Print(field, bits));
        }
        _text.Append('\n');
    }

    /// <summary>Writes fields by number, with what can be seen of their values, as protoc does.</summary>
    private void WriteUnknown(ref WireReader reader, uint endTag, int depth)
    {
        while (!reader.AtEnd)
        {
            uint tag = reader.ReadTag();
            if (tag == endTag)
            {
                return;
            }
            string name = (tag >> WireType.TagBits).ToString(CultureInfo.InvariantCulture);
            switch (tag & WireType.Mask)
            {
                case WireType.Varint:
                    StartLine(name).Append(CultureInfo.InvariantCulture, $": {reader.ReadVarint()}\n");
                    break;
                case WireType.Fixed32:
                    StartLine(name).Append(CultureInfo.InvariantCulture, $": 0x{reader.ReadFixed32():x8}\n");
                    break;
                case WireType.Fixed64:
                    StartLine(name).Append(CultureInfo.InvariantCulture, $": 0x{reader.ReadFixed64():x16}\n");
                    break;
                case WireType.StartGroup:
                    Open(name);
                    WriteUnknown(ref reader, tag - WireType.StartGroup + WireType.EndGroup, depth);
                    Close();
                    break;
                default:
                    WriteUnknownBytes(name, reader.ReadBytes(), depth);
                    break;
            }
        }
    }

    private void WriteUnknownBytes(string name, ReadOnlySpan<byte> bytes, int depth)
    {
        if (bytes.Length > 0 && depth > 0 && UnknownShape.IsMessage(bytes))
        {
            Open(name);
            WireReader inner = new(bytes, Root);
            WriteUnknown(ref inner, 0, depth - 1);
            Close();
            return;
        }
        StartLine(name).Append(": ");
        TextEscapes.Append(_text, bytes);
        _text.Append('\n');
    }

    private void Open(string name)
    {
        StartLine(name).Append(" {\n");
        _indent += 2;
    }

    private void Close()
    {
        _indent -= 2;
        StartLine("}").Append('\n');
    }

    private StringBuilder StartLine(string name) => _text.Append(' ', _indent).Append(name);

    private void Flush()
    {
        foreach (ReadOnlyMemory<char> chunk in _text.GetChunks())
        {
            Encoding.UTF8.GetBytes(chunk.Span, output);
        }
        _text.Clear();
    }

    /// <summary>Numbers by value, text by its bytes, as protoc orders maps.</summary>
    private sealed class KeyOrder : IComparer<object>
    {
        public static KeyOrder Instance { get; } = new();

        public int Compare(object? left, object? right) => left is string text
            ? Encoding.UTF8.GetBytes(text).AsSpan().SequenceCompareTo(Encoding.UTF8.GetBytes((string)right!))
            : Comparer<object>.Default.Compare(left, right);
    }
}

/// <summary>Protocol Buffers' text format: written as <c>protoc --decode</c> prints it, and read with all
/// that the language has.</summary>
internal sealed class TextFormat(FormatRow row) : MessageFormat(row)
{
    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options) =>
        new TextMessageWriter(output, message.Type, views, options).Write(message);

    private protected override bool ShowsUnknown(FormatOptions options) => options.PrintUnknownFields;

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options) =>
        new TextMessageReader(input, target.Layout.Type, options).Read(target);
}

/// <summary>Guesses whether the bytes of an unknown field are a message.</summary>
/// <remarks>By hand and not by the reader of messages, whose errors would cost too much: there may be very
/// many such fields.</remarks>
internal static class UnknownShape
{
    private const int MaxVarintBytes = 10;

    public static bool IsMessage(ReadOnlySpan<byte> bytes) => TrySkipFields(ref bytes, 0, 0) && bytes.IsEmpty;

    private static bool TrySkipFields(ref ReadOnlySpan<byte> bytes, uint endTag, int depth)
    {
        while (!bytes.IsEmpty)
        {
            if (!TryTakeVarint(ref bytes, out ulong wide)
                || wide > uint.MaxValue || wide >> WireType.TagBits == 0)
            {
                return false;
            }
            uint tag = (uint)wide;
            if (tag == endTag)
            {
                return true;
            }
            bool skipped = (tag & WireType.Mask) switch
            {
                WireType.Varint => TryTakeVarint(ref bytes, out _),
                WireType.Fixed32 => TryTake(ref bytes, sizeof(uint)),
                WireType.Fixed64 => TryTake(ref bytes, sizeof(ulong)),
                WireType.LengthDelimited =>
                    TryTakeVarint(ref bytes, out ulong length) && TryTake(ref bytes, length),
                WireType.StartGroup => depth < MessageLayout.MaxDepth &&
                    TrySkipFields(ref bytes, tag - WireType.StartGroup + WireType.EndGroup, depth + 1),
                _ => false,
            };
            if (!skipped)
            {
                return false;
            }
        }
        return endTag == 0;
    }

    private static bool TryTakeVarint(ref ReadOnlySpan<byte> bytes, out ulong value)
    {
        value = 0;
        for (int i = 0; i < bytes.Length && i < MaxVarintBytes; i++)
        {
            value |= (bytes[i] & 0x7FUL) << (7 * i);
            if (bytes[i] < 0x80)
            {
                bytes = bytes[(i + 1)..];
                return true;
            }
        }
        return false;
    }

    private static bool TryTake(ref ReadOnlySpan<byte> bytes, ulong length)
    {
        if (length > (ulong)bytes.Length)
        {
            return false;
        }
        bytes = bytes[(int)length..];
        return true;
    }
}
