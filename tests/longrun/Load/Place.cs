namespace ProtoRpc.LongRun.Load;

/// <summary>An endpoint under load, and how it is called.</summary>
/// <param name="Name">Its name in the report.</param>
/// <param name="Endpoint">As bound.</param>
/// <param name="Options">Of its clients: who calls, and what is trusted.</param>
internal sealed record Place(string Name, RpcEndpoint Endpoint, RpcClientOptions Options)
{
    // Below it, messages are sent whole.
    public const int PartBytes = 64 * 1024;

    public bool StreamsReplies => StreamsRequests || Is("http");

    public bool StreamsRequests => Is("grpc") || Is("inproc");

    public RpcClient Connect() => RpcClient.Connect(
        Endpoint, WordsServer.Schema,
        Options with
        {
            Service = "streams.Words",
            Limits = Options.Limits with { MultiPartThreshold = PartBytes },
        });

    private bool Is(string scheme) => Endpoint.Uri.StartsWith(scheme, StringComparison.Ordinal);
}
