using System.Xml;

namespace ProtoRpc.Formats.Xml;

/// <summary>The names in a text, with a limit for those of one element and its attributes.</summary>
/// <remarks>XmlReader reads all attributes of an element before it returns the element, in time that grows
/// with the square of their number. Names are all that it lets a caller count.</remarks>
internal sealed class XmlNodeNames : NameTable
{
    // An attribute with a prefix has two names. Elements of messages need no attribute.
    private const int MaxNames = 2_000;

    private int _count;

    /// <summary>Begins to count the names of the next element.</summary>
    public void BeginNode() => _count = 0;

    /// <inheritdoc/>
    public override string Add(char[] key, int start, int len)
    {
        Count();
        return base.Add(key, start, len);
    }

    /// <inheritdoc/>
    public override string Add(string key)
    {
        Count();
        return base.Add(key);
    }

    private void Count()
    {
        if (++_count > MaxNames)
        {
            throw new XmlException("An element has too many attributes.");
        }
    }
}
