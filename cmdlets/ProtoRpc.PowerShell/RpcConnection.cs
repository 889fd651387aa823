using ProtoRpc.Calls;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

/// <summary>A connection as the shell shows it. A broken one is re-established by its next call.</summary>
public sealed class RpcConnection : IDisposable
{
    internal RpcConnection(int id, RpcClient client)
    {
        Id = id;
        Client = client;
    }

    /// <summary>Its number in this runspace.</summary>
    public int Id { get; }

    /// <summary>Where it leads.</summary>
    public RpcEndpoint Endpoint => Client.Endpoint;

    /// <summary>The schema that methods are looked up in.</summary>
    public RpcSchema? Schema => Client.Schema;

    /// <summary>The service of bare method names, or empty.</summary>
    public string Service => Client.Service?.FullName ?? "";

    /// <summary><c>Open</c> or <c>Closed</c>.</summary>
    public string State => IsOpen ? "Open" : "Closed";

    /// <summary>Calls that ended.</summary>
    public long Calls => Client.CallCount;

    internal bool IsOpen => Client.IsOpen;

    internal RpcClient Client { get; }

    /// <summary>Closes it.</summary>
    public void Dispose() => Client.Dispose();

    /// <inheritdoc/>
    public override string ToString() => Endpoint.ToString();
}
