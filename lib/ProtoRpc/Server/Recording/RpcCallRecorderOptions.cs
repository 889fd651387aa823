namespace ProtoRpc;

/// <summary>The options of <see cref="RpcCallRecorder"/>.</summary>
public sealed record RpcCallRecorderOptions
{
    /// <summary>The fields whose values are not written: names (<c>password</c>) or paths
    /// (<c>login.password</c>), with <c>*</c> and <c>?</c>, case-insensitive. A name matches at every depth,
    /// in lists, and among the keys of maps and Struct; a path matches the end of a field's path. Texts are
    /// replaced by <c>***</c>, other values by their default. All values in a masked message are replaced.
    /// They are also removed from the error text.</summary>
    public IReadOnlyList<string> Mask { get; set; } = [];

    /// <summary>The maximum number of calls that wait to be written; more are counted, but not recorded. The
    /// default is 10,000.</summary>
    public int MaxQueuedCalls { get; set; } = 10_000;

    /// <summary>The maximum size of the messages that wait to be written, in bytes. The default is 64
    /// MiB.</summary>
    public long MaxQueuedBytes { get; set; } = 64 * 1024 * 1024;

    /// <summary>Receives a line when calls cannot be written, for example on a full disk, and when writing
    /// works again. Runs on a thread of the recorder; its exceptions are ignored.</summary>
    public Action<string>? Warning { get; set; }
}
