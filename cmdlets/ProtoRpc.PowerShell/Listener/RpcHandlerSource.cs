using System.Collections;
using System.Management.Automation;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.Schema;

namespace ProtoRpc;

/// <summary>What <c>-Handler</c> takes: script blocks by method name,
/// or one block for every method.</summary>
public sealed class RpcHandlerSource
{
    private readonly object? _value;

    /// <summary>A script block, or a dictionary of them by the bare or full names of their methods.</summary>
    public RpcHandlerSource(object value) => _value = value is PSObject wrapped ? wrapped.BaseObject : value;

    /// <summary>The scripts by method.</summary>
    /// <exception cref="RpcException">A name that no method has,
    /// or a value that is not a script block.</exception>
    internal Dictionary<RpcMethodInfo, ScriptSource> Resolve(RpcServer server, HandlerEnvironment environment)
    {
        List<RpcMethodInfo> methods = [.. server.Services.SelectMany(service => service.Key.Methods)];
        if (_value is ScriptBlock forAll)
        {
            // $RpcMethod says which method is called.
            ScriptSource source = environment.Add(forAll);
            return methods.ToDictionary(method => method, _ => source);
        }

        if (_value is not IDictionary byMethod)
        {
            throw Invalid(
                "-Handler takes a hashtable of script blocks by method, @{ METHOD = { ... } }, or one script "
                + "block for all methods.");
        }

        Dictionary<RpcMethodInfo, ScriptSource> scripts = [];
        foreach (DictionaryEntry entry in byMethod)
        {
            string name = LanguagePrimitives.ConvertTo<string>(entry.Key);
            RpcMethodInfo method = Find(methods, name);
            if ((entry.Value is PSObject wrapped ? wrapped.BaseObject : entry.Value) is not ScriptBlock block)
            {
                throw Invalid($"The handler of '{name}' is not a script block. Write {name} = {{ ... }}.");
            }

            if (!scripts.TryAdd(method, environment.Add(block)))
            {
                throw Invalid($"{method.FullName} has two handlers.");
            }
        }

        return scripts;
    }

    private static RpcException Invalid(string message) =>
        new(RpcStatusCode.InvalidArgument, message) { ErrorId = RpcErrorIds.InvalidHandler };

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
