namespace ProtoRpc;

/// <summary>A stream without a position. Derived classes override what they support: reading or
/// writing.</summary>
internal abstract class SequentialStream : Stream
{
    public override bool CanRead => false;

    public sealed override bool CanSeek => false;

    public override bool CanWrite => false;

    public sealed override long Length => throw new NotSupportedException();

    public sealed override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override void Flush()
    {
    }

    public sealed override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public sealed override void SetLength(long value) => throw new NotSupportedException();
}
