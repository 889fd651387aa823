using System.Collections;
using System.Management.Automation;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.Schema;

namespace ProtoRpc;

/// <summary>The value of <c>-Handler</c>: handlers by method name, or one handler for all methods.</summary>
public sealed class RpcHandlerSource
{
    private readonly object? _value;

    /// <summary>A script block or a connection for all methods, or a dictionary of handlers by the bare or
    /// full names of methods: script blocks, replies or connections.</summary>
    public RpcHandlerSource(object value) => _value = HandlerValue.Bare(value);

    /// <summary>The connection that all methods are forwarded to; null for none.</summary>
    internal RpcConnection? Connection => _value as RpcConnection;

    /// <summary>Whether any method is forwarded.</summary>
    internal bool Forwards => _value is RpcConnection || (_value is IDictionary byMethod
        && byMethod.Values.Cast<object?>().Any(value => HandlerValue.Bare(value) is RpcConnection));

    /// <summary>Creates the handlers by method.</summary>
    /// <exception cref="RpcException">A name is not a method, or a value cannot handle the method, and
    /// why.</exception>
    internal Dictionary<RpcMethodInfo, RpcMethodHandler> Resolve(
        IEnumerable<RpcServiceInfo> services, HandlerValue values)
    {
        List<RpcMethodInfo> methods = [.. services.SelectMany(service => service.Methods)];
        if (_value is ScriptBlock forAll)
        {
            // The handler finds the called method in $RpcMethod.
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
