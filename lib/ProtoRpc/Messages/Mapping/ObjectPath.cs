using System.Globalization;
using System.Text;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Where in an object the mapper is: <c>SearchRequest.results[3].url</c>,
/// <c>Foo.map["key"]</c>.</summary>
/// <remarks>Only pushed and popped on the way; the text is made when there is an error.</remarks>
internal sealed class ObjectPath(string root)
{
    // The path of an object within itself has hundreds of parts,
    // of which an error shows the first ones and the end.
    private const int ShownFirst = 8;
    private const int ShownLast = 2;

    private const int IsName = -1;
    private const int IsKey = -2;

    private (object? NameOrKey, int Index)[] _parts = new (object?, int)[8];
    private int _count;

    public void PushField(string name) => Push(name, IsName);

    public void PushKey(object key) => Push(key, IsKey);

    public void PushIndex(int index) => Push(null, index);

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

            (object? part, int index) = _parts[i];
            _ = index == IsName ? text.Append('.').Append(ValueText.OfName((string)part!))
                : index == IsKey ? text.Append(
                    '[').Append(ValueText.OfName(MessageText.OfKey(part!))).Append(']')
                : text.Append(CultureInfo.InvariantCulture, $"[{index}]");
        }
        return text.ToString();
    }

    private void Push(object? nameOrKey, int index)
    {
        if (_count == _parts.Length)
        {
            Array.Resize(ref _parts, 2 * _count);
        }
        _parts[_count++] = (nameOrKey, index);
    }
}
