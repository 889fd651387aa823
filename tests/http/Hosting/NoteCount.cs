namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>How many notes an application has open.</summary>
public sealed class NoteCount
{
    private int _open;
    private int _made;

    public int Open => Volatile.Read(ref _open);

    public int Made => Volatile.Read(ref _made);

    public void Add(int number)
    {
        Interlocked.Add(ref _open, number);
        Interlocked.Add(ref _made, Math.Max(0, number));
    }
}
