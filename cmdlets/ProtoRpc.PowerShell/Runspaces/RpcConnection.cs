using System.Collections;
using System.Collections.Specialized;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>A connection as the shell shows it. A broken one is re-established by its next call.</summary>
public sealed class RpcConnection : IDisposable
{
    private readonly RpcClient? _client;
    private readonly RpcRawClient? _raw;

    internal RpcConnection(int id, RpcClient client)
    {
        Id = id;
        _client = client;
    }

    internal RpcConnection(int id, RpcRawClient raw)
    {
        Id = id;
        _raw = raw;
    }

    /// <summary>Its number in this runspace.</summary>
    public int Id { get; }

    /// <summary>Where it leads.</summary>
    public RpcEndpoint Endpoint => _client?.Endpoint ?? _raw!.Endpoint;

    /// <summary>The schema that methods are looked up in.</summary>
    public RpcSchema? Schema => _client?.Schema;

    /// <summary>The service of bare method names, or empty.</summary>
    public string Service => _client?.Service?.FullName ?? "";

    /// <summary><c>Open</c> or <c>Closed</c>.</summary>
    public string State => IsOpen ? "Open" : "Closed";

    /// <summary>Calls that ended.</summary>
    public long Calls => _client?.CallCount ?? _raw!.CallCount;

    /// <summary>The interface, where it carries bytes and no messages; else null.</summary>
    public Guid? InterfaceId => _raw?.InterfaceId;

    /// <summary>The side channel: sent with every call, and replaced by what a reply brings. To change it,
    /// set a dictionary of the extensions, <c>@{ '[package.name]' = VALUE }</c>.</summary>
    public IDictionary CallContext
    {
        // What comes out would be a copy, so a change of it must not look as if it were heard.
        get => ((OrderedDictionary)CallContextMap.ToDictionary(Client.CallContext)).AsReadOnly();
        set
        {
            ArgumentNullException.ThrowIfNull(value);
            Client.CallContext = CallContextMap.ToMessage(Client.CallContext.Type, value);
        }
    }

    internal bool IsOpen => _client?.IsOpen ?? _raw!.IsOpen;

    /// <exception cref="RpcException">FailedPrecondition: it carries bytes.</exception>
    internal RpcClient Client => _client ?? throw Wrong(
        "carries bytes of an interface. Use -Bytes, or connect with -Schema");

    /// <exception cref="RpcException">FailedPrecondition: it carries messages.</exception>
    internal RpcRawClient Raw => _raw ?? throw Wrong(
        "carries messages. For -Bytes, connect with -InterfaceId and without -Schema");

    /// <summary>Closes it.</summary>
    public void Dispose()
    {
        _client?.Dispose();
        _raw?.Dispose();
    }

    /// <inheritdoc/>
    public override string ToString() => Endpoint.ToString();

    private RpcException Wrong(string why) =>
        new(RpcStatusCode.FailedPrecondition, $"The connection to {this} {why}.")
        {
            ErrorId = RpcErrorIds.WrongConnection,
        };
}
