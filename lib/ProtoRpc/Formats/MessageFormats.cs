using System.Diagnostics.CodeAnalysis;
using ProtoRpc.Formats;
using ProtoRpc.Formats.Form;
using ProtoRpc.Formats.Json;
using ProtoRpc.Formats.Text;
using ProtoRpc.Formats.Xml;

namespace ProtoRpc;

/// <summary>The formats that there are.</summary>
/// <remarks>This is the table of formats, which everything else reads. A new one is a class that reads and
/// writes it, and a row here.</remarks>
public static class MessageFormats
{
    private static readonly List<MessageFormat> Rows = [];

    /// <summary>Protocol Buffers' binary format.</summary>
    public static MessageFormat Binary { get; } = Add(new BinaryFormat(
        new FormatRow(nameof(Binary), "application/x-protobuf")
        {
            OtherMediaTypes =
            [
                "application/protobuf", "application/proto", "application/vnd.google.protobuf",
                "application/x-google-protobuf",
            ],
            FileExtensions = [".binpb", ".pb", ".bin"],
            IsText = false,
            Streaming = FormatStreaming.Delimited,
            ConnectName = "proto",
            HttpRank = 3,
        }));

    /// <summary>ProtoJSON.</summary>
    public static MessageFormat Json { get; } = Add(new JsonFormat(
        new FormatRow(nameof(Json), "application/json; charset=utf-8")
        {
            OtherMediaTypes = ["text/json"],
            FileExtensions = [".json"],
            Streaming = FormatStreaming.Lines,
            ConnectName = "json",
            HttpRank = 2,
        }));

    /// <summary>XML whose elements are the fields.</summary>
    public static MessageFormat Xml { get; } = Add(new XmlFormat(
        new FormatRow(nameof(Xml), "text/xml; charset=utf-8")
        {
            OtherMediaTypes = ["application/xml"],
            FileExtensions = [".xml"],
            HttpRank = 1,
        }));

    /// <summary>The format of HTML forms and query strings, for messages without messages in them.</summary>
    public static MessageFormat Form { get; } = Add(new FormFormat(
        new FormatRow(nameof(Form), "application/x-www-form-urlencoded")
        {
            HttpRank = 4,
            IsByNameOnly = true,
        }));

    /// <summary>The text format, as <c>protoc --decode</c> prints it.</summary>
    public static MessageFormat Text { get; } = Add(new TextFormat(
        new FormatRow(nameof(Text), "text/x-protobuf; charset=utf-8")
        {
            OtherMediaTypes = ["text/protobuf"],
            FileExtensions = [".txtpb", ".textproto", ".pbtxt", ".textpb"],
        }));

    /// <summary>All formats.</summary>
    public static IReadOnlyList<MessageFormat> All { get; } = Rows.AsReadOnly();

    /// <summary>Those that HTTP endpoints speak, in the order of preference.</summary>
    internal static IReadOnlyList<MessageFormat> OfHttp { get; } =
        [.. All.Where(format => format.Row.HttpRank > 0).OrderBy(format => format.Row.HttpRank)];

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

    /// <summary>The format that files of a name's ending have.</summary>
    public static bool TryFindByFile(string path, [NotNullWhen(true)] out MessageFormat? format)
    {
        ArgumentNullException.ThrowIfNull(path);
        format = All.FirstOrDefault(candidate => candidate.FileExtensions.Any(
            ending => path.EndsWith(ending, StringComparison.OrdinalIgnoreCase)));
        return format is not null;
    }

    /// <summary>A format by a name that was checked.</summary>
    internal static MessageFormat Named(string name) =>
        All.First(format => format.Name.Equals(name, StringComparison.OrdinalIgnoreCase));

    private static MessageFormat Add(MessageFormat format)
    {
        Rows.Add(format);
        return format;
    }
}
