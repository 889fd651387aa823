namespace ProtoRpc.Messages.Binary;

/// <summary>The fields of a message that its type does not have, as the bytes that came.</summary>
/// <param name="store">The message's store, whose place they take: few messages have unknown fields.</param>
internal sealed class UnknownFields(object? store)
{
    private byte[] _bytes = [];
    private int _length;

    public object? Store => store;

    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _length);

    public void Append(ReadOnlySpan<byte> field)
    {
        int length = checked(_length + field.Length);
        if (length > _bytes.Length)
        {
            Array.Resize(ref _bytes, (int)Math.Min(Math.Max(length, 2L * _bytes.Length), Array.MaxLength));
        }
        field.CopyTo(_bytes.AsSpan(_length));
        _length = length;
    }
}
