namespace ProtoRpc;

/// <summary>How a server's calls are recorded.</summary>
public sealed record RpcCallRecorderOptions
{
    /// <summary>Fields whose values are not written: names (<c>password</c>), paths (<c>login.password</c>),
    /// with <c>*</c> and <c>?</c>, in any case. A name is found at every depth, in lists, and among the keys
    /// of maps and Struct; a path at the end of a field's path. Texts become <c>***</c>, everything else its
    /// default; a message within is masked as a whole. The text of a failure does not quote them
    /// either.</summary>
    public IReadOnlyList<string> Mask { get; set; } = [];

    /// <summary>Calls that may wait to be written; more are counted and not recorded: 10,000.</summary>
    public int MaxQueuedCalls { get; set; } = 10_000;

    /// <summary>Bytes of messages that may wait to be written: 64 MiB.</summary>
    public long MaxQueuedBytes { get; set; } = 64 * 1024 * 1024;

    /// <summary>Gets a line where calls cannot be written, as on a full disk, and when that is over; by a
    /// thread of the recorder. What it throws is ignored.</summary>
    public Action<string>? Warning { get; set; }
}
