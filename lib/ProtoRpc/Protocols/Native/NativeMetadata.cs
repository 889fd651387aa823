using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>Converts headers and trailers to and from the headers of the native protocol.</summary>
internal static class NativeMetadata
{
    /// <summary>Converts headers or trailers for sending; null for none.</summary>
    /// <param name="metadata">The headers or trailers; null for none.</param>
    /// <param name="what">The name of the metadata, for errors.</param>
    /// <param name="tooLarge">The status if they are too large.</param>
    /// <param name="limits">The limits.</param>
    /// <exception cref="RpcException">There are too many, or they are too large.</exception>
    public static Metadata? Write(
        IEnumerable<KeyValuePair<string, object>>? metadata, string what, RpcStatusCode tooLarge,
        RpcLimits limits)
    {
        if (metadata is null)
        {
            return null;
        }

        Metadata written = ToMessage(metadata);
        return written.Entries.Count == 0 ? null
            : IsTooLarge(written, limits) ? throw TooLarge(written, what, tooLarge, limits)
            : written;
    }

    /// <summary>Converts headers or trailers for sending; null for none, or if they are too large.</summary>
    public static Metadata? TryWrite(IEnumerable<KeyValuePair<string, object>>? metadata, RpcLimits limits)
    {
        if (metadata is null)
        {
            return null;
        }

        Metadata written = ToMessage(metadata);
        return written.Entries.Count == 0 || IsTooLarge(written, limits) ? null : written;
    }

    /// <summary>Converts received headers or trailers.</summary>
    /// <param name="received">The received metadata; null for none.</param>
    /// <param name="what">The name of the metadata, for errors.</param>
    /// <param name="code">The status of errors.</param>
    /// <param name="limits">The limits.</param>
    /// <exception cref="RpcException">The metadata is malformed or over a limit.</exception>
    public static RpcMetadata Read(Metadata? received, string what, RpcStatusCode code, RpcLimits limits)
    {
        RpcMetadata metadata = new();
        if (received is null)
        {
            return metadata;
        }

        if (IsTooLarge(received, limits))
        {
            throw TooLarge(received, what, code, limits);
        }

        try
        {
            foreach (Metadata.Types.Entry entry in received.Entries)
            {
                if (entry.HasBytes)
                {
                    metadata.Add(entry.Name, entry.Bytes.ToByteArray());
                }
                else
                {
                    metadata.Add(entry.Name, entry.Text);
                }
            }

            return metadata;
        }
        catch (RpcException e)
        {
            throw new RpcException(
                code, RpcErrorIds.BadHeader,
                $"The {what} of the call are invalid. {e.Message}", e);
        }
    }

    private static Metadata ToMessage(IEnumerable<KeyValuePair<string, object>> metadata)
    {
        Metadata written = new();
        foreach ((string name, object value) in metadata)
        {
            Metadata.Types.Entry entry = new() { Name = name };
            if (value is byte[] bytes)
            {
                entry.Bytes = ByteString.CopyFrom(bytes);
            }
            else
            {
                entry.Text = (string)value;
            }

            written.Entries.Add(entry);
        }

        return written;
    }

    private static bool IsTooLarge(Metadata metadata, RpcLimits limits) =>
        metadata.Entries.Count > limits.MaxHeaders || metadata.CalculateSize() > limits.MaxHeaderBytes;

    private static RpcException TooLarge(
        Metadata metadata, string what, RpcStatusCode code, RpcLimits limits) => new(
        code, RpcErrorIds.InvalidHeader,
        $"The {what} of the call are {metadata.Entries.Count} values of {metadata.CalculateSize()} bytes; "
        + $"the limits are {limits.MaxHeaders} values and {limits.MaxHeaderBytes} bytes. "
        + "Send larger data in the message.");
}

/// <summary>The call context of requests and replies, as a message whose extensions the user's schema
/// declares.</summary>
internal static class SideChannel
{
    private const string TypeName = "google.protobuf.rpc_messages.RpcCallContext";
    private static readonly RpcMessageInfo BareType =
        RpcSchema.FromDescriptors(RpcMessagesReflection.Descriptor).GetMessage(TypeName);

    /// <summary>The message's type in a schema, with the extensions that the schema declares.</summary>
    public static RpcMessageInfo TypeIn(RpcSchema? schema) => schema?.FindMessage(TypeName) ?? BareType;

    /// <summary>Reads a received call context.</summary>
    /// <exception cref="RpcException">ResourceExhausted: it has more elements than the limit.</exception>
    public static DynamicMessage ToDynamic(RpcCallContext? context, RpcSchema? schema, int maxElements) =>
        DynamicMessage.Parse(
            TypeIn(schema), context is null ? default(ReadOnlySpan<byte>) : context.ToByteArray(),
            maxElements);

    public static RpcCallContext ToWire(DynamicMessage context) =>
        RpcCallContext.Parser.ParseFrom(context.ToByteArray());
}
