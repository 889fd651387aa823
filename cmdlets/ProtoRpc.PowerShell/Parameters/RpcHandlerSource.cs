using System.Collections;
using System.Management.Automation;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.Schema;

namespace ProtoRpc;

/// <summary>What <c>-Handler</c> takes: handlers by method name, or one for every method.</summary>
public sealed class RpcHandlerSource
{
    private readonly object? _value;

    /// <summary>A script block or a connection for every method, or a dictionary of handlers by the bare or
    /// full names of their methods: script blocks, replies, connections.</summary>
    public RpcHandlerSource(object value) => _value = HandlerValue.Bare(value);

    /// <summary>What every method is forwarded to; null where it is not so.</summary>
    internal RpcConnection? Connection => _value as RpcConnection;

    /// <summary>Whether calls of some methods are forwarded.</summary>
    internal bool Forwards => _value is RpcConnection || (_value is IDictionary byMethod
        && byMethod.Values.Cast<object?>().Any(value => HandlerValue.Bare(value) is RpcConnection));

    /// <summary>The handlers by method.</summary>
    /// <exception cref="RpcException">A name that no method has,
    /// or a value that does not handle it, and why.</exception>
    internal Dictionary<RpcMethodInfo, RpcMethodHandler> Resolve(
        IEnumerable<RpcServiceInfo> services, HandlerValue values)
    {
        List<RpcMethodInfo> methods = [.. services.SelectMany(service => service.Methods)];
        if (_value is ScriptBlock forAll)
        {
            // $RpcMethod says which method is called.
            return methods.ToDictionary(method => method, method => values.ToHandler(method, forAll));
        }

        if (Connection is { } connection)
        {
            RpcMethodHandler forwards = values.ForAll(connection);
            return methods.ToDictionary(method => method, _ => forwards);
        }

        if (_value is not IDictionary byMethod)
        {
            throw HandlerValue.Invalid(
                "-Handler takes a hashtable of handlers by method, @{ METHOD = { ... } }, or one script "
                + "block or connection for all methods.");
        }

        Dictionary<RpcMethodInfo, RpcMethodHandler> handlers = [];
        foreach (DictionaryEntry entry in byMethod)
        {
            RpcMethodInfo method = Find(methods, LanguagePrimitives.ConvertTo<string>(entry.Key));
            if (!handlers.TryAdd(method, values.ToHandler(method, entry.Value)))
            {
                throw HandlerValue.Invalid($"{method.FullName} has two handlers.");
            }
        }

        return handlers;
    }

    private static RpcMethodInfo Find(List<RpcMethodInfo> methods, string name)
    {
        List<RpcMethodInfo> found = methods.FindAll(method => Matches(method, name));
        return found.Count switch
        {
            1 => found[0],
            0 => throw SchemaError.NameNotFound(
                "method", name, [.. methods.Select(method => method.FullName)]),
            _ => throw SchemaError.Ambiguous("method", name, found.Select(method => method.FullName)),
        };
    }

    private static bool Matches(RpcMethodInfo method, string name) =>
        name.Equals(method.Name, StringComparison.OrdinalIgnoreCase)
        || name.Equals(method.FullName, StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.Name}/{method.Name}", StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.FullName}.{method.Name}", StringComparison.OrdinalIgnoreCase);
}
