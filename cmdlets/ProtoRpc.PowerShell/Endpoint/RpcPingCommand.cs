using System.Diagnostics;
using System.Management.Automation;
using Google.Protobuf;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.PowerShell.Runspaces;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc;

/// <summary>The base of cmdlets that ping connections, endpoints, or the endpoints of listeners.</summary>
public abstract class RpcPingCommand : RpcEndpointCommand
{
    protected const string ByConnection = "Connection";

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [NoConnection]
    [FilledLines]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public override string[] Endpoint
    {
        get => base.Endpoint;
        set => base.Endpoint = value;
    }

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection? Connection { get; set; }

    /// <summary>The given connection, or the only open one.</summary>
    private protected RpcClient FindClient() => RunspaceStore.Current.Resolve(Connection, "-Endpoint").Client;

    /// <summary>Connects to an endpoint, and pings it.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="schema">The schema of its services; null if unknown.</param>
    /// <param name="options">The options for connecting.</param>
    /// <param name="deadline">The time for connecting and the ping together; null for the defaults.</param>
    /// <param name="compares">Whether to compare the schema with the one that the server publishes, if
    /// any.</param>
    /// <param name="request">The request to its ping handlers; null for none.</param>
    /// <exception cref="RpcException">The endpoint does not answer, or does not serve the requested
    /// service.</exception>
    private protected RpcPingResult Ping(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options, TimeSpan? deadline,
        bool compares = false,
        IMessage? request = null)
    {
        // Without a schema, the client cannot look up the service, but the server can check its name.
        RpcClientOptions known = schema is null ? options with { Service = null } : options;
        Stopwatch watch = Stopwatch.StartNew();
        using RpcClient client = RpcClient.Connect(endpoint, schema, Within(known, deadline), Cancellation);
        RpcPingResult result = client.Ping(
            new RpcPingOptions
            {
                Service = options.Service,
                Timeout = Left(deadline, watch.Elapsed),
                Request = request,
            },
            Cancellation);
        return !compares || schema is null
            ? result
            : result with { SchemaDifferences = client.CompareSchema(Service, Cancellation) ?? [] };
    }

    /// <summary>The request for the server's ping handlers; null for none.</summary>
    /// <exception cref="RpcException">InvalidArgument: the message does not fit the type of ping
    /// requests.</exception>
    private protected static IMessage? ToRequest(RpcSchema? schema, object? message) => message is null
        ? null
        : ShellMapper.Create(asHashtable: false).ToMessage(PingProtocol.InfoIn(schema).RequestType, message);

    /// <summary>Whether a server is healthy. A server that answers with another health status than Serving is
    /// not.</summary>
    private protected static bool IsWell(RpcPingResult result) => result.Health is "" or "Serving";

    private static RpcClientOptions Within(RpcClientOptions options, TimeSpan? deadline) =>
        deadline is { } time && time > TimeSpan.Zero && time < options.Limits.ConnectTimeout
            ? options with { Limits = options.Limits with { ConnectTimeout = time } }
            : options;

    private static TimeSpan? Left(TimeSpan? deadline, TimeSpan elapsed)
    {
        if (deadline is not { } time || time == Timeout.InfiniteTimeSpan)
        {
            return deadline;
        }

        return time > elapsed ? time - elapsed : TimeSpan.FromMilliseconds(1);
    }
}
