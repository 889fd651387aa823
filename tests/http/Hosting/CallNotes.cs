namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>What belongs to one call, and is disposed with it.</summary>
public sealed class CallNotes : IAsyncDisposable
{
    private readonly NoteCount? _count;

    public CallNotes(NoteCount? count = null)
    {
        _count = count;
        _count?.Add(1);
    }

    public List<string> Lines { get; } = [];

    public ValueTask DisposeAsync()
    {
        _count?.Add(-1);
        return default;
    }
}
