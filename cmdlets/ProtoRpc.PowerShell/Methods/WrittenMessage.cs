using System.Text;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc.PowerShell.Methods;

/// <summary>Reads messages that are given as text or as a file.</summary>
internal static class WrittenMessage
{
    private static readonly Encoding[] Wide = [Encoding.Unicode, Encoding.BigEndianUnicode];

    /// <summary>The message of a JSON text or of a file. The file's extension determines the
    /// format.</summary>
    /// <param name="type">Its type.</param>
    /// <param name="value">The argument of the cmdlet, unwrapped.</param>
    /// <param name="ignoreUnknown">Whether fields that the type does not have are left out.</param>
    /// <returns>Null for an object, and for a text that is the value of a type such as Timestamp.</returns>
    /// <exception cref="RpcException">InvalidArgument, with line and column or the offset; NotFound for a
    /// file that cannot be read.</exception>
    public static DynamicMessage? TryRead(
        RpcMessageInfo type, object? value, bool ignoreUnknown)
    {
        FormatOptions options = new()
        {
            // No limit, because the message is from the user and not from a peer.
            MaxElements = int.MaxValue,
            IgnoreUnknownFields = ignoreUnknown,
        };
        return value switch
        {
            FileInfo file => Read(type, file, options),
            string text when !IsTextItself(type) => ReadJson(type, text, options),
            _ => null,
        };
    }

    // In PowerShell, these types are given as strings.
    private static bool IsTextItself(RpcMessageInfo type) => MessageLayout.For(type).WellKnown
        is WellKnownType.Timestamp or WellKnownType.Duration or WellKnownType.Wrapper
        or WellKnownType.Value or WellKnownType.FieldMask;

    // A text without a brace is meant as a field's value, so JSON's error would not help.
    private static DynamicMessage ReadJson(RpcMessageInfo type, string text, FormatOptions options)
    {
        try
        {
            return MessageFormats.Json.Read(type, text, options);
        }
        catch (RpcException e) when (!text.Contains('{', StringComparison.Ordinal))
        {
            string field = type.Fields.Count > 0 ? $"{type.Fields[0].Name} = ... " : "";
            throw e.WithText(
                $"{e.Message.TrimEnd('.')}. Give a hashtable, such as @{{ {field}}}, or JSON.");
        }
    }

    private static DynamicMessage Read(RpcMessageInfo type, FileInfo file, FormatOptions options)
    {
        if (!MessageFormats.TryFindByFile(file.Name, out MessageFormat? format))
        {
            IEnumerable<string> endings = MessageFormats.All.SelectMany(known => known.FileExtensions);
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.WrongFileEnding,
                $"The ending of '{file.FullName}' is not one of {string.Join(", ", endings)}. "
                + "Rename the file by its format, or read it with ConvertFrom-RpcMessage -Format.");
        }

        try
        {
            ReadOnlyMemory<byte> content = File.ReadAllBytes(file.FullName);
            return format == MessageFormats.Binary
                ? format.Read(type, content, options)
                : ReadText(type, content, format, options);
        }
        catch (RpcException e)
        {
            throw e.WithText($"{file.FullName}: {e.Message}");
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw RpcErrors.NotAFile(file.FullName, FileProblem.Describe(e, file.FullName), e);
        }
    }

    // Files may begin with a byte order mark: UTF-8 from editors, or UTF-16 from > and Out-File of Windows
    // PowerShell.
    private static DynamicMessage ReadText(
        RpcMessageInfo type, ReadOnlyMemory<byte> content, MessageFormat format, FormatOptions options)
    {
        if (content.Span.StartsWith(Encoding.UTF8.Preamble))
        {
            return format.Read(type, content[Encoding.UTF8.Preamble.Length..], options);
        }

        Encoding? wide = Wide.FirstOrDefault(encoding => content.Span.StartsWith(encoding.Preamble));
        return wide is null
            ? format.Read(type, content, options)
            : format.Read(type, wide.GetString(content.Span[wide.Preamble.Length..]), options);
    }
}
