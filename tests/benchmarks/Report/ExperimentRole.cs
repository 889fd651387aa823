using ProtoRpc.Benchmarks.Bindings;
using ProtoRpc.Benchmarks.Guard;
using ProtoRpc.Benchmarks.Orders;
using ProtoRpc.Benchmarks.Raw;
using ProtoRpc.Benchmarks.Transport;
using ProtoRpc.Server;

namespace ProtoRpc.Benchmarks.Report;

/// <summary>The servers and callers of the experiments, by the names that their processes are told.</summary>
internal static class ExperimentRole
{
    /// <summary>Before the name of an <see cref="OrderFormat"/>.</summary>
    public const string Orders = "orders=";

    /// <summary>Before the title of a <see cref="BindingKind"/>.</summary>
    public const string Binding = "binding=";

    /// <summary>Bytes over the raw layer.</summary>
    public const string Echo = "echo";

    /// <summary>Connections that rest.</summary>
    public const string Idle = "idle";

    /// <summary>Starts a server; null where the kind is no experiment's.</summary>
    public static IRpcServer? Serve(string kind, string address) => kind switch
    {
        Echo => EchoCaller.Serve(address),
        Idle => IdleConnections.Serve(address),
        _ when Told(kind, Orders) is string name => OrderCaller.Serve(address, OrderFormat.Of(name)),
        _ when Told(kind, Binding) is string title => BindingCaller.Serve(BindingKind.Of(title)),
        _ => null,
    };

    /// <summary>Connects a caller; null where the kind is no experiment's.</summary>
    public static ICaller? Connect(string kind, string address, int size) => kind switch
    {
        Echo => new EchoCaller(address, size),
        Idle => IdleConnections.Connect(address),
        _ when Told(kind, Orders) is string name => new OrderCaller(address, OrderFormat.Of(name), size),
        _ when Told(kind, Binding) is string title => new BindingCaller(address, BindingKind.Of(title)),
        _ => null,
    };

    private static string? Told(string kind, string prefix) =>
        kind.StartsWith(prefix, StringComparison.Ordinal) ? kind[prefix.Length..] : null;
}
