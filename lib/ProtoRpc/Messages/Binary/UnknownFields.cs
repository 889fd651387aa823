namespace ProtoRpc.Messages.Binary;

/// <summary>The fields of a message that its type does not have, as the bytes that came.</summary>
internal struct UnknownFields
{
    private byte[]? _bytes;
    private int _length;

    public readonly bool IsEmpty => _length == 0;

    public readonly ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _length);

    public void Append(ReadOnlySpan<byte> field)
    {
        int length = checked(_length + field.Length);
        if (_bytes is null)
        {
            _bytes = new byte[length];
        }
        else if (length > _bytes.Length)
        {
            Array.Resize(ref _bytes, (int)Math.Min(Math.Max(length, 2L * _bytes.Length), Array.MaxLength));
        }
        field.CopyTo(_bytes.AsSpan(_length));
        _length = length;
    }

    public void Clear() => (_bytes, _length) = (null, 0);
}
