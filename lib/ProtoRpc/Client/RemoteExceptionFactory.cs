using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;

namespace ProtoRpc.Client;

/// <summary>Makes the exception that a server threw anew, as far as the client allows.</summary>
internal static partial class RemoteExceptionFactory
{
    private const string FrameworkCore = "mscorlib";

    private const string ByName = "Makes an exception of a type that the server names.";

    /// <summary>An exception of the remote type with the remote message, or null when the type is not
    /// allowed, not there, or not to be made so.</summary>
    public static Exception? Create(RpcRemoteException remote, RpcExceptionTypes allowed)
    {
        if (allowed == RpcExceptionTypes.None || !PlainName().IsMatch(remote.TypeName))
        {
            return null;
        }

        try
        {
            return TypeMembers.AreKept ? Find(remote, allowed)
                : IsCore(remote, allowed) ? CoreExceptions.Create(remote.TypeName, remote.Message)
                : null;
        }
        catch (Exception e) when (e is IOException or BadImageFormatException
            or TypeLoadException or ArgumentException or NotSupportedException)
        {
            // The RpcException has what the server sent.
            return null;
        }
    }

    [RequiresUnreferencedCode(ByName)]
    private static Exception? Find(RpcRemoteException remote, RpcExceptionTypes allowed) =>
        FindType(remote, allowed) is { IsAbstract: false, ContainsGenericParameters: false } type
        && typeof(Exception).IsAssignableFrom(type)
            ? Make(type, remote.Message)
            : null;

    private static bool IsCore(RpcRemoteException remote, RpcExceptionTypes allowed) =>
        allowed == RpcExceptionTypes.CoreLibrary
        || AssemblyOf(remote)?.Name is FrameworkCore or "System.Private.CoreLib";

    // The only text of ArgumentNullException and others of the kind is the name of a parameter; with an inner
    // exception beside it, it is the message, but for TypeInitializationException.
    [RequiresUnreferencedCode(ByName)]
    private static Exception? Make(Type type, string message) =>
        Make(type, [typeof(string), typeof(Exception)], [message, null])
            ?? Make(type, [typeof(string)], [message]);

    // AggregateException refuses null as its inner exception.
    [RequiresUnreferencedCode(ByName)]
    private static Exception? Make(Type type, Type[] parameters, object?[] values)
    {
        try
        {
            return type.GetConstructor(parameters) is { } constructor && TakesMessage(constructor)
                ? (Exception)constructor.Invoke(values)
                : null;
        }
        catch (TargetInvocationException)
        {
            return null;
        }
    }

    private static bool TakesMessage(ConstructorInfo constructor) =>
        constructor.GetParameters()[0].Name?.EndsWith("name", StringComparison.OrdinalIgnoreCase) != true;

    [RequiresUnreferencedCode(ByName)]
    private static Type? FindType(RpcRemoteException remote, RpcExceptionTypes allowed)
    {
        // .NET Framework's name for the library of core types, whatever version it is of.
        AssemblyName? name = AssemblyOf(remote);
        if (allowed == RpcExceptionTypes.CoreLibrary || name?.Name is FrameworkCore)
        {
            return typeof(object).Assembly.GetType(remote.TypeName);
        }

        if (name?.Name is null)
        {
            return null;
        }

        Assembly? loaded = AppDomain.CurrentDomain.GetAssemblies().FirstOrDefault(
            assembly =>
                string.Equals(assembly.GetName().Name, name.Name, StringComparison.OrdinalIgnoreCase));
        return loaded?.GetType(remote.TypeName)
            ?? FindMoved(remote.TypeName, name.Name)
            ?? (loaded is null ? Load(name, allowed)?.GetType(remote.TypeName) : null);
    }

    // A type that .NET has in another assembly than .NET Framework, whose names come from servers.
    [RequiresUnreferencedCode(ByName)]
    private static Type? FindMoved(string typeName, string assembly) =>
        AppDomain.CurrentDomain.GetAssemblies()
        .Select(loaded => loaded.GetType(typeName))
        .FirstOrDefault(
            type => type?.GetCustomAttribute<TypeForwardedFromAttribute>(inherit: false) is { } from
            && from.AssemblyFullName.StartsWith($"{assembly},", StringComparison.OrdinalIgnoreCase));

    [RequiresUnreferencedCode(ByName)]
    private static Assembly? Load(AssemblyName name, RpcExceptionTypes allowed) => allowed switch
    {
        RpcExceptionTypes.LoadStrongNamed when name.GetPublicKeyToken() is { Length: > 0 } => Assembly.Load(
            name),
        RpcExceptionTypes.LoadAny => Assembly.Load(new AssemblyName(name.Name!)),
        _ => null,
    };

    // A name that carries a code base, a path or anything else beside the usual parts is no name.
    private static AssemblyName? AssemblyOf(RpcRemoteException remote)
    {
        if (remote.AssemblyName.Length == 0
            || remote.AssemblyName.Contains("codebase", StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        AssemblyName name = new(remote.AssemblyName);
        return name.Name is { } simple && simple.AsSpan().IndexOfAny("/\\:") < 0 ? name : null;
    }

    [GeneratedRegex(@"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\z", RegexOptions.CultureInvariant)]
    private static partial Regex PlainName();
}
