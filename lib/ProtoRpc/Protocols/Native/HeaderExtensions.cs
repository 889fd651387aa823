using Google.Protobuf.Reflection;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>Reads and writes the extensions that applications add to messages of the native protocol:
/// RpcRequestHeader, RpcResponseHeader and RpcExceptionInfo. The protocol's own fields and extensions are
/// neither read nor written here, even if a schema declares their numbers.</summary>
internal static class HeaderExtensions
{
    private static readonly RpcSchema Bare = RpcSchema.FromDescriptors(RpcMessagesReflection.Descriptor);

    // The names of ProtoRpc's own extensions, by message and field number.
    private static readonly Dictionary<(string, int), string> OfProtocol =
        ProtorpcTransportReflection.Descriptor.Extensions.UnorderedExtensions.ToDictionary(
            extension => (extension.ExtendeeType.FullName, extension.FieldNumber),
            extension => $"[{extension.FullName}]");

    /// <summary>A message's type in a schema, with the extensions that the schema declares.</summary>
    public static RpcMessageInfo TypeIn(RpcSchema? schema, MessageDescriptor message) =>
        schema?.FindMessage(message.FullName) ?? Bare.GetMessage(message.FullName);

    /// <summary>The extensions of a header that a schema declares, without those of the protocol.</summary>
    public static IEnumerable<RpcFieldInfo> DeclaredIn(RpcSchema schema, MessageDescriptor message) =>
        TypeIn(schema, message).Extensions
            .Where(field => IsForApplications(message.FullName, field.Number));

    /// <summary>Reads the extensions that a schema declares, and ignores all others.</summary>
    /// <param name="received">The header, or the exception.</param>
    /// <param name="schema">The schema, or null.</param>
    /// <param name="what">The name of the message, for errors.</param>
    /// <param name="code">The status of errors.</param>
    /// <param name="limits">The limits.</param>
    /// <returns>Null if the schema declares no extensions.</returns>
    /// <exception cref="RpcException">An extension is malformed, or the extensions are too large.</exception>
    public static DynamicMessage? Read(
        IMessage received, RpcSchema? schema, string what, RpcStatusCode code, RpcLimits limits)
    {
        RpcMessageInfo type = TypeIn(schema, received.Descriptor);
        if (type.Extensions.Count == 0)
        {
            return null;
        }

        byte[] known = Select(
            received.ToByteArray(),
            number => IsForApplications(type.FullName, number) && type.FindField(number) is not null);
        RequireSize(known.Length, what, code, limits);
        try
        {
            DynamicMessage read = DynamicMessage.Parse(type, known, limits.MaxMessageElements);

            // A value whose wire type differs from the schema is ignored, like an unknown extension.
            read.ClearUnknownFields();
            return read;
        }
        catch (RpcException e)
        {
            throw new RpcException(
                code, RpcErrorIds.BadHeader,
                $"The extensions of the {what} cannot be read. {e.Message}", e);
        }
    }

    /// <summary>Reads the extensions of a failure; null if there are none, or if they cannot be read: the
    /// failure is more important than their errors.</summary>
    public static DynamicMessage? TryRead(
        IMessage? received, RpcSchema? schema, string what, RpcLimits limits)
    {
        try
        {
            return received is not null
                && Read(received, schema, what, RpcStatusCode.Internal, limits) is { } read
                && read.CalculateSize() > 0
                    ? read
                    : null;
        }
        catch (RpcException)
        {
            return null;
        }
    }

    /// <summary>Whether to send the extensions of an exception. Only a handler's extensions are sent, not
    /// those of another call that failed.</summary>
    public static bool AreSentWith(RpcException error) =>
        error is { Extensions: not null, IsByProtoRpc: false };

    /// <summary>Adds extensions to a message that is sent.</summary>
    /// <param name="target">The header, or the exception.</param>
    /// <param name="given">A message of the same type, dynamic or generated, that only contains extensions;
    /// null for none.</param>
    /// <param name="what">The name of the message, for errors.</param>
    /// <param name="code">The status of errors.</param>
    /// <param name="limits">The limits.</param>
    /// <exception cref="RpcException">The message has another type, contains fields of the protocol, or is
    /// too large.</exception>
    public static void Write(
        IMessage target, object? given, string what, RpcStatusCode code, RpcLimits limits)
    {
        if (given is null)
        {
            return;
        }

        string name = target.Descriptor.FullName;
        if (given is not IMessage message || message.Descriptor.FullName != name)
        {
            string other = given is IMessage { Descriptor.FullName: var type } ? type : given.GetType().Name;
            throw Invalid(code, $"Extensions of the {what} are given as {name}, not as {other}");
        }

        byte[] bytes = BytesOf(message, what, code);
        RequireSize(bytes.Length, what, code, limits);
        Select(bytes, number => IsForApplications(name, number) ? true : throw Invalid(
            code,
            $"{NameOf(target.Descriptor, number)} of {name} is reserved for the protocol. Set "
            + "extensions with other numbers"));
        target.MergeFrom(bytes);
    }

    /// <summary>Adds extensions to a message, but omits them if they cannot be sent.</summary>
    public static void TryWrite(IMessage target, IMessage? given, RpcLimits limits)
    {
        try
        {
            Write(target, given, "", RpcStatusCode.Internal, limits);
        }
        catch (RpcException)
        {
            // The failure is sent even if its extensions are invalid.
        }
    }

    /// <summary>The error for an endpoint whose protocol does not support header extensions.</summary>
    public static RpcException NotCarried(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.ExtensionsNotSupported,
        $"Calls to '{endpoint}' cannot send extensions of the request header; only calls to "
        + $"{EndpointKinds.SchemesWith(EndpointFeatures.HeaderExtensions, "and")} endpoints can. "
        + "Use headers, or the call context.", endpoint);

    private static bool IsForApplications(string message, int number) =>
        IsExtension(message, number) && !OfProtocol.ContainsKey((message, number));

    // Only numbers in the extension range of rpc_messages.proto are the application's. Lower numbers are
    // reserved for the protocol.
    private static bool IsExtension(string message, int number) =>
        Bare.GetMessage(message).Proto.ExtensionRange.Any(
            range => number >= range.Start && number < range.End);

    private static string NameOf(MessageDescriptor message, int number) =>
        message.FindFieldByNumber(number) is { } field ? $"The field '{field.Name}'"
        : OfProtocol.TryGetValue((message.FullName, number), out string? name)
            ? $"The extension with the number {number} ({name})"
        : $"The field with the number {number}";

    private static byte[] BytesOf(IMessage message, string what, RpcStatusCode code)
    {
        try
        {
            return message.ToByteArray();
        }
        catch (RpcException e)
        {
            throw Invalid(code, $"The extensions of the {what} cannot be sent. {e.Message.TrimEnd('.')}", e);
        }
    }

    private static void RequireSize(int size, string what, RpcStatusCode code, RpcLimits limits)
    {
        if (size > limits.MaxHeaderBytes)
        {
            throw Invalid(
                code,
                $"The extensions of the {what} have {size} bytes; the limit is {limits.MaxHeaderBytes} "
                + $"({nameof(RpcLimits)}.{nameof(RpcLimits.MaxHeaderBytes)}). "
                + "Send larger data in the message");
        }
    }

    private static RpcException Invalid(RpcStatusCode code, string why, Exception? inner = null) =>
        new(code, RpcErrorIds.InvalidExtension, $"{why}.", inner);

    // Copies the bytes of the fields with some numbers.
    private static byte[] Select(byte[] message, Func<int, bool> isWanted)
    {
        using MemoryStream selected = new();
        CodedInputStream input = new(message);
        int start = 0;
        while (input.ReadTag() is var tag && tag != 0)
        {
            input.SkipLastField();
            int end = (int)input.Position;
            if (isWanted(WireFormat.GetTagFieldNumber(tag)))
            {
                selected.Write(message, start, end - start);
            }

            start = end;
        }

        return selected.ToArray();
    }
}
