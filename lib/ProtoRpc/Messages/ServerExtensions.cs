using ProtoRpc.Messages.Binary;
using ProtoRpc.Schema;

namespace ProtoRpc.Messages;

/// <summary>An extension that only the server of a schema declares.</summary>
/// <param name="Message">A message that only has the extension.</param>
/// <param name="Field">The extension.</param>
internal readonly record struct ServerExtension(DynamicMessage Message, FieldLayout Field)
{
    /// <summary>The extensions that a message has as unknown fields. The server is asked for them.</summary>
    /// <param name="message">The message.</param>
    /// <param name="budget">The elements that the message may still have.</param>
    /// <exception cref="RpcException">There are too many elements.</exception>
    public static IReadOnlyList<ServerExtension> ReadAll(DynamicMessage message, ref ElementBudget budget)
    {
        if (message.UnknownFieldBytes.IsEmpty || FurtherOf(message.Type) is not { } further)
        {
            return [];
        }

        SortedDictionary<int, ArrayBufferWriter<byte>> fields = [];
        WireReader reader = new(message.UnknownFieldBytes, message.Type);
        while (!reader.AtEnd)
        {
            int start = reader.Position;
            uint tag = reader.ReadTag();
            reader.Skip(tag);
            int number = (int)(tag >> WireType.TagBits);
            if (!fields.TryGetValue(number, out ArrayBufferWriter<byte>? bytes))
            {
                fields.Add(number, bytes = new());
            }

            bytes.Write(reader.Since(start));
        }

        List<ServerExtension> found = [];
        foreach ((int number, ArrayBufferWriter<byte> bytes) in fields)
        {
            if (message.Type.Proto.ExtensionRange.Any(range => number >= range.Start && number < range.End)
                && further.FindExtended(message.Type.FullName, number) is { } type
                && TryRead(type, number, bytes.WrittenSpan, ref budget) is { } extension)
            {
                found.Add(extension);
            }
        }

        return found;
    }

    /// <summary>The type of a message with an extension that only the server declares; null if there is
    /// none.</summary>
    /// <param name="type">The message as the schema has it.</param>
    /// <param name="name">The extension: <c>[full.name]</c>.</param>
    public static RpcMessageInfo? FindExtended(RpcMessageInfo type, string name) =>
        name is ['[', .. string extension, ']']
            ? FurtherOf(type)?.FindExtended(type.FullName, extension)
            : null;

    private static FurtherTypes? FurtherOf(RpcMessageInfo type) =>
        type.Proto.ExtensionRange.Count == 0 ? null : type.Schema.Further;

    private static ServerExtension? TryRead(
        RpcMessageInfo type, int number, ReadOnlySpan<byte> bytes, ref ElementBudget budget)
    {
        try
        {
            DynamicMessage message = new(type);
            budget.AddBytes(bytes.Length);
            MessageDecoder.Merge(message, bytes, ref budget);
            FieldLayout field = message.Layout.Find(number)!;
            return message.Has(field) ? new ServerExtension(message, field) : null;
        }
        catch (RpcException e) when (e.ErrorId != RpcErrorIds.TooManyElements)
        {
            // The bytes are not valid for the declared type, so they remain an unknown field.
            return null;
        }
    }
}
