namespace ProtoRpc.Peers;

/// <summary>How long tests wait for what has to happen.</summary>
internal static class Patience
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    public static Task WaitAsync(Task task) => task.WaitAsync(Limit);

    public static Task<T> WaitAsync<T>(Task<T> task) => task.WaitAsync(Limit);
}
