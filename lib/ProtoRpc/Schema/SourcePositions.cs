using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>Where the elements of a file stood in its source.</summary>
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
