using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A field of a generated class, and where it lies in a dynamic message of the same type.</summary>
/// <remarks>Has no state; safe for many threads.</remarks>
internal abstract class GeneratedField(FieldLayout layout)
{
    public FieldLayout Layout { get; } = layout;

    /// <summary>Shows the field in an empty dynamic message: messages within it as they are, all else as a
    /// dynamic message keeps it.</summary>
    public abstract void Load(IMessage from, DynamicMessage to);

    /// <summary>Sets the field to a scalar, or adds it to the list.</summary>
    public virtual void Put(IMessage to, ulong bits) => throw new UnreachableException();

    /// <summary>Sets the field to a text, bytes or a message, or adds it to the list.</summary>
    public virtual void Put(IMessage to, object value) => throw new UnreachableException();

    /// <summary>The bytes of a field, to read: its own array where it has one.</summary>
    protected static byte[] BytesOf(ByteString bytes) =>
        System.Runtime.InteropServices.MemoryMarshal.TryGetArray(bytes.Memory, out ArraySegment<byte> own)
        && own.Array is { } array && array.Length == bytes.Length
            ? array
            : bytes.ToByteArray();

    /// <summary>The text as its binary form has it, where half of a surrogate pair is U+FFFD.</summary>
    protected static string TextOf(string text) =>
        text.AsSpan().ContainsAnyInRange('\uD800', '\uDFFF') ? Whole(text) : text;

    private static string Whole(string text)
    {
        System.Text.Encoding utf8 = System.Text.Encoding.UTF8;
        return utf8.GetString(utf8.GetBytes(text));
    }
}
