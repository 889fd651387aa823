using System.Diagnostics.CodeAnalysis;
using ProtoRpc.Formats;
using ProtoRpc.Formats.Form;
using ProtoRpc.Formats.Json;
using ProtoRpc.Formats.Text;
using ProtoRpc.Formats.Xml;

namespace ProtoRpc;

/// <summary>The formats that there are; a new one is a class and a line here.</summary>
public static class MessageFormats
{
    /// <summary>Protocol Buffers' binary format.</summary>
    public static MessageFormat Binary { get; } = new BinaryFormat();

    /// <summary>ProtoJSON.</summary>
    public static MessageFormat Json { get; } = new JsonFormat();

    /// <summary>XML whose elements are the fields.</summary>
    public static MessageFormat Xml { get; } = new XmlFormat();

    /// <summary>The format of HTML forms and query strings, for messages without messages in them.</summary>
    public static MessageFormat Form { get; } = new FormFormat();

    /// <summary>The text format, as <c>protoc --decode</c> prints it.</summary>
    public static MessageFormat Text { get; } = new TextFormat();

    /// <summary>All formats.</summary>
    public static IReadOnlyList<MessageFormat> All { get; } = [Binary, Json, Xml, Form, Text];

    /// <summary>A format by its name or by a media type, in any case; the parameters of a media type are left
    /// aside.</summary>
    public static bool TryFind(string nameOrMediaType, [NotNullWhen(true)] out MessageFormat? format)
    {
        ArgumentNullException.ThrowIfNull(nameOrMediaType);
        int parameters = nameOrMediaType.IndexOf(';');
        string wanted = (parameters < 0 ? nameOrMediaType : nameOrMediaType[..parameters]).Trim();
        format = All.FirstOrDefault(candidate =>
            candidate.Name.Equals(wanted, StringComparison.OrdinalIgnoreCase) ||
            candidate.MediaTypes.Contains(wanted, StringComparer.OrdinalIgnoreCase));
        return format is not null;
    }
}
