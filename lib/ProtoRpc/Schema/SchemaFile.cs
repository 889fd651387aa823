using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>A linked file: its descriptor, the message that it was created from, and data that is derived
/// from both.</summary>
internal sealed class SchemaFile(FileDescriptor descriptor, FileDescriptorProto proto)
{
    private readonly Lazy<SourceComments> _comments =
        new Lazy<SourceComments>(() => new SourceComments(proto.SourceCodeInfo));

    public FileDescriptor Descriptor { get; } = descriptor;

    /// <summary>The parsed file, shared: never changed.</summary>
    public FileDescriptorProto Proto { get; } = proto;

    public string Name => Proto.Name;

    public FieldFeatures Features { get; } = FieldFeatures.OfFile(proto);

    public SourceComments Comments => _comments.Value;

    /// <summary>The original bytes of the file.</summary>
    public ByteString Bytes => Descriptor.SerializedData;
}

/// <summary>The comments of a file by the place of the element in its descriptor.</summary>
internal sealed class SourceComments
{
    private readonly Dictionary<string, SourceCodeInfo.Types.Location> _locations =
        new(StringComparer.Ordinal);

    public SourceComments(SourceCodeInfo? info)
    {
        foreach (SourceCodeInfo.Types.Location location in info?.Location ?? [])
        {
            bool hasComment = location.HasLeadingComments || location.HasTrailingComments
                || location.LeadingDetachedComments.Count > 0;
            if (hasComment)
            {
                // An element that is written in parts (extend blocks) has a location more than once.
                _locations.TryAdd(string.Join(',', location.Path), location);
            }
        }
    }

    /// <summary>The comment before an element, else the one after it, else empty; to be shown, and so without
    /// control characters.</summary>
    /// <param name="path">Field numbers and indexes as in descriptor.proto, with commas:
    /// <c>4,0,2,1</c>.</param>
    public string Of(string path)
    {
        SourceCodeInfo.Types.Location? location = Find(path);
        return location is null
            ? ""
            : TerminalText.Neutralize(
                Clean(location.HasLeadingComments ? location.LeadingComments : location.TrailingComments));
    }

    /// <summary>The location of an element that has a comment, or null.</summary>
    public SourceCodeInfo.Types.Location? Find(string path) => _locations.GetValueOrDefault(path);

    /// <summary>A comment without the space after each <c>//</c>,
    /// and without blank lines around it.</summary>
    private static string Clean(string text)
    {
        IEnumerable<string> lines = text.Split('\n').Select(l => (l.StartsWith(' ') ? l[1..] : l).TrimEnd());
        return string.Join('\n', lines).Trim('\n');
    }
}

/// <summary>The lines and columns of the elements of a file in its source.</summary>
internal sealed class SourcePositions
{
    private readonly Dictionary<string, (int Line, int Column)> _positions = new(StringComparer.Ordinal);

    public SourcePositions(SourceCodeInfo? info)
    {
        foreach (SourceCodeInfo.Types.Location location in info?.Location ?? [])
        {
            if (location.Span.Count >= 2)
            {
                _positions.TryAdd(string.Join(',', location.Path), (location.Span[0], location.Span[1]));
            }
        }
    }

    /// <summary>Whether nothing is known.</summary>
    public bool IsEmpty => _positions.Count == 0;

    /// <summary>The place of an element, or null.</summary>
    public (int Line, int Column)? Of(string path) =>
        _positions.TryGetValue(path, out (int Line, int Column) position) ? position : null;
}
