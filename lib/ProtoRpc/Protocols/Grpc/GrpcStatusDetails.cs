using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Grpc.Proto;
using Status = ProtoRpc.Protocols.Grpc.Proto.Status;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>The details of a status: messages of google.rpc, which need no schema, and of other
/// types.</summary>
internal static class GrpcStatusDetails
{
    private const string TypePrefix = "type.googleapis.com/";
    private static readonly RpcSchema Known =
        RpcSchema.FromDescriptors(StatusReflection.Descriptor, ErrorDetailsReflection.Descriptor);

    /// <summary>The schema of google.rpc's status and details.</summary>
    public static RpcSchema Schema => Known;

    /// <summary>Reads the header. Details that cannot be read are omitted, because the status is more
    /// important.</summary>
    /// <returns>A <see cref="DynamicMessage"/> for each detail; those of unknown types are a
    /// google.protobuf.Any.</returns>
    public static IReadOnlyList<object> Read(string? header) =>
        header is not null && GrpcBinaryHeader.Decode(header) is [byte[] bytes, ..]
            ? Read(bytes)
            : Array.Empty<object>();

    /// <summary>Reads the bytes of a google.rpc.Status.</summary>
    public static IReadOnlyList<object> Read(ReadOnlySpan<byte> status)
    {
        try
        {
            return Unpack(Status.Parser.ParseFrom(status).Details);
        }
        catch (InvalidProtocolBufferException)
        {
            return Array.Empty<object>();
        }
    }

    /// <summary>Unpacks details that were received separately.</summary>
    // An array: a shell cannot index the list that a collection expression makes.
    public static IReadOnlyList<object> Unpack(IEnumerable<Any> details)
    {
        // The details are part of one message of the peer, so they share its limit of elements.
        ElementBudget budget = NewBudget();
        List<object> unpacked = [];
        foreach (Any any in details)
        {
            unpacked.Add(Unpack(any, Known, ref budget) ?? AsAny(any));
        }

        return unpacked.ToArray();
    }

    /// <summary>Decodes the details whose types are in a schema.</summary>
    public static IReadOnlyList<object> Complete(IReadOnlyList<object> details, RpcSchema schema)
    {
        if (!details.Any(IsAny))
        {
            return details;
        }

        ElementBudget budget = NewBudget();
        object[] complete = [.. details];
        for (int i = 0; i < complete.Length; i++)
        {
            if (IsAny(complete[i]))
            {
                Any any = Any.Parser.ParseFrom(((DynamicMessage)complete[i]).ToByteArray());
                complete[i] = Unpack(any, schema, ref budget) ?? complete[i];
            }
        }

        return complete;
    }

    /// <summary>Writes the header; null if there are no details.</summary>
    public static string? Write(RpcStatusCode code, string message, IReadOnlyList<object> details) =>
        ToBytes(code, message, details) is { } bytes ? GrpcBinaryHeader.Encode(bytes) : null;

    /// <summary>The bytes of a google.rpc.Status; null if there are no details.</summary>
    public static byte[]? ToBytes(RpcStatusCode code, string message, IReadOnlyList<object> details)
    {
        if (details.Count == 0)
        {
            return null;
        }

        Status status = new() { Code = (int)code, Message = message };
        status.Details.AddRange(Pack(details));
        return status.ToByteArray();
    }

    /// <summary>Packs each message with its type. Objects that are no messages are omitted.</summary>
    public static IEnumerable<Any> Pack(IEnumerable<object> details) =>
        details.OfType<IMessage>().Select(Pack);

    /// <summary>Packs a detail whose type name has no prefix.</summary>
    public static Any Pack(string name, ByteString value) =>
        new() { TypeUrl = $"{TypePrefix}{name}", Value = value };

    /// <summary>The full name of a detail's type.</summary>
    public static string NameOf(Any detail) => detail.TypeUrl[(detail.TypeUrl.LastIndexOf('/') + 1)..];

    /// <summary>Packs a message with its type. A detail that could not be unpacked is an Any
    /// already.</summary>
    public static Any Pack(IMessage detail) => detail.Descriptor.FullName == Any.Descriptor.FullName
        ? Any.Parser.ParseFrom(detail.ToByteArray())
        : new Any { TypeUrl = $"{TypePrefix}{detail.Descriptor.FullName}", Value = detail.ToByteString() };

    private static bool IsAny(object detail) =>
        detail is DynamicMessage message && message.Type.FullName == Any.Descriptor.FullName;

    private static DynamicMessage AsAny(Any any) =>
        DynamicMessage.Parse(Known.GetMessage(Any.Descriptor.FullName), any.ToByteArray());

    private static ElementBudget NewBudget() =>
        new(Known.GetMessage(Status.Descriptor.FullName), RpcLimits.Default.MaxMessageElements);

    private static DynamicMessage? Unpack(Any any, RpcSchema schema, ref ElementBudget budget)
    {
        if (schema.FindInAny(NameOf(any)) is not { } type)
        {
            return null;
        }

        try
        {
            DynamicMessage message = new(type);
            budget.AddBytes(any.Value.Length);
            MessageDecoder.Merge(message, any.Value.Span, ref budget);
            message.CheckRequired();
            return message;
        }
        catch (RpcException e)
        {
            // The bytes are invalid or over the limit, so the detail stays an Any. The elements of the failed
            // attempt are not counted, so after TooManyElements no further detail is decoded.
            budget = e.ErrorId == RpcErrorIds.TooManyElements ? default : budget;
            return null;
        }
    }
}

/// <summary>The header grpc-message: UTF-8, in which all but printable ASCII is percent-encoded.</summary>
internal static class GrpcMessageText
{
    public const string HeaderName = "grpc-message";

    // The end of a text that is cut off.
    private const string More = "...";

    /// <summary>Writes a text.</summary>
    /// <param name="text">The text.</param>
    /// <param name="maxLength">The maximum length of the header, because peers limit their headers. A longer
    /// text is cut off between characters.</param>
    public static string Encode(string text, int maxLength = int.MaxValue)
    {
        if (text.Length <= maxLength && text.All(static c => IsPlain(c)))
        {
            return text;
        }

        StringBuilder encoded = new(Math.Min(text.Length + 16, maxLength));
        int whole = 0;
        foreach (Rune rune in text.EnumerateRunes())
        {
            Append(encoded, rune);
            if (encoded.Length > maxLength)
            {
                encoded.Length = whole;
                return encoded.Append(More).ToString();
            }

            // The last position at which the ellipsis fits.
            if (encoded.Length <= maxLength - More.Length)
            {
                whole = encoded.Length;
            }
        }

        return encoded.ToString();
    }

    /// <summary>Reads a text. An invalid escape is read as it is written: an incomplete error text is better
    /// than none.</summary>
    public static string Decode(string encoded)
    {
        if (!encoded.Contains('%'))
        {
            return encoded;
        }

        byte[] octets = new byte[Encoding.UTF8.GetMaxByteCount(encoded.Length)];
        int length = 0;
        for (int i = 0; i < encoded.Length; i++)
        {
            if (encoded[i] == '%' && i + 2 < encoded.Length
                && byte.TryParse(
                    encoded.AsSpan(i + 1, 2), NumberStyles.AllowHexSpecifier,
                    CultureInfo.InvariantCulture, out byte octet))
            {
                octets[length++] = octet;
                i += 2;
            }
            else
            {
                length += Encoding.UTF8.GetBytes(encoded.AsSpan(i, 1), octets.AsSpan(length));
            }
        }

        return Encoding.UTF8.GetString(octets, 0, length);
    }

    private static void Append(StringBuilder encoded, Rune rune)
    {
        Span<byte> octets = stackalloc byte[4];
        foreach (byte octet in octets[..rune.EncodeToUtf8(octets)])
        {
            if (IsPlain((char)octet))
            {
                encoded.Append((char)octet);
            }
            else
            {
                encoded.Append(CultureInfo.InvariantCulture, $"%{octet:X2}");
            }
        }
    }

    private static bool IsPlain(char c) => c is >= ' ' and <= '~' and not '%';
}

/// <summary>Creates exceptions for violations of the message framing.</summary>
internal static class GrpcDefects
{
    public static RpcException BadFrame(string why, Exception? inner = null) => new(
        RpcStatusCode.Internal, $"The peer violates the framing of gRPC: {why}.", inner)
    {
        ErrorId = RpcErrorIds.BadGrpcFrame,
        MayHaveExecuted = true,
    };

    public static RpcException TooLarge(string what, int maxBytes) => new(
        RpcStatusCode.ResourceExhausted,
        $"The peer {what}; the limit is {maxBytes:N0}. Request less per call, or raise "
        + "RpcLimits.MaxMessageBytes.")
    {
        ErrorId = RpcErrorIds.MessageTooLarge,
        MayHaveExecuted = true,
    };

    public static RpcException BadHeader(string name, string value, string wanted) => new(
        RpcStatusCode.Internal, $"The peer sent the header '{name}: {value}', which is not {wanted}.")
    {
        ErrorId = RpcErrorIds.BadGrpcHeader,
        MayHaveExecuted = true,
    };
}
