using System.Collections;

namespace ProtoRpc.PowerShell;

/// <summary>Offers the endpoints of this runspace's listeners and connections,
/// and the forms of endpoints.</summary>
public sealed class EndpointCompleter : RpcCompleter
{
    private static readonly Candidate[] Forms =
    [
        new("ncacn_ip_tcp:127.0.0.1[8080]", "TCP: host and port (0: the system picks one)"),
        new(@"ncacn_np:[\pipe\NAME]", "Named pipe"),
        new("ncalrpc:[NAME]", "Local: a Unix socket, or a local pipe on Windows"),
        new("http://localhost:8081/", "HTTP without TLS: protobuf, JSON, XML, form"),
        new("https://HOST:443/", "HTTP over TLS"),
        new("grpc://localhost:50051", "gRPC without TLS"),
        new("grpcs://HOST:443", "gRPC over TLS"),
        new("grpc+unix:///PATH", "gRPC over a Unix socket"),
    ];

    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        RunspaceStore store = RunspaceStore.Current;
        return store.Listeners.SelectMany(listener => listener.Endpoint)
            .Concat(store.Connections.Select(connection => connection.Endpoint))
            .Distinct()
            .Select(endpoint => new Candidate(endpoint.ToString(), endpoint.Uri))
            .Concat(Forms);
    }
}
