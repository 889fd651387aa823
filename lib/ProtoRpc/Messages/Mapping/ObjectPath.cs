using System.Globalization;
using System.Text;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Where in an object the mapper is: <c>SearchRequest.results[3].url</c>,
/// <c>Foo.map["key"]</c>.</summary>
/// <remarks>Only pushed and popped on the way; the text is made when there is an error.</remarks>
internal sealed class ObjectPath(string root)
{
    // The path of an object within itself has hundreds of parts,
    // of which the first ones and the end tell enough.
    private const int ShownFirst = 8;
    private const int ShownLast = 2;

    private (string? Name, object? Key, int Index)[] _parts = new (string?, object?, int)[8];
    private int _count;

    public void PushField(string name) => Push((name, null, 0));

    public void PushKey(object key) => Push((null, key, 0));

    public void PushIndex(int index) => Push((null, null, index));

    public void Pop() => _count--;

    public override string ToString()
    {
        StringBuilder text = new(root);
        int left = _count > 2 * (ShownFirst + ShownLast) ? _count - ShownFirst - ShownLast : 0;
        for (int i = 0; i < _count; i++)
        {
            if (left > 0 && i == ShownFirst)
            {
                text.Append(CultureInfo.InvariantCulture, $"...({left} more)");
                i += left;
            }

            (string? name, object? key, int index) = _parts[i];
            _ = name is not null ? text.Append('.').Append(ValueText.OfName(name))
                : key is not null ? text.Append(
                    '[').Append(ValueText.OfName(MessageText.OfKey(key))).Append(']')
                : text.Append(CultureInfo.InvariantCulture, $"[{index}]");
        }
        return text.ToString();
    }

    private void Push((string?, object?, int) part)
    {
        if (_count == _parts.Length)
        {
            Array.Resize(ref _parts, 2 * _count);
        }
        _parts[_count++] = part;
    }
}
