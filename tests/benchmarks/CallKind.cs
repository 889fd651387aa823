namespace ProtoRpc.Benchmarks;

/// <summary>The stacks that the transport benchmark compares, as options and result tables name
/// them.</summary>
internal static class CallKind
{
    /// <summary>A bare socket that carries as many bytes as ours.</summary>
    public const string Raw = "raw";

    /// <summary>A bare socket with generated code: what an ideal RPC of Protocol Buffers costs.</summary>
    public const string Bound = "bound";

    /// <summary>Our client and server with one dynamic message that was made before.</summary>
    public const string Prebuilt = "rpc";

    /// <summary>Our client and server with generated classes, made fresh for each call on both
    /// sides.</summary>
    public const string Generated = "generated";

    /// <summary>The same with dynamic messages.</summary>
    public const string Dynamic = "dynamic";

    /// <summary>The same with dictionaries that <see cref="MessageMapper"/> maps.</summary>
    public const string Hashtable = "hashtable";

    /// <summary>All kinds.</summary>
    public static IReadOnlyList<string> All { get; } =
        [Raw, Bound, Prebuilt, Generated, Dynamic, Hashtable];

    /// <summary>Whether the kind is one of ours with messages made fresh.</summary>
    public static bool IsFresh(string kind) => MessagesOf(kind) is Generated or Dynamic or Hashtable;

    /// <summary>A kind of ours with callers who authenticate.</summary>
    /// <param name="kind">With which messages.</param>
    /// <param name="security">One of the kinds of callers in <c>CallSecurity</c>.</param>
    public static string As(string kind, string security) => $"{kind}@{security}";

    /// <summary>The kind without its security.</summary>
    public static string MessagesOf(string kind) => kind.Split('@')[0];

    /// <summary>The security of a kind; empty for none.</summary>
    public static string SecurityOf(string kind) => kind.Contains('@') ? kind.Split('@')[1] : "";

    /// <summary>Whether the kind is a bare socket.</summary>
    public static bool IsBare(string kind) => kind is Raw or Bound;
}
