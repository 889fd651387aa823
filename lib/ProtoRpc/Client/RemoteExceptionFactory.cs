using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Security;
using System.Text.RegularExpressions;

namespace ProtoRpc.Client;

/// <summary>Recreates the exception that a server threw, if the client allows its type.</summary>
internal static partial class RemoteExceptionFactory
{
    private const string FrameworkCore = "mscorlib";

    private const string ByName = "Makes an exception of a type that the server names.";

    /// <summary>Creates an exception of the remote type with the remote message. Null if the type is not
    /// allowed, does not exist, or has no suitable constructor.</summary>
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
            // The caller receives the RpcException, which contains the server's type name and text.
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

    // The constructor with one argument of ArgumentNullException and others expects a parameter name. With an
    // inner exception as the second argument, the first is the message, except for
    // TypeInitializationException.
    [RequiresUnreferencedCode(ByName)]
    private static Exception? Make(Type type, string message) =>
        Make(type, [typeof(string), typeof(Exception)], [message, null])
            ?? Make(type, [typeof(string)], [message]);

    // AggregateException throws if its inner exception is null.
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
        // In .NET Framework, mscorlib contains the core types. Its version does not matter.
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

    // Finds types that are in different assemblies in .NET and .NET Framework. The names come from servers.
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

    // Null for a name with a code base, a path or other unusual parts.
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

/// <summary>Creates common exceptions of the core library without reflection, for trimmed programs.</summary>
internal static class CoreExceptions
{
    private static readonly Dictionary<string, Func<string, Exception>> Makers = new(StringComparer.Ordinal)
    {
        ["System.AggregateException"] = text => new AggregateException(text),
        ["System.ApplicationException"] = text => new ApplicationException(text),
        // Without an inner exception, the only text argument of these three constructors is the name of a
        // parameter.
        ["System.ArgumentNullException"] = text => new ArgumentNullException(text, innerException: null),
        ["System.ArgumentOutOfRangeException"] =
            text => new ArgumentOutOfRangeException(text, innerException: null),
        ["System.ObjectDisposedException"] = text => new ObjectDisposedException(text, innerException: null),
        ["System.ArgumentException"] = text => new ArgumentException(text),
        ["System.ArithmeticException"] = text => new ArithmeticException(text),
        ["System.Collections.Generic.KeyNotFoundException"] = text => new KeyNotFoundException(text),
        ["System.DivideByZeroException"] = text => new DivideByZeroException(text),
        ["System.Exception"] = text => new Exception(text),
        ["System.FormatException"] = text => new FormatException(text),
        ["System.IndexOutOfRangeException"] = text => new IndexOutOfRangeException(text),
        ["System.InvalidCastException"] = text => new InvalidCastException(text),
        ["System.InvalidOperationException"] = text => new InvalidOperationException(text),
        ["System.IO.DirectoryNotFoundException"] = text => new DirectoryNotFoundException(text),
        ["System.IO.EndOfStreamException"] = text => new EndOfStreamException(text),
        ["System.IO.FileNotFoundException"] = text => new FileNotFoundException(text),
        ["System.IO.IOException"] = text => new IOException(text),
        ["System.IO.PathTooLongException"] = text => new PathTooLongException(text),
        ["System.NotImplementedException"] = text => new NotImplementedException(text),
        ["System.NotSupportedException"] = text => new NotSupportedException(text),
        ["System.NullReferenceException"] = text => new NullReferenceException(text),
        ["System.OperationCanceledException"] = text => new OperationCanceledException(text),
        ["System.OutOfMemoryException"] = text => new OutOfMemoryException(text),
        ["System.OverflowException"] = text => new OverflowException(text),
        ["System.PlatformNotSupportedException"] = text => new PlatformNotSupportedException(text),
        ["System.Security.SecurityException"] = text => new SecurityException(text),
        ["System.SystemException"] = text => new SystemException(text),
        ["System.Threading.Tasks.TaskCanceledException"] = text => new TaskCanceledException(text),
        ["System.TimeoutException"] = text => new TimeoutException(text),
        ["System.UnauthorizedAccessException"] = text => new UnauthorizedAccessException(text),
    };

    /// <summary>The names of the types.</summary>
    public static IReadOnlyCollection<string> TypeNames => Makers.Keys;

    /// <summary>Creates an exception of a type; null for types that are not listed here.</summary>
    public static Exception? Create(string typeName, string message) =>
        Makers.TryGetValue(typeName, out Func<string, Exception>? make) ? make(message) : null;
}
