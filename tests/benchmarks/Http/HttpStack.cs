namespace ProtoRpc.Benchmarks.Http;

/// <summary>One of our stacks over HTTP or gRPC.</summary>
/// <param name="Kind">What workers are told: <c>http:FORMAT:MESSAGES:CALLERS</c>.</param>
internal sealed record HttpStack(string Kind)
{
    /// <summary>Before all kinds.</summary>
    public const string Prefix = "http:";

    private const string Rest = "rest";
    private const string Connect = "connect";

    private readonly string[] _parts = Kind.Split(':');

    /// <summary>All stacks.</summary>
    public static IReadOnlyList<HttpStack> All { get; } =
    [
        new($"{Prefix}json:{CallKind.Generated}:async"),
        new($"{Prefix}json:{CallKind.Dynamic}:async"),
        new($"{Prefix}binary:{CallKind.Generated}:async"),
        new($"{Prefix}binary:{CallKind.Dynamic}:async"),
        new($"{Prefix}json:{CallKind.Generated}:blocking"),
        new($"{Prefix}json:{CallKind.Dynamic}:blocking"),
        new($"{Prefix}binary:{CallKind.Generated}:blocking"),
        new($"{Prefix}binary:{CallKind.Dynamic}:blocking"),
        new($"{Prefix}{Rest}:{CallKind.Generated}:async"),
        new($"{Prefix}{Rest}:{CallKind.Dynamic}:async"),
        new($"{Prefix}{Connect}:{CallKind.Generated}:async"),
        new($"{Prefix}{Connect}:{CallKind.Dynamic}:async"),
        new($"{Prefix}grpc:{CallKind.Generated}:async"),
        new($"{Prefix}grpc:{CallKind.Dynamic}:async"),
        new($"{Prefix}grpc+unix:{CallKind.Generated}:async"),
        new($"{Prefix}grpc+unix:{CallKind.Dynamic}:async"),
    ];

    /// <summary>Whether a kind is one of ours.</summary>
    public static bool Is(string kind) => kind.StartsWith(Prefix, StringComparison.Ordinal);

    /// <summary>Whether an option names the stack: by a part of its title, or by its format, messages or
    /// callers.</summary>
    /// <param name="word">As a user writes it, for example protobuf, unix or async.</param>
    public bool IsNamedBy(string word) =>
        word.Length > 0
        && (Title.Contains(word, StringComparison.OrdinalIgnoreCase)
            || Kind[Prefix.Length..].Contains(word, StringComparison.OrdinalIgnoreCase));

    /// <summary>The format: json or binary, posted to the path of the method; rest for JSON at the path of a
    /// rule, connect for protobuf; grpc or grpc+unix for gRPC.</summary>
    public string Format => _parts[1];

    /// <summary><see cref="CallKind.Generated"/> or <see cref="CallKind.Dynamic"/>.</summary>
    public string Messages => _parts[2];

    /// <summary>Whether callers block a thread each.</summary>
    public bool IsBlocking => _parts[3] == "blocking";

    /// <summary>Where its server listens.</summary>
    public string Address => Format switch
    {
        "grpc" => "grpc://127.0.0.1:0",
        "grpc+unix" =>
            $"grpc+unix://{Path.GetTempPath()}protorpc-bench-{Environment.ProcessId}-{Messages}.sock",
        _ => "http://127.0.0.1:0/",
    };

    /// <summary>The service, which is in a schema of its own where the method has a path of REST.</summary>
    public string Service => Format == Rest ? "Benchmark.RoutedService" : "Benchmark.SampleService";

    /// <summary>The file of that schema.</summary>
    public string SchemaFile => Format == Rest ? "routed.proto" : "benchmark.proto";

    /// <summary>The endpoint that clients connect to.</summary>
    /// <param name="server">The endpoint of the server.</param>
    public string ClientAddress(string server) => Format is Rest or Connect
        ? string.Concat(Format, server.AsSpan(server.IndexOf(':', StringComparison.Ordinal)))
        : server;

    /// <summary>How tables name it.</summary>
    public string Title => Format switch
    {
        Rest => $"REST, JSON, {Messages}",
        Connect => $"Connect, protobuf, {Messages}",
        "json" => $"HTTP, JSON, {Messages}",
        "binary" => $"HTTP, protobuf, {Messages}",
        "grpc" => $"gRPC over TCP, {Messages}",
        _ => $"gRPC over a Unix socket, {Messages}",
    } + (IsBlocking ? ", blocking" : "");
}
