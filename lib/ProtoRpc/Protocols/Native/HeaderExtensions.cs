using Google.Protobuf.Reflection;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>What applications add to the messages of the native protocol, RpcRequestHeader, RpcResponseHeader
/// and RpcExceptionInfo: extensions that their schemas declare. The protocol's own fields and extensions are
/// neither read nor written here, even if a schema declares their numbers.</summary>
internal static class HeaderExtensions
{
    private static readonly RpcSchema Bare = RpcSchema.FromDescriptors(RpcMessagesReflection.Descriptor);

    // By message and number.
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

    /// <summary>Reads the extensions that a schema declares, and passes over all else.</summary>
    /// <param name="received">The header, or the exception.</param>
    /// <param name="schema">The schema, or null.</param>
    /// <param name="what">What it is, for errors.</param>
    /// <param name="code">The status of errors.</param>
    /// <param name="limits">What is too large.</param>
    /// <returns>Null where the schema declares none, which costs next to nothing.</returns>
    /// <exception cref="RpcException">An extension is malformed, or they are too large.</exception>
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

            // Values of another type than the schema says are passed over like unknown extensions.
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

    /// <summary>Whether an exception has extensions of a handler's author; those of a call that failed
    /// elsewhere are not passed on.</summary>
    public static bool AreSentWith(RpcException error) =>
        error is { Extensions: not null, IsByProtoRpc: false };

    /// <summary>Adds extensions to a message that is sent.</summary>
    /// <param name="target">The header, or the exception.</param>
    /// <param name="given">A message of the same type, dynamic or generated, with extensions only; null for
    /// nothing.</param>
    /// <param name="what">What it is, for errors.</param>
    /// <param name="code">The status of errors.</param>
    /// <param name="limits">What is too large.</param>
    /// <exception cref="RpcException">It is another message, or has what belongs to the protocol, or is too
    /// large.</exception>
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

    /// <summary>The same, without what cannot be sent.</summary>
    public static void TryWrite(IMessage target, IMessage? given, RpcLimits limits)
    {
        try
        {
            Write(target, given, "", RpcStatusCode.Internal, limits);
        }
        catch (RpcException)
        {
            // The failure itself is sent even if its extensions are invalid.
        }
    }

    /// <summary>An endpoint's protocol has no header that is extended.</summary>
    public static RpcException NotCarried(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.ExtensionsNotSupported,
        $"Calls to '{endpoint}' carry no extensions of the request header; those to "
        + $"{EndpointKinds.SchemesWith(EndpointFeatures.HeaderExtensions, "and")} endpoints do. "
        + "Use headers, or the call context.", endpoint);

    private static bool IsForApplications(string message, int number) =>
        IsExtension(message, number) && !OfProtocol.ContainsKey((message, number));

    // The least number that rpc_messages.proto leaves for extensions; what is between the fields and it is
    // the protocol's.
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

    // The fields of some numbers, as they are.
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
