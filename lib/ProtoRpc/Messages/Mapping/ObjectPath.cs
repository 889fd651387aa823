using System.Globalization;
using System.Text;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Where in an object the mapper is: <c>SearchRequest.results[3].url</c>,
/// <c>Foo.map["key"]</c>.</summary>
/// <remarks>Only pushed and popped on the way; the text is made when there is an error.</remarks>
internal sealed class ObjectPath(string root)
{
    private (string? Name, object? Key, int Index)[] _parts = new (string?, object?, int)[8];
    private int _count;

    public void PushField(string name) => Push((name, null, 0));

    public void PushKey(object key) => Push((null, key, 0));

    public void PushIndex(int index) => Push((null, null, index));

    public void Pop() => _count--;

    public override string ToString()
    {
        StringBuilder text = new(root);
        foreach ((string? name, object? key, int index) in _parts.AsSpan(0, _count))
        {
            _ = name is not null ? text.Append('.').Append(name)
                : key is not null ? text.Append('[').Append(MessageText.OfKey(key)).Append(']')
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
